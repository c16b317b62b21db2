//! `hessian`: the curvature of the loss at given weights, in its parts.

mod dense;
mod spectrum;

pub use dense::{Dense, dense};
pub use spectrum::{Counts, Spectrum, Split, split};
