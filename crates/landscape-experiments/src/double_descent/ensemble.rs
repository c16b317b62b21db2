//! The networks of a width: trained, tested while they train, and together.

use polariscope_data::{Dataset, Labels, Split};
use polariscope_diff::Device;
use polariscope_graph::{Activation, Graph};
use polariscope_network::{Network, Weights};
use polariscope_random::Stream;
use polariscope_stats::Estimate;
use polariscope_train::Control;
use rayon::prelude::*;

use crate::machine::{self, hinge, machine, sizes};
use crate::{Lab, LandscapeExperimentsError};
use polariscope_landscape::LandscapeError;

/// Networks of an ensemble.
const NETWORKS: u64 = 20;
/// Factor between the steps at which networks are tested.
const PACE: f64 = 1.25;
/// A network has not fitted that leaves more than this many patterns a weight.
const LEFT: f64 = 0.1;

/// Samples of two classes.
pub(super) struct Problem {
    data: Dataset,
    train: usize,
    test: Test,
}

struct Test {
    x: Vec<f64>,
    classes: Vec<u32>,
}

impl Problem {
    /// The data of a lab.
    pub fn new(lab: &Lab) -> Result<Self, LandscapeExperimentsError> {
        let data = lab.samples()?;
        let wrong = |what: String| {
            let what = format!("‹data {}› {what}", lab.data);
            Err(LandscapeExperimentsError::Question(what))
        };
        let (train, most) = (lab.pick(500, 5_000), lab.pick(2_000, 10_000));
        if data.classes != 2 {
            return wrong(format!(
                "has {} classes: double-descent wants two, such as `group=A,B` makes",
                data.classes
            ));
        }
        if data.train.len() < train {
            let has = data.train.len();
            return wrong(format!(
                "has {has} training samples: double-descent wants {train} or more"
            ));
        }
        let rows: Vec<usize> = (0..data.test.len().min(most)).collect();
        let split = data.test.select(data.shape.len(), &rows);
        let Labels::Classes(classes) = split.y else {
            return wrong("has no classes: double-descent wants two".into());
        };
        if classes.is_empty() {
            return wrong("has no test samples: double-descent compares test errors".into());
        }
        let test = Test {
            x: split.x.iter().map(|&x| f64::from(x)).collect(),
            classes,
        };
        Ok(Problem { data, train, test })
    }

    /// The training samples of a run.
    fn choose(&self, seed: u64, run: u64) -> Split {
        let order = Stream::new(seed, run, "double-descent.rows");
        let rows = order.cursor().permutation(self.data.train.len());
        let dim = self.data.shape.len();
        self.data.train.select(dim, &rows[..self.train])
    }
}

impl Test {
    /// Fraction on the wrong side.
    fn error(&self, f: &[f64]) -> f64 {
        let pairs = f.iter().zip(&self.classes);
        let wrong = pairs.filter(|(f, class)| u32::from(**f > 0.0) != **class);
        wrong.count() as f64 / self.classes.len() as f64
    }
}

/// A trained network.
struct Trained {
    steps: f64,
    jammed: bool,
    fitted: bool,
    error: f64,
    oracle: f64,
    /// Outputs on the test set.
    f: Vec<f64>,
}

fn one(
    lab: &Lab,
    (graph, network): (&Graph, &Network<f64>),
    (split, test): (&Split, &Test),
    index: u64,
) -> Result<Trained, LandscapeError> {
    let descent = hinge(
        1.0,
        (lab.pick(1e-3, 1e-4), None),
        lab.pick(30_000, 2_000_000),
    );
    let outputs = |weights: &Weights<f64>| network.output(weights, &test.x);
    let (mut next, mut best, mut failed) = (1, 1.0_f64, None);
    let end = machine::train(
        Device::Cpu,
        graph,
        &descent,
        (lab.seed, index),
        split,
        |seen| {
            if seen.step < next {
                return Control::Continue;
            }
            next = (PACE * seen.step as f64).ceil() as u64;
            match outputs(seen.weights) {
                Ok(f) => {
                    best = best.min(test.error(&f));
                    Control::Continue
                }
                Err(e) => {
                    failed = Some(e);
                    Control::Stop
                }
            }
        },
    )?;
    if let Some(e) = failed {
        return Err(e.into());
    }
    let f = outputs(&end.fitted.weights)?;
    let (error, gaps) = (test.error(&f), end.fitted.gaps);
    let weights = sizes(graph)[0] as f64;
    Ok(Trained {
        steps: end.fitted.steps as f64,
        jammed: gaps.unsatisfied as f64 > LEFT * weights,
        fitted: gaps.unsatisfied == 0,
        oracle: best.min(error),
        error,
        f,
    })
}

/// The measures of a width.
pub(super) fn train(
    lab: &Lab,
    problem: &Problem,
    width: usize,
    run: u64,
) -> Result<Vec<f64>, LandscapeExperimentsError> {
    let graph = machine(
        (&format!("mlp-2x{width}"), None),
        problem.data.shape,
        Activation::Relu,
    )?;
    let network = Network::new(graph.clone());
    let split = problem.choose(lab.seed, run);
    let networks: Vec<Trained> = (run * NETWORKS..(run + 1) * NETWORKS)
        .into_par_iter()
        .map(|index| one(lab, (&graph, &network), (&split, &problem.test), index))
        .collect::<Result<_, _>>()?;
    let [weights, parameters] = sizes(&graph);
    let count = NETWORKS as f64;
    let over = |of: &dyn Fn(&Trained) -> f64| -> Vec<f64> { networks.iter().map(of).collect() };
    let mean = |of: &dyn Fn(&Trained) -> f64| over(of).iter().sum::<f64>() / count;
    let error = |of: &dyn Fn(&Trained) -> f64| {
        Estimate::mean(&over(of)).map_or(f64::NAN, |e| e.standard_error)
    };
    let square = |n: &Trained| n.f.iter().map(|f| f * f).sum::<f64>() / n.f.len() as f64;
    let log_norm = |n: &Trained| square(n).ln();
    let samples = problem.test.classes.len();
    let together: Vec<f64> = (0..samples)
        .map(|i| networks.iter().map(|n| n.f[i]).sum())
        .collect();
    Ok(vec![
        weights as f64,
        parameters as f64,
        mean(&|n| f64::from(u8::from(n.fitted))),
        mean(&|n| f64::from(u8::from(n.jammed))),
        mean(&|n| n.steps),
        mean(&|n| n.error),
        error(&|n| n.error),
        mean(&|n| n.oracle),
        problem.test.error(&together),
        mean(&log_norm).exp(),
        error(&log_norm),
    ])
}
