//! How each kind of network is trained.

use polariscope_graph::{Graph, Op, Shape};
use polariscope_train::{Augment, BatchSize, Config, Length, Optimiser, Schedule};

/// Epochs on as many samples as CIFAR-10 has.
const EPOCHS: f64 = 30.0;
const ALL: f64 = 50_000.0;

/// Epochs on P samples: twice as many for a tenth of the samples.
fn epochs(p: usize) -> u64 {
    (EPOCHS * (ALL / p as f64).powf(2f64.log10()))
        .round()
        .max(1.0) as u64
}

/// Samples that a training passes.
pub(super) fn passes(p: usize) -> f64 {
    epochs(p) as f64 * p as f64
}

/// Cross-entropy, batches of 128, crops, mirror images of photographs. As in the source where it says: Adam at 0.1 for fully connected
/// networks, else SGD with momentum 0.9, weight decay 5e-4 and a cosine schedule, at 0.1 with batch norm. Networks without any norm
/// diverge there and take 0.02; those with layer norm take Adam at 0.001.
pub(super) fn recipe(name: &str, graph: &Graph, p: usize, seed: u64) -> Config {
    let has = |is: fn(&Op) -> bool| graph.nodes.iter().any(|n| is(&n.op));
    let sgd = Optimiser::Sgd {
        momentum: 0.9,
        weight_decay: 5e-4,
    };
    let (optimiser, learning_rate, schedule) = if name.starts_with("fc-") {
        (Optimiser::ADAM, 0.1, Schedule::Constant)
    } else if has(|op| matches!(op, Op::BatchNorm { .. })) {
        (sgd, 0.1, Schedule::Cosine)
    } else if has(|op| matches!(op, Op::LayerNorm { .. })) {
        (Optimiser::ADAM, 1e-3, Schedule::Cosine)
    } else {
        (sgd, 0.02, Schedule::Cosine)
    };
    let photographs = matches!(graph.input(), Shape::Image { channels: 3, .. });
    Config {
        optimiser,
        learning_rate,
        schedule,
        batch_size: BatchSize::Of(128),
        length: Length::Epochs(epochs(p)),
        row_every: u64::MAX,
        init_seed: seed,
        batch_seed: seed,
        augment: Augment {
            crop: 4,
            flip: photographs,
        },
        ..Config::default()
    }
}
