//! hard-sigmoid s(u) = min(max(u + 3, 0), 6)/6 and hard-swish u·s(u), with means or without.
//!
//! With ε = ±1 for the edges e = ±3, s = ⅙ Σ ε (u+e)₊, s' = ⅙ Σ ε 1(u+e>0), s'' = ⅙ Σ ε δ(u+e): expectations of two such
//! are sums over four quadrants. For one of them h = (m+e)/σ, k = (n+e')/σ' and P, w, w', r are those of
//! [`super::kinked`]:
//!
//! | | |
//! |---|---|
//! | E[(u+e)₊(v+e')₊] | σσ'((hk + ρ)P + hφ(k)Φ(w') + kφ(h)Φ(w) + rφ(h)φ(w)) |
//! | E[1(u+e>0)(v+e')₊] | σ'(kP + φ(k)Φ(w') + ρφ(h)Φ(w)) |
//! | E[δ(u+e)(v+e')₊] | (σ'/σ)((k − ρh)φ(h)Φ(w) + rφ(h)φ(w)) |
//! | E[δ(u+e)1(v+e'>0)] | φ(h)Φ(w)/σ |
//!
//! Stein's lemma, E[u g] = m E[g] + Var(u) E[∂g/∂u] + Cov E[∂g/∂v], takes the factors u and v of hard-swish to these.
//! A Gaussian of variance 0 is its mean, its slope at an edge the one from below.

use polariscope_graph::Activation;

use super::normal::{Threshold, quadrant};
use super::{Dual, Pair};

/// Where s bends.
pub(crate) const BENDS: [f64; 2] = [-3.0, 3.0];

/// e and ε.
const EDGES: [(f64, f64); 2] = [(3.0, 1.0), (-3.0, -1.0)];

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Sigmoid,
    Swish,
}

impl Kind {
    /// Of an activation, where it is one of the two.
    pub fn of(activation: Activation) -> Option<Self> {
        match activation {
            Activation::HardSigmoid => Some(Kind::Sigmoid),
            Activation::HardSwish => Some(Kind::Swish),
            Activation::Identity
            | Activation::Relu
            | Activation::LeakyRelu { .. }
            | Activation::Abs
            | Activation::Gelu
            | Activation::Tanh
            | Activation::Erf
            | Activation::Sin
            | Activation::Sigmoid
            | Activation::Silu
            | Activation::Softplus { .. } => None,
        }
    }
}

/// One Gaussian before a hard activation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hard {
    kind: Kind,
    mean: f64,
    variance: f64,
    deviation: f64,
    edges: [Edge; 2],
}

/// The dual without means.
pub(super) fn centred(kind: Kind, q: Pair) -> Dual {
    let [first, second] = [q.q11, q.q22].map(|variance| Hard::new(kind, 0.0, variance));
    first.dual(&second, q.q12)
}

/// What a Gaussian does at an edge.
#[derive(Clone, Copy, Debug)]
struct Edge {
    /// e.
    at: f64,
    sign: f64,
    /// (m + e)/σ.
    threshold: Threshold,
    /// E[(u+e)₊].
    positive: f64,
}

impl Hard {
    pub fn new(kind: Kind, mean: f64, variance: f64) -> Self {
        let variance = variance.max(0.0);
        let deviation = variance.sqrt();
        let edge = |(at, sign): (f64, f64)| {
            let from = mean + at;
            let (threshold, positive) = if deviation > 0.0 {
                let t = Threshold::new(from / deviation);
                (t, deviation * (t.at * t.distribution + t.density))
            } else {
                let side = if from > 0.0 { 1.0 } else { -1.0 };
                (Threshold::new(side * f64::INFINITY), from.max(0.0))
            };
            Edge {
                at,
                sign,
                threshold,
                positive,
            }
        };
        Hard {
            kind,
            mean,
            variance,
            deviation,
            edges: EDGES.map(edge),
        }
    }

    /// ⅙ Σ ε f(e).
    fn over_edges(&self, of: impl Fn(&Edge) -> f64) -> f64 {
        self.edges.iter().map(|e| e.sign * of(e)).sum::<f64>() / 6.0
    }

    /// E[φ(u)].
    pub fn value(&self) -> f64 {
        let s = self.over_edges(|e| e.positive);
        match self.kind {
            Kind::Sigmoid => s,
            Kind::Swish => {
                self.mean * s + self.variance * self.over_edges(|e| e.threshold.distribution)
            }
        }
    }

    /// E[φ'(u)].
    pub fn slope(&self) -> f64 {
        let slope = self.over_edges(|e| e.threshold.distribution);
        match self.kind {
            Kind::Sigmoid => slope,
            Kind::Swish => {
                let s = self.over_edges(|e| e.positive);
                s + self.mean * slope + self.deviation * self.over_edges(|e| e.threshold.density)
            }
        }
    }

    /// E[φ'(u)²].
    pub fn square_slope(&self) -> f64 {
        let [low, high] = self.edges.map(|e| e.threshold);
        let inside = low.distribution - high.distribution;
        match self.kind {
            Kind::Sigmoid => inside / 36.0,
            Kind::Swish => {
                // φ' = (2u + 3)/6 between the edges, 1 above.
                let mean = self.mean * inside + self.deviation * (low.density - high.density);
                let borders = 3.0 * self.deviation * (low.density + high.density);
                let square = self.mean * mean + self.variance * inside - borders;
                (4.0 * square + 12.0 * mean + 9.0 * inside) / 36.0 + high.distribution
            }
        }
    }

    /// Both Gaussians before the same φ.
    pub fn dual(&self, other: &Hard, covariance: f64) -> Dual {
        if self.variance == 0.0 || other.variance == 0.0 {
            return Dual {
                value: self.value() * other.value(),
                slope: self.slope() * other.slope(),
            };
        }
        let q = Pair {
            q11: self.variance,
            q12: covariance,
            q22: other.variance,
        };
        let scale = self.deviation * other.deviation;
        let root = (q.determinant().sqrt() / scale).min(1.0);
        let rho = (covariance / scale).clamp(-1.0, 1.0);
        let (mut value, mut slope) = (0.0, 0.0);
        for a in &self.edges {
            for b in &other.edges {
                let sign = a.sign * b.sign / 36.0;
                let corner = Corner::new((self, a), (other, b), rho, root);
                let made = match self.kind {
                    Kind::Sigmoid => Dual {
                        value: corner.both,
                        slope: corner.inside,
                    },
                    Kind::Swish => corner.with_factors([self.mean, other.mean], q, b.at),
                };
                value += sign * made.value;
                slope += sign * made.slope;
            }
        }
        Dual { value, slope }
    }
}

/// Expectations at an edge of each; a derivative takes ()₊ to 1() and 1() to δ().
struct Corner {
    /// E[(u+e)₊(v+e')₊].
    both: f64,
    /// E[1(u+e>0)(v+e')₊].
    step_first: f64,
    /// E[(u+e)₊ 1(v+e'>0)].
    step_second: f64,
    /// P(u+e>0, v+e'>0).
    inside: f64,
    /// E[δ(u+e)(v+e')₊].
    point_first: f64,
    /// E[(u+e)₊ δ(v+e')].
    point_second: f64,
    /// E[δ(u+e) 1(v+e'>0)].
    border_first: f64,
    /// E[1(u+e>0) δ(v+e')].
    border_second: f64,
}

impl Corner {
    fn new((u, a): (&Hard, &Edge), (v, b): (&Hard, &Edge), rho: f64, root: f64) -> Self {
        let (h, k) = (&a.threshold, &b.threshold);
        let both = quadrant(h, k, rho, root);
        let (p, density) = (both.probability, both.density);
        // φ(h)Φ(w) and φ(k)Φ(w').
        let (first, second) = (
            h.density * both.second_at_first,
            k.density * both.first_at_second,
        );
        let (su, sv) = (u.deviation, v.deviation);
        Corner {
            both: su * sv * ((h.at * k.at + rho) * p + h.at * second + k.at * first + density),
            step_first: sv * (k.at * p + second + rho * first),
            step_second: su * (h.at * p + first + rho * second),
            inside: p,
            point_first: sv / su * ((k.at - rho * h.at) * first + density),
            point_second: su / sv * ((h.at - rho * k.at) * second + density),
            border_first: first / su,
            border_second: second / sv,
        }
    }

    /// The share of E[u s(u) v s(v)] and of its slope; `edge` is e'.
    fn with_factors(&self, [m, n]: [f64; 2], q: Pair, edge: f64) -> Dual {
        let Pair { q11, q12, q22 } = q;
        let value = (m * n + q12) * self.both
            + (m * q12 + n * q11) * self.step_first
            + (m * q22 + n * q12) * self.step_second
            + (q11 * q22 + q12 * q12) * self.inside
            + q12 * (q11 * self.point_first + q22 * self.point_second);
        // φ' = s + u s': E[s s], E[u s' s], E[s v s'] and E[u s' v s'].
        let one_factor = m * self.step_first
            + n * self.step_second
            + q11 * self.point_first
            + q22 * self.point_second
            + 2.0 * q12 * self.inside;
        // E[v δ(u+e) 1(v+e'>0)] and E[1(u+e>0) v δ(v+e')].
        let weighed_first = self.point_first - edge * self.border_first;
        let weighed_second = -edge * self.border_second;
        let second_mean = n * self.inside + q12 * self.border_first + q22 * self.border_second;
        let two_factors =
            m * second_mean + q11 * weighed_first + q12 * (self.inside + weighed_second);
        Dual {
            value,
            slope: self.both + one_factor + two_factors,
        }
    }
}
