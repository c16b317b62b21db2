//! Kernels of infinitely wide networks: K = E[f f'] of one output (NNGP) and Θ = Σ_θ E[∂f/∂θ ∂f'/∂θ] (NTK).
//!
//! For a pair (x, x') every node carries, per block of exchangeable channels and per pair of positions (α, α'),
//! the gap D = p + q − 2c in place of the covariance c = E[u_α v_α'], with p = E u_α², q = E v_α'²; nearly equal
//! inputs then lose nothing, and D = 0 exactly on the diagonal. With v = Var(scale · w):
//!
//! | op | D, p, Θ |
//! |---|---|
//! | input | D = Σ_c (x_c(α) − x'_c(α'))² |
//! | dense, conv, local | D_out = v Σ D; p likewise; Θ_out = v Σ Θ + c_out/Var w; local: c = 0 for α ≠ α' |
//! | bias | p + scale² Var b, D unchanged, Θ + scale² |
//! | αu + β|u| | D_out = (α²+β²) D − β²(4/π)(√det − θc), Θ_out = (α² + β²(1 − 2θ/π)) Θ, θ = atan2(√det, c) |
//! | other activations | D_out = F(p) + F(q) − 2 E[φφ'], Θ_out = E[φ'φ'] Θ (`meanfield::dual`) |
//! | average pools | means over both windows of c and Θ |
//! | sum | D, p, Θ add |
//! | layer-norm, group-norm, rms-norm | u/√(p̄ + ε)·γ with p̄ the expected square (of a token; over positions otherwise); Θ + c/γ² |
//! | class-token, position | its own variance at its position, Θ + 1 there |
//! | attention | two linear layers on the mean of all pairs: uniform weights |
//!
//! What is approximate beyond infinite width is named by [`Kernel::approximations`]: finite groups, uniform attention,
//! norms of finitely many numbers.
#![forbid(unsafe_code)]

mod error;
mod gpu;
mod gram;
mod kernel;
mod plan;
mod run;
mod simd;
mod symmetry;
mod tiles;

use polariscope_diff::Real;
use polariscope_diff::cuda::Stored;
use rayon::prelude::*;

pub use error::NngpError;
pub use kernel::Kernel;

/// Which kernels are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The covariance of outputs alone.
    Nngp,
    /// Both: the NTK needs the NNGP on the way.
    Both,
}

/// Kernels of a block of pairs, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Values<T> {
    /// K(x, x') = E[f(x) f(x')] of one output.
    pub nngp: Vec<T>,
    /// Θ(x, x') = Σ_θ E[∂f(x)/∂θ ∂f(x')/∂θ] of one output, where wanted.
    pub ntk: Option<Vec<T>>,
}

impl<T: Float> Values<T> {
    fn zeros(wanted: Wanted, len: usize) -> Self {
        let zeros = || vec![T::of(0.0); len];
        Values {
            nngp: zeros(),
            ntk: (wanted == Wanted::Both).then(zeros),
        }
    }

    /// The values, if none of them overflowed; rows have n numbers.
    fn finite(self, n: usize) -> Result<Self, NngpError> {
        let bad = not_finite(&self.nngp);
        match bad.or_else(|| self.ntk.as_deref().and_then(not_finite)) {
            Some(at) => Err(NngpError::Overflow {
                first: at / n,
                second: at % n,
                precision: T::NAME,
            }),
            None => Ok(self),
        }
    }
}

/// The first number that is not finite.
fn not_finite<T: Float>(values: &[T]) -> Option<usize> {
    const CHUNK: usize = 1 << 14;
    let bad = |chunk: &[T]| !all_finite(chunk);
    let chunk = values.par_chunks(CHUNK).position_first(bad)?;
    let inside = values[chunk * CHUNK..].chunks(1).position(bad);
    inside.map(|at| chunk * CHUNK + at)
}

/// Whether all numbers are finite.
fn all_finite<T: Float>(values: &[T]) -> bool {
    let zero = T::of(0.0);
    // Without a branch, so that whole registers are checked at a time.
    values.iter().fold(true, |all, &v| all & (v * zero == zero))
}

/// A number type of the engine: f32 or f64.
pub trait Float: run::Compiled + Real + Stored {
    /// As Rust spells it.
    const NAME: &'static str;
}
impl Float for f32 {
    const NAME: &'static str = "f32";
}
impl Float for f64 {
    const NAME: &'static str = "f64";
}
