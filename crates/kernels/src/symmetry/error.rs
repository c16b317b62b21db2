//! What can be wrong with a question about symmetry.

use polariscope_graph::Shape;
use polariscope_network::NetworkError;
use polariscope_nngp::NngpError;
use polariscope_report::pretty;
use polariscope_train::TrainError;
use thiserror::Error;

/// A question that has no answer.
#[derive(Debug, Error)]
pub enum SymmetryError {
    /// Patches that do not tile the input.
    #[error("patches of {}x{} do not tile an input of {shape}; choose divisors of its height and width", kernel[0], kernel[1])]
    Patch {
        /// Height and width of a patch.
        kernel: [usize; 2],
        /// Shape of a sample.
        shape: Shape,
    },
    /// Samples of another length.
    #[error("{length} numbers are no whole number of {shape} samples")]
    Samples {
        /// Numbers given.
        length: usize,
        /// Shape of a sample.
        shape: Shape,
    },
    /// Weights cannot be matched.
    #[error("{network} has no first layer whose weights could follow a transformation: {reason}")]
    FirstLayer {
        /// Name of the graph.
        network: String,
        /// Why.
        reason: String,
    },
    /// Two graphs that are not of the families of the theorem.
    #[error("{inner} is not contained in {outer} by these weights: {problem}")]
    Inclusion {
        /// Name of the smaller network.
        inner: String,
        /// Name of the larger one.
        outer: String,
        /// What does not fit.
        problem: String,
    },
    /// The eigenvectors of an orthogonal matrix were not found.
    #[error(
        "the logarithm of a rotation did not converge; every number of its matrix must be finite"
    )]
    Logarithm,
    /// Runs that are no evidence.
    #[error(
        "training diverged at every learning rate down to {rate} (the loss went from {} to {}), and a run that diverged is no \
         evidence; try fewer ‹steps› or another ‹parametrisation›",
        pretty(*before),
        pretty(*after)
    )]
    Diverged {
        /// The smallest rate.
        rate: f64,
        /// Loss at first.
        before: f64,
        /// Loss at the end.
        after: f64,
    },
    /// A kernel that cannot be had.
    #[error(transparent)]
    Kernel(#[from] NngpError),
    /// A run that cannot be made.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// A network that cannot be asked.
    #[error(transparent)]
    Network(#[from] NetworkError),
}
