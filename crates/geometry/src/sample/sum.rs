//! Sums of outer products that do not depend on the order of addition.
//!
//! Every block of networks adds Σ A = Xᵀ Y ([`Pairs`]), computed in floating point in one fixed way and rounded to whole
//! multiples of a quantum. Whole numbers add to the same bits in any order: threads, interruptions and shards cannot
//! change a result.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use polariscope_diff::Number;
use rayon::prelude::*;

use super::pairs::Pairs;
use super::tiles::{TILE, Tile, tiles, unpack};
use crate::GeometryError;

/// Bits for networks whose gradients are larger than those the quantum was chosen by.
const HEADROOM: i32 = 12;
/// Sums stay below 2⁶², what a block adds below 2⁵¹, where [`whole`] holds.
const SUM_BITS: i32 = 62;
pub(crate) const BLOCK_BITS: i32 = 51;

/// A number type that both our kernels and the matrix products know.
pub trait Float: Number + faer::traits::RealField {}

impl<T: Number + faer::traits::RealField> Float for T {}

/// The quantum for sums over `networks` matrices, `block` at a time, whose entries are about as large as `largest`: a
/// power of two that leaves room for entries 2¹² times as large.
pub(crate) fn quantum(largest: f64, networks: u64, block: u64) -> f64 {
    let bits = |x: f64| x.log2().ceil() as i32;
    let room = (SUM_BITS - bits(networks as f64)).min(BLOCK_BITS - bits(block as f64)) - HEADROOM;
    2f64.powi((bits(largest) - room).clamp(-1000, 1000))
}

/// The nearest whole number, for |x| < 2⁵¹: beside 1.5·2⁵² a double has no room for a fraction.
fn whole(x: f64) -> i64 {
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    ((x + SHIFT).to_bits() as i64).wrapping_sub(SHIFT.to_bits() as i64)
}

/// What a group of networks adds up to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sum {
    /// Rows of the matrix.
    pub dim: usize,
    /// Networks.
    pub count: u64,
    /// Σ tr A, in quanta.
    pub trace: i128,
    /// Σ (tr A)², in quanta squared.
    pub trace_square: i128,
    /// Σ A over networks, in quanta, tile by tile.
    pub entries: Vec<i64>,
    /// Σ g over networks, in quanta of its own; empty where no mean is removed.
    pub mean: Vec<i64>,
}

impl Sum {
    /// Nothing yet.
    pub fn zero(dim: usize, mean: usize) -> Self {
        Self {
            dim,
            count: 0,
            trace: 0,
            trace_square: 0,
            entries: vec![0; tiles(dim).len() * Tile::LEN],
            mean: vec![0; mean],
        }
    }

    /// Adds a block: the gradients of `networks` networks, rows of `dim` numbers, the same number for each.
    pub fn add<T: Float>(
        &mut self,
        gradients: &[T],
        networks: usize,
        pairs: Pairs,
        quantum: f64,
    ) -> Result<(), GeometryError> {
        if networks == 0 {
            return Ok(());
        }
        let dim = self.dim;
        let (x, y) = pairs.factors(gradients, networks);
        if largest(&x, dim) / quantum >= 2f64.powi(BLOCK_BITS) {
            return Err(GeometryError::Range);
        }
        let transposed = [&x, &y].map(|x| MatRef::from_column_major_slice(x, dim, x.len() / dim));
        let tiles = tiles(dim);
        let parts = self.entries.par_chunks_mut(Tile::LEN).zip(&tiles);
        let inside = parts.all(|(sum, tile)| {
            add_tile(transposed, tile, 1.0 / quantum, sum);
            is_inside(sum)
        });
        inside.then_some(()).ok_or(GeometryError::Range)?;
        let own = x.len() / networks;
        for (x, y) in x.chunks_exact(own).zip(y.chunks_exact(own)) {
            let products = x.iter().zip(y).map(|(x, y)| x.to_f64() * y.to_f64());
            self.count(products.sum(), quantum);
        }
        if !self.mean.is_empty() {
            let root = mean_quantum(quantum);
            for row in gradients.chunks_exact(dim) {
                for (sum, x) in self.mean.iter_mut().zip(row) {
                    *sum = sum
                        .checked_add(whole(x.to_f64() / root))
                        .ok_or(GeometryError::Range)?;
                }
            }
        }
        Ok(())
    }

    /// One network more, with its trace.
    fn count(&mut self, trace: f64, quantum: f64) {
        self.trace += (trace / quantum) as i128;
        self.trace_square += (trace / quantum).powi(2) as i128;
        self.count += 1;
    }

    /// Adds what was summed elsewhere: entries in quanta, tile by tile, and the trace of each network.
    pub fn take(
        &mut self,
        entries: &[i64],
        traces: &[f64],
        quantum: f64,
    ) -> Result<(), GeometryError> {
        let tiles = self.entries.par_chunks_mut(Tile::LEN);
        let inside = tiles
            .zip(entries.par_chunks(Tile::LEN))
            .all(|(sum, entries)| {
                for (sum, x) in sum.iter_mut().zip(entries) {
                    *sum = sum.wrapping_add(*x);
                }
                is_inside(sum)
            });
        for &trace in traces {
            self.count(trace, quantum);
        }
        inside.then_some(()).ok_or(GeometryError::Range)
    }

    /// Adds what another part of the same run found.
    pub fn merge(&mut self, other: &Sum) -> Result<(), GeometryError> {
        self.count += other.count;
        self.trace += other.trace;
        self.trace_square += other.trace_square;
        let pairs = self.entries.iter_mut().zip(&other.entries);
        for (sum, x) in pairs.chain(self.mean.iter_mut().zip(&other.mean)) {
            *sum = sum.checked_add(*x).ok_or(GeometryError::Range)?;
        }
        let inside = is_inside(&self.entries);
        inside.then_some(()).ok_or(GeometryError::Range)
    }
}

/// Whether sums are in range, below 2⁶² and not below −2⁶².
fn is_inside(sums: &[i64]) -> bool {
    let bits = sums.iter().fold(0, |bits, x| bits | (x ^ (x >> 63)));
    bits >> SUM_BITS == 0
}

/// The largest entry of the diagonal of XᵀX, X of rows of `dim` numbers. No entry of XᵀY is larger where the rows of Y
/// are those of X up to their sign.
pub(crate) fn largest<T: Number>(x: &[T], dim: usize) -> f64 {
    let mut diagonal = vec![0.0; dim];
    for row in x.chunks_exact(dim) {
        let entries = diagonal.iter_mut().zip(row);
        entries.for_each(|(d, x)| *d += x.to_f64() * x.to_f64());
    }
    diagonal.into_iter().fold(0.0, f64::max)
}

/// Quantum of sums of gradients, where `quantum` is that of their squares: the sums are shorter, so it can be finer.
pub(crate) fn mean_quantum(quantum: f64) -> f64 {
    quantum.sqrt() / f64::from(1 << 16)
}

/// tile += (Xᵀ Y restricted to the tile) / quantum, rounded to whole numbers; X and Y are rows × dim, given transposed.
fn add_tile<T: Float>([x, y]: [MatRef<'_, T>; 2], tile: &Tile, scale: f64, sum: &mut [i64]) {
    let left = x.subrows(tile.i, tile.rows);
    let right = y.subrows(tile.j, tile.cols);
    // Column-major with the tile's columns as rows, so that a row of the tile is contiguous.
    let mut product = Mat::<T>::zeros(tile.cols, tile.rows);
    matmul(
        &mut product,
        Accum::Replace,
        right,
        left.transpose(),
        T::ONE,
        Par::Seq,
    );
    for a in 0..tile.rows {
        let column = product.col_as_slice(a);
        for (sum, &x) in sum[a * TILE..].iter_mut().zip(column) {
            *sum = sum.wrapping_add(whole(x.to_f64() * scale));
        }
    }
}

/// Σ over groups of their sums, as the mean matrix over their networks.
pub(crate) fn mean_matrix(sums: &[&Sum], dim: usize, quantum: f64) -> Vec<f64> {
    let count: u64 = sums.iter().map(|s| s.count).sum();
    let scale = quantum / count.max(1) as f64;
    unpack(dim, |at| {
        let total: i128 = sums.iter().map(|s| i128::from(s.entries[at])).sum();
        total as f64 * scale
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use polariscope_random::Stream;

    const LOCAL: Pairs = Pairs::Same { points: 1 };

    /// What was summed elsewhere adds as what is summed here, and leaves the range as it does.
    #[test]
    fn sums_from_elsewhere_are_taken() {
        let dim = TILE + 3;
        let rows: Vec<f64> = (0..2 * dim).map(|i| (i % 7) as f64 - 3.0).collect();
        let mut here = Sum::zero(dim, 0);
        here.add(&rows, 2, LOCAL, 1.0).unwrap();
        let entry = |i: usize, j: usize| (rows[i] * rows[j] + rows[dim + i] * rows[dim + j]) as i64;
        let mut entries = vec![0; tiles(dim).len() * Tile::LEN];
        for (to, tile) in entries.chunks_mut(Tile::LEN).zip(tiles(dim)) {
            for (a, b) in (0..tile.rows).flat_map(|a| (0..tile.cols).map(move |b| (a, b))) {
                to[a * TILE + b] = entry(tile.i + a, tile.j + b);
            }
        }
        let square = |row: &[f64]| row.iter().map(|x| x * x).sum();
        let traces: Vec<f64> = rows.chunks(dim).map(square).collect();
        let mut there = Sum::zero(dim, 0);
        there.take(&entries, &traces, 1.0).unwrap();
        assert_eq!(here, there);
        entries[0] = 1 << SUM_BITS;
        let taken = there.take(&entries, &[], 1.0);
        assert!(matches!(taken, Err(GeometryError::Range)));
    }

    /// Two networks with two rows each, by hand: A = Σ g gᵀ, and any order of addition gives the same bits.
    #[test]
    fn blocks_add_in_any_order() {
        let dim = TILE + 3;
        let mut rows = vec![0f32; 6 * dim];
        Stream::new(0, 0, "rows").normal(1.0, &mut rows);
        let quantum = quantum(4.0, 3, 1);
        let sum = |order: &[usize]| {
            let mut sum = Sum::zero(dim, dim);
            for &i in order {
                let block = &rows[i * 2 * dim..][..2 * dim];
                sum.add(block, 1, Pairs::Same { points: 2 }, quantum)
                    .unwrap();
            }
            sum
        };
        let total = sum(&[0, 1, 2]);
        assert_eq!(total, sum(&[2, 0, 1]));
        let mut merged = sum(&[1]);
        merged.merge(&sum(&[2, 0])).unwrap();
        assert_eq!(total, merged);

        let mean = mean_matrix(&[&total], dim, quantum);
        for (i, j) in [(0, 0), (5, 130), (130, 5), (129, 130)] {
            let products = rows.chunks(dim).map(|g| f64::from(g[i]) * f64::from(g[j]));
            let want = products.sum::<f64>() / 3.0;
            // Products and their sums in f32: a few units of 2⁻²⁴.
            assert!((mean[i * dim + j] - want).abs() < 1e-6, "{i} {j}");
        }
        let trace: f64 = rows.iter().map(|x| f64::from(*x).powi(2)).sum();
        assert!((total.trace as f64 * quantum - trace).abs() < 1e-9 * trace);
    }

    #[test]
    fn sums_that_leave_the_range_are_refused() {
        let quantum = quantum(1.0, 1, 1);
        let mut sum = Sum::zero(1, 0);
        assert!(sum.add(&[1.0f64], 1, LOCAL, quantum).is_ok());
        assert!(matches!(
            sum.add(&[1e3f64], 1, LOCAL, quantum),
            Err(GeometryError::Range)
        ));
    }

    /// Below as above: gradients 1 and −1 have A = ((1 − 1)² − 2) = −2 before its divisor, a sum of whole numbers.
    #[test]
    fn sums_below_zero() {
        let mut sum = Sum::zero(1, 0);
        let distinct = Pairs::Distinct { points: 2 };
        for _ in 0..3 {
            sum.add(&[1.0f64, -1.0], 1, distinct, 0.5).unwrap();
        }
        assert_eq!(
            (sum.entries[0], sum.trace, sum.trace_square),
            (-12, -12, 48)
        );
        sum.entries[0] = -(1 << SUM_BITS);
        assert!(sum.merge(&Sum::zero(1, 0)).is_ok());
        let below = sum.add(&[1.0f64, -1.0], 1, distinct, 0.5);
        assert!(matches!(below, Err(GeometryError::Range)));
    }
}
