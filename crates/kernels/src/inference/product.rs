//! Products of matrices, split into blocks of rows.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

/// Rows computed by one task.
const ROWS: usize = 256;

/// A B, row by row.
pub(super) fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Vec<f64> {
    let columns = b.ncols();
    let mut out = vec![0.0; a.nrows() * columns];
    let blocks = out.par_chunks_mut(ROWS * columns).enumerate();
    blocks.for_each(|(block, out)| {
        let rows = out.len() / columns;
        matmul(
            MatMut::from_row_major_slice_mut(out, rows, columns),
            Accum::Replace,
            a.subrows(block * ROWS, rows),
            b,
            1.0,
            Par::Seq,
        );
    });
    out
}

/// A row-major matrix of rows of `columns` numbers.
pub(super) fn rows(a: &[f64], columns: usize) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(a, a.len() / columns, columns)
}
