//! Tensor programs closed under differentiation, and the devices that run them.
#![deny(unsafe_code)]

mod real;

pub use real::{Dtype, Real};
