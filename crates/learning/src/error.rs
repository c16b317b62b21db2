//! Why a lens has no answer. Settings are named as data: `‹dtype f64›`.

use polariscope_data::DataError;
use polariscope_empirical::EmpiricalError;
use polariscope_lens::{Stopped, TooLarge};
use polariscope_network::{NetworkError, WeightsError};
use polariscope_train::TrainError;
use thiserror::Error;

/// Why a lens has no answer.
#[derive(Debug, Error)]
pub enum LearningError {
    /// A setting that does not fit the others.
    #[error("{0}")]
    Question(String),
    /// Samples that cannot be read, or that do not fit.
    #[error("{0}")]
    Inputs(String),
    /// A file that cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Weights that cannot be read, or that do not fit.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// A network that cannot be evaluated.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A run that cannot start, or that cannot go on.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// No tangent kernel.
    #[error(transparent)]
    Tangent(#[from] EmpiricalError),
    /// An answer that is not a number: where, and what to try.
    #[error("{0}")]
    Overflow(String),
    /// A run without a row in its history.
    #[error("training left no history")]
    NoHistory,
    /// More than the machine has.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The observer had it stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl LearningError {
    /// Whether another question would help; else the work failed.
    pub fn is_usage(&self) -> bool {
        match self {
            LearningError::Question(_)
            | LearningError::Inputs(_)
            | LearningError::Data(_)
            | LearningError::Weights(_)
            | LearningError::TooLarge(_) => true,
            LearningError::Network(e) => e.is_usage(),
            LearningError::Train(e) => e.is_usage(),
            LearningError::Tangent(e) => e.is_usage(),
            LearningError::Overflow(_) | LearningError::NoHistory | LearningError::Stopped(_) => {
                false
            }
        }
    }
}
