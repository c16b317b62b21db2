//! Why the lens has no answer. Settings are named as data: `‹images 500›`.

use polariscope_data::{ActionError, DataError};
use polariscope_lens::{Stopped, TooLarge};
use polariscope_network::{NetworkError, WeightsError};
use polariscope_train::TrainError;
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
    /// A transformation that does not act on the input.
    #[error(transparent)]
    Action(#[from] ActionError),
    /// Samples that cannot be had.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Weights that cannot be read, or that do not fit.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// A network that cannot be evaluated.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A network that cannot be trained.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// Outputs that are no numbers.
    #[error(
        "{network}: {what} is not a finite number; give other weights, or data of another size"
    )]
    NotFinite {
        /// The architecture.
        network: String,
        /// Which value, of what.
        what: String,
    },
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
            | SymmetryError::Action(_)
            | SymmetryError::Data(_)
            | SymmetryError::Weights(_)
            | SymmetryError::NotFinite { .. }
            | SymmetryError::TooLarge(_) => true,
            SymmetryError::Network(e) => e.is_usage(),
            SymmetryError::Train(e) => e.is_usage(),
            SymmetryError::Stopped(_) => false,
        }
    }
}
