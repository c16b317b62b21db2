//! Regression with a kernel: what an infinitely wide network predicts after seeing n samples.
//!
//! Train Gram matrix K (n × n), test against train K* (m × n), test K** (m × m or its diagonal), targets Y (n × C).
//!
//! - **NNGP posterior** (Eq. 7), noise or ridge σ²: mean K*(K + σ²I)⁻¹Y, covariance K** − K*(K + σ²I)⁻¹K*ᵀ. One
//!   Cholesky factor answers it: [`Posterior`].
//! - **NTK mean at any time** (Eq. 9): gradient flow of rate η on the squares of the errors plus λ times the squared
//!   distance from the start gives f_t = Θ*(Θ + λI)⁻¹(I − e^{−η(Θ + λI)t})Y; t = ∞ is kernel ridge regression, and
//!   λ = 0 ridgeless. One eigendecomposition answers every t: [`Descent`].
//! - **Classes** by regression on centred one-hot targets: [`centred_targets`], [`argmax`], [`accuracy`].
//!
//! Every matrix is f64, row by row. A singular matrix gets the smallest jitter 10ᵏ·ε·tr K/n, k = 0, 1, …, that makes it
//! positive definite; jitter and condition number are reported ([`Conditioning`]).
//!
//! ```
//! use polariscope_kernels::inference::{Descent, Posterior, Time};
//! // Two samples with K = [[2, 1], [1, 2]], targets 1 and −1, a test point that looks like the first: K* = (2, 1).
//! let gram = [2.0, 1.0, 1.0, 2.0];
//! let posterior = Posterior::new(&gram, 2, 0.0)?;
//! assert!((posterior.mean(&[2.0, 1.0], &[1.0, -1.0])?[0] - 1.0).abs() < 1e-15);
//! assert!(posterior.variance(&[2.0, 1.0], &[2.0])?[0].abs() < 1e-15);
//! // (1, −1) is an eigenvector with eigenvalue 1, so f_t = 1 − e^{−t}.
//! let descent = Descent::new(&gram, 2, 0.0)?;
//! let f = descent.mean(&[2.0, 1.0], &[1.0, -1.0], Time::After(0.5))?;
//! assert!((f[0] - (1.0 - (-0.5f64).exp())).abs() < 1e-15);
//! # Ok::<(), polariscope_kernels::inference::InferenceError>(())
//! ```

mod classes;
mod descent;
mod error;
mod posterior;

pub use classes::{accuracy, argmax, centred_targets};
pub use descent::{Descent, Time};
pub use error::InferenceError;
pub use polariscope_linalg::Conditioning;
pub use posterior::Posterior;
