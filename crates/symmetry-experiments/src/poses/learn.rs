//! One network: trained, asked, and asked before it is trained.

use polariscope_data::Split;
use polariscope_diff::{Device, Place};
use polariscope_graph::{Graph, Shape};
use polariscope_network::{Network, Weights};
use polariscope_random::Stream;
use polariscope_train::{BatchSize, Config, Evaluator, Length, Quiet, State, TrainError, Trainer};

use super::pose::Pose;
use crate::SymmetryExperimentsError;
use crate::samples::samples;

/// Adam's rate at the first step, falling to 0, and samples an update: few samples should still make hundreds of updates.
const RATE: f64 = 3e-3;
const BATCH: usize = 32;
/// Samples on which a symmetry is looked for.
const PROBES: usize = 4;
/// Outputs that differ by less, compared with their size, differ by rounding.
const ROUNDING: f64 = 1e-10;

/// Trains network `run` by Adam and gives its accuracies on `tests`; `None` where training diverges.
pub(super) fn accuracies(
    graph: &Graph,
    (place, epochs): (Place, u64),
    (seed, run): (u64, u64),
    train: &Split,
    tests: &[Split],
) -> Result<Option<Vec<f64>>, SymmetryExperimentsError> {
    let batches = Stream::new(seed, run, "poses.batches").cursor().next_u64();
    let config = Config {
        learning_rate: RATE,
        batch_size: BatchSize::Of(BATCH),
        length: Length::Epochs(epochs),
        row_every: u64::MAX,
        init_seed: seed,
        batch_seed: batches,
        ..Config::adam()
    };
    let state = State::<f32>::new(graph, &config, run);
    let mut trainer = Trainer::on(place, graph, &config, (samples(train), None), state)?;
    match trainer.run(&mut Quiet) {
        Err(TrainError::Diverged(_)) => return Ok(None),
        other => other?,
    };
    let weights = trainer.into_state().weights;
    let evaluator = Evaluator::on(place.device, graph, config.loss);
    let accuracy = |test: &Split| {
        let metrics = evaluator.evaluate(&weights, &samples(test), &[])?;
        Ok(metrics.accuracy.unwrap_or(f64::NAN))
    };
    tests
        .iter()
        .map(accuracy)
        .collect::<Result<_, _>>()
        .map(Some)
}

/// Whether outputs with random weights do not change, but for rounding, under any element of a pose's group.
pub(super) fn built_in(
    graph: &Graph,
    shape: Shape,
    pose: Pose,
    seed: u64,
) -> Result<bool, SymmetryExperimentsError> {
    let mut x = vec![0.0; PROBES * shape.len()];
    Stream::new(seed, 0, "poses.probes").normal(1.0, &mut x);
    let network = Network::<f64>::on(graph.clone(), Device::Cpu);
    let weights = Weights::draw(graph, seed, 0);
    let outputs = |x: &[f32]| {
        let x: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
        network.output(&weights, &x)
    };
    let here = outputs(&x)?;
    let size = here.iter().fold(0.0, |size: f64, f| size.max(f.abs()));
    for element in pose.elements(shape)? {
        let there = outputs(&element.apply(shape, &x, seed)?)?;
        let pairs = here.iter().zip(&there);
        if pairs
            .into_iter()
            .any(|(a, b)| (a - b).abs() > ROUNDING * size)
        {
            return Ok(false);
        }
    }
    Ok(true)
}
