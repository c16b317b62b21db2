//! What a network does not mind: deformations.
#![forbid(unsafe_code)]

pub mod deform;
mod error;

pub use error::SymmetryError;
