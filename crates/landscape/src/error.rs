//! Why the lens has no answer. Settings are named as data: `‹margin 1›`.

use polariscope_data::DataError;
use polariscope_empirical::EmpiricalError;
use polariscope_graph::GraphError;
use polariscope_lens::{Stopped, TooLarge};
use polariscope_linalg::EigenError;
use polariscope_network::{NetworkError, WeightsError};
use polariscope_train::TrainError;
use thiserror::Error;

/// Why the lens has no answer.
#[derive(Debug, Error)]
pub enum LandscapeError {
    /// A setting that does not fit the others, or the network.
    #[error("{0}")]
    Question(String),
    /// A network that cannot be built.
    #[error(transparent)]
    Graph(Box<GraphError>),
    /// Samples that cannot be had.
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
    /// A descent whose loss or outputs stopped being numbers.
    #[error("training diverged after {step} steps with loss {loss}: ‹rate {}› is a tenth of it", rate / 10.0)]
    Diverged {
        /// Updates made.
        step: u64,
        /// L.
        loss: f64,
        /// The learning rate then.
        rate: f64,
    },
    /// No tangent kernel.
    #[error(transparent)]
    Tangent(Box<EmpiricalError>),
    /// A matrix with NaN or infinity in it.
    #[error(transparent)]
    Eigen(#[from] EigenError),
    /// More than the machine has.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The observer had it stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl LandscapeError {
    /// Whether another question would help; else the work failed.
    pub fn is_usage(&self) -> bool {
        match self {
            LandscapeError::Question(_)
            | LandscapeError::Graph(_)
            | LandscapeError::Data(_)
            | LandscapeError::Weights(_)
            | LandscapeError::TooLarge(_) => true,
            LandscapeError::Network(e) => e.is_usage(),
            LandscapeError::Train(e) => e.is_usage(),
            LandscapeError::Tangent(e) => e.is_usage(),
            LandscapeError::Diverged { .. }
            | LandscapeError::Eigen(_)
            | LandscapeError::Stopped(_) => false,
        }
    }
}

impl From<GraphError> for LandscapeError {
    fn from(e: GraphError) -> Self {
        LandscapeError::Graph(Box::new(e))
    }
}

impl From<EmpiricalError> for LandscapeError {
    fn from(e: EmpiricalError) -> Self {
        LandscapeError::Tangent(Box::new(e))
    }
}
