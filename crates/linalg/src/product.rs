//! Products of row-major matrices. Blocks of rows of a fixed size go to one thread each, so the bits do not depend
//! on how many there are.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

/// Rows of a block.
const ROWS: usize = 64;

/// A B with A rows × k and B k × columns.
pub fn product(a: &[f64], b: &[f64], k: usize, columns: usize) -> Vec<f64> {
    multiply(rows(a, k), MatRef::from_row_major_slice(b, k, columns))
}

/// A Bᵀ with A rows × k and B columns × k.
pub fn product_transposed(a: &[f64], b: &[f64], k: usize, columns: usize) -> Vec<f64> {
    let b = MatRef::from_row_major_slice(b, columns, k);
    multiply(rows(a, k), b.transpose())
}

/// A Aᵀ with A rows × k.
pub fn gram(a: &[f64], k: usize) -> Vec<f64> {
    let a = rows(a, k);
    let columns = a.nrows();
    let mut out = vec![0.0; columns * columns];
    if out.is_empty() || k == 0 {
        return out;
    }
    let blocks = out.par_chunks_mut(ROWS * columns).enumerate();
    blocks.for_each(|(block, out)| {
        let (first, rows) = (block * ROWS, out.len() / columns);
        let out = MatMut::from_row_major_slice_mut(out, rows, columns);
        let right = a.subrows(0, first + rows).transpose();
        let left = a.subrows(first, rows);
        let out = out.subcols_mut(0, first + rows);
        matmul(out, Accum::Replace, left, right, 1.0, Par::Seq);
    });
    mirror(&mut out, columns);
    out
}

/// Aᵀ B with A k × rows and B k × columns.
pub fn transposed_product(a: &[f64], b: &[f64], k: usize, columns: usize) -> Vec<f64> {
    let a = MatRef::from_row_major_slice(a, k, a.len() / k.max(1));
    multiply(a.transpose(), MatRef::from_row_major_slice(b, k, columns))
}

/// C − A Aᵀ in the place of C, for A of rows of `k` numbers.
pub fn subtract_outer(c: &mut [f64], a: &[f64], k: usize) {
    let a = rows(a, k);
    let columns = a.nrows();
    if columns == 0 {
        return;
    }
    let blocks = c.par_chunks_mut(ROWS * columns).enumerate();
    blocks.for_each(|(block, c)| {
        let rows = c.len() / columns;
        let c = MatMut::from_row_major_slice_mut(c, rows, columns);
        let left = a.subrows(block * ROWS, rows);
        matmul(c, Accum::Add, left, a.transpose(), -1.0, Par::Seq);
    });
}

/// C + Aᵀ B in the place of C, where the sum is known to be symmetric: on and below the diagonal. A and B have rows as
/// long as those of C.
pub fn add_symmetric_product(c: &mut [f64], a: &[f64], b: &[f64], columns: usize) {
    let (a, b) = (rows(a, columns), rows(b, columns));
    if a.nrows() == 0 {
        return;
    }
    let blocks = c.par_chunks_mut(ROWS * columns).enumerate();
    blocks.for_each(|(block, c)| {
        let (first, rows) = (block * ROWS, c.len() / columns);
        let c = MatMut::from_row_major_slice_mut(c, rows, columns);
        let left = a.subcols(first, rows).transpose();
        let c = c.subcols_mut(0, first + rows);
        let right = b.subcols(0, first + rows);
        matmul(c, Accum::Add, left, right, 1.0, Par::Seq);
    });
}

/// Copies what is below the diagonal above it.
pub fn mirror(c: &mut [f64], columns: usize) {
    for i in 0..columns {
        for j in 0..i {
            c[j * columns + i] = c[i * columns + j];
        }
    }
}

/// A row-major matrix of rows of `columns` numbers.
fn rows(a: &[f64], columns: usize) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(a, a.len() / columns.max(1), columns)
}

/// A B, row by row.
fn multiply(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Vec<f64> {
    let columns = b.ncols();
    let mut out = vec![0.0; a.nrows() * columns];
    if out.is_empty() || a.ncols() == 0 {
        return out;
    }
    let blocks = out.par_chunks_mut(ROWS * columns).enumerate();
    blocks.for_each(|(block, out)| {
        let rows = out.len() / columns;
        let out = MatMut::from_row_major_slice_mut(out, rows, columns);
        let a = a.subrows(block * ROWS, rows);
        matmul(out, Accum::Replace, a, b, 1.0, Par::Seq);
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
        // A Aᵀ of rows (1, 2), (3, 4) and (5, 6), again and again.
        let square = [[5.0, 11.0, 17.0], [11.0, 25.0, 39.0], [17.0, 39.0, 61.0]];
        let found = gram(&a, 2);
        assert!((0..8100).all(|at| found[at] == square[at / 90 % 3][at % 90 % 3]));
        // [[1,3,5],[2,4,6]] times [[1],[1],[1]].
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(transposed_product(&a, &[1.0; 3], 3, 1), [9.0, 12.0]);
    }

    /// Σ a aᵀ weighted, over more than one block of rows: entry (i, j) is i·j·(1·1 + 2·2·3).
    #[test]
    fn symmetric() {
        let n = ROWS + 5;
        let row = |times: f64| (0..n).map(move |i| times * i as f64);
        let a: Vec<f64> = row(1.0).chain(row(2.0)).collect();
        let b: Vec<f64> = row(1.0).chain(row(6.0)).collect();
        let mut c = vec![1.0; n * n];
        add_symmetric_product(&mut c, &a, &b, n);
        mirror(&mut c, n);
        let expected = |at: usize| 1.0 + 13.0 * ((at / n) * (at % n)) as f64;
        assert!((0..n * n).all(|at| c[at] == expected(at)));
    }

    /// 10 − a aᵀ for rows of one number, over more than one block.
    #[test]
    fn what_is_left() {
        let n = ROWS + 3;
        let a: Vec<f64> = (0..n).map(|i| i as f64).collect();
        let mut c = vec![10.0; n * n];
        subtract_outer(&mut c, &a, 1);
        let expected = |at: usize| 10.0 - a[at / n] * a[at % n];
        assert!((0..n * n).all(|at| c[at] == expected(at)));
    }
}
