//! Finite networks, trained in three ways on the mean square (1/C) Σ (f − y)² with momentum μ = 0.9.
//!
//! | training | rate | weight decay | output | targets | data |
//! |---|---|---|---|---|---|
//! | NN | η₁/16 | none | centred, f − f₀ | y | as they are |
//! | NN+ | η₁/8 | yes | f | 5 y | as they are |
//! | NN++ | η₁/8 | yes | f | 5 y | MixUp: x = λ x_i + (1 − λ) x_j, y alike, λ uniform, anew every epoch |
//!
//! η₁ = C/λ₁ with λ₁ the largest eigenvalue of J Jᵀ/n at initialisation, on up to 128 samples: without momentum the
//! fastest mode would decay by the factor 1 − 2η/η₁ a step, so that plain descent is stable up to η₁. Weight decay is
//! such that a weight that nothing holds shrinks by e^{−0.3} over the run. Centring is the same as learning y + f₀.
//! Outputs that are not centred start with a standard deviation of √2, centred one-hot targets have one of 0.3: narrow
//! networks spend themselves on unlearning their start, so they learn 5 y, and predictions are a fifth of the outputs.

use std::str::FromStr;

use polariscope_diff::{Device, Place};
use polariscope_graph::Graph;
use polariscope_network::{Network, Weights};
use polariscope_random::Stream;
use polariscope_train::{
    BatchSize, Config, Evaluator, Labels, Length, Loss, Optimiser, Quiet, Samples, Schedule, State,
    TrainError, Trainer,
};
use serde::{Deserialize, Serialize};

use super::{ExperimentError, Part, Precision, convert};

const MOMENTUM: f64 = 0.9;
/// Samples an update.
const BATCH: usize = 64;
/// Targets of outputs that are not centred are multiplied by this.
const MAGNIFIED: f64 = 5.0;
/// Logarithm of what is left of a weight that nothing holds.
const SHRINKAGE: f64 = 0.3;
/// Samples and iterations that the largest eigenvalue is found with.
const PROBES: usize = 128;
const ITERATIONS: usize = 8;

/// How a system learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Training {
    /// At infinite width, by its kernel.
    #[serde(rename = "ntk")]
    Ntk,
    /// A small rate, centred.
    #[serde(rename = "nn")]
    Nn,
    /// A larger rate with weight decay, not centred.
    #[serde(rename = "nn+")]
    NnPlus,
    /// The same with MixUp.
    #[serde(rename = "nn++")]
    NnPlusPlus,
}

impl Training {
    /// All of them.
    pub const ALL: [Training; 4] = [
        Training::Ntk,
        Training::Nn,
        Training::NnPlus,
        Training::NnPlusPlus,
    ];

    /// As it stands in a table.
    pub fn name(self) -> &'static str {
        match self {
            Training::Ntk => "ntk",
            Training::Nn => "nn",
            Training::NnPlus => "nn+",
            Training::NnPlusPlus => "nn++",
        }
    }
}

impl FromStr for Training {
    type Err = ExperimentError;

    fn from_str(text: &str) -> Result<Self, ExperimentError> {
        let found = Training::ALL.into_iter().find(|t| t.name() == text);
        found.ok_or_else(|| ExperimentError::Training { name: text.into() })
    }
}

/// What a run of a finite network depends on beside its data.
#[derive(Clone, Copy, Debug)]
pub struct Finite {
    /// Where it trains.
    pub place: Place,
    /// One of the finite ones; the infinite one is trained like NN.
    pub training: Training,
    /// Updates.
    pub steps: u64,
    /// Seed of weights, batches and MixUp.
    pub seed: u64,
    /// Which network.
    pub index: u64,
}

impl Finite {
    /// Trains and returns the predictions at the test inputs, N × C.
    pub fn learn<T: Precision>(
        &self,
        graph: &Graph,
        train: &Part,
        test: &[f64],
    ) -> Result<Vec<f64>, ExperimentError> {
        let (x, x_test) = (narrow(&train.x), narrow(test));
        let evaluator = Evaluator::<T>::on(self.place.device, graph, Loss::Mse);
        let weights = Weights::<T>::draw(graph, self.seed, self.index);
        let (f0, scale) = match self.training {
            Training::Ntk | Training::Nn => (1.0, 1.0),
            Training::NnPlus | Training::NnPlusPlus => (0.0, MAGNIFIED),
        };
        let start = |x: &[f32]| -> Result<Vec<f64>, ExperimentError> {
            let outputs = widen(&evaluator.outputs(&weights, x)?);
            Ok(outputs.into_iter().map(|f| f0 * f).collect())
        };
        let (before, before_test) = (start(&x)?, start(&x_test)?);
        let targets = train.targets.iter().zip(&before);
        let targets: Vec<f32> = targets.map(|(y, f)| (scale * y + f) as f32).collect();
        let config = self.config(graph, &weights, train)?;
        let state = State::from_weights(graph, &config, weights.clone());
        let state = self.run(graph, config, state, &x, &targets)?;
        let after = widen(&evaluator.outputs(&state.weights, &x_test)?);
        let moved = after.iter().zip(&before_test);
        Ok(moved.map(|(f, f0)| (f - f0) / scale).collect())
    }

    /// Multiplications of a run on m samples, about: forth and twice back.
    pub(super) fn operations(&self, graph: &Graph) -> f64 {
        let samples = 3.0 * self.steps as f64 * BATCH as f64;
        samples * polariscope_network::multiplications(graph) as f64
    }

    fn config<T: Precision>(
        &self,
        graph: &Graph,
        weights: &Weights<T>,
        train: &Part,
    ) -> Result<Config, ExperimentError> {
        let fastest =
            graph.output().len() as f64 / largest(self.place.device, graph, weights, train)?;
        let (learning_rate, shrinkage) = match self.training {
            Training::Ntk | Training::Nn => (fastest / 16.0, 0.0),
            Training::NnPlus | Training::NnPlusPlus => (fastest / 8.0, SHRINKAGE),
        };
        let travelled = learning_rate / (1.0 - MOMENTUM) * self.steps as f64;
        Ok(Config {
            loss: Loss::Mse,
            optimiser: Optimiser::Sgd {
                momentum: MOMENTUM,
                weight_decay: shrinkage / travelled,
            },
            learning_rate,
            schedule: Schedule::Constant,
            batch_size: BatchSize::Of(BATCH),
            length: Length::Steps(self.steps),
            row_every: u64::MAX,
            init_seed: self.seed,
            batch_seed: Stream::new(self.seed, self.index, "experiment.batches")
                .cursor()
                .next_u64(),
            ..Config::default()
        })
    }

    fn run<T: Precision>(
        &self,
        graph: &Graph,
        mut config: Config,
        mut state: State<T>,
        x: &[f32],
        y: &[f32],
    ) -> Result<State<T>, TrainError> {
        let width = graph.output().len();
        let samples = y.len() / width;
        if self.training != Training::NnPlusPlus {
            let y = Labels::Targets { values: y, width };
            let mut trainer =
                Trainer::on(self.place, graph, &config, (Samples { x, y }, None), state)?;
            trainer.run(&mut Quiet)?;
            return Ok(trainer.into_state());
        }
        let an_epoch = config.steps_an_epoch(samples);
        // A run of one epoch more goes on from the state of the last.
        for epoch in 0..self.steps.div_ceil(an_epoch) {
            config.length = Length::Steps(self.steps.min((epoch + 1) * an_epoch));
            let mut cursor = Stream::new(config.batch_seed, epoch, "experiment.mixup").cursor();
            let partners = cursor.permutation(samples);
            let shares: Vec<f32> = partners.iter().map(|_| cursor.unit()).collect();
            let mixed = |values: &[f32]| mix(values, &partners, &shares);
            let (x, values) = (mixed(x), mixed(y));
            let y = Labels::Targets {
                values: &values,
                width,
            };
            let mut trainer = Trainer::on(
                self.place,
                graph,
                &config,
                (Samples { x: &x, y }, None),
                state,
            )?;
            trainer.run(&mut Quiet)?;
            state = trainer.into_state();
        }
        Ok(state)
    }
}

/// Row i of λ_i v_i + (1 − λ_i) v_{partner of i}.
fn mix(values: &[f32], partners: &[usize], shares: &[f32]) -> Vec<f32> {
    let width = values.len() / partners.len().max(1);
    let row = |i: usize| &values[i * width..][..width];
    let pairs = partners.iter().zip(shares).enumerate();
    pairs
        .flat_map(|(i, (&j, &l))| {
            let both = row(i).iter().zip(row(j));
            both.map(move |(a, b)| l * a + (1.0 - l) * b)
        })
        .collect()
}

/// The largest eigenvalue of J Jᵀ/n, by iteration from a fixed start.
fn largest<T: Precision>(
    device: Device,
    graph: &Graph,
    weights: &Weights<T>,
    train: &Part,
) -> Result<f64, ExperimentError> {
    let network = Network::<T>::on(graph.clone(), device);
    let n = train.len().min(PROBES);
    let x: Vec<T> = convert(&train.x[..n * graph.input().len()]);
    let mut u: Vec<T> = vec![T::ONE; n * graph.output().len()];
    let mut size = 0.0;
    for _ in 0..ITERATIONS {
        let norm = u.iter().map(|u| u.to_f64().powi(2)).sum::<f64>().sqrt();
        let unit = T::from_f64(1.0 / norm.max(f64::MIN_POSITIVE));
        u.iter_mut().for_each(|u| *u *= unit);
        u = network
            .ntk_product(weights, &x, &u)
            .map_err(crate::symmetry::SymmetryError::from)?;
        size = u.iter().map(|u| u.to_f64().powi(2)).sum::<f64>().sqrt();
    }
    Ok(size.max(f64::MIN_POSITIVE) / n as f64)
}

fn narrow(x: &[f64]) -> Vec<f32> {
    x.iter().map(|&x| x as f32).collect()
}

fn widen<T: Precision>(x: &[T]) -> Vec<f64> {
    x.iter().map(|x| x.to_f64()).collect()
}
