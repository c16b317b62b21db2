//! Duals of activations: what φ does to a pair of Gaussians.
//!
//! For centred Gaussians u, v with covariance [[q11, q12], [q12, q22]]
//!
//! value = E[φ(u)φ(v)],  slope = E[φ'(u)φ'(v)] = ∂value/∂q12 (Price).
//!
//! Every family is closed form up to atan2, √ and exp, and none subtracts nearly equal numbers where
//! u and v nearly agree: the determinant is c(a+b) + ab with c = |q12|, a = q11−c, b = q22−c, whose
//! subtractions are exact there, and angles come from atan2. Logistic functions are mixtures of
//! Gaussian noise, so they are as good for large variances as for small ones.
//!
//! [`Shifted`] has the same moments, and E[φ(u)], of Gaussians with means.

mod erf;
mod gated;
pub(crate) mod hard;
mod hermite;
pub(crate) mod kinked;
pub(crate) mod largest;
mod logistic;
pub(crate) mod normal;
mod piecewise;
pub(crate) mod point;
mod shifted;
mod sin;

use polariscope_graph::Activation;

pub use logistic::RULE as LOGISTIC;
pub use shifted::Shifted;

/// Second moments of two centred Gaussians.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// E u².
    pub q11: f64,
    /// E uv.
    pub q12: f64,
    /// E v².
    pub q22: f64,
}

impl Pair {
    /// q11 q22 − q12², never below 0.
    fn determinant(self) -> f64 {
        let c = self.q12.abs();
        let (a, b) = (self.q11 - c, self.q22 - c);
        (c * (a + b) + a * b).max(0.0)
    }

    /// (q11 + s)(q22 + t) − q12² for noise variances s, t ≥ 0: a sum of terms of one sign.
    fn determinant_with(self, s: f64, t: f64) -> f64 {
        self.determinant() + self.noise_part(s, t)
    }

    /// What noise adds to the determinant.
    fn noise_part(self, s: f64, t: f64) -> f64 {
        self.q11 * t + self.q22 * s + s * t
    }

    /// Second moments of c·u, c·v, given c².
    fn times(self, square: f64) -> Pair {
        Pair {
            q11: self.q11 * square,
            q12: self.q12 * square,
            q22: self.q22 * square,
        }
    }
}

/// Moments of an activation and of its derivative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dual {
    /// E[φ(u)φ(v)].
    pub value: f64,
    /// E[φ'(u)φ'(v)].
    pub slope: f64,
}

/// The dual of an activation.
///
/// ```
/// use polariscope_graph::Activation;
/// use polariscope_meanfield::dual::{Pair, dual};
/// // u = v: half of the square survives, half of the slopes are 1.
/// let equal = dual(Activation::Relu, Pair { q11: 3.0, q12: 3.0, q22: 3.0 });
/// assert_eq!((equal.value, equal.slope), (1.5, 0.5));
/// // Independent: E[max(u, 0)]² = q/2π and ¼.
/// let apart = dual(Activation::Relu, Pair { q11: 3.0, q12: 0.0, q22: 3.0 });
/// assert!((apart.value - 3.0 / std::f64::consts::TAU).abs() < 1e-15);
/// assert_eq!(apart.slope, 0.25);
/// ```
pub fn dual(activation: Activation, q: Pair) -> Dual {
    match activation {
        Activation::Identity => Dual {
            value: q.q12,
            slope: 1.0,
        },
        Activation::Relu => piecewise::leaky_relu(0.0, q),
        Activation::LeakyRelu { slope } => piecewise::leaky_relu(slope, q),
        Activation::Abs => piecewise::abs(q),
        Activation::Erf => erf::erf(q),
        Activation::Sin => sin::sin(q),
        Activation::Gelu => gated::gated(1.0, 1.0, q),
        Activation::Tanh => logistic::tanh(q),
        Activation::Sigmoid => logistic::sigmoid(q),
        Activation::Silu => logistic::silu(q),
        Activation::HardSigmoid => hard::centred(hard::Kind::Sigmoid, q),
        Activation::HardSwish => hard::centred(hard::Kind::Swish, q),
        Activation::Softplus { beta } => logistic::softplus(beta, q),
    }
}
