//! Why no accuracy can be predicted.

use thiserror::Error;

/// A prediction that cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum PredictError {
    /// No problem at all.
    #[error("a problem has at least one training sample and a noise sigma above 0")]
    Problem,
    /// No ridge.
    #[error("delta must be a finite number of at least 0")]
    Delta,
    /// Rows of another length.
    #[error("a direction must have the {wanted} numbers of the input")]
    Size {
        /// Numbers of the input.
        wanted: usize,
    },
    /// A row without a direction.
    #[error("direction {row} (from 0) is zero or not finite")]
    Direction {
        /// Which.
        row: usize,
    },
    /// More accurate than without a ridge.
    #[error(
        "an accuracy of {:.1} % is above the {:.1} % that the geometry gives without a ridge",
        100.0 * .accuracy,
        100.0 * .most
    )]
    Above {
        /// As measured.
        accuracy: f64,
        /// At δ = 0.
        most: f64,
    },
    /// Less accurate than with any ridge.
    #[error(
        "an accuracy of {:.1} % is below the {:.1} % that the geometry gives with any ridge",
        100.0 * .accuracy,
        100.0 * .least
    )]
    Below {
        /// As measured.
        accuracy: f64,
        /// At δ = ∞.
        least: f64,
    },
}
