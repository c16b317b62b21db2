//! What average pooling makes of a convolution.
//!
//! With M_j the map that lays a kernel onto patch j of the input, and K patches:
//!
//! ```text
//! f = (1/K) Σ_j θᵀM_jᵀx                G = (σ²/K²) Σ_{j₁j₂} M_{j₁}M_{j₂}ᵀ                       (GIH Thm A.3)
//! with batch norm on data              G = (1/K²) Σ_{j₁j₂} M_{j₁} E[θθᵀ/(s_{j₁}s_{j₂})] M_{j₂}ᵀ    (Cor. A.4)
//! ```
//!
//! The text calls M_{j₁}M_{j₂}ᵀ diagonal; for j₁ ≠ j₂ it is not. For 3 inputs, 2 taps, a pool of 2 (App. A.10)
//! `G = (σ²/4)[[1,1,0],[1,2,1],[0,1,1]]` (print: σ²/2), with eigenvalues 3, 1, 0 of the bracket.
//!
//! In Cor. A.4 s_j² = θᵀS_jθ lies between λ_min and λ_max times ‖θ‖², and E[θθᵀ/‖θ‖²] = I/q for q taps, so
//!
//! ```text
//! I / (q √(λ_max^{j₁} λ_max^{j₂}))  ≼  E[θθᵀ/(s_{j₁}s_{j₂})]  ≼  I / (q √(λ_min^{j₁} λ_min^{j₂}))
//! ```
//!
//! (print drops the 1/q, and orders matrices M_{j₁}…M_{j₂}ᵀ that are not symmetric).
//!
//! f is linear in θ, so G = σ² Σ_q g(e_q)g(e_q)ᵀ over unit kernels e_q: no sampling.

use polariscope_graph::{Activation, Builder, ConvSpec, Graph, HasBias, PoolSpec, Shape};
use polariscope_linalg::{covariance, symmetric_eigen};
use polariscope_network::{Network, Scalar, Weights};
use polariscope_random::Stream;
use polariscope_stats::Estimate;

use super::agreement::channel_excess;
use super::linear::{Where, sampled};
use super::{builder, normal};
use crate::{GeometryError, Kron};

/// Σ_q g(e_q)g(e_q)ᵀ for a network that is linear in its one weight tensor.
pub(super) fn over_units(graph: Graph) -> Result<Kron, GeometryError> {
    let dim = graph.input().len();
    let network = Network::<f64>::new(graph);
    let mut weights = Weights::zeros(network.graph());
    let mut sum = vec![0.0; dim * dim];
    for q in 0..weights.values[0].len() {
        weights.values[0].fill(0.0);
        weights.values[0][q] = 1.0;
        let g = network.input_gradient(&weights, &vec![0.0; dim], Scalar::Logit(0))?;
        for (row, a) in sum.chunks_exact_mut(dim).zip(&g) {
            row.iter_mut().zip(&g).for_each(|(s, b)| *s += a * b);
        }
    }
    Ok(Kron::dense(sum, dim))
}

/// G/σ² of App. A.10.
pub fn three_inputs() -> Result<Kron, GeometryError> {
    let mut net = builder(Shape::Signal {
        channels: 1,
        length: 3,
    })?;
    let spec = ConvSpec::new(1, [1, 2]).bias(HasBias::No);
    let x = net.conv(Builder::INPUT, "conv", spec)?;
    let x = net.avg_pool(x, "pool", PoolSpec::new([1, 2]))?;
    net.flatten(x, "flatten")?;
    over_units(net.finish())
}

/// G/σ² of one 3 × 3 kernel with global average pool on an image of C × 6 × 6.
pub fn pooled_kernel(channels: usize) -> Result<Kron, GeometryError> {
    over_units(kernel_network(channels)?)
}

/// One 3 × 3 kernel with global average pool on C × 6 × 6.
pub(super) fn kernel_network(channels: usize) -> Result<Graph, GeometryError> {
    let mut net = builder(Shape::Image {
        channels,
        height: 6,
        width: 6,
    })?;
    let spec = ConvSpec::new(1, [3, 3]).bias(HasBias::No);
    let x = net.conv(Builder::INPUT, "conv", spec)?;
    net.global_avg_pool(x, "pool")?;
    Ok(net.finish())
}

/// (1/K²) Σ_{j₁j₂} M_{j₁}M_{j₂}ᵀ for a 3 × 3 kernel on 6 × 6 pixels: entry (p, p') counts the taps that reach both
/// pixels from some patch each.
pub fn overlap_matrix() -> Kron {
    let patches = 16.0;
    // Tap t reaches pixels t … t + 3 along a line.
    let line = |p: usize, q: usize| -> f64 {
        let reached = |p: usize, t: usize| (t..t + 4).contains(&p);
        (0..3).filter(|&t| reached(p, t) && reached(q, t)).count() as f64
    };
    let entry = |at: usize| {
        let (p, q) = (at / 36, at % 36);
        line(p / 6, q / 6) * line(p % 6, q % 6) / (patches * patches)
    };
    Kron::dense((0..36 * 36).map(entry).collect(), 36)
}

/// How far G of a ReLU network with 3 input channels is from I₃ ⊗ B: the part of ‖G‖² outside, 0. (At Gaussian
/// probes the sign of a channel can be changed in x and in the weights together, so channels do not mix.)
pub fn channels(networks: u64) -> Result<Estimate, GeometryError> {
    let mut net = builder(Shape::Image {
        channels: 3,
        height: 4,
        width: 4,
    })?;
    let spec = ConvSpec::new(6, [3, 3]).bias(HasBias::No);
    let x = net.conv(Builder::INPUT, "conv", spec)?;
    let x = net.activation(x, "relu", Activation::Relu)?;
    let x = net.global_avg_pool(x, "pool")?;
    net.dense(x, "read", 1, HasBias::No)?;
    let groups = sampled(net.finish(), networks, Where::Anew)?;
    Ok(channel_excess(&groups, 3, 48))
}

/// Pairs of patches (out of all) whose E[θθᵀ/(s_{j₁}s_{j₂})] leaves the bounds of Cor. A.4, with `draws` kernels θ.
pub struct Bounds {
    /// Pairs that were checked.
    pub pairs: usize,
    /// Pairs outside the bounds with 1/q.
    pub outside: usize,
    /// Pairs outside the printed bounds, without 1/q.
    pub outside_printed: usize,
}

/// Checks Cor. A.4 on correlated data: 8 numbers, 3 taps, 6 patches.
pub fn batch_norm_bounds(draws: usize) -> Result<Bounds, GeometryError> {
    const DIM: usize = 8;
    const TAPS: usize = 3;
    const PATCHES: usize = DIM + 1 - TAPS;
    const DATA: usize = 200;
    // A moving sum of white noise whose size grows along the input: patches with different covariances.
    let noise = normal("batch norm", DATA * (DIM + 1));
    let data: Vec<f32> = noise
        .chunks_exact(DIM + 1)
        .flat_map(|row| (0..DIM).map(move |i| (1.0 + i as f32) * (row[i] + 0.7 * row[i + 1])))
        .collect();
    let s = covariance(&data, DIM);
    let patch = |j: usize| -> Vec<f64> {
        let at = |a: usize| s[(j + a / TAPS) * DIM + j + a % TAPS] / DATA as f64;
        (0..TAPS * TAPS).map(at).collect()
    };
    let patches: Vec<Vec<f64>> = (0..PATCHES).map(patch).collect();
    let extremes = |m: &Vec<f64>| -> Result<(f64, f64), GeometryError> {
        let values = symmetric_eigen(m, TAPS)?.values;
        Ok((values[TAPS - 1], values[0]))
    };
    let lambda: Vec<(f64, f64)> = patches.iter().map(extremes).collect::<Result<_, _>>()?;
    let mut theta = vec![0.0; draws * TAPS];
    Stream::new(0, 0, "kernels").normal(1.0, &mut theta);
    let mut means = vec![[0.0; TAPS * TAPS]; PATCHES * PATCHES];
    for theta in theta.chunks_exact(TAPS) {
        let t: Vec<f64> = theta.iter().map(|&t| f64::from(t)).collect();
        let size = |m: &Vec<f64>| -> f64 {
            let entry = |at: usize| m[at] * t[at / TAPS] * t[at % TAPS];
            (0..TAPS * TAPS).map(entry).sum::<f64>().sqrt()
        };
        let sizes: Vec<f64> = patches.iter().map(size).collect();
        for (pair, mean) in means.iter_mut().enumerate() {
            let weight = 1.0 / (sizes[pair / PATCHES] * sizes[pair % PATCHES] * draws as f64);
            for (at, m) in mean.iter_mut().enumerate() {
                *m += weight * t[at / TAPS] * t[at % TAPS];
            }
        }
    }
    let mut bounds = Bounds {
        pairs: means.len(),
        outside: 0,
        outside_printed: 0,
    };
    for (pair, mean) in means.iter().enumerate() {
        let (a, b) = (lambda[pair / PATCHES], lambda[pair % PATCHES]);
        let values = symmetric_eigen(mean, TAPS)?.values;
        let (low, high) = ((a.1 * b.1).sqrt().recip(), (a.0 * b.0).sqrt().recip());
        let outside = |by: f64| values[TAPS - 1] < low / by || values[0] > high / by;
        bounds.outside += usize::from(outside(TAPS as f64));
        bounds.outside_printed += usize::from(outside(1.0));
    }
    Ok(bounds)
}
