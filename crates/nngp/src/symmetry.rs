//! The lower triangle from the upper one.

use crate::simd::SimdNumber;

/// Squares below this are mirrored in place.
const SMALL: usize = 64;

/// Sets a[j][i] to a[i][j] for i < j in an n × n matrix.
pub(crate) fn mirror<T: SimdNumber>(a: &mut [T], n: usize) {
    triangle(a, n, 0, n);
}

/// `rows` holds rows first..first+count of the matrix.
fn triangle<T: SimdNumber>(rows: &mut [T], n: usize, first: usize, count: usize) {
    if count <= SMALL {
        for i in 0..count {
            for j in i + 1..count {
                rows[j * n + first + i] = rows[i * n + first + j];
            }
        }
        return;
    }
    let half = count / 2;
    let (top, bottom) = rows.split_at_mut(half * n);
    rectangle(top, bottom, n, first, half, count - half);
    rayon::join(
        || triangle(top, n, first, half),
        || triangle(bottom, n, first + half, count - half),
    );
}

/// The block below the diagonal from the one above it.
fn rectangle<T: SimdNumber>(
    top: &[T],
    bottom: &mut [T],
    n: usize,
    first: usize,
    height: usize,
    count: usize,
) {
    use rayon::prelude::*;
    bottom
        .par_chunks_mut(SMALL * n)
        .enumerate()
        .for_each(|(band, bottom)| {
            let start = band * SMALL;
            let rows = SMALL.min(count - start);
            for left in (0..height).step_by(SMALL) {
                for j in 0..rows {
                    let column = first + height + start + j;
                    for i in left..(left + SMALL).min(height) {
                        bottom[j * n + first + i] = top[i * n + column];
                    }
                }
            }
        });
}
