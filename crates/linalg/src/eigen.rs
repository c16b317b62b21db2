//! Eigenvalues and eigenvectors of symmetric matrices.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{Mat, MatRef, Par};

/// Eigenvalues, largest first, and their orthonormal eigenvectors.
#[derive(Clone, Debug, PartialEq)]
pub struct SymmetricEigen {
    /// Largest first.
    pub values: Vec<f64>,
    /// One eigenvector a row, in the order of the values; its entry of largest magnitude is positive.
    pub vectors: Vec<f64>,
}

impl SymmetricEigen {
    /// From eigenvalues, smallest first, and their vectors, one a row.
    pub fn ascending(values: Vec<f64>, vectors: &[f64]) -> Self {
        let n = values.len();
        let mut out = SymmetricEigen {
            values: values.into_iter().rev().collect(),
            vectors: Vec::with_capacity(n * n),
        };
        for row in vectors.chunks_exact(n.max(1)).rev() {
            let larger = |m: f64, &x: &f64| if x.abs() > m.abs() { x } else { m };
            let sign = if row.iter().fold(0.0, larger) < 0.0 {
                -1.0
            } else {
                1.0
            };
            out.vectors.extend(row.iter().map(|x| sign * x));
        }
        out
    }
}

/// The eigensolver did not converge (NaN or infinity in the matrix).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("eigenvalues did not converge; the matrix must be finite")]
pub struct EigenError;

/// Eigenvalues alone, largest first: several times faster.
pub fn symmetric_eigenvalues(matrix: &[f64], n: usize) -> Result<Vec<f64>, EigenError> {
    check(matrix, n)?;
    if n == 0 {
        return Ok(Vec::new());
    }
    let (mut values, _) = decompose(matrix, n, ComputeEigenvectors::No)?;
    values.reverse();
    Ok(values)
}

fn check(matrix: &[f64], n: usize) -> Result<(), EigenError> {
    let sound = matrix.len() == n * n && matrix.iter().all(|x| x.is_finite());
    sound.then_some(()).ok_or(EigenError)
}

/// Solvers lose digits far from 1: the power of two, whose products are exact, that brings the largest number there.
pub fn to_one(matrix: &[f64]) -> f64 {
    let largest = matrix.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    match largest {
        0.0 => 1.0,
        largest => 2f64.powi(-(largest.log2().floor() as i32).clamp(-1000, 1000)),
    }
}

/// Eigenvalues, smallest first, and eigenvectors as columns where asked for.
fn decompose(
    matrix: &[f64],
    n: usize,
    compute: ComputeEigenvectors,
) -> Result<(Vec<f64>, Mat<f64>), EigenError> {
    let scale = to_one(matrix);
    let scaled: Vec<f64> = matrix.iter().map(|x| x * scale).collect();
    // The transpose of a row-major matrix is column-major: the lower triangle becomes the upper one.
    let upper = MatRef::from_column_major_slice(&scaled, n, n);
    let mut values = Diag::<f64>::zeros(n);
    let wanted = matches!(compute, ComputeEigenvectors::Yes);
    let mut vectors = Mat::<f64>::zeros(n, if wanted { n } else { 0 });
    let params = Default::default();
    let scratch = self_adjoint_evd_scratch::<f64>(n, compute, Par::Seq, params);
    let mut memory = MemBuffer::try_new(scratch).map_err(|_| EigenError)?;
    let stack = MemStack::new(&mut memory);
    let solved = self_adjoint_evd(
        upper.transpose(),
        values.as_mut(),
        wanted.then(|| vectors.as_mut()),
        Par::Seq,
        stack,
        params,
    );
    solved.map_err(|_| EigenError)?;
    let values = values.column_vector().iter().map(|x| x / scale);
    Ok((values.collect(), vectors))
}

/// Eigenvectors of a symmetric n × n matrix (its lower triangle is read), by `faer`'s divide and conquer.
pub fn symmetric_eigen(matrix: &[f64], n: usize) -> Result<SymmetricEigen, EigenError> {
    check(matrix, n)?;
    if n == 0 {
        // The solver's workspace computation does not allow it.
        return Ok(SymmetricEigen {
            values: Vec::new(),
            vectors: Vec::new(),
        });
    }
    let (values, vectors) = decompose(matrix, n, ComputeEigenvectors::Yes)?;
    let columns = (0..n).flat_map(|k| (0..n).map(move |i| (i, k)));
    let rows: Vec<f64> = columns.map(|at| vectors[at]).collect();
    Ok(SymmetricEigen::ascending(values, &rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::covariance;
    use polariscope_random::Stream;

    /// A = VᵀDV is rebuilt and V is orthonormal; the 2 × 2 case by hand: [[2,1],[1,2]] has 3 and 1.
    #[test]
    fn eigenvectors() {
        let two = symmetric_eigen(&[2.0, 1.0, 1.0, 2.0], 2).unwrap();
        assert!((two.values[0] - 3.0).abs() < 1e-15 && (two.values[1] - 1.0).abs() < 1e-15);
        assert!(
            (two.vectors[0] - 0.5_f64.sqrt()).abs() < 1e-15
                && two.vectors[2] * two.vectors[3] < 0.0
        );
        let n = 40;
        let mut x = vec![0.0; 100 * n];
        Stream::new(0, 0, "eigen").normal(1.0, &mut x);
        let a = covariance(&x, n);
        let e = symmetric_eigen(&a, n).unwrap();
        assert!(e.values.is_sorted_by(|a, b| a >= b));
        for i in 0..n {
            for j in 0..n {
                let rebuilt: f64 = (0..n)
                    .map(|k| e.values[k] * e.vectors[k * n + i] * e.vectors[k * n + j])
                    .sum();
                assert!((rebuilt - a[i * n + j]).abs() < 1e-11 * e.values[0]);
            }
        }
        let alone = symmetric_eigenvalues(&a, n).unwrap();
        let pairs = alone.iter().zip(&e.values);
        pairs.for_each(|(a, b)| assert!((a - b).abs() < 1e-11 * e.values[0]));
        assert_eq!(symmetric_eigen(&[f64::NAN], 1), Err(EigenError));
        assert!(symmetric_eigen(&[], 0).unwrap().values.is_empty());
    }
}
