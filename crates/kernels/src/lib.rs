//! What infinitely wide networks learn, and what they never see.
//!
//! - [`inference`]: regression with a kernel: posterior, gradient descent at any time, ridge and ridgeless.
//! - [`spheres`]: spectra of one-hidden-layer kernels on products of spheres, and what m samples can teach.
//! - [`symmetry`]: groups under which a learning system cannot tell data apart.
//! - [`empirical`]: kernels of finite networks, and how training moves them.
//! - [`experiments`]: experiments of the theory, with claims that are judged.
#![forbid(unsafe_code)]

pub mod empirical;
pub mod experiments;
pub mod inference;
pub mod spheres;
pub mod symmetry;
