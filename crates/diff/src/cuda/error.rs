//! What can go wrong with a GPU: one line each.

use thiserror::Error;

/// A GPU that cannot be used, or a call to it that failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CudaError {
    /// No driver, or no library beside it.
    #[error("there is no {library} on this machine: {instead}")]
    Missing {
        /// What could not be loaded.
        library: &'static str,
        /// What would help.
        instead: &'static str,
    },
    /// A number that no device has.
    #[error("there is no device cuda:{ordinal}: this machine has {count}, counted from 0")]
    Device {
        /// The one asked for.
        ordinal: usize,
        /// How many there are.
        count: usize,
    },
    /// A GPU without the instructions that our kernels are written in.
    #[error(
        "the GPU has compute capability {major}.{minor}, and kernels need 8.0 (Ampere) or later: use --device cpu"
    )]
    Old {
        /// Of its capability.
        major: i32,
        /// Of its capability.
        minor: i32,
    },
    /// Too little memory.
    #[error("the GPU has {free} bytes free, and this needs {needed}: take fewer samples at a time")]
    Memory {
        /// Bytes asked for.
        needed: usize,
        /// Bytes there are.
        free: usize,
    },
    /// A call that failed.
    #[error("{call} failed on the GPU: {reason}")]
    Call {
        /// What was asked.
        call: &'static str,
        /// What the driver said.
        reason: String,
    },
}
