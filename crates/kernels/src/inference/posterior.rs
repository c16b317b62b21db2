//! The posterior of a Gaussian process: mean K*(K + σ²I)⁻¹Y, covariance K** − K*(K + σ²I)⁻¹K*ᵀ.

use polariscope_linalg::{Cholesky, Conditioning, product, subtract_outer};

use super::InferenceError;
use super::error::{check, check_gram, check_ridge, check_rows};

/// A factored train Gram matrix, to be asked about any targets and any test points.
pub struct Posterior {
    n: usize,
    factor: Cholesky,
}

impl Posterior {
    /// Factors K + ridge·I; `gram` is K, n × n.
    pub fn new(gram: &[f64], n: usize, ridge: f64) -> Result<Self, InferenceError> {
        check_ridge(ridge)?;
        check_gram(gram, n)?;
        let factor = Cholesky::new(gram, n, ridge)?;
        Ok(Posterior { n, factor })
    }

    /// Jitter and condition number.
    pub fn conditioning(&self) -> Conditioning {
        self.factor.conditioning
    }

    /// (K + σ²I)⁻¹Y, n × C: the mean at any test point is K* times it.
    pub fn coefficients(&self, targets: &[f64]) -> Result<Vec<f64>, InferenceError> {
        let columns = self.columns(targets)?;
        Ok(self.factor.solve(targets, columns))
    }

    /// The mean at test points, m × C; `cross` is K*, m × n.
    pub fn mean(&self, cross: &[f64], targets: &[f64]) -> Result<Vec<f64>, InferenceError> {
        check_rows("the test-train Gram matrix", cross, self.n)?;
        let a = self.coefficients(targets)?;
        Ok(product(cross, &a, self.n, a.len() / self.n))
    }

    /// The variance at every test point; `diagonal` is that of K**. Rounding below 0 is 0.
    pub fn variance(&self, cross: &[f64], diagonal: &[f64]) -> Result<Vec<f64>, InferenceError> {
        let m = check_rows("the test-train Gram matrix", cross, self.n)?;
        check("the test diagonal", diagonal, (m, 1))?;
        let white = self.factor.whiten(cross);
        let explained = white
            .chunks_exact(self.n)
            .map(|w| w.iter().map(|w| w * w).sum::<f64>());
        let pairs = diagonal.iter().zip(explained);
        Ok(pairs.map(|(k, e)| (k - e).max(0.0)).collect())
    }

    /// The covariance between all test points, m × m; `test` is K**.
    pub fn covariance(&self, cross: &[f64], test: &[f64]) -> Result<Vec<f64>, InferenceError> {
        let m = check_rows("the test-train Gram matrix", cross, self.n)?;
        check("the test Gram matrix", test, (m, m))?;
        let white = self.factor.whiten(cross);
        let mut out = test.to_vec();
        subtract_outer(&mut out, &white, self.n);
        Ok(out)
    }

    fn columns(&self, targets: &[f64]) -> Result<usize, InferenceError> {
        columns(targets, self.n)
    }
}

/// Columns of targets, n rows.
pub(super) fn columns(targets: &[f64], n: usize) -> Result<usize, InferenceError> {
    let columns = targets.len() / n;
    if columns == 0 || columns * n != targets.len() {
        return Err(InferenceError::Shape {
            what: "the targets",
            length: targets.len(),
            wanted: format!("a whole number for each of {n} training samples"),
        });
    }
    check("the targets", targets, (n, columns))?;
    Ok(columns)
}
