//! Duals of Gaussians with means.
//!
//! relu, leaky relu and abs in closed form ([`super::kinked`]), hard-sigmoid and hard-swish as well ([`super::hard`]),
//! smooth activations by Hermite series ([`super::hermite`]).

use polariscope_graph::Activation;
use rayon::prelude::*;

use super::Dual;
use super::hard::{Hard, Kind};
use super::hermite::Smooth;
use super::kinked::Kinked;
use super::point::at;

/// Gaussians with means that one activation reads.
///
/// ```
/// use polariscope_graph::Activation;
/// use polariscope_meanfield::dual::Shifted;
/// // Far above its kink a relu does nothing: E[uv] = 9·8 + 0.5.
/// let pair = Shifted::new(Activation::Relu, &[9.0, 8.0], &[1.0, 1.0]);
/// let made = pair.dual(0, 1, 0.5);
/// assert!((pair.value(0) - 9.0).abs() < 1e-14 && (pair.slope(0) - 1.0).abs() < 1e-14);
/// assert!((made.value - 72.5).abs() < 1e-12 && (made.slope - 1.0).abs() < 1e-14);
/// ```
#[derive(Clone, Debug)]
pub struct Shifted(Laws);

#[derive(Clone, Debug)]
enum Laws {
    Kinked(Vec<Kinked>),
    Hard(Vec<Hard>),
    Smooth(Vec<Smooth>),
}

impl Shifted {
    /// Gaussians of these means and variances; a variance below 0 counts as 0.
    pub fn new(activation: Activation, means: &[f64], variances: &[f64]) -> Self {
        let kinked = |linear, bend| {
            let laws = means.iter().zip(variances);
            let new = |(m, v): (&f64, &f64)| Kinked::new(linear, bend, *m, *v);
            Laws::Kinked(laws.map(new).collect())
        };
        let hard = |kind| {
            let laws = means.iter().zip(variances);
            Laws::Hard(laws.map(|(m, v)| Hard::new(kind, *m, *v)).collect())
        };
        Shifted(match activation {
            Activation::Identity => kinked(1.0, 0.0),
            Activation::Relu => kinked(0.0, 1.0),
            Activation::LeakyRelu { slope } => kinked(slope, 1.0 - slope),
            Activation::Abs => kinked(-1.0, 2.0),
            Activation::HardSigmoid => hard(Kind::Sigmoid),
            Activation::HardSwish => hard(Kind::Swish),
            Activation::Gelu
            | Activation::Tanh
            | Activation::Erf
            | Activation::Sin
            | Activation::Sigmoid
            | Activation::Silu
            | Activation::Softplus { .. } => {
                let laws = means.par_iter().zip(variances);
                let new = |(m, v): (&f64, &f64)| Smooth::new(|x| at(activation, x), *m, *v);
                Laws::Smooth(laws.map(new).collect())
            }
        })
    }

    /// E[φ(u)] of Gaussian i.
    pub fn value(&self, i: usize) -> f64 {
        match &self.0 {
            Laws::Kinked(laws) => laws[i].value(),
            Laws::Hard(laws) => laws[i].value(),
            Laws::Smooth(laws) => laws[i].value(),
        }
    }

    /// E[φ'(u)] of Gaussian i.
    pub fn slope(&self, i: usize) -> f64 {
        match &self.0 {
            Laws::Kinked(laws) => laws[i].slope(),
            Laws::Hard(laws) => laws[i].slope(),
            Laws::Smooth(laws) => laws[i].slope(),
        }
    }

    /// E[φ(u)φ(v)] and E[φ'(u)φ'(v)] of Gaussians i and j, given their covariance.
    pub fn dual(&self, i: usize, j: usize, covariance: f64) -> Dual {
        match &self.0 {
            Laws::Kinked(laws) => laws[i].dual(&laws[j], covariance),
            Laws::Hard(laws) => laws[i].dual(&laws[j], covariance),
            Laws::Smooth(laws) => laws[i].dual(&laws[j], covariance),
        }
    }
}
