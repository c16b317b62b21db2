//! The neural tangent kernel of a finite network, Θ̂ = J Jᵀ with J the derivatives of the outputs in the parameters.
//!
//! Traced over outputs Θ̂(x, x′) = (1/C) Σ_c ⟨∇f_c(x), ∇f_c(x′)⟩, which is Θ of one output at infinite width, or all of
//! it, nC × nC. J of all points is never held: blocks of rows meet blocks of columns, gradients are computed again where
//! they are needed again, and the block size follows from a bound on the memory. On a GPU they never leave it.
//!
//! - [`among`], [`between`]: the kernel.
//! - [`evolution`], [`Follower`], [`change`]: how training moves it.
//! - [`convergence`]: ‖Θ̂ − Θ‖/‖Θ‖ against the width, which falls as n^{−½} (Eq. 8).

#![forbid(unsafe_code)]

mod card;
mod convergence;
mod evolution;
mod product;

use std::ops::Range;

use polariscope_diff::{Device, Number};
use polariscope_network::{Network, NetworkError, Scalar, Weights};
use polariscope_train::TrainError;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use convergence::{Convergence, convergence};
pub use evolution::{Follower, Snapshot, change, evolution};

/// A number type that matrices can be multiplied in.
pub trait Float: Number + faer::traits::RealField {}

impl<T: Number + faer::traits::RealField> Float for T {}

/// What becomes of the outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outputs {
    /// The mean over outputs of their own kernels: n × n.
    #[default]
    Mean,
    /// Every pair of outputs: nC × nC, outputs of a sample together.
    All,
}

/// Bytes for gradients where nothing else is said.
pub const MEMORY: usize = 1 << 30;

/// An empirical kernel that cannot be had.
#[derive(Debug, Error)]
pub enum EmpiricalError {
    /// A question that does not fit the network.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A run that cannot be made.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// A network of the family that cannot be built.
    #[error(transparent)]
    Graph(#[from] polariscope_graph::GraphError),
    /// An analytic kernel of another size.
    #[error("the analytic kernel has {length} numbers; {samples} samples want {}", samples * samples)]
    Analytic {
        /// Numbers given.
        length: usize,
        /// Samples.
        samples: usize,
    },
    /// NaN or infinity among the gradients.
    #[error("the gradients of {network} are not finite; scale the weights or the inputs down")]
    NotFinite {
        /// Name of the graph.
        network: String,
    },
}

impl EmpiricalError {
    /// Whether another question would help.
    pub fn is_usage(&self) -> bool {
        match self {
            EmpiricalError::Network(e) => e.is_usage(),
            EmpiricalError::Train(e) => e.is_usage(),
            EmpiricalError::Graph(_)
            | EmpiricalError::Analytic { .. }
            | EmpiricalError::NotFinite { .. } => true,
        }
    }
}

/// Θ̂ among the samples of `x`, symmetric; gradients take at most about `memory` bytes (on a GPU a share of its own).
pub fn among<T: Float>(
    network: &Network<T>,
    weights: &Weights<T>,
    x: &[T],
    outputs: Outputs,
    memory: usize,
) -> Result<Vec<f64>, EmpiricalError> {
    kernel(network, weights, x, None, outputs, memory)
}

/// Θ̂ between the samples of `x1` and of `x2`: n1 × n2, or n1 C × n2 C.
pub fn between<T: Float>(
    network: &Network<T>,
    weights: &Weights<T>,
    x1: &[T],
    x2: &[T],
    outputs: Outputs,
    memory: usize,
) -> Result<Vec<f64>, EmpiricalError> {
    kernel(network, weights, x1, Some(x2), outputs, memory)
}

/// The kernel of a device, checked.
fn kernel<T: Float>(
    network: &Network<T>,
    weights: &Weights<T>,
    x1: &[T],
    x2: Option<&[T]>,
    outputs: Outputs,
    memory: usize,
) -> Result<Vec<f64>, EmpiricalError> {
    let kernel = match network.device() {
        Device::Cpu => blocks(network, weights, x1, x2, outputs, memory)?,
        Device::Cuda(_) => card::kernel(network, weights, x1, x2, outputs)?,
    };
    match kernel.iter().all(|k| k.is_finite()) {
        true => Ok(kernel),
        false => Err(EmpiricalError::NotFinite {
            network: network.graph().name.clone(),
        }),
    }
}

/// Outputs whose gradients are multiplied together, and the weight of their products in the kernel.
fn passes(outputs: Outputs, classes: usize) -> (Vec<Range<usize>>, f64) {
    match outputs {
        Outputs::Mean => (
            (0..classes).map(|c| c..c + 1).collect(),
            1.0 / classes as f64,
        ),
        Outputs::All => (std::iter::once(0..classes).collect(), 1.0),
    }
}

/// The kernel on the processor, block by block; without `x2` each pair of blocks once.
fn blocks<T: Float>(
    network: &Network<T>,
    weights: &Weights<T>,
    x1: &[T],
    x2: Option<&[T]>,
    outputs: Outputs,
    memory: usize,
) -> Result<Vec<f64>, EmpiricalError> {
    let graph = network.graph();
    let (sample, classes) = (graph.input().len(), graph.output().len());
    let parameters = graph.parameter_count();
    let (passes, weight) = passes(outputs, classes);
    // Rows of the kernel for each sample.
    let rows = match outputs {
        Outputs::Mean => 1,
        Outputs::All => classes,
    };
    let row_bytes = std::mem::size_of::<T>() * parameters.max(1) * rows;
    // Gradients of rows, of columns, and the copy while they are gathered.
    let block = (memory / (3 * row_bytes)).max(1);
    let (n1, other) = (x1.len() / sample, x2.unwrap_or(x1));
    let n2 = other.len() / sample;
    let columns = n2 * rows;
    let mut kernel = vec![0.0; n1 * rows * columns];
    for pass in passes {
        for i in (0..n1).step_by(block) {
            let left = &x1[i * sample..(i + block).min(n1) * sample];
            let left = jacobian(network, weights, left, pass.clone())?;
            let last = if x2.is_none() { i + 1 } else { n2 };
            for j in (0..last).step_by(block) {
                let right = &other[j * sample..(j + block).min(n2) * sample];
                let right = match x2.is_none() && i == j {
                    true => None,
                    false => Some(jacobian(network, weights, right, pass.clone())?),
                };
                let right = right.as_ref().unwrap_or(&left);
                let part = product::gram(&left, right, parameters);
                let width = right.len() / parameters;
                for (r, part) in part.chunks_exact(width).enumerate() {
                    for (c, value) in part.iter().enumerate() {
                        let (r, c) = (i * rows + r, j * rows + c);
                        kernel[r * columns + c] += weight * value;
                        if x2.is_none() && i != j {
                            kernel[c * columns + r] += weight * value;
                        }
                    }
                }
            }
        }
    }
    Ok(kernel)
}

/// Rows of J for some outputs of some samples, outputs of a sample together.
fn jacobian<T: Float>(
    network: &Network<T>,
    weights: &Weights<T>,
    x: &[T],
    outputs: Range<usize>,
) -> Result<Vec<T>, EmpiricalError> {
    let mut several: Vec<Vec<Vec<T>>> = outputs
        .map(|k| network.sample_gradients(weights, x, Scalar::Logit(k)))
        .collect::<Result<_, _>>()?;
    let samples = several.first().map_or(0, Vec::len);
    // Memory at once: a list that grows by itself is copied, and its pages are fresh ones, again and again.
    let numbers = several.iter().flatten().map(Vec::len).sum();
    let mut rows = Vec::with_capacity(numbers);
    for i in 0..samples {
        several
            .iter_mut()
            .for_each(|of| rows.append(&mut std::mem::take(&mut of[i])));
    }
    Ok(rows)
}
