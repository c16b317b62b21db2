//! Why there is no kernel.

use polariscope_diff::cuda::CudaError;
use thiserror::Error;

/// Why there is no kernel.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum NngpError {
    /// An op without a kernel.
    #[error("{op} ({layer}) has no kernel at infinite width: {reason}; {instead}")]
    Unsupported {
        /// The op.
        op: &'static str,
        /// Its layer.
        layer: String,
        /// Why.
        reason: &'static str,
        /// What would work.
        instead: &'static str,
    },
    /// An activation that reads the input, or a sum that carries another activation, directly.
    #[error(
        "{op} ({layer}) reads {reads} with no weight between, which is not Gaussian; put a dense or conv layer before it"
    )]
    NotGaussian {
        /// The op.
        op: &'static str,
        /// Its layer.
        layer: String,
        /// What it reads.
        reads: &'static str,
    },
    /// Two paths that share weights meet in a sum.
    #[error(
        "two paths without weights lead from {source_layer} to the sum {layer}: they are correlated and have no kernel here; put a weight on one of them"
    )]
    Correlated {
        /// Where they meet.
        layer: String,
        /// Where they part.
        source_layer: String,
    },
    /// A law that has no kernel.
    #[error("{param} starts from {problem}; {wanted}")]
    Law {
        /// The parameter.
        param: String,
        /// What is wrong.
        problem: String,
        /// What would be right.
        wanted: &'static str,
    },
    /// The output is not one law repeated.
    #[error(
        "the output {problem}: the kernel is that of one number; end with a dense layer after a flatten or a global pool"
    )]
    Output {
        /// What it is.
        problem: String,
    },
    /// A kernel that does not fit in memory.
    #[error(
        "a pair of samples needs {mebibytes} MiB of scratch memory at {layer} (limit {limit}): use fewer positions, a larger stride, an earlier pool or one padding throughout"
    )]
    Memory {
        /// The layer.
        layer: String,
        /// What it needs.
        mebibytes: usize,
        /// What is allowed.
        limit: usize,
    },
    /// Samples of another length.
    #[error(
        "{array} has {numbers} numbers, which is not a multiple of the {inputs} that the network reads"
    )]
    Length {
        /// Which array.
        array: &'static str,
        /// Its length.
        numbers: usize,
        /// Numbers in a sample.
        inputs: usize,
    },
    /// A NaN or an infinity among the inputs.
    #[error("{array}: sample {sample} holds {value}; every number must be finite")]
    NotFinite {
        /// Which array.
        array: &'static str,
        /// Which sample.
        sample: usize,
        /// What it holds.
        value: f64,
    },
    /// A kernel beyond the range of the numbers.
    #[error(
        "the kernel of samples {first} and {second} is not finite: it overflows {precision}; scale the inputs or w_std down"
    )]
    Overflow {
        /// Row.
        first: usize,
        /// Column.
        second: usize,
        /// Type of the numbers.
        precision: &'static str,
    },
    /// An activation whose dual a GPU does not compute.
    #[error(
        "{op} has a kernel on the processor only: compute it there, or take sigmoid or silu in its place"
    )]
    Processor {
        /// The activation.
        op: &'static str,
    },
    /// A GPU that failed.
    #[error(transparent)]
    Cuda(#[from] CudaError),
}

impl NngpError {
    /// Whether another question would help; else the device failed.
    pub fn is_usage(&self) -> bool {
        !matches!(self, NngpError::Cuda(CudaError::Call { .. }))
    }
}
