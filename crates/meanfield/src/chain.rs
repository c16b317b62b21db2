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
//! of four quadrant probabilities. For smooth ones it is a trapezoid sum over u and b, for hard-sigmoid and hard-swish
//! Simpson's rule over u between the bends and a closed form over b.

use polariscope_graph::{Activation, Graph, NodeId, Op, Passage};
use rayon::prelude::*;

use crate::Refusal;
use crate::blocks::{Block, Blocks};
use crate::dual::hard::{BENDS, Hard, Kind};
use crate::dual::kinked::Kinked;
use crate::dual::normal::{Threshold, density, quadrant};
use crate::dual::point::at;
use crate::dual::{Dual, Shifted};
use crate::laws::batch_norm_gain;
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
        Op::Activation(activation) if !activation.is_identity() => Some(*activation),
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
        gain *= match graph.nodes[node].op.facts().passage {
            Passage::Scale { by } => by,
            Passage::BatchNorm {
                weight,
                running_var,
                eps,
                ..
            } => batch_norm_gain(graph, weight, running_var, eps)?.factor,
            Passage::Activation(activation) if activation.is_identity() => 1.0,
            Passage::Bias { .. } | Passage::Same | Passage::Flatten => 1.0,
            Passage::Input
            | Passage::Activation(_)
            | Passage::Dense { .. }
            | Passage::Conv { .. }
            | Passage::Local { .. }
            | Passage::MaxPool(_)
            | Passage::AvgPool(_)
            | Passage::GlobalAvgPool
            | Passage::Add
            | Passage::Concat
            | Passage::Norm(_)
            | Passage::Other(_) => break,
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

/// What an activation reads at one position, and what it makes of it.
#[derive(Clone, Copy)]
pub(crate) struct Law {
    pub mean: f64,
    pub variance: f64,
    /// Of a Gaussian argument.
    gaussian: Moments,
    /// Of the argument as it is, behind a skip ([`Arguments::behind_skip`]); elsewhere those of the Gaussian.
    moments: Moments,
}

/// Moments of an activation.
#[derive(Clone, Copy, PartialEq)]
struct Moments {
    /// E[φ].
    value: f64,
    /// Var φ.
    spread: f64,
    /// E[φ'].
    slope: f64,
    /// E[φ'²].
    square_slope: f64,
}

impl Moments {
    /// E[φ'^p].
    fn slopes(&self, power: Power) -> f64 {
        match power {
            Power::One => self.slope,
            Power::Two => self.square_slope,
        }
    }

    /// The deviation of φ'.
    fn deviation(&self) -> f64 {
        (self.square_slope - self.slope * self.slope)
            .max(0.0)
            .sqrt()
    }
}

impl Law {
    /// E[φ].
    pub fn value(&self) -> f64 {
        self.moments.value
    }

    /// The dual of two arguments, given that of Gaussian ones: their own means and deviations, with the correlations
    /// of the Gaussians.
    pub fn adjusted(&self, other: &Law, dual: Dual) -> Dual {
        if self.gaussian == self.moments && other.gaussian == other.moments {
            return dual;
        }
        let quotient = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
        let move_to = |product: f64, mean: fn(&Moments) -> f64, deviation: fn(&Moments) -> f64| {
            let scale = |law: &Law| quotient(deviation(&law.moments), deviation(&law.gaussian));
            let covariance = product - mean(&self.gaussian) * mean(&other.gaussian);
            mean(&self.moments) * mean(&other.moments) + covariance * scale(self) * scale(other)
        };
        Dual {
            value: move_to(dual.value, |m| m.value, |m| m.spread.max(0.0).sqrt()),
            slope: move_to(dual.slope, |m| m.slope, Moments::deviation),
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
                let moments = Moments {
                    value,
                    spread: own.value - value * value,
                    slope: laws.slope(p),
                    square_slope: own.slope,
                };
                Law {
                    mean: means[p],
                    variance: variances[p].max(0.0),
                    gaussian: moments,
                    moments,
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

    /// Takes the argument as what it is where a skip carries a kinked `first` into it: s = gφ(u) + b with u and b
    /// Gaussian. For a branch that adds little, E[s₊]² of two inputs is a third of E[s₊²]; for a Gaussian s of the same
    /// mean and variance it would be half of it.
    pub fn behind_skip(&mut self, first: &Arguments, gain: f64) {
        let (Some(phi), Some(psi)) = (sides(first.activation), sides(self.activation)) else {
            return;
        };
        let alike = self.parts.len() == first.parts.len()
            && self
                .parts
                .iter()
                .zip(&first.parts)
                .all(|(a, b)| a.channels == b.channels);
        if !alike {
            return;
        }
        for (part, before) in self.parts.iter_mut().zip(&first.parts) {
            let pairs = part.laws.par_iter_mut().zip(&before.laws);
            pairs.for_each(|(s, u)| s.moments = behind(phi, psi, u, s, gain));
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
                    kappa * s.moments.slopes(power)
                };
                Step {
                    once: given(Power::One),
                    twice: given(Power::Two).max(0.0).sqrt(),
                    slope: s.moments.slope,
                    deviation: s.moments.deviation(),
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
    // What is found together is found for a Gaussian u.
    let apart = u.gaussian.slopes(power) * s.moments.slopes(power);
    let (mean, variance) = rest(u, s, gain);
    if apart <= 0.0 || u.variance <= 0.0 {
        return 1.0;
    }
    let together = match (sides(phi), sides(psi)) {
        (Some(phi), Some(psi)) => kinked(phi, psi, u, (gain, mean, variance), power),
        _ => smooth(phi, psi, u, (gain, mean, variance), power),
    };
    together / apart
}

/// Mean and variance of what the sum holds besides gφ(u).
fn rest(u: &Law, s: &Law, gain: f64) -> (f64, f64) {
    let variance = s.variance - gain * gain * u.moments.spread;
    (s.mean - gain * u.moments.value, variance.max(0.0))
}

/// The moments of ψ(gφ(u) + b), by Simpson's rule over u on either side of its kink.
fn behind(phi: [f64; 2], psi: [f64; 2], u: &Law, s: &Law, gain: f64) -> Moments {
    /// Intervals of a side, even, and how many deviations it reaches.
    const INTERVALS: i32 = 64;
    const REACH: f64 = 8.0;
    let deviation = u.variance.sqrt();
    if deviation == 0.0 {
        return s.gaussian;
    }
    let (mean, variance) = rest(u, s, gain);
    let kink = (-u.mean / deviation).clamp(-REACH, REACH);
    let (mut value, mut square, mut slope, mut square_slope) = (0.0, 0.0, 0.0, 0.0);
    for (side, end) in [(phi[0], -REACH), (phi[1], REACH)] {
        let step = (end - kink) / f64::from(INTERVALS);
        for i in 0..=INTERVALS {
            let z = kink + f64::from(i) * step;
            let simpson = match i {
                0 | INTERVALS => 1.0,
                _ if i % 2 == 1 => 4.0,
                _ => 2.0,
            };
            let weight = simpson / 3.0 * step.abs() * density(z);
            let center = mean + gain * side * (u.mean + deviation * z);
            let given = Kinked::new(psi[0], psi[1] - psi[0], center, variance);
            let both = given.dual(&given, variance);
            value += weight * given.value();
            slope += weight * given.slope();
            square += weight * both.value;
            square_slope += weight * both.slope;
        }
    }
    Moments {
        value,
        spread: square - value * value,
        slope,
        square_slope,
    }
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
        | Activation::HardSigmoid
        | Activation::HardSwish
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
    let hard = [phi, psi].map(Kind::of);
    let term = |z: f64| {
        let (value, slope) = at(phi, u.mean + deviation * z);
        let center = mean + gain * value;
        let second = hard[1].map(|kind| Hard::new(kind, center, variance));
        let on = match (second, power) {
            (Some(law), Power::One) => law.slope(),
            (Some(law), Power::Two) => law.square_slope(),
            (None, _) => sum(&|y| power.of(at(psi, center + rest * y).1)),
        };
        power.of(slope) * on
    };
    match hard {
        [None, None] => sum(&term),
        [first, _] => between_bends(first.map(|_| (u.mean, deviation)), term),
    }
}

/// The average of `term` over a standard normal by Simpson's rule, in pieces if it jumps where a Gaussian of a mean and
/// a deviation meets the bends of a hard activation.
fn between_bends(argument: Option<(f64, f64)>, term: impl Fn(f64) -> f64) -> f64 {
    /// Intervals of a piece, even, and how many deviations they reach.
    const INTERVALS: i32 = 192;
    const REACH: f64 = 8.25;
    let mut ends = vec![-REACH];
    if let Some((mean, deviation)) = argument {
        ends.extend(BENDS.map(|bend| ((bend - mean) / deviation).clamp(-REACH, REACH)));
    }
    ends.push(REACH);
    let piece = |from: f64, to: f64| -> f64 {
        let step = (to - from) / f64::from(INTERVALS);
        let node = |i: i32| {
            let share = match i {
                0 | INTERVALS => 1.0,
                _ if i % 2 == 1 => 4.0,
                _ => 2.0,
            };
            // Just inside: the slope jumps at a bend.
            let inside = f64::from(i).clamp(1e-9, f64::from(INTERVALS) - 1e-9);
            let z = from + step * inside;
            share / 3.0 * step * density(z) * term(z)
        };
        (0..=INTERVALS).map(node).sum()
    };
    ends.windows(2).map(|ends| piece(ends[0], ends[1])).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dual::normal::distribution;

    fn law(mean: f64, variance: f64) -> Law {
        let moments = Moments {
            value: 0.0,
            spread: 0.0,
            slope: 1.0,
            square_slope: 1.0,
        };
        Law {
            mean,
            variance,
            gaussian: moments,
            moments,
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

    #[test]
    fn hard_pairs_agree_with_integration() {
        for (phi, psi) in [
            (Activation::HardSwish, Activation::HardSwish),
            (Activation::HardSigmoid, Activation::HardSwish),
            (Activation::HardSwish, Activation::HardSigmoid),
            (Activation::Gelu, Activation::HardSwish),
            (Activation::HardSwish, Activation::Gelu),
        ] {
            for power in [Power::One, Power::Two] {
                let (m, v, gain, mean, variance) = (0.6, 5.2, 0.9, -0.4, 2.4);
                let wanted = average(m, v, &BENDS, |u| {
                    let (value, slope) = at(phi, u);
                    let center = mean + gain * value;
                    let reach = 9.0 * f64::sqrt(variance);
                    let breaks = BENDS.map(|bend| bend.clamp(center - reach, center + reach));
                    let on = average(center, variance, &breaks, |s| power.of(at(psi, s).1));
                    power.of(slope) * on
                });
                let found = smooth(phi, psi, &law(m, v), (gain, mean, variance), power);
                assert!(
                    (found - wanted).abs() < 1e-6,
                    "{phi:?} {psi:?}: {found} {wanted}"
                );
            }
        }
    }

    /// s = u₊ of a standard normal, nothing added: s₊ = u₊ with E = 1/√2π, E² = ½, and it is above 0 in half of the
    /// cases, where a Gaussian of its mean and variance would have E[s₊] = 0.48474.
    #[test]
    fn behind_a_skip_that_nothing_is_added_to() {
        let u = Block::new(1, 1.0, Matrix::constant([1, 1], 1.0));
        let first = Arguments::new(Activation::Relu, &u.into());
        let mean = 1.0 / std::f64::consts::TAU.sqrt();
        let s = Block {
            mean: Some([mean].into()),
            ..Block::new(1, 0.5, Matrix::constant([1, 1], 1.0))
        };
        let mut second = Arguments::new(Activation::Relu, &s.into());
        let gaussian = second.parts[0].laws[0].moments;
        assert!(
            (gaussian.value - 0.48474).abs() < 1e-5,
            "{}",
            gaussian.value
        );
        second.behind_skip(&first, 1.0);
        let found = second.parts[0].laws[0].moments;
        assert!((found.value - mean).abs() < 1e-5, "{}", found.value);
        assert!((found.spread + mean * mean - 0.5).abs() < 1e-5);
        // Slopes jump at the end of the side u > 0, which holds a weight of Simpson's rule: 0.4 · 0.125 / 3 = 0.017.
        assert!((found.slope - 0.5).abs() < 0.03, "{}", found.slope);
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
