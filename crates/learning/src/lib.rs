//! Lenses on one network with weights.
//!
//! - [`eval`]: what it answers, and what in its input moves the answer.
//! - [`train`]: how it learns.
//! - [`weights`], [`Inputs`]: what they read.
#![forbid(unsafe_code)]

mod error;
mod inputs;

pub mod eval;
pub mod train;
pub mod weights;

pub use error::LearningError;
pub use inputs::Inputs;
