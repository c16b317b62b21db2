//! Samples: sums of their outer products, images under a matrix, orthonormal bases.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rayon::prelude::*;

/// Rows and columns of a tile.
const TILE: usize = 256;
/// Samples added to a tile at a time.
const BLOCK: usize = 512;

/// S = Σ x xᵀ over samples of `dim` numbers, dim × dim (unnormalised, nothing subtracted).
pub fn covariance(x: &[f32], dim: usize) -> Vec<f64> {
    covariance_about(x, &vec![0.0; dim])
}

/// Σ (x − m)(x − m)ᵀ.
pub fn covariance_about(x: &[f32], mean: &[f64]) -> Vec<f64> {
    let dim = mean.len();
    let starts = (0..dim).step_by(TILE);
    let tiles: Vec<(usize, usize)> = starts
        .flat_map(|i| (0..=i).step_by(TILE).map(move |j| (i, j)))
        .collect();
    let done: Vec<Mat<f64>> = tiles
        .par_iter()
        .map(|&(i, j)| tile(x, mean, i, j))
        .collect();
    let mut out = vec![0.0; dim * dim];
    for (&(i, j), tile) in tiles.iter().zip(&done) {
        for b in 0..tile.ncols() {
            for a in 0..tile.nrows() {
                out[(i + a) * dim + j + b] = tile[(a, b)];
                out[(j + b) * dim + i + a] = tile[(a, b)];
            }
        }
    }
    out
}

fn tile(x: &[f32], mean: &[f64], i: usize, j: usize) -> Mat<f64> {
    let dim = mean.len();
    let (rows, cols) = (TILE.min(dim - i), TILE.min(dim - j));
    let mut sum = Mat::zeros(rows, cols);
    for block in x.chunks(BLOCK * dim) {
        let n = block.len() / dim;
        let part = |from: usize, len: usize| {
            Mat::from_fn(len, n, |a, s| {
                f64::from(block[s * dim + from + a]) - mean[from + a]
            })
        };
        let (left, right) = (part(i, rows), part(j, cols));
        matmul(
            &mut sum,
            Accum::Add,
            &left,
            right.transpose(),
            1.0,
            Par::Seq,
        );
    }
    sum
}

/// M x for every sample x of `dim` numbers; `matrix` is k × dim, row by row.
pub fn apply(matrix: &[f64], dim: usize, x: &[f32]) -> Vec<f32> {
    let k = matrix.len() / dim;
    let mut out = vec![0.0; x.len() / dim * k];
    if out.is_empty() {
        return out;
    }
    let transposed = MatRef::from_column_major_slice(matrix, dim, k);
    let blocks = out.par_chunks_mut(BLOCK * k).zip(x.par_chunks(BLOCK * dim));
    blocks.for_each(|(out, x)| {
        let n = x.len() / dim;
        let samples = Mat::from_fn(dim, n, |i, s| f64::from(x[s * dim + i]));
        let mut images = Mat::zeros(k, n);
        let accumulate = Accum::Replace;
        matmul(
            &mut images,
            accumulate,
            transposed.transpose(),
            &samples,
            1.0,
            Par::Seq,
        );
        for (s, out) in out.chunks_exact_mut(k).enumerate() {
            for (i, out) in out.iter_mut().enumerate() {
                *out = images[(i, s)] as f32;
            }
        }
    });
    out
}

/// Orthonormal rows with the same span, by Gram and Schmidt (twice is enough); the index of a row that the
/// rows before it span is the error.
pub fn orthonormalise(rows: &[f64], dim: usize) -> Result<Vec<f64>, usize> {
    let mut out: Vec<f64> = Vec::with_capacity(rows.len());
    for (index, row) in rows.chunks_exact(dim.max(1)).enumerate() {
        let length = norm(row);
        let mut v: Vec<f64> = row.iter().map(|x| x / length).collect();
        for _ in 0..2 {
            for u in out.chunks_exact(dim) {
                let c: f64 = u.iter().zip(&v).map(|(a, b)| a * b).sum();
                v.iter_mut().zip(u).for_each(|(v, u)| *v -= c * u);
            }
        }
        let left = norm(&v);
        // Also false for NaN, when the row is zero or not finite.
        let independent = left > 1e-6;
        if !independent {
            return Err(index);
        }
        out.extend(v.iter().map(|x| x / left));
    }
    Ok(out)
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use polariscope_random::Stream;

    /// Against the definition, at a size with whole and partial tiles and blocks.
    #[test]
    fn covariance_is_the_sum_of_outer_products() {
        let (n, dim) = (BLOCK + 100, TILE + 3);
        let mut x = vec![0.0; n * dim];
        Stream::new(0, 0, "covariance").normal(1.0, &mut x);
        let s = covariance(&x, dim);
        for (i, j) in [
            (0, 0),
            (5, 200),
            (200, 5),
            (TILE + 2, 7),
            (TILE + 1, TILE + 2),
        ] {
            let want: f64 = x
                .chunks(dim)
                .map(|x| f64::from(x[i]) * f64::from(x[j]))
                .sum();
            assert!((s[i * dim + j] - want).abs() < 1e-10, "{i} {j}");
        }
        let threads = rayon::ThreadPoolBuilder::new()
            .num_threads(3)
            .build()
            .unwrap();
        assert_eq!(threads.install(|| covariance(&x, dim)), s);
    }
}
