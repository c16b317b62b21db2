//! Δ of one hidden ReLU layer (GIH Thm 3.1), in closed form at any width.
//!
//! f = Σᵢ ωᵢ ρ(φᵢ·x) with n units, ω ~ N(0, σ_ω²), φ ~ N(0, σ_φ² I), squared error, probes x ~ N(0, I). For a
//! sample x_μ and a probe at the angle ψ let e₁ = x_μ/‖x_μ‖, e₂ the unit vector of the probe's other part, u = φ·e₁,
//! v = φ·e₂. Over φ with σ_φ = 1,
//!
//! ```text
//! P   = E[1₁1₂]    = (π − ψ)/2π                1₁: u > 0,  1₂: u cos ψ + v sin ψ > 0
//! J₂₀ = E[1₁1₂ u²] = (2(π − ψ) + sin 2ψ)/4π
//! J₁₁ = E[1₁1₂ uv] = sin²ψ / 2π
//! ```
//!
//! and over ω (Σ_{jk} ω_jω_k → δ_jk, E ω⁴ = 3σ_ω⁴), over e₂ (uniform, ⊥ e₁) and ψ (density ∝ sin^{D−2} ψ):
//!
//! ```text
//! Δ = −2 (a S + b tr S · I)
//! b = σ_ω²σ_φ⁴ [ n(n−1) E J₁₁²/(D−1) + n/4 ]
//! a = σ_ω²σ_φ⁴ [ n(n−1)(E J₂₀² − E J₁₁²/(D−1)) + n/2 ] + σ_ω⁴σ_φ² [ n(n−1) E[P J₂₀] + 3n/4 ]
//! ```
//!
//! So Corr(Δ, S) → −1 (the print drops the sign). With R = (tr S)²/‖S‖² and t = b/a the distance
//! ‖Δ/‖Δ‖ + S/‖S‖‖ is t √(R(D−R)) to first order. As t ≈ (4/π²)/D + 4/n (for σ_ω²≪σ_φ² n, where the first part of a
//! wins), the distance falls as 1/√D for data of a fixed participation ratio R and a width that grows with D, and does
//! not fall at all for data whose R grows with D.
//!
//! The proof's Lemma A.6 takes the angle of two random vectors as uniform; it is π/2 in high dimension, so its
//! 1/2 and 1/3 are ¼ and 1/16, and its terms with i = j miss a factor 2 (of `E[φφᵀxxᵀφφᵀ]`) and 3 (of E ω⁴).

use polariscope_graph::{Activation, Builder, HasBias, Shape};
use polariscope_linalg::covariance;
use polariscope_network::Network;
use polariscope_stats::{Estimate, PowerLaw, power_law};
use polariscope_train::{Labels, Loss, Samples};
use std::f64::consts::PI;

use super::{Agreement, builder, normal};
use crate::evolution::by_groups;
use crate::{EvolutionConfig, GeometryError, Output, Probe};

/// A hidden ReLU layer between Gaussian weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HiddenLayer {
    /// D.
    pub dim: usize,
    /// n.
    pub width: usize,
    /// σ_φ².
    pub inner: f64,
    /// σ_ω².
    pub outer: f64,
}

impl HiddenLayer {
    /// Weights N(0, 1/fan_in).
    pub fn lecun(dim: usize, width: usize) -> Self {
        HiddenLayer {
            dim,
            width,
            inner: 1.0 / dim as f64,
            outer: 1.0 / width as f64,
        }
    }

    /// (a, b) of Δ = −2 (a S + b tr S · I).
    pub fn coefficients(&self) -> (f64, f64) {
        let Moments { j20, j11, pj20 } = Moments::of(self.dim);
        let (n, d) = (self.width as f64, self.dim as f64);
        let pairs = n * (n - 1.0);
        let first = self.outer * self.inner * self.inner;
        let second = self.outer * self.outer * self.inner;
        let across = j11 / (d - 1.0);
        let a = first * (pairs * (j20 - across) + n / 2.0) + second * (pairs * pj20 + 0.75 * n);
        (a, first * (pairs * across + n / 4.0))
    }

    /// ‖Δ/‖Δ‖ + S/‖S‖‖ for data of participation ratio R = (tr S)²/‖S‖².
    pub fn distance(&self, ratio: f64) -> f64 {
        let (a, b) = self.coefficients();
        let (t, d) = (b / a, self.dim as f64);
        let norm = 1.0 + 2.0 * t * ratio + t * t * ratio * d;
        let corr = (1.0 + t * ratio) / norm.sqrt();
        // 2(1 − c) = 2(1 − c²)/(1 + c), where 1 − c² has no cancellation.
        let sine = t * t * ratio * (d - ratio) / norm;
        (2.0 * sine / (1.0 + corr)).sqrt()
    }
}

/// E J₂₀², E J₁₁² and E[P J₂₀] over ψ.
struct Moments {
    j20: f64,
    j11: f64,
    pj20: f64,
}

impl Moments {
    /// Simpson's rule over the angles that carry weight.
    fn of(dim: usize) -> Moments {
        const STEPS: usize = 4000;
        let power = dim as f64 - 2.0;
        let reach = (14.0 / (dim as f64).sqrt()).min(PI / 2.0);
        let mut sums = [0.0; 4];
        for i in 0..=STEPS {
            let s = reach * (2.0 * i as f64 / STEPS as f64 - 1.0);
            let psi = PI / 2.0 + s;
            let simpson = match i {
                0 | STEPS => 1.0,
                _ if i % 2 == 1 => 4.0,
                _ => 2.0,
            };
            let weight = simpson * s.cos().powf(power);
            let p = (PI - psi) / (2.0 * PI);
            let j20 = (2.0 * (PI - psi) + (2.0 * psi).sin()) / (4.0 * PI);
            let j11 = psi.sin().powi(2) / (2.0 * PI);
            for (sum, value) in sums.iter_mut().zip([1.0, j20 * j20, j11 * j11, p * j20]) {
                *sum += weight * value;
            }
        }
        let [total, j20, j11, pj20] = sums;
        Moments {
            j20: j20 / total,
            j11: j11 / total,
            pj20: pj20 / total,
        }
    }
}

/// The exponent of the distance in D, fitted over `dims`, for n = 4D and data of participation ratio R.
pub fn rate(dims: &[usize], ratio: f64) -> Option<PowerLaw> {
    let point = |&dim: &usize| {
        let distance = HiddenLayer::lecun(dim, 4 * dim).distance(ratio);
        (dim as f64, exact(distance))
    };
    power_law(&dims.iter().map(point).collect::<Vec<_>>())
}

/// A number that is known to rounding.
pub(super) fn exact(value: f64) -> Estimate {
    Estimate {
        value,
        standard_error: 1e-12 * value,
        samples: 1,
    }
}

/// Δ of sampled networks beside the closed form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Agreement of the whole matrix.
    pub delta: Agreement,
    /// Corr(−Δ, target), measured.
    pub corr: Option<Estimate>,
    /// The same from the closed form.
    pub expected: f64,
}

/// Measures Δ of a hidden layer on a few Gaussian samples with random labels.
pub fn measured(dim: usize, width: usize, networks: u64) -> Result<Measured, GeometryError> {
    const SAMPLES: usize = 4;
    let mut net = builder(Shape::Vector { features: dim })?;
    let x = net.dense(Builder::INPUT, "hidden", width, HasBias::No)?;
    let x = net.activation(x, "relu", Activation::Relu)?;
    net.dense(x, "read", 1, HasBias::No)?;
    let x = normal("hidden layer", SAMPLES * dim);
    let config = EvolutionConfig {
        seed: 0,
        networks,
        probes: 8,
        probe: Probe::Gauss { sigma: 1.0 },
        output: Output::Logit(0),
        loss: Loss::Sse,
    };
    let y = Labels::Classes(&[0, 1, 1, 0]);
    let network = Network::<f64>::new(net.finish());
    let samples = Samples { x: &x, y };
    let (found, groups) = by_groups(&network, &config, samples, None, &mut |_, _| {})?;
    let s = covariance(&x, dim);
    let (a, b) = HiddenLayer::lecun(dim, width).coefficients();
    let trace: f64 = s.iter().step_by(dim + 1).sum();
    let mut delta: Vec<f64> = s.iter().map(|s| -2.0 * a * s).collect();
    delta
        .iter_mut()
        .step_by(dim + 1)
        .for_each(|d| *d -= 2.0 * b * trace);
    let square: f64 = s.iter().map(|s| s * s).sum();
    let distance = HiddenLayer::lecun(dim, width).distance(trace * trace / square);
    Ok(Measured {
        delta: Agreement::delta(&groups, &delta, dim),
        corr: found.corr_s,
        expected: 1.0 - distance * distance / 2.0,
    })
}
