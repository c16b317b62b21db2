//! One trained network.

use polariscope_data::{Labels, Split};
use polariscope_diff::Place;
use polariscope_graph::{Graph, Op};
use polariscope_network::Weights;
use polariscope_random::Stream;
use polariscope_train::{
    BatchSize, Config, Evaluator, Labels as Targets, Length, Loss, Observer, Optimiser, Quiet, Row,
    Samples, Schedule, State, TrainError, Trainer,
};

use crate::{GeometryExperimentsError, Lab};

/// Plain SGD on D(v): a rate of 0.5 falling to 0, batches of 128, gradients clipped to a norm of 0.5 (the clip stands in
/// the authors' public code, not in the paper).
pub(crate) fn plain(epochs: u64) -> Config {
    Config {
        clip: Some(0.5),
        ..sgd(0.5, 0.0, 0.0, epochs)
    }
}

/// SGD in batches of 128 with a rate that falls to 0.
pub(crate) fn sgd(learning_rate: f64, momentum: f64, weight_decay: f64, epochs: u64) -> Config {
    Config {
        loss: Loss::CrossEntropy,
        optimiser: Optimiser::Sgd {
            momentum,
            weight_decay,
        },
        learning_rate,
        schedule: Schedule::LinearDecay,
        batch_size: BatchSize::Of(128),
        length: Length::Epochs(epochs),
        row_every: u64::MAX,
        ..Config::default()
    }
}

/// SGD on CIFAR-10: batches of 128, or of 32 at the small scale, where there would be few updates else.
pub(crate) fn cifar(lab: &Lab, (learning_rate, weight_decay): (f64, f64), epochs: u64) -> Config {
    Config {
        batch_size: BatchSize::Of(lab.pick(32, 128)),
        ..sgd(learning_rate, 0.9, weight_decay, epochs)
    }
}

/// The rate at which the NAD paper trains ResNet-18 on CIFAR-10, less in small batches; a tenth of it for networks without
/// normalisation, which it throws back to chance in some runs.
pub(crate) fn rate(lab: &Lab, graph: &Graph) -> f64 {
    let mut ops = graph.nodes.iter().map(|node| &node.op);
    match ops.any(|op| matches!(op, Op::BatchNorm { .. })) {
        true => lab.pick(0.05, 0.21),
        false => 0.02,
    }
}

/// A network that has learnt.
pub(crate) struct Learnt {
    graph: Graph,
    place: Place,
    /// Its weights.
    pub weights: Weights<f32>,
    /// Epoch by epoch where asked for, else the last row alone.
    pub history: Vec<Row>,
}

impl Learnt {
    fn evaluator(&self) -> Evaluator<f32> {
        Evaluator::on(self.place.device, &self.graph, Loss::CrossEntropy)
    }

    /// The class of every sample.
    pub fn classes(&self, split: &Split) -> Result<Vec<u32>, GeometryExperimentsError> {
        let outputs = self.graph.output().len();
        let evaluator = self.evaluator();
        let f = evaluator.outputs(&self.weights, &split.x)?;
        let class = |f: &[f32]| match f {
            [f] => u32::from(*f > 0.0),
            _ => {
                let best = (0..f.len()).max_by(|&a, &b| f[a].total_cmp(&f[b]));
                best.unwrap_or(0) as u32
            }
        };
        Ok(f.chunks_exact(outputs).map(class).collect())
    }

    /// Accuracy on samples.
    pub fn accuracy(&self, split: &Split) -> Result<f64, GeometryExperimentsError> {
        let metrics = self
            .evaluator()
            .evaluate(&self.weights, &samples(split), &[])?;
        Ok(metrics.accuracy.unwrap_or(f64::NAN))
    }
}

/// Trains network `run`; its weights and its batches come from (seed of the lab, run). `None` where training diverges.
pub(crate) fn learn(
    lab: &Lab,
    graph: &Graph,
    config: Config,
    run: u64,
    train: &Split,
) -> Result<Option<Learnt>, GeometryExperimentsError> {
    learn_watched(lab, graph, config, run, train, &mut Quiet)
}

/// [`learn`] with somebody who looks on.
pub(crate) fn learn_watched(
    lab: &Lab,
    graph: &Graph,
    mut config: Config,
    run: u64,
    train: &Split,
    observer: &mut dyn Observer<f32>,
) -> Result<Option<Learnt>, GeometryExperimentsError> {
    config.init_seed = lab.seed;
    config.batch_seed = Stream::new(lab.seed, run, "trial.batches")
        .cursor()
        .next_u64();
    let state = State::<f32>::new(graph, &config, run);
    let sets = (samples(train), None);
    let mut trainer = Trainer::on(lab.place, graph, &config, sets, state)?;
    match trainer.run(observer) {
        Err(TrainError::Diverged(_)) => return Ok(None),
        other => other?,
    };
    let state = trainer.into_state();
    Ok(Some(Learnt {
        graph: graph.clone(),
        place: lab.place,
        weights: state.weights,
        history: state.history,
    }))
}

/// A split as training takes it.
pub(crate) fn samples(split: &Split) -> Samples<'_> {
    Samples {
        x: &split.x,
        y: match &split.y {
            Labels::Classes(y) => Targets::Classes(y),
            Labels::Targets { values, width } => Targets::Targets {
                values,
                width: *width,
            },
        },
    }
}

/// Classes of a split; none where it has real targets.
pub(crate) fn classes(split: &Split) -> &[u32] {
    match &split.y {
        Labels::Classes(y) => y,
        Labels::Targets { .. } => &[],
    }
}
