//! The loss landscape of a network: how many parameters it needs to fit, how rough it is where training ends, in which
//! regime it trains.
#![forbid(unsafe_code)]

mod error;
mod flow;
mod frozen;
mod halving;
mod motion;

pub use error::LandscapeError;
pub use flow::{Flowed, flow};
pub use frozen::{Frozen, Kernels};
pub use motion::{Motion, POINTS, Start};
