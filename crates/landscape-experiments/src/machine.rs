//! The networks of the jamming experiments: fully connected, orthogonal weights, one output, trained until every margin
//! is met.

use polariscope_data::{Labels, Split};
use polariscope_diff::Device;
use polariscope_graph::{Activation, Graph, Op, Parametrisation, Shape, ZooOptions, zoo};
use polariscope_landscape::LandscapeError;
use polariscope_landscape::dead::Dead;
use polariscope_landscape::descent::{Descent, Fitted, Seen, descend};
use polariscope_landscape::gaps::{Gaps, signs};
use polariscope_network::Weights;
use polariscope_train::{Control, Labels as Targets, Loss, Samples};

use crate::LandscapeExperimentsError;

/// A pattern this close to the margin counts as learnt: the last approach is exponential in time, and nothing happens in it.
pub(crate) const NEARLY: f64 = 1e-4;

/// A network of the zoo for two classes; its width where the name leaves it open.
pub(crate) fn machine(
    (name, width): (&str, Option<usize>),
    input: Shape,
    activation: Activation,
) -> Result<Graph, LandscapeExperimentsError> {
    let options = ZooOptions {
        width,
        input: Some(input),
        outputs: Some(1),
        activation: Some(activation.into()),
        parametrisation: Some(Parametrisation::Orthogonal),
        ..ZooOptions::default()
    };
    Ok(zoo(name, &options)?)
}

/// N: weights without biases, which is what is counted in the literature; and all parameters.
pub(crate) fn sizes(graph: &Graph) -> [usize; 2] {
    let biases = graph.nodes.iter().map(|node| match node.op {
        Op::Bias { bias, .. } => graph.param(bias).len(),
        _ => 0,
    });
    let parameters = graph.parameter_count();
    [parameters - biases.sum::<usize>(), parameters]
}

/// The quadratic hinge at a margin. The rate falls tenfold every `decay` steps, to a thousandth at least.
pub(crate) fn hinge(margin: f64, (rate, decay): (f64, Option<u64>), steps: u64) -> Descent {
    Descent {
        loss: Loss::Hinge { power: 2.0, margin },
        margin: margin - NEARLY,
        rate,
        decay_every: decay,
        floor: rate / 1000.0,
        max_steps: steps,
        ..Descent::default()
    }
}

/// Samples as training takes them.
pub(crate) fn samples(split: &Split) -> Samples<'_> {
    let y = match &split.y {
        Labels::Classes(y) => Targets::Classes(y),
        Labels::Targets { values, width } => Targets::Targets {
            values,
            width: *width,
        },
    };
    Samples { x: &split.x, y }
}

/// The end of a descent.
pub(crate) struct End {
    pub fitted: Fitted<f64>,
    /// What is not learnt, patterns whose signal died aside.
    pub alive: Gaps,
    /// Patterns not learnt whose signal died.
    pub frozen: usize,
    /// L over that after three quarters of the steps; 0 where it ended before.
    pub fall: f64,
}

/// Trains network `index` of a seed.
pub(crate) fn train(
    device: Device,
    graph: &Graph,
    descent: &Descent,
    (seed, index): (u64, u64),
    split: &Split,
    mut watch: impl FnMut(Seen<f64>) -> Control,
) -> Result<End, LandscapeError> {
    let (weights, samples) = (Weights::draw(graph, seed, index), samples(split));
    let late = descent.max_steps - descent.max_steps / 4;
    let mut then = f64::INFINITY;
    let fitted = descend(device, graph, descent, samples, weights, |seen| {
        // A GPU shows one step in many.
        if seen.step >= late && then.is_infinite() {
            then = seen.loss;
        }
        watch(seen)
    })?;
    let dead = Dead::of(device, graph, &fitted.weights, samples.x)?.patterns;
    let outputs = graph.output().len();
    let signs: Vec<f64> = signs(&samples, outputs);
    let lives = |i: &usize| dead.binary_search(&(i / outputs)).is_err();
    let kept: Vec<usize> = (0..signs.len()).filter(lives).collect();
    let of = |all: &[f64]| kept.iter().map(|&i| all[i]).collect::<Vec<f64>>();
    let alive = Gaps::of(descent.margin, outputs, &of(&fitted.outputs), &of(&signs));
    Ok(End {
        fall: fitted.loss / then,
        frozen: fitted.gaps.unsatisfied - alive.unsatisfied,
        alive,
        fitted,
    })
}
