//! The function k of a kernel.
//!
//! One hidden layer without biases in NTK parametrisation, f = (w/√n) Σ_i v_i φ((w/√D) ω_i·x), on inputs with
//! |x|² = |x'|² = D and x·x'/D = t: the pre-activations have variance w² and covariance w²t, and
//!
//! NNGP k(t) = w² E[φ(u)φ(v)],  NTK k(t) = w² E[φ(u)φ(v)] + w⁴ t E[φ'(u)φ'(v)].

use std::fmt;
use std::sync::Arc;

use crate::kernel::Kind;

/// k on [−1, 1]. It may have singular derivatives at ±1, as ReLU has, and must be smooth between.
#[derive(Clone)]
pub struct Profile {
    name: String,
    k: Arc<dyn Fn(f64) -> f64 + Send + Sync>,
}

impl Profile {
    /// Any function.
    pub fn new(name: impl Into<String>, k: impl Fn(f64) -> f64 + Send + Sync + 'static) -> Self {
        Self {
            name: name.into(),
            k: Arc::new(k),
        }
    }

    /// k(t) = eᵗ.
    pub fn exp() -> Self {
        Self::new("exp", f64::exp)
    }

    /// The kernel of one hidden layer with weights of standard deviation `w_std`;
    /// `dual(q, c)` = (E[φ(u)φ(v)], E[φ'(u)φ'(v)]) for Gaussians of variance q and covariance c.
    ///
    /// ```
    /// use polariscope_kernels::spheres::{Kind, Profile};
    /// // φ(x) = x: the NNGP is w⁴t and the NTK twice that.
    /// let linear = Profile::hidden("linear", Kind::Ntk, 1.5, |_, c| (c, 1.0));
    /// assert!((linear.at(0.5) - 2.0 * 1.5f64.powi(4) * 0.5).abs() < 1e-14);
    /// ```
    pub fn hidden(
        name: impl Into<String>,
        kind: Kind,
        w_std: f64,
        dual: impl Fn(f64, f64) -> (f64, f64) + Send + Sync + 'static,
    ) -> Self {
        let q = w_std * w_std;
        Self::new(name, move |t| {
            let (value, slope) = dual(q, q * t);
            match kind {
                Kind::Nngp => q * value,
                Kind::Ntk => q * value + q * q * t * slope,
            }
        })
    }

    /// What k is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// k(t); t is brought into [−1, 1], which rounding may have left.
    pub fn at(&self, t: f64) -> f64 {
        (self.k)(t.clamp(-1.0, 1.0))
    }
}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Profile").field(&self.name).finish()
    }
}
