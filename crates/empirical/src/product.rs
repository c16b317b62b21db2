//! A Bᵀ of rows of gradients, summed in f64 over stretches of parameters.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rayon::prelude::*;

use crate::Float;

/// Rows of the result computed by one task.
const ROWS: usize = 32;
/// Parameters multiplied in the numbers' own precision before they are added in f64.
const STRETCH: usize = 1 << 12;

/// All inner products of rows of `length` numbers, row by row.
pub(super) fn gram<T: Float>(a: &[T], b: &[T], length: usize) -> Vec<f64> {
    let columns = b.len() / length;
    let b = MatRef::from_row_major_slice(b, columns, length);
    let mut out = vec![0.0; a.len() / length * columns];
    let tasks = out.par_chunks_mut(ROWS * columns);
    tasks.zip(a.par_chunks(ROWS * length)).for_each(|(out, a)| {
        let rows = a.len() / length;
        let a = MatRef::from_row_major_slice(a, rows, length);
        let mut part = Mat::<T>::zeros(rows, columns);
        for first in (0..length).step_by(STRETCH) {
            let count = STRETCH.min(length - first);
            matmul(
                &mut part,
                Accum::Replace,
                a.subcols(first, count),
                b.subcols(first, count).transpose(),
                T::ONE,
                Par::Seq,
            );
            for (i, out) in out.chunks_exact_mut(columns).enumerate() {
                for (j, out) in out.iter_mut().enumerate() {
                    *out += part[(i, j)].to_f64();
                }
            }
        }
    });
    out
}
