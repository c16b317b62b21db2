//! The matrix in tiles: each is computed at once and written when it is done.

use std::ops::Range;

/// Operations after which a tile should be done: some tenths of a second.
const OPERATIONS: f64 = 4e9;
/// Sides of tiles, whole numbers of vector lanes.
const SIDES: Range<usize> = 16..1024;

/// Rows and columns of one tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Samples of the first list.
    pub rows: Range<usize>,
    /// Samples of the second list.
    pub columns: Range<usize>,
}

/// Which tiles a matrix needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    /// One list of samples: tiles on and above the diagonal, mirrored.
    Symmetric,
    /// Two lists: all tiles.
    Rectangular,
}

/// The tiles of a matrix in the order of the work, from the cost of a pair alone, so that they are the same in every
/// run.
pub fn tiles(rows: usize, columns: usize, symmetry: Symmetry, operations: f64) -> Vec<Tile> {
    let mut side = SIDES.end;
    while side > SIDES.start && (side * side) as f64 * operations > OPERATIONS {
        side /= 2;
    }
    let band = |n: usize| (0..n).step_by(side).map(move |i| i..(i + side).min(n));
    let pairs = band(rows).flat_map(|rows| {
        band(columns).map(move |columns| Tile {
            rows: rows.clone(),
            columns,
        })
    });
    pairs
        .filter(|t| symmetry == Symmetry::Rectangular || t.columns.start >= t.rows.start)
        .collect()
}

impl Tile {
    /// Numbers in the tile.
    pub fn len(&self) -> usize {
        self.rows.len() * self.columns.len()
    }

    /// The same where each sample has several rows and columns.
    pub fn times(&self, each: usize) -> Tile {
        let wider = |r: &Range<usize>| r.start * each..r.end * each;
        Tile {
            rows: wider(&self.rows),
            columns: wider(&self.columns),
        }
    }

    /// Whether rows and columns are the same samples of a symmetric matrix.
    pub fn on_diagonal(&self) -> bool {
        self.rows == self.columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each entry is written, mirrors included.
    fn cover(rows: usize, columns: usize, symmetry: Symmetry, operations: f64) -> Vec<usize> {
        let mut count = vec![0; rows * columns];
        for tile in tiles(rows, columns, symmetry, operations) {
            for i in tile.rows.clone() {
                for j in tile.columns.clone() {
                    count[i * columns + j] += 1;
                    if symmetry == Symmetry::Symmetric && !tile.on_diagonal() {
                        count[j * columns + i] += 1;
                    }
                }
            }
        }
        count
    }

    #[test]
    fn every_entry_is_written_once() {
        for operations in [1.0, 1e6, 1e9] {
            for (rows, columns) in [(1, 1), (16, 40), (100, 17), (65, 65)] {
                let all = cover(rows, columns, Symmetry::Rectangular, operations);
                assert!(all.iter().all(|&n| n == 1));
            }
            for n in [1, 16, 33, 70] {
                let all = cover(n, n, Symmetry::Symmetric, operations);
                assert!(all.iter().all(|&n| n == 1));
            }
        }
    }
}
