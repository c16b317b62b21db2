//! [`exact`]'s covariance propagation beside what it stands for.
//!
//! For one kernel with global average pool it must give the sum over unit kernels to rounding, and I_C ⊗ B with C input
//! channels. For a deep smooth network at x = 0, where φ'(0) is a constant, it must be the mean over random networks
//! at any width.

use polariscope_graph::{Activation, Builder, ConvSpec, Graph, HasBias, Padding, PoolSpec, Shape};

use super::linear::{Where, sampled};
use super::patches::{kernel_network, over_units};
use super::{Agreement, builder};
use crate::{GeometryError, Output, Probe, exact};

/// ‖exact − Σ_q g(e_q)g(e_q)ᵀσ²‖ / ‖…‖ for one 3 × 3 kernel with global average pool on C × 6 × 6.
pub fn one_kernel(channels: usize) -> Result<f64, GeometryError> {
    let graph = kernel_network(channels)?;
    let propagated = exact(&graph, &Probe::Zero, Output::Logit(0))?.to_dense();
    // Weights N(0, 1/fan_in).
    let variance = 1.0 / (9 * channels) as f64;
    let units = over_units(graph)?.factor;
    let pairs = propagated.iter().zip(&units);
    let squares: f64 = pairs.map(|(p, u)| (p - variance * u).powi(2)).sum();
    let whole: f64 = units.iter().map(|u| (variance * u).powi(2)).sum();
    Ok((squares / whole).sqrt())
}

/// Agreement of sampled GELU networks (2 × 6 × 6, two convolutions, average pool, flatten) at x = 0 with `exact`.
pub fn deep_network(networks: u64) -> Result<Agreement, GeometryError> {
    let graph = deep()?;
    let prediction = exact(&graph, &Probe::Zero, Output::Logit(0))?;
    let groups = sampled(graph, networks, Where::Zero)?;
    let dim = prediction.dim();
    Ok(Agreement::geometry(&groups, &prediction.to_dense(), dim))
}

fn deep() -> Result<Graph, GeometryError> {
    let mut net = builder(Shape::Image {
        channels: 2,
        height: 6,
        width: 6,
    })?;
    let spec = |channels| {
        ConvSpec::new(channels, [3, 3])
            .padding(Padding::Same)
            .bias(HasBias::No)
    };
    let x = net.conv(Builder::INPUT, "conv1", spec(5))?;
    let x = net.activation(x, "gelu1", Activation::Gelu)?;
    let x = net.avg_pool(x, "pool", PoolSpec::new([2, 2]))?;
    let x = net.conv(x, "conv2", spec(4))?;
    let x = net.activation(x, "gelu2", Activation::Gelu)?;
    let x = net.flatten(x, "flatten")?;
    net.dense(x, "read", 1, HasBias::No)?;
    Ok(net.finish())
}
