//! Slopes along a skip.
//!
//! Where ψ reads s = gφ(u) + b, b without φ(u), the gradient that returns by the skip meets ψ'(s) and φ'(u), and the
//! two go together: a relu that is on stays on where b is small. With b Gaussian and independent of u, at every
//! position
//!
//! κ = E[φ'(u)²ψ'(s)²] / (E[φ'(u)²] E[ψ'(s)²]),
//!
//! and what the sum sends down the skip is multiplied by √(κκ') for a pair of positions. Along several skips every
//! step has its κ, as in a Markov chain.
//!
//! Between two inputs what is wanted is E[φ'ψ'φ'ψ'] of all four, which is E[φ'φ'] times ψ'ψ' where both φ' are on
//! ([`Skip`]).
//!
//! Kinked φ and ψ have κ in closed form: s is linear in u on either side of the kink, so that E[φ'²ψ'²] is a sum
//! of four quadrant probabilities. For smooth ones it is a trapezoid sum over u and b.

use polariscope_graph::{Activation, Graph, NodeId, Op};
use rayon::prelude::*;

use crate::Refusal;
use crate::blocks::{Block, Blocks};
use crate::dual::Shifted;
use crate::dual::normal::{Threshold, density, quadrant};
use crate::dual::point::at;
use crate::laws::batch_norm_gain;
use crate::linear::is_identity;
use crate::matrix::Matrix;

/// An activation that reads another through a sum, with no weight between.
pub(crate) struct Chain {
    /// The node of φ.
    pub first: usize,
    /// The node of ψ.
    pub second: usize,
    /// The sum.
    pub sum: usize,
    /// The place of the skip among its inputs.
    pub side: usize,
    /// g.
    pub gain: f64,
}

/// All chains of a graph in which nothing but ψ reads the sum; `readers` counts those that lead to the output.
pub(crate) fn chains(graph: &Graph, readers: &[usize]) -> Result<Vec<Chain>, Refusal> {
    let mut found = Vec::new();
    for (second, node) in graph.nodes.iter().enumerate() {
        let (Some(activation), [input]) = (bends(&node.op), &node.inputs[..]) else {
            continue;
        };
        let (sum, below) = origin(graph, *input, |i| readers[i] == 1)?;
        if graph.nodes[sum].op != Op::Add || readers[sum] != 1 {
            continue;
        }
        for (side, input) in graph.nodes[sum].inputs.iter().enumerate() {
            let (first, above) = origin(graph, *input, |_| true)?;
            let other = bends(&graph.nodes[first].op);
            if other.is_some_and(|other| sides(other).is_some() == sides(activation).is_some()) {
                found.push(Chain {
                    first,
                    second,
                    sum,
                    side,
                    gain: above * below,
                });
            }
        }
    }
    Ok(found)
}

/// The nonlinear activation of an op.
fn bends(op: &Op) -> Option<Activation> {
    match op {
        Op::Activation(activation) if !is_identity(*activation) => Some(*activation),
        _ => None,
    }
}

/// Where a value comes from, up to a factor and a bias, through nodes that pass.
fn origin(
    graph: &Graph,
    NodeId(mut node): NodeId,
    passes: impl Fn(usize) -> bool,
) -> Result<(usize, f64), Refusal> {
    let mut gain = 1.0;
    while passes(node) {
        gain *= match &graph.nodes[node].op {
            Op::Scale { by } => *by,
            Op::BatchNorm {
                weight,
                running_var,
                eps,
                ..
            } => batch_norm_gain(graph, *weight, *running_var, *eps)?.factor,
            Op::Activation(activation) if is_identity(*activation) => 1.0,
            Op::Bias { .. } | Op::Dropout { .. } | Op::Flatten => 1.0,
            Op::Input
            | Op::Activation(_)
            | Op::Dense { .. }
            | Op::Conv { .. }
            | Op::Local { .. }
            | Op::MaxPool(_)
            | Op::AvgPool(_)
            | Op::GlobalAvgPool
            | Op::Add
            | Op::Concat
            | Op::LayerNorm { .. }
            | Op::GroupNorm { .. }
            | Op::RmsNorm { .. }
            | Op::ToTokens
            | Op::ClassToken { .. }
            | Op::Position { .. }
            | Op::TakeToken { .. }
            | Op::Attention { .. } => break,
        };
        node = graph.nodes[node].inputs[0].0;
    }
    Ok((node, gain))
}

/// What an activation reads, position by position.
pub(crate) struct Arguments {
    activation: Activation,
    parts: Vec<Part>,
}

/// Channels of one law.
pub(crate) struct Part {
    pub channels: usize,
    grid: [usize; 2],
    pub laws: Vec<Law>,
}

/// A Gaussian and what the activation makes of it.
#[derive(Clone, Copy)]
pub(crate) struct Law {
    pub mean: f64,
    pub variance: f64,
    /// E[φ].
    pub value: f64,
    /// Var φ.
    spread: f64,
    /// E[φ'].
    slope: f64,
    /// E[φ'²].
    square_slope: f64,
}

impl Law {
    /// E[φ'^p].
    fn slopes(&self, power: Power) -> f64 {
        match power {
            Power::One => self.slope,
            Power::Two => self.square_slope,
        }
    }
}

/// Slopes once, between two inputs, or squared, at one.
#[derive(Clone, Copy)]
enum Power {
    One,
    Two,
}

impl Power {
    fn of(self, slope: f64) -> f64 {
        match self {
            Power::One => slope,
            Power::Two => slope * slope,
        }
    }
}

/// A skip at one input.
pub(crate) struct Skip {
    pub channels: usize,
    /// By position.
    pub steps: Vec<Step>,
}

/// A skip at one position.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    /// E[φ'ψ'] / E[φ'].
    once: f64,
    /// √(E[φ'²ψ'²] / E[φ'²]).
    twice: f64,
    /// E[ψ'].
    slope: f64,
    /// The deviation of ψ'.
    deviation: f64,
}

impl Step {
    /// The factor for this position and one of another input, given E[ψ'ψ'] of the two. Where both φ' are on, ψ' of
    /// the two are independent, or the same, or in between by their correlation.
    pub fn with(&self, other: &Step, slopes: f64) -> f64 {
        let scale = self.deviation * other.deviation;
        let correlation = match scale > 0.0 {
            true => ((slopes - self.slope * other.slope) / scale).clamp(0.0, 1.0),
            false => 0.0,
        };
        let together =
            (1.0 - correlation) * self.once * other.once + correlation * self.twice * other.twice;
        // A ψ that is off at all inputs sends nothing back, whatever the factor.
        match slopes.abs() > f64::MIN_POSITIVE {
            true => together / slopes,
            false => 1.0,
        }
    }
}

impl Arguments {
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    pub fn new(activation: Activation, blocks: &Blocks) -> Self {
        let part = |block: &Block| {
            let variances = block.variances();
            let zero = || vec![0.0; variances.len()].into();
            let means = block.mean.clone().unwrap_or_else(zero);
            let laws = Shifted::new(activation, &means, &variances);
            let law = |p: usize| {
                let (value, own) = (laws.value(p), laws.dual(p, p, variances[p].max(0.0)));
                Law {
                    mean: means[p],
                    variance: variances[p].max(0.0),
                    value,
                    spread: own.value - value * value,
                    slope: laws.slope(p),
                    square_slope: own.slope,
                }
            };
            Part {
                channels: block.channels,
                grid: block.matrix.grid(),
                laws: (0..variances.len()).map(law).collect(),
            }
        };
        Arguments {
            activation,
            parts: blocks.iter().map(part).collect(),
        }
    }

    /// √(κκ') for this activation after `first`.
    pub fn after(&self, first: &Arguments, gain: f64) -> Blocks {
        let mut factors = Blocks::default();
        for (channels, before, second) in first.beside(self) {
            let pairs = before.laws.par_iter().zip(&second.laws);
            let root = |(u, s)| {
                let kappa = kappa(
                    (first.activation, u),
                    (self.activation, s),
                    gain,
                    Power::Two,
                );
                kappa.sqrt()
            };
            let roots: Vec<f64> = pairs.map(root).collect();
            factors.push(Block::new(
                channels,
                1.0,
                Matrix::outer(second.grid, &roots),
            ));
        }
        factors
    }

    /// This activation after `first`, for pairs of inputs.
    pub fn skip(&self, first: &Arguments, gain: f64) -> Vec<Skip> {
        let part = |(channels, before, second): (usize, &Part, &Part)| {
            let pairs = before.laws.par_iter().zip(&second.laws);
            let step = |(u, s): (&Law, &Law)| {
                let given = |power: Power| {
                    let kappa = kappa((first.activation, u), (self.activation, s), gain, power);
                    kappa * s.slopes(power)
                };
                Step {
                    once: given(Power::One),
                    twice: given(Power::Two).max(0.0).sqrt(),
                    slope: s.slope,
                    deviation: (s.square_slope - s.slope * s.slope).max(0.0).sqrt(),
                }
            };
            Skip {
                channels,
                steps: pairs.map(step).collect(),
            }
        };
        first.beside(self).into_iter().map(part).collect()
    }

    /// Parts of both over the same channels.
    fn beside<'a>(&'a self, other: &'a Arguments) -> Vec<(usize, &'a Part, &'a Part)> {
        cut(&self.parts, &other.parts, |p| p.channels, |p| p.channels)
    }
}

/// Cuts two lists at the same channels.
pub(crate) fn cut<'a, A, B>(
    ours: &'a [A],
    theirs: &'a [B],
    of_ours: impl Fn(&A) -> usize,
    of_theirs: impl Fn(&B) -> usize,
) -> Vec<(usize, &'a A, &'a B)> {
    let mut parts = Vec::new();
    let (mut i, mut j, mut used, mut used_there) = (0, 0, 0, 0);
    while let (Some(a), Some(b)) = (ours.get(i), theirs.get(j)) {
        let channels = (of_ours(a) - used).min(of_theirs(b) - used_there);
        parts.push((channels, a, b));
        (used, used_there) = (used + channels, used_there + channels);
        if used == of_ours(a) {
            (i, used) = (i + 1, 0);
        }
        if used_there == of_theirs(b) {
            (j, used_there) = (j + 1, 0);
        }
    }
    parts
}

/// κ at one position; that of slopes once for [`Power::One`].
fn kappa(
    (phi, u): (Activation, &Law),
    (psi, s): (Activation, &Law),
    gain: f64,
    power: Power,
) -> f64 {
    let apart = u.slopes(power) * s.slopes(power);
    // What the sum holds besides gφ(u).
    let (mean, variance) = (
        s.mean - gain * u.value,
        (s.variance - gain * gain * u.spread).max(0.0),
    );
    if apart <= 0.0 || u.variance <= 0.0 {
        return 1.0;
    }
    let together = match (sides(phi), sides(psi)) {
        (Some(phi), Some(psi)) => kinked(phi, psi, u, (gain, mean, variance), power),
        _ => smooth(phi, psi, u, (gain, mean, variance), power),
    };
    together / apart
}

/// Slopes below and above the kink.
fn sides(activation: Activation) -> Option<[f64; 2]> {
    match activation {
        Activation::Relu => Some([0.0, 1.0]),
        Activation::LeakyRelu { slope } => Some([slope, 1.0]),
        Activation::Abs => Some([-1.0, 1.0]),
        Activation::Identity
        | Activation::Gelu
        | Activation::Tanh
        | Activation::Erf
        | Activation::Sin
        | Activation::Sigmoid
        | Activation::Silu
        | Activation::Softplus { .. } => None,
    }
}

/// E[φ'²ψ'²] = Σ over the sides of u of φ'² (ψ'₋² P(side) + (ψ'₊² − ψ'₋²) P(side, s > 0)), or without the squares;
/// s = gφ(u) + b, b of a mean and a variance.
fn kinked(
    phi: [f64; 2],
    psi: [f64; 2],
    u: &Law,
    (gain, mean, variance): (f64, f64, f64),
    power: Power,
) -> f64 {
    let [below, above] = psi.map(|slope| power.of(slope));
    let deviation = u.variance.sqrt();
    let side = |sign: f64, slope: f64| {
        // s on this side, from |u| = sign·u.
        let along = sign * gain * slope * deviation;
        let total = (along * along + variance).sqrt();
        let here = Threshold::new(sign * u.mean / deviation);
        let center = mean + gain * slope * u.mean;
        let on = match total > 0.0 {
            true => {
                let there = Threshold::new(center / total);
                quadrant(&here, &there, along / total, variance.sqrt() / total).probability
            }
            false if center > 0.0 => here.distribution,
            false => 0.0,
        };
        power.of(slope) * (below * here.distribution + (above - below) * on)
    };
    side(-1.0, phi[0]) + side(1.0, phi[1])
}

/// E[φ'²ψ'²], or without the squares, by a trapezoid rule.
fn smooth(
    phi: Activation,
    psi: Activation,
    u: &Law,
    (gain, mean, variance): (f64, f64, f64),
    power: Power,
) -> f64 {
    const STEP: f64 = 0.375;
    // To 8.25 deviations: what lies beyond is below 1e-15.
    let nodes = || (-22..=22).map(|i| f64::from(i) * STEP);
    let sum =
        |term: &dyn Fn(f64) -> f64| -> f64 { nodes().map(|z| STEP * density(z) * term(z)).sum() };
    let (deviation, rest) = (u.variance.sqrt(), variance.sqrt());
    sum(&|z| {
        let (value, slope) = at(phi, u.mean + deviation * z);
        let center = mean + gain * value;
        power.of(slope) * sum(&|y| power.of(at(psi, center + rest * y).1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dual::normal::distribution;

    fn law(mean: f64, variance: f64) -> Law {
        Law {
            mean,
            variance,
            value: 0.0,
            spread: 0.0,
            slope: 1.0,
            square_slope: 1.0,
        }
    }

    /// ∫ f over a normal by Simpson's rule between its breaks.
    fn average(mean: f64, variance: f64, breaks: &[f64], f: impl Fn(f64) -> f64) -> f64 {
        let deviation = variance.sqrt();
        let reach = 9.0 * deviation;
        let mut ends = vec![mean - reach];
        ends.extend(breaks);
        ends.push(mean + reach);
        let n = 600;
        let part = |from: f64, to: f64| {
            let step = (to - from) / f64::from(n);
            let at = |i: i32| {
                // Just inside: f may jump at a break.
                let u = from + step * f64::from(i).clamp(1e-9, f64::from(n) - 1e-9);
                f(u) * density((u - mean) / deviation) / deviation
            };
            let inner = |i: i32| if i % 2 == 1 { 4.0 } else { 2.0 };
            (at(0) + at(n) + (1..n).map(|i| inner(i) * at(i)).sum::<f64>()) * step / 3.0
        };
        ends.windows(2).map(|ends| part(ends[0], ends[1])).sum()
    }

    /// u and u + b on together: ¼ + asin(1/√(1 + τ))/2π for Var b = τ Var u.
    #[test]
    fn a_relu_that_is_on_stays_on() {
        for tau in [0.0, 0.01, 0.3, 1.0, 7.0] {
            let sum = (1.0, 0.0, 2.0 * tau);
            let found = kinked([0.0, 1.0], [0.0, 1.0], &law(0.0, 2.0), sum, Power::Two);
            let angle = (1.0 / (1.0 + tau).sqrt()).asin();
            let wanted = 0.25 + angle / std::f64::consts::TAU;
            assert!((found - wanted).abs() < 1e-14, "{tau}: {found} {wanted}");
        }
    }

    #[test]
    fn kinked_pairs_agree_with_integration() {
        let (phi, psi) = ([0.3, 1.0], [-0.5, 1.0]);
        for (m, gain, mean, variance) in [
            (0.4, 1.0, 0.2, 0.1),
            (-0.7, -0.8, 0.5, 1.0),
            (0.0, 2.0, -1.0, 0.4),
        ] {
            let wanted = average(m, 1.3, &[0.0], |u| {
                let slope = if u > 0.0 { phi[1] } else { phi[0] };
                let on = distribution((mean + gain * slope * u) / f64::sqrt(variance));
                slope * slope * (0.25 + 0.75 * on)
            });
            let found = kinked(phi, psi, &law(m, 1.3), (gain, mean, variance), Power::Two);
            assert!((found - wanted).abs() < 1e-8, "{m}: {found} {wanted}");
        }
    }

    #[test]
    fn smooth_pairs_agree_with_integration() {
        for (phi, psi) in [
            (Activation::Gelu, Activation::Gelu),
            (Activation::Tanh, Activation::Silu),
        ] {
            let (m, v, gain, mean, variance) = (0.3, 1.2, 0.9, -0.2, 0.4);
            let wanted = average(m, v, &[], |u| {
                let (value, slope) = at(phi, u);
                let center = mean + gain * value;
                slope.powi(2) * average(center, variance, &[], |s| at(psi, s).1.powi(2))
            });
            let found = smooth(phi, psi, &law(m, v), (gain, mean, variance), Power::Two);
            assert!((found - wanted).abs() < 1e-6, "{found} {wanted}");
        }
    }

    /// Nothing of φ in the sum: no correlation.
    #[test]
    fn apart_is_one() {
        for activation in [Activation::Relu, Activation::Gelu] {
            let arguments = |mean: f64, variance: f64| {
                let block = Block {
                    mean: Some([mean].into()),
                    ..Block::new(1, variance + mean * mean, Matrix::constant([1, 1], 1.0))
                };
                Arguments::new(activation, &block.into())
            };
            let factor = arguments(0.3, 0.8).after(&arguments(-0.2, 1.1), 0.0);
            assert!((factor.trace() - 1.0).abs() < 1e-6, "{activation:?}");
        }
    }
}
