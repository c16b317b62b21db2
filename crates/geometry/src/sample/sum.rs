//! Sums of outer products that do not depend on the order of addition.
//!
//! Every block of networks adds Σ g gᵀ, computed in floating point in one fixed way and rounded to whole multiples of a
//! quantum. Whole numbers add to the same bits in any order: threads, interruptions and shards cannot change a result.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use polariscope_diff::Number;
use rayon::prelude::*;

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

    /// Adds a block: `rows` rows of `dim` numbers, the same number for each of `networks` networks.
    pub fn add<T: Float>(
        &mut self,
        rows: &[T],
        networks: usize,
        quantum: f64,
    ) -> Result<(), GeometryError> {
        if networks == 0 {
            return Ok(());
        }
        let dim = self.dim;
        let mut diagonal = vec![0.0; dim];
        for row in rows.chunks_exact(dim) {
            let pairs = diagonal.iter_mut().zip(row);
            pairs.for_each(|(d, x)| *d += x.to_f64() * x.to_f64());
        }
        // No entry is larger than the largest of the diagonal, in a block as in the sum.
        let largest = diagonal.iter().fold(0.0_f64, |m, d| m.max(*d));
        if largest / quantum >= 2f64.powi(BLOCK_BITS) {
            return Err(GeometryError::Range);
        }
        let stacked = MatRef::from_column_major_slice(rows, dim, rows.len() / dim);
        let tiles = tiles(dim);
        let parts = self.entries.par_chunks_mut(Tile::LEN).zip(&tiles);
        parts.for_each(|(sum, tile)| add_tile(stacked, tile, 1.0 / quantum, sum));
        self.check()?;
        for network in rows.chunks_exact(rows.len() / networks) {
            let trace: f64 = network.iter().map(|x| x.to_f64().powi(2)).sum();
            self.count(trace, quantum);
        }
        if !self.mean.is_empty() {
            let root = mean_quantum(quantum);
            for row in rows.chunks_exact(dim) {
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
        tiles
            .zip(entries.par_chunks(Tile::LEN))
            .for_each(|(sum, entries)| {
                for (sum, x) in sum.iter_mut().zip(entries) {
                    *sum = sum.wrapping_add(*x);
                }
            });
        for &trace in traces {
            self.count(trace, quantum);
        }
        self.check()
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
        self.check()
    }

    /// Whether the diagonal, which bounds every entry, is in range.
    fn check(&self) -> Result<(), GeometryError> {
        let on_diagonal = tiles(self.dim)
            .into_iter()
            .enumerate()
            .filter(|(_, tile)| tile.i == tile.j);
        let mut entries = on_diagonal.flat_map(|(t, tile)| {
            (0..tile.rows).map(move |a| self.entries[t * Tile::LEN + a * TILE + a])
        });
        let inside = entries.all(|x| x < 1 << SUM_BITS);
        inside.then_some(()).ok_or(GeometryError::Range)
    }
}

/// Quantum of sums of gradients, where `quantum` is that of their squares: the sums are shorter, so it can be finer.
pub(crate) fn mean_quantum(quantum: f64) -> f64 {
    quantum.sqrt() / f64::from(1 << 16)
}

/// tile += (Xᵀ X restricted to the tile) / quantum, rounded to whole numbers; X is rows × dim, given transposed.
fn add_tile<T: Float>(transposed: MatRef<'_, T>, tile: &Tile, scale: f64, sum: &mut [i64]) {
    let left = transposed.subrows(tile.i, tile.rows);
    let right = transposed.subrows(tile.j, tile.cols);
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

    /// What was summed elsewhere adds as what is summed here, and leaves the range as it does.
    #[test]
    fn sums_from_elsewhere_are_taken() {
        let dim = TILE + 3;
        let rows: Vec<f64> = (0..2 * dim).map(|i| (i % 7) as f64 - 3.0).collect();
        let mut here = Sum::zero(dim, 0);
        here.add(&rows, 2, 1.0).unwrap();
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
                sum.add(block, 1, quantum).unwrap();
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
        assert!(sum.add(&[1.0f64], 1, quantum).is_ok());
        assert!(matches!(
            sum.add(&[1e3f64], 1, quantum),
            Err(GeometryError::Range)
        ));
    }
}
