//! `hessian`: the curvature of the loss at given weights, in its parts.

mod dense;

pub use dense::{Dense, dense};
