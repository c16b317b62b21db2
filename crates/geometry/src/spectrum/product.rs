//! Products of row-major matrices. Blocks of rows of a fixed size go to one thread each, so the bits do not depend
//! on how many there are.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

/// Rows of a block.
const ROWS: usize = 64;

/// A B with A rows × k and B k × columns.
pub(crate) fn product(a: &[f64], b: &[f64], k: usize, columns: usize) -> Vec<f64> {
    // Row-major is the transpose of column-major: Cᵀ = Bᵀ Aᵀ.
    multiply(a, MatRef::from_column_major_slice(b, columns, k), k)
}

/// A Bᵀ with A rows × k and B columns × k.
pub(crate) fn product_transposed(a: &[f64], b: &[f64], k: usize, columns: usize) -> Vec<f64> {
    multiply(
        a,
        MatRef::from_column_major_slice(b, k, columns).transpose(),
        k,
    )
}

/// Rows of A, each multiplied with Bᵀ (columns × k) from the left.
fn multiply(a: &[f64], b_transposed: MatRef<'_, f64>, k: usize) -> Vec<f64> {
    let (rows, columns) = (a.len() / k.max(1), b_transposed.nrows());
    let mut out = vec![0.0; rows * columns];
    if out.is_empty() || k == 0 {
        return out;
    }
    let blocks = out
        .par_chunks_mut(ROWS * columns)
        .zip(a.par_chunks(ROWS * k));
    blocks.for_each(|(out, a)| {
        let n = a.len() / k;
        let out = MatMut::from_column_major_slice_mut(out, columns, n);
        let a = MatRef::from_column_major_slice(a, k, n);
        matmul(out, Accum::Replace, b_transposed, a, 1.0, Par::Seq);
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [[1,2],[3,4],[5,6]] times [[1,0,2],[0,1,1]], over more than one block of rows.
    #[test]
    fn by_hand() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0].repeat(30);
        let b = [1.0, 0.0, 2.0, 0.0, 1.0, 1.0];
        let row = [1.0, 2.0, 4.0, 3.0, 4.0, 10.0, 5.0, 6.0, 16.0];
        assert_eq!(product(&a, &b, 2, 3), row.repeat(30));
        let transposed = [1.0, 0.0, 0.0, 1.0, 2.0, 1.0];
        assert_eq!(product_transposed(&a, &transposed, 2, 3), row.repeat(30));
    }
}
