//! Why a lens has no answer. Settings are named as data: `‹finite 3›`.

use polariscope_empirical::EmpiricalError;
use polariscope_lens::{Dtype, Stopped, TooLarge};
use polariscope_nngp::NngpError;
use thiserror::Error;

use crate::inference::InferenceError;
use crate::matrix::StoreError;
use crate::spheres::SphereError;
use crate::symmetry::SymmetryError;

/// Why a lens has no answer.
#[derive(Debug, Error)]
pub enum KernelsError {
    // === Questions ===
    /// A setting that does not fit the others.
    #[error("{0}")]
    Question(String),
    /// Data that do not fit the question.
    #[error("{0}")]
    Data(String),

    // === Work ===
    /// No kernel at infinite width.
    #[error(transparent)]
    Infinite(#[from] NngpError),
    /// No kernel of a finite network.
    #[error(transparent)]
    Empirical(#[from] EmpiricalError),
    /// No spectrum on spheres.
    #[error(transparent)]
    Sphere(#[from] SphereError),
    /// A group that cannot be checked.
    #[error(transparent)]
    Symmetry(#[from] SymmetryError),
    /// No inference.
    #[error(transparent)]
    Inference(#[from] InferenceError),
    /// A Gram matrix that rounding has made no kernel.
    #[error("{reason} (‹ridge X›){}", less_rounding(*.dtype))]
    Singular {
        /// What was found.
        reason: InferenceError,
        /// Precision of the kernels.
        dtype: Dtype,
    },
    /// A matrix that cannot be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Eigenvalues that were not found.
    #[error("{0}")]
    Eigen(String),
    /// More than the machine has.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The observer had it stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl KernelsError {
    /// Whether another question would help; else the work failed.
    pub fn is_usage(&self) -> bool {
        match self {
            KernelsError::Question(_) | KernelsError::Data(_) | KernelsError::TooLarge(_) => true,
            KernelsError::Symmetry(e) => match e {
                SymmetryError::Train(e) => e.is_usage(),
                SymmetryError::Network(e) => e.is_usage(),
                SymmetryError::Kernel(e) => e.is_usage(),
                SymmetryError::Logarithm | SymmetryError::Diverged { .. } => false,
                SymmetryError::Patch { .. }
                | SymmetryError::Samples { .. }
                | SymmetryError::FirstLayer { .. }
                | SymmetryError::Inclusion { .. } => true,
            },
            KernelsError::Inference(_) => true,
            KernelsError::Sphere(e) => *e != SphereError::Decomposition,
            KernelsError::Infinite(e) => e.is_usage(),
            KernelsError::Empirical(e) => e.is_usage(),
            KernelsError::Store(e) => match e {
                StoreError::Open { .. } | StoreError::Another { .. } => true,
                StoreError::Io { .. } | StoreError::Nowhere { .. } => false,
            },
            KernelsError::Singular { .. } | KernelsError::Eigen(_) | KernelsError::Stopped(_) => {
                false
            }
        }
    }
}

fn less_rounding(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F32 => ", or round less (‹dtype f64›)",
        Dtype::F64 => "",
    }
}
