//! What infinitely wide networks learn, and what they never see.
//!
//! - [`inference`]: regression with a kernel: posterior, gradient descent at any time, ridge and ridgeless.
//! - [`spheres`]: spectra of one-hidden-layer kernels on products of spheres, and what m samples can teach.
//! - [`averaged`]: kernels averaged over a group of permutations.
//! - [`symmetry`]: groups under which a learning system cannot tell data apart.
//! - [`kernel`]: the matrices themselves, of infinite and of finite networks.
//! - [`regress`]: a data set learnt with them.
//! - [`spectrum`]: their eigenvalues on samples.
//! - [`experiments`]: experiments of the theory, with claims that are judged.
//! - [`controls`]: numbers that theory knows, for `check`.
#![forbid(unsafe_code)]

mod error;
mod matrix;
mod number;

pub mod averaged;
pub mod controls;
pub mod experiments;
pub mod inference;
pub mod kernel;
pub mod regress;
pub mod spectrum;
pub mod spheres;
pub mod symmetry;

pub use error::KernelsError;
pub use matrix::{Store, StoreError};
pub use number::{Given, Number, Samples};
