//! Gradient descent on a wide network, at every time from one decomposition Θ = U diag(μ) Uᵀ.
//!
//! f_t = Θ* a_t, a_t = U diag(ψ_t(μ + λ)) Uᵀ Y, ψ_t(s) = (1 − e^{−st})/s, ψ_∞(s) = 1/s, with t in units of 1/η.

use polariscope_linalg::{
    Conditioning, jitters, mean_diagonal, product, symmetric_eigen, transposed_product,
};

use super::InferenceError;
use super::error::{check_gram, check_ridge, check_rows};
use super::posterior::columns;

/// How long the network was trained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Time {
    /// η t.
    After(f64),
    /// t → ∞: kernel ridge regression, ridgeless without a ridge.
    Infinite,
}

/// A decomposed train Gram matrix, to be asked about any time, any targets and any test points.
pub struct Descent {
    n: usize,
    /// μ, largest first; what rounding made negative is 0.
    eigenvalues: Vec<f64>,
    /// One eigenvector a row.
    vectors: Vec<f64>,
    ridge: f64,
    conditioning: Conditioning,
}

impl Descent {
    /// Decomposes Θ, n × n.
    pub fn new(gram: &[f64], n: usize, ridge: f64) -> Result<Self, InferenceError> {
        check_ridge(ridge)?;
        check_gram(gram, n)?;
        let mean = mean_diagonal(gram, n);
        let failed = InferenceError::NotPositiveDefinite { jitter: 0.0 };
        let eigen = symmetric_eigen(gram, n).map_err(|_| failed)?;
        let (largest, smallest) = (eigen.values[0], eigen.values[n - 1]);
        // Below ε μ₁ an eigenvalue is rounding.
        let noise = f64::EPSILON * largest.abs();
        let mut last = 0.0;
        let enough = |jitter: &f64| {
            last = *jitter;
            smallest + ridge + jitter > noise
        };
        let jitter = jitters(mean).find(enough);
        let jitter = jitter.ok_or(InferenceError::NotPositiveDefinite { jitter: last })?;
        let conditioning = Conditioning {
            jitter,
            condition: (largest + ridge + jitter) / (smallest + ridge + jitter),
        };
        Ok(Descent {
            n,
            eigenvalues: eigen.values.iter().map(|mu| mu.max(0.0)).collect(),
            vectors: eigen.vectors,
            ridge,
            conditioning,
        })
    }

    /// Jitter (of t = ∞; no finite time needs one) and the exact condition number.
    pub fn conditioning(&self) -> Conditioning {
        self.conditioning
    }

    /// Eigenvalues of Θ, largest first.
    pub fn eigenvalues(&self) -> &[f64] {
        &self.eigenvalues
    }

    /// a_t, n × C: the mean at any test point is Θ* times it.
    pub fn coefficients(&self, targets: &[f64], time: Time) -> Result<Vec<f64>, InferenceError> {
        self.combine(targets, time, |_, psi| psi)
    }

    /// The mean at test points, m × C; `cross` is Θ*, m × n.
    pub fn mean(
        &self,
        cross: &[f64],
        targets: &[f64],
        time: Time,
    ) -> Result<Vec<f64>, InferenceError> {
        check_rows("the test-train Gram matrix", cross, self.n)?;
        let a = self.coefficients(targets, time)?;
        Ok(product(cross, &a, self.n, a.len() / self.n))
    }

    /// The mean at the training points, n × C: U diag(μ ψ_t(μ + λ)) Uᵀ Y.
    pub fn on_training(&self, targets: &[f64], time: Time) -> Result<Vec<f64>, InferenceError> {
        self.combine(targets, time, |mu, psi| mu * psi)
    }

    /// U diag(weight(μ, ψ)) Uᵀ Y.
    fn combine(
        &self,
        targets: &[f64],
        time: Time,
        weight: impl Fn(f64, f64) -> f64,
    ) -> Result<Vec<f64>, InferenceError> {
        let columns = columns(targets, self.n)?;
        check_time(time)?;
        let mut modes = product(&self.vectors, targets, self.n, columns);
        for (row, &mu) in modes.chunks_exact_mut(columns).zip(&self.eigenvalues) {
            let factor = weight(mu, self.psi(mu, time));
            row.iter_mut().for_each(|x| *x *= factor);
        }
        Ok(transposed_product(&self.vectors, &modes, self.n, columns))
    }

    /// ψ_t(μ + λ).
    fn psi(&self, mu: f64, time: Time) -> f64 {
        match time {
            Time::Infinite => 1.0 / (mu + self.ridge + self.conditioning.jitter),
            Time::After(t) => {
                let s = mu + self.ridge;
                // −expm1 keeps every digit of a small exponent; at s = 0 the limit is t.
                match s > 0.0 {
                    true => -(-s * t).exp_m1() / s,
                    false => t,
                }
            }
        }
    }
}

fn check_time(time: Time) -> Result<(), InferenceError> {
    match time {
        Time::After(t) if !(t.is_finite() && t >= 0.0) => Err(InferenceError::Setting {
            what: "the training time",
            value: t,
            wanted: "a finite number of at least 0, or infinite",
        }),
        Time::After(_) | Time::Infinite => Ok(()),
    }
}
