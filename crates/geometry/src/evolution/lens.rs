//! The evolution as one call: a question in, an answer out.

use std::time::Instant;

use polariscope_data::npy;
use polariscope_diff::Number;
use polariscope_graph::Shape;
use polariscope_lens::{Dtype, Observer, Setup, Stopped, Work};
use polariscope_linalg::symmetric_eigen;
use polariscope_network::Network;
use polariscope_report::counted;
use polariscope_train::{Loss, Problem};
use serde::{Deserialize, Serialize};

use super::answer::{KnownFrom, Moved};
use super::{Evolution, EvolutionConfig, GROUPS, evolution, finite_steps};
use crate::lens::foretell::seconds;
use crate::{GeometryError, Kron, Output, Probe, exact};

/// Networks of the check by finite steps.
const CHECKED: u64 = 4;
/// Their steps, in units of the time in which the weights move by their own size.
const STEPS: [f64; 5] = [1e-4, 1e-5, 1e-6, 3e-7, 1e-7];
/// Whole D × D matrices beside the groups' triangles.
const MATRICES: f64 = 12.0;

/// What is asked of the beginning of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EvolutionQuestion {
    /// Networks to sample, at least 16.
    pub networks: u64,
    /// Points for each network.
    pub probes: usize,
    /// Where gradients are taken.
    pub probe: Probe,
    /// The output whose geometry moves.
    pub output: Output,
    /// What is minimised.
    pub loss: Loss,
    /// Seed, numbers, device.
    pub setup: Setup,
}

impl Default for EvolutionQuestion {
    fn default() -> Self {
        Self {
            networks: 2048,
            probes: 16,
            probe: Probe::Gauss { sigma: 1.0 },
            output: Output::Logit(0),
            loss: Loss::Sse,
            setup: Setup::default(),
        }
    }
}

/// How a geometry begins to move.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Movement {
    /// The architecture.
    pub name: String,
    /// Shape of its input.
    pub shape: Shape,
    /// Numbers and words.
    pub result: Moved,
    /// Δ, D × D.
    pub delta: Vec<f64>,
    /// G of the same networks, D × D.
    pub geometry: Vec<f64>,
    /// The G of GSG.
    pub known: Vec<f64>,
    /// Eigenvalues of −Δ, largest first.
    pub values: Vec<f64>,
    /// Its eigenvectors, one a row.
    pub vectors: Vec<f64>,
}

/// How the geometry of the network begins to move when it learns the training samples.
pub fn movement(
    problem: &Problem,
    question: &EvolutionQuestion,
    observer: &mut dyn Observer,
) -> Result<Movement, GeometryError> {
    match question.setup.dtype {
        Dtype::F32 => found::<f32>(problem, question, observer),
        Dtype::F64 => found::<f64>(problem, question, observer),
    }
}

/// Bytes that [`movement`] takes.
pub fn movement_memory(problem: &Problem) -> f64 {
    let square = 8.0 * (problem.graph.input().len() as f64).powi(2);
    (GROUPS as f64 + MATRICES) * square + 16.0 * problem.data.train.x.len() as f64
}

fn found<T: Number>(
    problem: &Problem,
    question: &EvolutionQuestion,
    observer: &mut dyn Observer,
) -> Result<Movement, GeometryError> {
    let started = Instant::now();
    let (graph, config) = (&problem.graph, &question.config());
    let samples = problem.train();
    // Where G has a closed form GSG needs no sample of it.
    let known = exact(graph, &config.probe, config.output).ok();
    let network = Network::<T>::on(graph.clone(), question.setup.device);
    let found = measured(&network, config, problem, known.as_ref(), observer)?;
    // In double precision: a short step changes few digits.
    let double = Network::<f64>::on(graph.clone(), question.setup.device);
    let networks = CHECKED.min(config.networks);
    // At one point each, so that few kinks pass.
    let checked = EvolutionConfig {
        probes: 1,
        ..config.clone()
    };
    let finite = finite_steps(&double, &checked, samples, networks, &STEPS)?;
    let minus: Vec<f64> = found.delta.iter().map(|x| -x).collect();
    let eigen = symmetric_eigen(&minus, found.dim)?;
    let from = match known {
        Some(_) => KnownFrom::Exact,
        None => KnownFrom::Sampled,
    };
    let mut result = Moved::new(problem, config, &found, from, finite);
    result.seconds = started.elapsed().as_secs_f64();
    Ok(Movement {
        name: graph.name.clone(),
        shape: problem.data.shape,
        result,
        known: known.map_or_else(|| found.geometry.clone(), |g| g.to_dense()),
        delta: found.delta,
        geometry: found.geometry,
        values: eigen.values,
        vectors: eigen.vectors,
    })
}

/// Δ, network by network with progress.
fn measured<T: Number>(
    network: &Network<T>,
    config: &EvolutionConfig,
    problem: &Problem,
    known: Option<&Kron>,
    observer: &mut dyn Observer,
) -> Result<Evolution, GeometryError> {
    let samples = problem.train();
    // The loss at every sample, and twice as much as a gradient at every point.
    let gradients = samples.len() + 2 * config.probes;
    observer.foretell(seconds(&problem.graph, config.networks, gradients));
    observer.begin(Work {
        unit: "networks".into(),
        first: 0,
        total: config.networks,
        words: format!(
            "{} on {}",
            counted(config.networks, "network"),
            counted(samples.len() as u64, "sample")
        ),
        bytes: movement_memory(problem),
    });
    let mut stopped = None::<Stopped>;
    let found = evolution(network, config, samples, known, &mut |done, _| {
        stopped = stopped.or(observer.advance(done, &|| None).err());
    })?;
    observer.end();
    stopped.map_or(Ok(found), |stopped| Err(stopped.into()))
}

impl EvolutionQuestion {
    fn config(&self) -> EvolutionConfig {
        EvolutionConfig {
            seed: self.setup.seed,
            networks: self.networks,
            probes: self.probes,
            probe: self.probe.clone(),
            output: self.output,
            loss: self.loss,
        }
    }
}

impl Movement {
    /// −Δ.
    pub fn minus(&self) -> Vec<f64> {
        self.delta.iter().map(|x| -x).collect()
    }

    /// The arrays, each with the name of its file.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let dim = self.shape.len();
        let array = |x: &[f64]| npy::encode(&[dim, dim], x);
        vec![
            ("delta.npy".into(), array(&self.delta)),
            ("geometry.npy".into(), array(&self.geometry)),
        ]
    }
}
