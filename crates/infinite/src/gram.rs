//! Gaps of inputs, |x − x'|², from their Gram matrix: |x|² + |x'|² − 2 x·x'.
//!
//! Where the samples are close the difference loses digits, so there it is summed directly.

use faer::linalg::matmul::matmul;
use faer::reborrow::ReborrowMut;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use crate::lanes::Lanes;

/// Gaps below this share of |x|² + |x'|² are summed directly.
const CLOSE: f64 = 1e-2;

/// Rows multiplied at a time where part of the product is left out.
const BAND: usize = 64;

/// Samples and their squares |x|².
#[derive(Clone, Copy, Debug)]
pub struct Squared<'a, T> {
    pub(crate) x: &'a [T],
    pub(crate) squares: &'a [T],
}

/// |x|² of every sample.
pub(crate) fn squares<T: Lanes>(x: &[T], inputs: usize) -> Vec<T> {
    x.par_chunks(inputs).map(|x| dot(x, x)).collect()
}

/// rows × columns gaps, row-major; row i needs those from column i + `first` on, and the others may be anything.
pub(crate) fn gaps<T: Lanes>(
    rows: Squared<T>,
    columns: Squared<T>,
    inputs: usize,
    first: isize,
) -> Vec<T> {
    let (
        Squared {
            x: rows,
            squares: p,
        },
        Squared {
            x: columns,
            squares: q,
        },
    ) = (rows, columns);
    let (n1, n2) = (rows.len() / inputs, columns.len() / inputs);
    let mut gaps = vec![T::of(0.0); n1 * n2];
    let needed = |i: usize| (i as isize).saturating_add(first).clamp(0, n2 as isize) as usize;
    // Where the last row needs every column there is nothing to leave out.
    let band = match needed(n1.saturating_sub(1)) {
        0 => n1,
        _ => BAND,
    };
    let mut products = MatMut::from_row_major_slice_mut(&mut gaps, n1, n2);
    let (left, right) = (
        MatRef::from_row_major_slice(rows, n1, inputs),
        MatRef::from_row_major_slice(columns, n2, inputs),
    );
    for i in (0..n1).step_by(band.max(1)) {
        let (count, from) = (band.min(n1 - i), needed(i));
        matmul(
            products.rb_mut().submatrix_mut(i, from, count, n2 - from),
            Accum::Replace,
            left.subrows(i, count),
            right.subrows(from, n2 - from).transpose(),
            T::of(1.0),
            Par::Seq,
        );
    }
    let (two, close) = (T::of(2.0), T::of(CLOSE));
    for (i, row) in gaps.chunks_exact_mut(n2).enumerate() {
        for (j, gap) in row.iter_mut().enumerate().skip(needed(i)) {
            let sum = p[i] + q[j];
            *gap = sum - two * *gap;
            if *gap < close * sum {
                let (x, y) = (&rows[i * inputs..], &columns[j * inputs..]);
                *gap = distance(&x[..inputs], &y[..inputs]);
            }
        }
    }
    gaps
}

/// Σ xy, in eight sums.
fn dot<T: Lanes>(x: &[T], y: &[T]) -> T {
    let mut sums = [T::of(0.0); 8];
    for (x, y) in x.chunks(8).zip(y.chunks(8)) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum += *x * *y;
        }
    }
    total(sums)
}

/// Σ (x − y)², in eight sums.
fn distance<T: Lanes>(x: &[T], y: &[T]) -> T {
    let mut sums = [T::of(0.0); 8];
    for (x, y) in x.chunks(8).zip(y.chunks(8)) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            let d = *x - *y;
            *sum += d * d;
        }
    }
    total(sums)
}

fn total<T: Lanes>([a, b, c, d, e, f, g, h]: [T; 8]) -> T {
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}
