//! Where eigenproblems are solved.

use std::sync::Arc;

use polariscope_diff::Device;
use polariscope_diff::cuda::{Eigen, Gpu};
use polariscope_linalg::{
    EigenError, SymmetricEigen, symmetric_eigen, symmetric_eigenvalues, to_one,
};

use crate::GeometryError;
use polariscope_linalg::product_transposed;

/// From this many rows on a GPU is faster, copies to it and back included.
const LARGE: usize = 2048;

/// The processor, or a GPU for large matrices.
pub(crate) enum Solver {
    Processor,
    Card(Arc<Gpu>),
}

impl Solver {
    /// For matrices of n rows.
    pub fn new(device: Device, n: usize) -> Result<Self, GeometryError> {
        Ok(match device {
            Device::Cuda(ordinal) if n >= LARGE => Solver::Card(Gpu::open(ordinal)?),
            Device::Cpu | Device::Cuda(_) => Solver::Processor,
        })
    }

    /// Eigenvalues and eigenvectors of a symmetric n × n matrix; by the processor where the GPU's library is not there.
    pub fn eigen(&self, matrix: &[f64], n: usize) -> Result<SymmetricEigen, GeometryError> {
        if let Solver::Card(gpu) = self {
            let (scaled, scale) = near_one(matrix)?;
            if let Some(Eigen { values, vectors }) = gpu.eigen(&scaled, n)? {
                let values = values.iter().map(|x| x / scale).collect();
                return Ok(SymmetricEigen::ascending(values, &vectors));
            }
        }
        Ok(symmetric_eigen(matrix, n)?)
    }

    /// Eigenvalues alone, largest first.
    pub fn eigenvalues(&self, matrix: &[f64], n: usize) -> Result<Vec<f64>, GeometryError> {
        if let Solver::Card(gpu) = self {
            let (scaled, scale) = near_one(matrix)?;
            if let Some(values) = gpu.eigenvalues(&scaled, n)? {
                return Ok(values.iter().rev().map(|x| x / scale).collect());
            }
        }
        Ok(symmetric_eigenvalues(matrix, n)?)
    }

    /// A Bᵀ of n × n matrices.
    pub fn product(&self, a: &[f64], b: &[f64], n: usize) -> Result<Vec<f64>, GeometryError> {
        let Solver::Card(gpu) = self else {
            return Ok(product_transposed(a, b, n, n));
        };
        let [x, y, mut to] = [gpu.zeros(n * n)?, gpu.zeros(n * n)?, gpu.zeros(n * n)?];
        gpu.upload(a, 0, &x)?;
        gpu.upload(b, 0, &y)?;
        gpu.product([n, n, n], &x, &y, &mut to)?;
        let mut out = vec![0.0; n * n];
        gpu.download(&to, &mut out)?;
        Ok(out)
    }
}

/// The matrix times the power of two that brings its largest number near 1, and that power.
fn near_one(matrix: &[f64]) -> Result<(Vec<f64>, f64), GeometryError> {
    if !matrix.iter().all(|x| x.is_finite()) {
        return Err(EigenError.into());
    }
    let scale = to_one(matrix);
    Ok((matrix.iter().map(|x| x * scale).collect(), scale))
}
