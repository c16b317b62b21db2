//! Why the lens has no answer. Settings are named as data: `‹images 500›`.

use polariscope_data::DataError;
use polariscope_lens::{Stopped, TooLarge};
use thiserror::Error;

/// Why the lens has no answer.
#[derive(Debug, Error)]
pub enum SymmetryError {
    /// A setting that does not fit the others, the network or the data.
    #[error("{0}")]
    Question(String),
    /// Deformations that there are not, or that tear images.
    #[error(transparent)]
    Deformation(#[from] polariscope_data::deform::DeformError),
    /// Samples that cannot be had.
    #[error(transparent)]
    Data(#[from] DataError),
    /// More than the machine has.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The observer had it stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl SymmetryError {
    /// Whether another question would help; else the work failed.
    pub fn is_usage(&self) -> bool {
        match self {
            SymmetryError::Question(_)
            | SymmetryError::Deformation(_)
            | SymmetryError::Data(_)
            | SymmetryError::TooLarge(_) => true,
            SymmetryError::Stopped(_) => false,
        }
    }
}
