//! What the experiments on regimes share: networks between lazy and feature learning, and how they are trained.
//!
//! Fully connected networks of width h under the NTK parametrisation, F = α (f − f₀), gradient flow on the
//! soft hinge until y F > 1 for every training sample. The control parameter is α̃ = √h α: features are learnt where it is
//! small, the tangent kernel stands still where it is large.

use polariscope_data::{Dataset, Labels};
use polariscope_diff::Device;
use polariscope_experiment::{Claim, Memo, Outcome, Select, Table, Test, shown};
use polariscope_graph::{Activation, Graph, Nonlinearity, Parametrisation, ZooOptions, zoo};
use polariscope_landscape::{Flowed, LandscapeError, flow};
use polariscope_network::Weights;
use polariscope_report::Axis;
use polariscope_stats::{Estimate, student_quantile};
use polariscope_train::{
    Control, Flow, FlowConfig, Origin, Problem, Samples, StopReason, TrainError,
};

use crate::{Lab, LandscapeExperimentsError};

/// How α̃ is called on axes.
pub(crate) fn control() -> Axis {
    Axis::log("α̃ = √h α")
}

/// `depth` hidden layers of `width` normalised softplus units and one output.
pub(crate) fn network(
    data: &Dataset,
    depth: usize,
    width: usize,
) -> Result<Graph, LandscapeExperimentsError> {
    built(data, (depth, width), 0.0)
}

/// The same with biases, drawn from N(0, 1).
pub(crate) fn biased(
    data: &Dataset,
    depth: usize,
    width: usize,
) -> Result<Graph, LandscapeExperimentsError> {
    built(data, (depth, width), 1.0)
}

fn built(
    data: &Dataset,
    (depth, width): (usize, usize),
    b_std: f64,
) -> Result<Graph, LandscapeExperimentsError> {
    let options = ZooOptions {
        outputs: Some(1),
        activation: Some(Nonlinearity::Normalised {
            normalised: Activation::Softplus { beta: 5.0 },
        }),
        parametrisation: Some(Parametrisation::Ntk { w_std: 1.0, b_std }),
        depth: Some(depth),
        width: Some(width),
        ..ZooOptions::with_input(data.shape)
    };
    Ok(zoo("fcn", &options)?)
}

/// Gradient flow at α̃.
pub(crate) fn regime(control: f64, width: usize) -> FlowConfig {
    FlowConfig {
        alpha: control / (width as f64).sqrt(),
        origin: Origin::Initial,
        ..FlowConfig::default()
    }
}

/// Trains network `run` of the lab; `None` where the flow stalls before it ends.
pub(crate) fn train(
    lab: &Lab,
    graph: &Graph,
    config: &FlowConfig,
    sets: (Samples<'_>, Samples<'_>),
    run: u64,
) -> Result<Option<Flowed<f64>>, LandscapeExperimentsError> {
    let weights = Weights::draw(graph, lab.seed, run);
    let watch = |_: &Flow<'_, f64>| Control::Continue;
    match flow(Device::Cpu, graph, config, sets, weights, watch) {
        Ok(net) => Ok(Some(net)),
        Err(LandscapeError::Train(TrainError::Stalled { .. })) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// The network, if every training sample ended beyond the margin.
pub(crate) fn fitted(net: Option<Flowed<f64>>) -> Option<Flowed<f64>> {
    net.filter(|net| net.stop == StopReason::Margin)
}

/// Share of samples whose class the sign of F does not give.
pub(crate) fn error(f: &[f64], classes: &[u32]) -> f64 {
    let wrong = f
        .iter()
        .zip(classes)
        .filter(|(f, class)| u32::from(**f > 0.0) != **class);
    wrong.count() as f64 / classes.len().max(1) as f64
}

/// A specification of data without its path.
pub(crate) fn called(data: &str) -> String {
    let (head, parameters) = match data.split_once('?') {
        Some((head, parameters)) => (head, format!("?{parameters}")),
        None => (data, String::new()),
    };
    head.split(':').next().unwrap_or(head).to_string() + &parameters
}

/// Two classes to learn, made once.
#[derive(Debug, Default)]
pub(crate) struct Task(Memo<(), Dataset>);

impl Task {
    /// The samples of the lab: two classes, with a test set.
    pub fn data(&self, lab: &Lab) -> Result<std::sync::Arc<Dataset>, LandscapeExperimentsError> {
        self.0.get((), || binary(lab.samples()?))
    }
}

/// Refuses what has not two classes and a test set.
pub(crate) fn binary(data: Dataset) -> Result<Dataset, LandscapeExperimentsError> {
    let wrong = |what: &str| {
        Err(LandscapeExperimentsError::Question(format!(
            "‹data {}› {what}; two classes and a test set would do, as in stripe?shape=10&train=100",
            data.name
        )))
    };
    match (data.classes, data.test.is_empty()) {
        (2, false) => Ok(data),
        (2, true) => wrong("has no test samples"),
        (0, _) => wrong("has targets, not classes"),
        (classes, _) => wrong(&format!("has {classes} classes")),
    }
}

/// Both sets as samples, with the classes of the test set.
pub(crate) fn sets(problem: &Problem) -> (Samples<'_>, Samples<'_>, &[u32]) {
    let train = problem.train();
    let test = problem.test().unwrap_or(train);
    let classes = match &problem.data.test.y {
        Labels::Classes(y) => y.as_slice(),
        Labels::Targets { .. } => &[],
    };
    (train, test, classes)
}

/// The first samples of a set.
pub(crate) fn first(samples: Samples<'_>, inputs: usize, count: usize) -> Samples<'_> {
    let count = count.min(samples.len());
    let y = match samples.y {
        polariscope_train::Labels::Classes(y) => polariscope_train::Labels::Classes(&y[..count]),
        targets => targets,
    };
    Samples {
        x: &samples.x[..count * inputs],
        y,
    }
}

/// Which regime has the lower test error where the interval of 95 % says so, with the statistic: `lazy` and `feature` are
/// conditions and what they are called, `who` says of which networks.
pub(crate) fn winner(
    table: &Table,
    who: &str,
    lazy: (&Select, &str),
    feature: (&Select, &str),
) -> Option<String> {
    let claim = Claim::new(
        "",
        Test::Above {
            measure: "error",
            upper: lazy.0.clone(),
            lower: feature.0.clone(),
        },
    );
    let judged = claim.judge(table);
    let mean = judged.statistic?;
    let error = 100.0 * mean.standard_error?;
    let difference = Estimate {
        value: 100.0 * mean.value,
        standard_error: error,
        samples: mean.runs as u64,
    };
    let wins = match judged.outcome {
        Outcome::Holds => "feature learning generalises better",
        Outcome::Fails => "lazy training generalises better",
        Outcome::Undecided => "which regime generalises better cannot be told",
    };
    let side = |of: &Select| shown(table.mean(of, "error"), 0.01);
    let half = student_quantile(0.975, mean.runs as f64 - 1.0) * error;
    Some(format!(
        "{who} {wins}: the test error is {} % {} and {} % {}; lazy less feature {} points over {} runs, with an interval of 95 % of ± {half:.1}.",
        side(feature.0),
        feature.1,
        side(lazy.0),
        lazy.1,
        difference.pair(),
        mean.runs,
    ))
}

/// Networks that are left out because they do not fit, in words.
pub(crate) fn left_out(table: &Table) -> Option<String> {
    let fitted = table.values(&Select::default(), "fitted");
    let not = fitted.iter().filter(|(_, y)| *y < 1.0).count();
    (not > 0).then(|| {
        format!(
            "{not} of {} networks did not bring every training sample beyond the margin within the steps allowed; nothing else is said of them.",
            fitted.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths are not shown; a sign counts as the class that it stands for, 0 as class 0.
    #[test]
    fn names_and_errors() {
        assert_eq!(called("stripe?shape=3"), "stripe?shape=3");
        assert_eq!(
            called("mnist-parity:some/where?pca=10"),
            "mnist-parity?pca=10"
        );
        assert_eq!(called("cifar10:C"), "cifar10");
        assert_eq!(error(&[0.5, -2.0, 0.0, 3.0], &[1, 1, 0, 0]), 0.5);
    }
}
