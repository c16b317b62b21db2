//! Singular values.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::svd::{ComputeSvdVectors, svd, svd_scratch};
use faer::{MatRef, Par};

use crate::{EigenError, to_one};

/// Singular values of a matrix given row by row, largest first.
///
/// ```
/// // [[3, 0], [4, 0], [0, 2]]: columns of length 5 and 2 at right angles.
/// let values = polariscope_linalg::singular_values(&[3.0, 0.0, 4.0, 0.0, 0.0, 2.0], 2)?;
/// assert!((values[0] - 5.0).abs() < 1e-14 && (values[1] - 2.0).abs() < 1e-14);
/// # Ok::<(), polariscope_linalg::EigenError>(())
/// ```
pub fn singular_values(matrix: &[f64], columns: usize) -> Result<Vec<f64>, EigenError> {
    if matrix.iter().any(|x| !x.is_finite()) {
        return Err(EigenError);
    }
    let rows = matrix.len() / columns.max(1);
    if rows == 0 {
        return Ok(Vec::new());
    }
    let scale = to_one(matrix);
    let scaled: Vec<f64> = matrix.iter().map(|x| x * scale).collect();
    // The transpose has the same values, and no copy is made.
    let transposed = MatRef::from_column_major_slice(&scaled, columns, rows);
    let mut values = Diag::<f64>::zeros(rows.min(columns));
    let (none, params) = (ComputeSvdVectors::No, Default::default());
    let scratch = svd_scratch::<f64>(rows, columns, none, none, Par::Seq, params);
    let mut memory = MemBuffer::try_new(scratch).map_err(|_| EigenError)?;
    svd(
        transposed.transpose(),
        values.as_mut(),
        None,
        None,
        Par::Seq,
        MemStack::new(&mut memory),
        params,
    )
    .map_err(|_| EigenError)?;
    let values = values.column_vector().iter().map(|x| x / scale);
    Ok(values.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{product_transposed, symmetric_eigenvalues};
    use polariscope_random::Stream;

    /// Against the square roots of the eigenvalues of A Aᵀ, for both shapes; twelve columns of which three are sums of others.
    #[test]
    fn squares_are_eigenvalues_and_rank_is_seen() {
        let mut x = vec![0.0f32; 40 * 9];
        Stream::new(0, 0, "singular").normal(1.0, &mut x);
        let wide = |row: &[f32]| {
            let row: Vec<f64> = row.iter().map(|&x| f64::from(x)).collect();
            let sums = [row[0] + row[1], row[2] - row[3], row[4]];
            row.into_iter().chain(sums).collect::<Vec<f64>>()
        };
        let a: Vec<f64> = x.chunks(9).flat_map(wide).collect();
        let values = singular_values(&a, 12).unwrap();
        let squares = symmetric_eigenvalues(&product_transposed(&a, &a, 12, 40), 40).unwrap();
        for (s, square) in values.iter().zip(&squares).take(9) {
            assert!((s * s - square).abs() < 1e-11 * squares[0]);
        }
        assert!(values[8] > 1e-2 * values[0] && values[9] < 1e-14 * values[0]);
        let transposed: Vec<f64> = (0..12 * 40).map(|k| a[k % 40 * 12 + k / 40]).collect();
        let again = singular_values(&transposed, 40).unwrap();
        assert!((again[0] - values[0]).abs() < 1e-12 * values[0] && again.len() == 12);
        assert_eq!(singular_values(&[f64::NAN], 1), Err(EigenError));
        assert_eq!(singular_values(&[], 3), Ok(Vec::new()));
    }
}
