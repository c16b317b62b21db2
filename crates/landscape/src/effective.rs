//! How many parameters a network has, by every convention.
//!
//! The effective number is the rank of what the parameters can do to the function to first order,
//!
//! ```text
//! N_eff = dim span { ∇_w f(x) } ∪ { ∂/∂xₙ ∇_w f(x) }
//! ```
//!
//! over samples x, coordinates n and outputs. Each unit of positively homogeneous activation between two linear maps can be
//! scaled up in one and down in the other, so that N_eff ≤ parameters − units; dead units and linear stretches lower it
//! further. The span is that of random combinations of these vectors, twice as many as there are parameters.

use std::sync::Arc;

use polariscope_diff::{Id, Program, Session, jvp, vjp};
use polariscope_graph::{Activation, ChannelWeights, Graph, NodeId, Op, ParamId, Role, Shape};
use polariscope_linalg::singular_values;
use polariscope_network::{Lowered, Mode, Weights, lower};
use polariscope_random::Stream;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::LandscapeError;

/// Most parameters whose rank is found: the time grows with the cube.
pub const LARGEST: usize = 3000;
/// Singular values below this share of the largest are 0.
const TOLERANCE: f64 = 1e-8;
/// Two singular values that lie this factor apart leave a gap.
const GAP: f64 = 100.0;

/// Parameters by convention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// All that are trained.
    pub all: usize,
    /// Matrices and kernels alone: no biases, no norms, no embeddings.
    pub weights: usize,
    /// Units that can be scaled up in one linear map and down in the next.
    pub scalable: usize,
}

impl Parameters {
    /// Of a network.
    pub fn of(graph: &Graph) -> Self {
        let trainable = |id: ParamId| graph.param(id).role == Role::Trainable;
        let mut weights: Vec<ParamId> = graph.nodes.iter().flat_map(|n| mixing(&n.op)).collect();
        weights.retain(|&id| trainable(id));
        weights.sort_by_key(|id| id.0);
        weights.dedup();
        Self {
            all: graph.parameter_count(),
            weights: weights.iter().map(|&id| graph.param(id).len()).sum(),
            scalable: scalable(graph),
        }
    }

    /// An upper bound on the effective number.
    pub fn bound(&self) -> usize {
        self.all - self.scalable
    }
}

/// The effective number of parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effective {
    /// The rank.
    pub rank: usize,
    /// Samples it was found on.
    pub samples: usize,
    /// The smallest singular value that counts and the largest that does not, over the largest of all.
    pub gap: (f64, f64),
    /// Parameters that change no output on any sample.
    pub idle: usize,
    /// Layers with units whose incoming weights are all idle, and how many.
    pub dead: Vec<(String, usize)>,
}

impl Effective {
    /// Whether singular values that count are far from those that do not: else the rank depends on the tolerance.
    pub fn is_clear(&self) -> bool {
        self.gap.1 == 0.0 || self.gap.0 / self.gap.1 >= GAP
    }
}

/// The rank at `weights` on `x`, samples in a row. Refuses networks of more than [`LARGEST`] parameters, and samples that
/// are too few to span what the parameters can do.
pub fn effective(
    graph: &Graph,
    weights: &Weights<f64>,
    x: &[f64],
    seed: u64,
) -> Result<Effective, LandscapeError> {
    let parameters = graph.parameter_count();
    let (sample, outputs) = (graph.input().len(), graph.output().len());
    let samples = x.len() / sample;
    if parameters > LARGEST {
        return Err(LandscapeError::Question(format!(
            "the rank of {parameters} parameters takes too long; {LARGEST} are the most"
        )));
    }
    if samples * (sample + 1) * outputs < 2 * parameters {
        return Err(LandscapeError::Question(format!(
            "{samples} samples of {sample} numbers cannot tell how many of {parameters} parameters are effective; give {}",
            (2 * parameters).div_ceil((sample + 1) * outputs)
        )));
    }
    // Each evaluation is a row of gradients and a row of their derivatives.
    let evaluations = parameters.max(samples.min(2 * parameters));
    let program = Arc::new(compile(graph));
    let part = |chunk: &[usize]| {
        let mut session = Session::new(program.clone());
        let mut rows = Vec::with_capacity(chunk.len() * 2 * parameters);
        for &i in chunk {
            let mut random = vec![0.0f32; outputs + sample];
            Stream::new(seed, i as u64, "effective").normal(1.0, &mut random);
            let random: Vec<f64> = random.into_iter().map(f64::from).collect();
            let x = &x[i % samples * sample..][..sample];
            let leaves: Vec<&[f64]> = std::iter::once(x)
                .chain(weights.values.iter().map(Vec::as_slice))
                .chain([&random[..outputs], &random[outputs..]])
                .collect();
            session.run(&leaves);
            (0..session.outputs()).for_each(|k| rows.extend_from_slice(session.output(k)));
        }
        rows
    };
    let all: Vec<usize> = (0..evaluations).collect();
    let rows: Vec<Vec<f64>> = all.par_chunks(64).map(part).collect();
    let rows = rows.concat();
    let idle: Vec<bool> = (0..parameters)
        .map(|k| rows.iter().skip(k).step_by(parameters).all(|x| *x == 0.0))
        .collect();
    let values = singular_values(&rows, parameters)?;
    let largest = values.first().copied().unwrap_or(0.0);
    let relative = |k: usize| match largest > 0.0 {
        true => values.get(k).copied().unwrap_or(0.0) / largest,
        false => 0.0,
    };
    let rank = (0..values.len())
        .take_while(|&k| relative(k) > TOLERANCE)
        .count();
    Ok(Effective {
        rank,
        samples: samples.min(evaluations),
        gap: (relative(rank.saturating_sub(1)), relative(rank)),
        idle: idle.iter().filter(|idle| **idle).count(),
        dead: dead(graph, &idle),
    })
}

/// Gradient of u·f in the parameters of one sample, and its derivative as the sample moves along v. Inputs: x, parameters,
/// u, v.
fn compile(graph: &Graph) -> Program {
    let Lowered {
        trace: mut t,
        x,
        params,
        output,
        ..
    } = lower(graph, 1, Mode::Evaluate);
    let trainable: Vec<Id> = graph.trainable().map(|i| params[i]).collect();
    let (shape, sample) = (t.shape(output).to_vec(), t.shape(x).to_vec());
    let (u, v) = (t.leaf(&shape), t.leaf(&sample));
    let gradients = vjp(&mut t, &[(output, u)], &trainable);
    let moved = jvp(&mut t, &gradients, &[(x, v)]);
    Program::new(&t, &[gradients, moved].concat())
}

/// Layers with units whose incoming weights and bias are all idle.
fn dead(graph: &Graph, idle: &[bool]) -> Vec<(String, usize)> {
    let mut first = vec![None; graph.params.len()];
    let mut next = 0;
    for i in graph.trainable() {
        first[i] = Some(next);
        next += graph.params[i].len();
    }
    let of = |id: ParamId, unit: usize, units: usize| {
        let each = graph.param(id).len() / units;
        let start = first[id.0].map(|first| first + unit * each);
        start.is_some_and(|start| idle[start..start + each].iter().all(|x| *x))
    };
    let layer = |(i, node): (usize, &polariscope_graph::Node)| {
        let (Op::Dense { weight, .. } | Op::Conv { weight, .. }) = node.op else {
            return None;
        };
        let units = graph.param(weight).shape[0];
        let bias = graph.nodes.iter().find_map(|n| match n.op {
            Op::Bias { bias, .. } if n.inputs.contains(&NodeId(i)) => Some(bias),
            _ => None,
        });
        let gone = |unit: &usize| {
            of(weight, *unit, units) && bias.is_none_or(|bias| of(bias, *unit, units))
        };
        let count = (0..units).filter(gone).count();
        (count > 0).then(|| (node.layer.clone(), count))
    };
    graph.nodes.iter().enumerate().filter_map(layer).collect()
}

/// Weights of an op that mix channels.
fn mixing(op: &Op) -> Vec<ParamId> {
    match op.facts().weights {
        ChannelWeights::None => Vec::new(),
        ChannelWeights::Shared(id) | ChannelWeights::Own(id) => vec![id],
        ChannelWeights::Attention(both) => both.to_vec(),
    }
}

/// Units that can be scaled up in one linear map and down in those that follow.
fn scalable(graph: &Graph) -> usize {
    let n = graph.nodes.len();
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (i, node) in graph.nodes.iter().enumerate() {
        node.inputs
            .iter()
            .for_each(|input| readers[input.0].push(i));
    }
    // Whether all that reads a node divides a factor on one of its channels out again.
    let mut divides = vec![false; n];
    for i in (0..n).rev() {
        divides[i] = !readers[i].is_empty()
            && readers[i]
                .iter()
                .all(|&reader| match graph.nodes[reader].op {
                    Op::Dense { .. } | Op::Local { .. } | Op::GroupConv { .. } => true,
                    Op::Conv { groups, .. } => groups == 1,
                    Op::Activation(activation) => homogeneous(activation) && divides[reader],
                    Op::Scale { .. }
                    | Op::Dropout { .. }
                    | Op::GroupPool { .. }
                    | Op::MaxPool(_)
                    | Op::AvgPool(_)
                    | Op::GlobalAvgPool
                    | Op::Flatten
                    | Op::Concat => divides[reader],
                    Op::Input
                    | Op::Bias { .. }
                    | Op::Add
                    | Op::Gate
                    | Op::BatchNorm { .. }
                    | Op::LayerNorm { .. }
                    | Op::GroupNorm { .. }
                    | Op::RmsNorm { .. }
                    | Op::LayerScale { .. }
                    | Op::ToTokens
                    | Op::ToImage
                    | Op::ClassToken { .. }
                    | Op::Position { .. }
                    | Op::TakeToken { .. }
                    | Op::Attention { .. } => false,
                });
    }
    let units = |(i, node): (usize, &polariscope_graph::Node)| {
        // The last node of a linear map: its bias where it has one, whose map nothing else reads.
        let linear = |op: &Op| {
            matches!(
                op,
                Op::Dense { .. } | Op::Conv { .. } | Op::GroupConv { .. }
            )
        };
        let map = match node.op {
            Op::Bias { .. } => {
                let input = node.inputs[0].0;
                linear(&graph.nodes[input].op) && readers[input].len() == 1
            }
            Op::BatchNorm { .. } => true,
            _ => linear(&node.op),
        };
        match map && divides[i] {
            true => channels(node.shape),
            false => 0,
        }
    };
    graph.nodes.iter().enumerate().map(units).sum()
}

/// Whether φ(λu) = λφ(u) for λ > 0.
fn homogeneous(activation: Activation) -> bool {
    match activation {
        Activation::Identity
        | Activation::Relu
        | Activation::LeakyRelu { .. }
        | Activation::Abs => true,
        Activation::Gelu
        | Activation::Tanh
        | Activation::Erf
        | Activation::Sin
        | Activation::Sigmoid
        | Activation::Silu
        | Activation::HardSigmoid
        | Activation::HardSwish
        | Activation::Softplus { .. } => false,
    }
}

fn channels(shape: Shape) -> usize {
    match shape {
        Shape::Vector { features } => features,
        Shape::Signal { channels, .. } | Shape::Image { channels, .. } => channels,
        Shape::Tokens { width, .. } => width,
    }
}

#[cfg(test)]
mod tests {
    use polariscope_graph::{ZooOptions, zoo};

    use super::*;

    fn network(name: &str, input: &str, activation: Activation, outputs: usize) -> Graph {
        let options = ZooOptions {
            input: Some(input.parse().unwrap()),
            outputs: Some(outputs),
            activation: Some(activation.into()),
            ..ZooOptions::default()
        };
        zoo(name, &options).unwrap()
    }

    fn samples(n: usize, d: usize) -> Vec<f64> {
        let mut x = vec![0.0f32; n * d];
        Stream::new(5, 0, "x").normal(1.0, &mut x);
        x.into_iter().map(f64::from).collect()
    }

    /// Parameters − hidden units for relu, whatever the depth and the outputs, where no unit is always on or always off with
    /// another: so it is for these draws. Of others small networks lose more.
    #[test]
    fn relu_loses_a_parameter_a_hidden_unit() {
        for (name, outputs, hidden) in [("mlp-1x6", 1, 6), ("mlp-2x6", 1, 12), ("mlp-2x6", 3, 12)] {
            let graph = network(name, "5", Activation::Relu, outputs);
            let weights = Weights::draw(&graph, 4, 0);
            let found = effective(&graph, &weights, &samples(300, 5), 0).unwrap();
            let counts = Parameters::of(&graph);
            assert_eq!(counts.scalable, hidden, "{name}");
            assert_eq!(found.rank, counts.all - hidden, "{name}: {:?}", found.gap);
            assert!(found.is_clear() && found.dead.is_empty() && found.idle == 0);
        }
    }

    /// Whatever its width and depth, f is affine in x: d + 1 numbers an output.
    #[test]
    fn a_linear_network_has_as_many_as_an_affine_map() {
        let graph = network("mlp-2x8", "5", Activation::Identity, 1);
        let weights = Weights::draw(&graph, 1, 0);
        let found = effective(&graph, &weights, &samples(300, 5), 0).unwrap();
        assert_eq!(found.rank, 6);
        assert!(found.is_clear());
    }

    /// A unit that is off on every sample takes its weights, its bias and what it sends on with it.
    #[test]
    fn a_dead_unit_is_named_and_lowers_the_rank() {
        let graph = network("mlp-1x6", "5", Activation::Relu, 1);
        let mut weights = Weights::<f64>::draw(&graph, 1, 0);
        let bias = graph.params.iter().position(|p| p.shape == [6]).unwrap();
        weights.values[bias][2] = -100.0;
        let found = effective(&graph, &weights, &samples(300, 5), 0).unwrap();
        // 43 parameters less 5 scales, and 5 + 1 + 1 of the dead unit.
        assert_eq!((graph.parameter_count(), found.rank), (43, 43 - 5 - 7));
        assert_eq!(found.idle, 7);
        let layer = graph.params[bias].name.trim_end_matches(".bias");
        assert_eq!(found.dead, [(layer.to_string(), 1)]);
    }

    /// A unit that is on on every sample is affine: its bias is worth what the bias of the output is.
    #[test]
    fn a_unit_that_is_always_on_shares_its_bias() {
        let graph = network("mlp-1x6", "5", Activation::Relu, 1);
        let mut weights = Weights::<f64>::draw(&graph, 1, 0);
        let bias = graph.params.iter().position(|p| p.shape == [6]).unwrap();
        weights.values[bias][2] = 100.0;
        let found = effective(&graph, &weights, &samples(300, 5), 0).unwrap();
        assert_eq!((found.rank, found.idle), (43 - 6 - 1, 0));
    }

    /// tanh has no symmetry that is continuous: all parameters.
    #[test]
    fn smooth_networks_keep_all() {
        let graph = network("mlp-1x4", "3", Activation::Tanh, 1);
        let weights = Weights::draw(&graph, 1, 0);
        let found = effective(&graph, &weights, &samples(200, 3), 0).unwrap();
        assert_eq!((found.rank, Parameters::of(&graph).scalable), (21, 0));
    }

    #[test]
    fn the_conventions_differ() {
        // 5·6 + 6·6 + 6 weights, 13 biases.
        let counts = Parameters::of(&network("mlp-2x6", "5", Activation::Relu, 1));
        assert_eq!((counts.all, counts.weights, counts.bound()), (85, 72, 73));
        // Channels of both convolutions and units of both dense layers scale.
        let lenet = Parameters::of(&network("lenet", "1x28x28", Activation::Relu, 10));
        assert_eq!(lenet.scalable, 6 + 16 + 120 + 84);
        // A residual stream is a sum: only the inner half of each block scales.
        let resnet = zoo("resnet18", &ZooOptions::default()).unwrap();
        let inner: usize = [64, 128, 256, 512].iter().map(|c| 2 * c).sum();
        let found = scalable(&resnet);
        assert!(found == inner, "{found}");
    }

    #[test]
    fn what_cannot_be_told_is_refused() {
        let large = network("mlp-2x60", "30", Activation::Relu, 1);
        let weights = Weights::draw(&large, 1, 0);
        let refused = effective(&large, &weights, &samples(10, 30), 0).unwrap_err();
        assert!(
            refused.to_string().contains("3000 are the most"),
            "{refused}"
        );
        let graph = network("mlp-1x6", "5", Activation::Relu, 1);
        let weights = Weights::draw(&graph, 1, 0);
        let refused = effective(&graph, &weights, &samples(3, 5), 0).unwrap_err();
        assert!(refused.to_string().contains("give 15"), "{refused}");
    }
}
