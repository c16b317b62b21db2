//! Experiments on the symmetries of trained networks: what is built in, what is learnt, what is lost.
#![forbid(unsafe_code)]

mod entries;
mod error;
mod poses;
mod samples;
mod stability_law;

pub use entries::entries;
pub use error::SymmetryExperimentsError;
pub use poses::{Pose, Poses, Sizes};
