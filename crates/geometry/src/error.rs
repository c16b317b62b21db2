//! What can be wrong with a question to the lens.

use polariscope_data::DataError;
use polariscope_diff::cuda::CudaError;
use polariscope_lens::{Stopped, TooLarge};
use polariscope_linalg::EigenError;
use polariscope_meanfield::Refusal;
use polariscope_network::{NetworkError, WeightsError};
use polariscope_report::memory;
use polariscope_train::TrainError;
use thiserror::Error;

use crate::KernelRefusal;

/// A geometry that cannot be had.
#[derive(Debug, Error)]
pub enum GeometryError {
    /// The network refused the question.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The architecture could not be built.
    #[error(transparent)]
    Graph(#[from] polariscope_graph::GraphError),
    /// The gradient of the loss could not be had.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// There is no closed form.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// There is no kernel to differentiate.
    #[error(transparent)]
    Kernel(#[from] KernelRefusal),
    /// The eigensolver gave up.
    #[error(transparent)]
    Eigen(#[from] EigenError),
    /// A decomposition that does not rebuild its matrix.
    #[error(
        "the eigenvectors miss the matrix by {residual:.1e} and orthogonality by {orthogonality:.1e}; the matrix is too badly scaled"
    )]
    Decomposition {
        /// ‖AV − VΛ‖ / ‖A‖.
        residual: f64,
        /// ‖VᵀV − I‖.
        orthogonality: f64,
    },
    /// Two matrices, or a matrix and samples, of different sizes.
    #[error("{what} has {found} dimensions, the geometry {wanted}")]
    Size {
        /// What does not fit.
        what: &'static str,
        /// Its size.
        found: usize,
        /// The geometry's.
        wanted: usize,
    },
    /// A gradient that is not a number, or infinite.
    #[error(
        "the input gradient of network {network} is not finite: the activations overflow; try ‹dtype f64› or another ‹parametrisation›"
    )]
    NotFinite {
        /// Which network.
        network: u64,
    },
    /// Every gradient is 0.
    #[error(
        "every input gradient is 0: this output does not depend on the input at this probe; try ‹probe gauss:1›"
    )]
    Vanishes,
    /// Gradients so unequal that their sum leaves the range of the accumulator.
    #[error(
        "the gradients of some networks are more than 4096 times those of the first ones; try another ‹parametrisation›"
    )]
    Range,
    /// The matrix does not fit into memory.
    #[error("G has {dim} × {dim} entries ({}): {source}", memory(*.bytes))]
    Matrix {
        /// D.
        dim: usize,
        /// Bytes of D × D numbers.
        bytes: f64,
        /// How much it would take.
        source: TooLarge,
    },
    /// Something beside the matrix does not fit into memory.
    #[error(transparent)]
    Memory(#[from] TooLarge),
    /// Weights that do not belong to the network.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// Arrays that cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Whoever looked on had the work stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// A pilot that noise drowns.
    #[error("{0}")]
    Drowned(String),
    /// A question that makes no sense for this network; says what would.
    #[error("{0}")]
    Question(String),
    /// A checkpoint or shard that cannot be used.
    #[error("{0}")]
    Checkpoint(String),
}

impl From<CudaError> for GeometryError {
    fn from(e: CudaError) -> Self {
        NetworkError::from(e).into()
    }
}

impl GeometryError {
    /// Whether another question would help; else the work failed.
    pub fn is_usage(&self) -> bool {
        match self {
            GeometryError::Train(e) => e.is_usage(),
            GeometryError::Network(e) => e.is_usage(),
            GeometryError::Eigen(_)
            | GeometryError::Decomposition { .. }
            | GeometryError::NotFinite { .. }
            | GeometryError::Range
            | GeometryError::Stopped(_)
            | GeometryError::Drowned(_)
            | GeometryError::Checkpoint(_) => false,
            GeometryError::Graph(_)
            | GeometryError::Refused(_)
            | GeometryError::Kernel(_)
            | GeometryError::Size { .. }
            | GeometryError::Vanishes
            | GeometryError::Matrix { .. }
            | GeometryError::Memory(_)
            | GeometryError::Weights(_)
            | GeometryError::Data(_)
            | GeometryError::Question(_) => true,
        }
    }
}
