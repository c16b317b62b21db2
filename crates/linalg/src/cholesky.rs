//! K + (σ² + jitter) I = L Lᵀ by blocks of rows, and the condition number from L.
//!
//! Row block b of L: L_bj = (K_bj − Σ_{i<j} L_bi L_jiᵀ) L_jj⁻ᵀ for j < b, then the Cholesky factor of what is left of
//! K_bb. Here it goes right-looking: factor a diagonal block, solve the panel below it, subtract the panel's product
//! from the rest; panel and rest are split into tiles of a fixed size, so threads leave no trace.
//!
//! κ₁ = ‖A‖₁ ‖A⁻¹‖₁ with ‖A⁻¹‖₁ by Hager's and Higham's iteration (as LAPACK's `pocon`): at most five solves, an
//! estimate from below that is rarely off by more than a factor of 3.

use faer::linalg::cholesky::llt;
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Rows of a tile.
const TILE: usize = 256;
/// Columns of the right-hand side solved by one task.
const COLUMNS: usize = 32;
/// Largest k of the jitter 10ᵏ·ε·tr/n: 2·10⁻⁶ of the mean diagonal.
const LAST_POWER: i32 = 10;
/// Solves of the norm estimate.
const SOLVES: usize = 5;

/// How well posed a solve was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conditioning {
    /// What was added to the diagonal to make it positive definite; 0 where nothing was needed.
    pub jitter: f64,
    /// Largest over smallest eigenvalue, ridge and jitter included: exact from a decomposition, an estimate in the
    /// 1-norm from a Cholesky factor.
    pub condition: f64,
}

/// No jitter that was tried makes the matrix positive definite.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("the matrix is not positive definite, not even with {jitter:.1e} on its diagonal")]
pub struct NotPositiveDefinite {
    /// Largest jitter tried.
    pub jitter: f64,
}

/// The jitters to try: 0, then powers of ten of ε times the mean diagonal.
pub fn jitters(mean_diagonal: f64) -> impl Iterator<Item = f64> {
    let unit = f64::EPSILON * mean_diagonal;
    std::iter::once(0.0).chain((0..=LAST_POWER).map(move |k| unit * 10f64.powi(k)))
}

/// tr K / n of a row-major matrix.
pub fn mean_diagonal(gram: &[f64], n: usize) -> f64 {
    (0..n).map(|i| gram[i * n + i]).sum::<f64>() / n as f64
}

/// L, row by row in the lower triangle.
pub struct Cholesky {
    n: usize,
    l: Vec<f64>,
    /// How well posed it is.
    pub conditioning: Conditioning,
}

impl Cholesky {
    /// Factors gram + ridge·I, with jitter where that is needed.
    pub fn new(gram: &[f64], n: usize, ridge: f64) -> Result<Self, NotPositiveDefinite> {
        let mut l = vec![0.0; n * n];
        let mut last = 0.0;
        for jitter in jitters(mean_diagonal(gram, n)) {
            l.copy_from_slice(gram);
            (0..n).for_each(|i| l[i * n + i] += ridge + jitter);
            let norm = one_norm(&l, n);
            last = jitter;
            if factor_in_place(&mut l, n) && pivots_are_real(&l, gram, n, ridge + jitter) {
                let conditioning = Conditioning {
                    jitter,
                    condition: 1.0,
                };
                let mut factor = Cholesky { n, l, conditioning };
                factor.conditioning.condition = (norm * factor.inverse_norm()).max(1.0);
                return Ok(factor);
            }
        }
        Err(NotPositiveDefinite { jitter: last })
    }

    fn lower(&self) -> MatRef<'_, f64> {
        MatRef::from_row_major_slice(&self.l, self.n, self.n)
    }

    /// A⁻¹ B for B of `columns` columns, row by row.
    pub fn solve(&self, b: &[f64], columns: usize) -> Vec<f64> {
        let mut x = columns_of(b, self.n, columns);
        x.par_chunks_mut(COLUMNS * self.n).for_each(|x| {
            let k = x.len() / self.n;
            let mut x = MatMut::from_column_major_slice_mut(x, self.n, k);
            solve_lower_triangular_in_place(self.lower(), x.as_mut(), Par::Seq);
            solve_upper_triangular_in_place(self.lower().transpose(), x, Par::Seq);
        });
        columns_of(&x, columns, self.n)
    }

    /// L⁻¹ Bᵀ, column by column, for B of rows of n numbers: its columns are the rows of B turned.
    pub fn whiten(&self, rows: &[f64]) -> Vec<f64> {
        let mut x = rows.to_vec();
        x.par_chunks_mut(COLUMNS * self.n).for_each(|x| {
            let k = x.len() / self.n;
            let x = MatMut::from_column_major_slice_mut(x, self.n, k);
            solve_lower_triangular_in_place(self.lower(), x, Par::Seq);
        });
        x
    }

    /// L z: a draw with covariance A where z is white.
    pub fn colour(&self, z: &[f64]) -> Vec<f64> {
        let rows = self.l.chunks_exact(self.n).enumerate();
        rows.map(|(i, row)| row[..=i].iter().zip(z).map(|(l, z)| l * z).sum())
            .collect()
    }

    /// ‖A⁻¹‖₁, from below. A is symmetric, so A⁻ᵀ is A⁻¹.
    fn inverse_norm(&self) -> f64 {
        let n = self.n;
        let mut x = vec![1.0 / n as f64; n];
        let mut best = 0.0_f64;
        let mut visited = None;
        for _ in 0..SOLVES {
            let y = self.solve(&x, 1);
            let norm: f64 = y.iter().map(|y| y.abs()).sum();
            if norm <= best {
                break;
            }
            best = norm;
            let signs: Vec<f64> = y.iter().map(|y| 1f64.copysign(*y)).collect();
            let z = self.solve(&signs, 1);
            let top = (0..n).fold(0, |top, i| if z[i].abs() > z[top].abs() { i } else { top });
            let level: f64 = z.iter().zip(&x).map(|(z, x)| z * x).sum();
            if visited == Some(top) || z[top].abs() <= level {
                break;
            }
            visited = Some(top);
            x.fill(0.0);
            x[top] = 1.0;
        }
        // Higham's second start, against vectors that hide the norm.
        let step = |i: usize| 1.0 + i as f64 / (n.max(2) - 1) as f64;
        let alternating: Vec<f64> = (0..n)
            .map(|i| if i % 2 == 0 { step(i) } else { -step(i) })
            .collect();
        let y = self.solve(&alternating, 1);
        let norm: f64 = y.iter().map(|y| y.abs()).sum();
        best.max(2.0 * norm / (3.0 * n as f64))
    }
}

/// The largest sum of a row; rows and columns are alike.
fn one_norm(a: &[f64], n: usize) -> f64 {
    let sums = a
        .chunks_exact(n)
        .map(|row| row.iter().map(|x| x.abs()).sum());
    sums.fold(0.0, f64::max)
}

/// A row-major rows × columns matrix, turned: its columns one after the other.
fn columns_of(a: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    let column = |j: usize| (0..rows).map(move |i| a[i * columns + j]);
    (0..columns).flat_map(column).collect()
}

/// Whether every pivot stands out from the rounding of the diagonal entry that it is left of.
fn pivots_are_real(l: &[f64], gram: &[f64], n: usize, added: f64) -> bool {
    (0..n).all(|i| {
        let at = i * n + i;
        l[at] * l[at] > f64::EPSILON * (gram[at] + added)
    })
}

/// Cholesky on the lower triangle; whether every pivot was positive.
fn factor_in_place(a: &mut [f64], n: usize) -> bool {
    for first in (0..n).step_by(TILE) {
        let size = TILE.min(n - first);
        let mut block: Vec<f64> = (0..size)
            .flat_map(|i| a[(first + i) * n + first..][..size].iter().copied())
            .collect();
        if !factor_block(&mut block, size) {
            return false;
        }
        for (i, row) in block.chunks_exact(size).enumerate() {
            a[(first + i) * n + first..][..size].copy_from_slice(row);
        }
        let below = first + size;
        if below == n {
            break;
        }
        let diagonal = MatRef::from_row_major_slice(&block, size, size);
        let rest = &mut a[below * n..];
        // X Lᵀ = P for the panel's rows: L Xᵀ = Pᵀ.
        rest.par_chunks_mut(TILE * n).for_each(|rows| {
            let count = rows.len() / n;
            let rows = MatMut::from_row_major_slice_mut(rows, count, n);
            let panel = rows.subcols_mut(first, size);
            solve_lower_triangular_in_place(diagonal, panel.transpose_mut(), Par::Seq);
        });
        let panel: Vec<f64> = rest
            .chunks_exact(n)
            .flat_map(|row| row[first..below].iter().copied())
            .collect();
        let panel = MatRef::from_row_major_slice(&panel, n - below, size);
        rest.par_chunks_mut(TILE * n)
            .enumerate()
            .for_each(|(tile, rows)| {
                let (start, count) = (tile * TILE, rows.len() / n);
                let rows = MatMut::from_row_major_slice_mut(rows, count, n);
                let width = start + count;
                matmul(
                    rows.subcols_mut(below, width),
                    Accum::Add,
                    panel.subrows(start, count),
                    panel.subrows(0, width).transpose(),
                    -1.0,
                    Par::Seq,
                );
            });
    }
    true
}

/// The same for one tile.
fn factor_block(block: &mut [f64], n: usize) -> bool {
    use faer::dyn_stack::{MemBuffer, MemStack};
    let params = Default::default();
    let scratch = llt::factor::cholesky_in_place_scratch::<f64>(n, Par::Seq, params);
    let mut memory = MemBuffer::new(scratch);
    let done = llt::factor::cholesky_in_place(
        MatMut::from_row_major_slice_mut(block, n, n),
        Default::default(),
        Par::Seq,
        MemStack::new(&mut memory),
        params,
    );
    done.is_ok() && (0..n).all(|i| block[i * n + i].is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Several tiles against the definition: L Lᵀ is the matrix again, and a solve undoes a product.
    #[test]
    fn tiles_make_one_factor() {
        let n = 2 * TILE + 17;
        let gram: Vec<f64> = (0..n * n)
            .map(|k| {
                let (i, j) = ((k / n) as f64, (k % n) as f64);
                (-(i - j).abs() / 40.0).exp()
            })
            .collect();
        let factor = Cholesky::new(&gram, n, 0.0).unwrap();
        assert_eq!(factor.conditioning.jitter, 0.0);
        let at = |i: usize, j: usize| if j <= i { factor.l[i * n + j] } else { 0.0 };
        for (i, j) in [
            (0, 0),
            (n - 1, 3),
            (TILE, TILE - 1),
            (400, 300),
            (n - 1, n - 1),
        ] {
            let product: f64 = (0..=i.min(j)).map(|k| at(i, k) * at(j, k)).sum();
            assert!((product - gram[i * n + j]).abs() < 1e-13, "{i} {j}");
        }
        let x: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
        let row = |row: &[f64]| row.iter().zip(&x).map(|(a, b)| a * b).sum();
        let b: Vec<f64> = gram.chunks_exact(n).map(row).collect();
        let back = factor.solve(&b, 1);
        let worst = back.iter().zip(&x).map(|(a, b)| (a - b).abs());
        assert!(worst.fold(0.0, f64::max) < 1e-11);
    }

    /// [[4, 2], [2, 5]] is L Lᵀ with the rows (2, 0) and (1, 2).
    #[test]
    fn colour_by_hand() {
        let factor = Cholesky::new(&[4.0, 2.0, 2.0, 5.0], 2, 0.0).unwrap();
        let found = factor.colour(&[3.0, -1.0]);
        assert!((found[0] - 6.0).abs() < 1e-15 && (found[1] - 1.0).abs() < 1e-15);
    }
}
