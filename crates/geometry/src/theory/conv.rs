//! Δ of a linear convolution with global average pool (GIH Thm 3.2), in closed form at any width.
//!
//! f = ωᵀΦ Pᵀx with n channels, Φ n × q of variance σ_φ² (q taps), ω of variance σ_ω², and P = (1/K) Σ_j M_j the mean
//! over the K positions of the maps that lay a kernel onto the input. With C = PᵀSP, Wick's theorem gives
//!
//! ```text
//! G = n σ_ω²σ_φ² P Pᵀ
//! Δ = −2 P [ (σ_ω²σ_φ⁴ (n² + n) + σ_ω⁴σ_φ² (n² + 2n)) C + σ_ω²σ_φ⁴ n tr C · I ] Pᵀ
//! ```
//!
//! GSG is (n σ_ω²σ_φ²)² P C Pᵀ, so Corr(Δ, GSG) → −1 (the print drops the sign), and the distance of the normalised
//! matrices falls as 1/n, from the last term alone.

use polariscope_graph::{Builder, ConvSpec, HasBias, Shape};
use polariscope_linalg::covariance;
use polariscope_network::Network;
use polariscope_stats::{PowerLaw, power_law};
use polariscope_train::{Labels, Loss, Samples};

use super::mlp::{Measured, exact};
use super::{Agreement, builder, normal};
use crate::evolution::by_groups;
use crate::matrix::dot;
use crate::{EvolutionConfig, GeometryError, Kron, Output, Probe};
use polariscope_linalg::{product, product_transposed};

/// Numbers of a sample.
const DIM: usize = 16;
/// q.
const TAPS: usize = 3;
const SAMPLES: usize = 4;

/// Closed forms for one width, with weights N(0, 1/fan_in).
struct Closed {
    geometry: Vec<f64>,
    delta: Vec<f64>,
    target: Vec<f64>,
}

fn closed(width: usize, x: &[f32]) -> Closed {
    let (n, inner, outer) = (width as f64, 1.0 / TAPS as f64, 1.0 / width as f64);
    let positions = DIM + 1 - TAPS;
    let mut p = vec![0.0; DIM * TAPS];
    for j in 0..positions {
        for q in 0..TAPS {
            p[(j + q) * TAPS + q] += 1.0 / positions as f64;
        }
    }
    let s = covariance(x, DIM);
    let sp = product(&s, &p, DIM, TAPS);
    let transposed: Vec<f64> = (0..TAPS)
        .flat_map(|q| p.iter().skip(q).step_by(TAPS).copied())
        .collect();
    let c = product(&transposed, &sp, DIM, TAPS);
    let trace: f64 = c.iter().step_by(TAPS + 1).sum();
    let first = outer * inner * inner;
    let second = outer * outer * inner;
    let level = first * (n * n + n) + second * (n * n + 2.0 * n);
    let mut core: Vec<f64> = c.iter().map(|c| -2.0 * level * c).collect();
    core.iter_mut()
        .step_by(TAPS + 1)
        .for_each(|d| *d -= 2.0 * first * n * trace);
    // P M Pᵀ.
    let lift = |m: &[f64]| product_transposed(&product(&p, m, TAPS, TAPS), &p, TAPS, DIM);
    Closed {
        geometry: lift(&super::scaled_identity(TAPS, n * outer * inner)),
        delta: lift(&core),
        target: lift(&c),
    }
}

/// ‖Δ/‖Δ‖ + GSG/‖GSG‖‖ at width n.
pub fn distance(width: usize) -> f64 {
    let found = closed(width, &normal("convolution", SAMPLES * DIM));
    let size = |m: &[f64]| dot(m, m).sqrt();
    let (delta, target) = (size(&found.delta), size(&found.target));
    let pairs = found.delta.iter().zip(&found.target);
    let squares: f64 = pairs.map(|(d, t)| (d / delta + t / target).powi(2)).sum();
    squares.sqrt()
}

/// The exponent of the distance in n, fitted over `widths`.
pub fn rate(widths: &[usize]) -> Option<PowerLaw> {
    let point = |&width: &usize| (width as f64, exact(distance(width)));
    power_law(&widths.iter().map(point).collect::<Vec<_>>())
}

/// Measures G and Δ of random networks: agreement of both with the closed forms.
pub fn measured(width: usize, networks: u64) -> Result<(Agreement, Measured), GeometryError> {
    let mut net = builder(Shape::Signal {
        channels: 1,
        length: DIM,
    })?;
    let spec = ConvSpec::new(width, [1, TAPS]).bias(HasBias::No);
    let x = net.conv(Builder::INPUT, "conv", spec)?;
    let x = net.global_avg_pool(x, "pool")?;
    net.dense(x, "read", 1, HasBias::No)?;
    let x = normal("convolution", SAMPLES * DIM);
    let closed = closed(width, &x);
    let config = EvolutionConfig {
        seed: 0,
        networks,
        probes: 1,
        probe: Probe::Zero,
        output: Output::Logit(0),
        loss: Loss::Sse,
    };
    let y = Labels::Classes(&[0, 1, 1, 0]);
    let network = Network::<f64>::new(net.finish());
    let samples = Samples { x: &x, y };
    let known = Kron::dense(closed.geometry.clone(), DIM);
    let (found, groups) = by_groups(&network, &config, samples, Some(&known), &mut |_, _| {})?;
    let distance = distance(width);
    Ok((
        Agreement::geometry(&groups, &closed.geometry, DIM),
        Measured {
            delta: Agreement::delta(&groups, &closed.delta, DIM),
            corr: found.corr_gsg,
            expected: 1.0 - distance * distance / 2.0,
        },
    ))
}
