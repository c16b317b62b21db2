//! φ(u) = s·u + d·u₊ of Gaussians with means: relu (0, 1), leaky relu (s, 1−s), abs (−1, 2).
//!
//! For u = σ(h + X), v = σ'(k + Y), X and Y standard of correlation ρ, with P = P(u>0, v>0),
//! r = √(1−ρ²), w = (k − ρh)/r, w' = (h − ρk)/r,
//!
//! E[u₊] = σ(hΦ(h) + φ(h)),  E[u v₊] = E[u]E[v₊] + Cov·Φ(k)
//! E[u₊v₊] = σσ'((hk + ρ)P + hφ(k)Φ(w') + kφ(h)Φ(w) + rφ(h)φ(w))
//! E[φ'φ'] = s² + sd(Φ(h) + Φ(k)) + d²P.
//!
//! A Gaussian of variance 0 is its mean, its slope at 0 the one from below.

use super::normal::{Threshold, quadrant};
use super::{Dual, Pair};

/// One Gaussian before a kink.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kinked {
    linear: f64,
    bend: f64,
    mean: f64,
    variance: f64,
    deviation: f64,
    /// mean/deviation.
    threshold: Threshold,
    /// E[u₊].
    positive: f64,
}

impl Kinked {
    pub fn new(linear: f64, bend: f64, mean: f64, variance: f64) -> Self {
        let variance = variance.max(0.0);
        let deviation = variance.sqrt();
        let (threshold, positive) = if deviation > 0.0 {
            let t = Threshold::new(mean / deviation);
            (t, deviation * (t.at * t.distribution + t.density))
        } else {
            // u > 0 for certain, or not.
            let side = if mean > 0.0 { 1.0 } else { -1.0 };
            (Threshold::new(side * f64::INFINITY), mean.max(0.0))
        };
        Kinked {
            linear,
            bend,
            mean,
            variance,
            deviation,
            threshold,
            positive,
        }
    }

    /// E[φ(u)].
    pub fn value(&self) -> f64 {
        self.linear * self.mean + self.bend * self.positive
    }

    /// E[φ'(u)].
    pub fn slope(&self) -> f64 {
        self.linear + self.bend * self.threshold.distribution
    }

    /// Both Gaussians before the same φ.
    pub fn dual(&self, other: &Kinked, covariance: f64) -> Dual {
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
        let (s, d) = (self.linear, self.bend);
        let (h, k) = (&self.threshold, &other.threshold);
        let scale = self.deviation * other.deviation;
        let root = (q.determinant().sqrt() / scale).min(1.0);
        let rho = (covariance / scale).clamp(-1.0, 1.0);
        let both = quadrant(h, k, rho, root);
        let positive = scale
            * ((h.at * k.at + rho) * both.probability
                + h.at * k.density * both.first_at_second
                + k.at * h.density * both.second_at_first
                + both.density);
        let mixed = self.mean * other.positive
            + other.mean * self.positive
            + covariance * (h.distribution + k.distribution);
        let product = self.mean * other.mean + covariance;
        Dual {
            value: s * s * product + s * d * mixed + d * d * positive,
            slope: s * s + s * d * (h.distribution + k.distribution) + d * d * both.probability,
        }
    }
}
