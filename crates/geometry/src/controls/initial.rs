//! G at initialisation.

use polariscope_graph::Padding;
use polariscope_lens::{Fault, farthest};

use crate::Spectrum;
use crate::theory::{linear, patches, propagation};

/// Networks behind a matrix.
const NETWORKS: u64 = 16 * 4096;

pub fn linear_geometry() -> Result<f64, Fault> {
    Ok(linear::linear_model(NETWORKS)?.0.excess.value)
}

pub fn hidden() -> Result<f64, Fault> {
    Ok(linear::relu_mlp(16, &[32], NETWORKS)?.excess.value)
}

pub fn deep() -> Result<f64, Fault> {
    Ok(linear::relu_mlp(12, &[24, 16], NETWORKS)?.excess.value)
}

pub fn same() -> Result<f64, Fault> {
    Ok(linear::flatten_cnn(Padding::Same, NETWORKS)?.excess.value)
}

pub fn valid() -> Result<f64, Fault> {
    Ok(linear::flatten_cnn(Padding::Valid, NETWORKS)?.excess.value)
}

pub fn circular() -> Result<f64, Fault> {
    let found = linear::flatten_cnn(Padding::Circular, NETWORKS)?;
    Ok(found.excess.value)
}

/// Largest difference of an entry.
pub fn overlap() -> Result<f64, Fault> {
    let (g, counted) = (patches::pooled_kernel(1)?, patches::overlap_matrix());
    Ok(farthest(&g.factor, &counted.factor))
}

pub fn three_first() -> Result<f64, Fault> {
    three(0)
}

pub fn three_last() -> Result<f64, Fault> {
    three(2)
}

fn three(index: usize) -> Result<f64, Fault> {
    Ok(4.0 * Spectrum::of(&patches::three_inputs()?)?.values[index])
}

pub fn batch_norm() -> Result<f64, Fault> {
    Ok(patches::batch_norm_bounds(100_000)?.outside as f64)
}

pub fn channels() -> Result<f64, Fault> {
    Ok(patches::channels(NETWORKS)?.value)
}

pub fn propagated() -> Result<f64, Fault> {
    Ok(propagation::one_kernel(3)?)
}

pub fn propagated_deep() -> Result<f64, Fault> {
    Ok(propagation::deep_network(NETWORKS)?.excess.value)
}
