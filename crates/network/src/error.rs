//! What can be wrong with a question to a network.

use polariscope_diff::cuda::CudaError;
use polariscope_graph::Shape;
use thiserror::Error;

/// A question that does not fit the network, or that its device cannot answer.
#[derive(Debug, Error)]
pub enum NetworkError {
    /// The input is not a whole number of samples.
    #[error("the input has {length} numbers, which is no whole number of {shape} samples")]
    Input {
        /// Numbers given.
        length: usize,
        /// Shape of a sample.
        shape: Shape,
    },
    /// The weights are not those of the graph.
    #[error("the weights do not belong to {network}: draw or load them with its graph")]
    Weights {
        /// Name of the graph.
        network: String,
    },
    /// An output that is not there.
    #[error("there is no output {k}: the network has {outputs}, counted from 0")]
    Logit {
        /// Asked for.
        k: usize,
        /// How many there are.
        outputs: usize,
    },
    /// A cotangent of the wrong length.
    #[error("the cotangent has {length} numbers; {samples} samples with {outputs} outputs want {}", samples * outputs)]
    Cotangent {
        /// Numbers given.
        length: usize,
        /// Samples given.
        samples: usize,
        /// Outputs of the network.
        outputs: usize,
    },
    /// A base point that is not one sample.
    #[error("the base point has {length} numbers; one {shape} sample has {}", shape.len())]
    Point {
        /// Numbers given.
        length: usize,
        /// Shape of a sample.
        shape: Shape,
    },
    /// A step with which no difference can be taken.
    #[error("the step of a difference is {h}: give a finite number that is not 0, such as 100")]
    Step {
        /// Given.
        h: f64,
    },
    /// A device that is not there, or that failed.
    #[error(transparent)]
    Device(#[from] CudaError),
}

impl NetworkError {
    /// Whether another question would help; else the device failed.
    pub fn is_usage(&self) -> bool {
        !matches!(self, NetworkError::Device(CudaError::Call { .. }))
    }
}
