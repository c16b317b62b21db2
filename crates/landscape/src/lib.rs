//! The loss landscape of a network: how many parameters it needs to fit, how rough it is where training ends, in which
//! regime it trains.
#![forbid(unsafe_code)]

pub mod dead;
pub mod descent;
mod error;
pub mod gaps;
pub mod hessian;

pub use error::LandscapeError;
