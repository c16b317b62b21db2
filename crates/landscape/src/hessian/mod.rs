//! `hessian`: the curvature of the loss at given weights, in its parts.

mod dense;
mod sampled;
mod spectrum;

pub use dense::{Dense, dense};
pub use sampled::{Operator, Sampled};
pub use spectrum::{Counts, Spectrum, Split, split};
