//! The loss landscape of a network: how many parameters it needs to fit, how rough it is where training ends, in which
//! regime it trains.
#![forbid(unsafe_code)]

pub mod controls;
pub mod dead;
pub mod descent;
pub mod effective;
mod error;
mod flow;
mod frozen;
pub mod gaps;
pub mod hessian;
pub mod lens;
mod motion;
pub mod spread;
pub mod tangent;

pub use error::LandscapeError;
pub use flow::{Flowed, flow};
pub use frozen::{Frozen, Kernels};
pub use motion::{Motion, POINTS, Start, moved};
