//! Blocks of kernels: rows against batches of columns, in tiles.
//!
//! Samples are taken in panels whose variances fit in memory, panels in tiles of rows × columns that workers share.
//! How a block is cut depends on its shape alone, so the numbers do not depend on the number of workers.

use std::ops::Range;

use rayon::prelude::*;

use crate::gram::{Squared, squares};
use crate::kernel::{Kernel, copy_out};
use crate::run::{Columns, Row, Sides, Work};
use crate::{Float, Values, Wanted};

/// Bytes of variances kept at a time, for rows and for columns.
const PANEL: usize = 256 << 20;
/// Operations in a tile: long enough to share a batch's memory, short enough to balance workers.
const TILE: f64 = 2e8;
/// Rows or columns of a tile, at most.
const SIDE: usize = 256;

/// Which pairs are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    All,
    /// Those with column ≥ row, and a few more.
    Upper,
}

impl Kernel {
    /// Fills the block of rows `x1` and columns `x2`.
    pub(crate) fn fill<T: Float>(
        &self,
        wanted: Wanted,
        x1: &[T],
        x2: &[T],
        part: Part,
        values: &mut Values<T>,
    ) {
        let inputs = self.inputs();
        let (n1, n2) = (x1.len() / inputs, x2.len() / inputs);
        if n1 == 0 || n2 == 0 {
            return;
        }
        let batch = self.batch::<T>(n2);
        let squared = |x: &[T]| match self.plan.gram {
            true => squares(x, inputs),
            false => Vec::new(),
        };
        let per_sample = (self.plan.sides.iter().sum::<usize>() + inputs) * size_of::<T>();
        let panel = (PANEL / per_sample).max(SIDE).next_multiple_of(SIDE);
        // Tiles of whole batches, about as many rows as columns; large ones where a product reads all inputs.
        let pairs = match self.plan.gram {
            true => (SIDE * SIDE) as f64,
            false => (TILE / self.operations()).max(1.0),
        };
        let across = (pairs.sqrt() as usize).clamp(batch, SIDE.max(batch)) / batch * batch;
        let down = ((pairs / across as f64) as usize).clamp(1, SIDE);
        for (first_row, rows) in
            starts(n1, panel).map(|r| (r, &x1[r * inputs..(r + panel).min(n1) * inputs]))
        {
            let sides = Sides::new(&self.columns(rows, T::LANES), T::LANES);
            let row_squares = squared(rows);
            for first_column in starts(n2, panel) {
                let count = panel.min(n2 - first_column);
                if part == Part::Upper && first_column + count <= first_row {
                    continue;
                }
                let x = &x2[first_column * inputs..(first_column + count) * inputs];
                let columns = self.columns(x, batch);
                let panel = Panel {
                    kernel: self,
                    wanted,
                    part,
                    first_row,
                    first_column,
                    rows,
                    sides: &sides,
                    x,
                    columns: &columns,
                    row_squares: &row_squares,
                    column_squares: &squared(x),
                    batch,
                };
                let range = first_row * n2..(first_row + rows.len() / inputs) * n2;
                let nngp = &mut values.nngp[range.clone()];
                let ntk = values.ntk.as_mut().map(|v| &mut v[range]);
                let mut tiles = cut(nngp, n2, first_column..first_column + count, down, across);
                if let Some(ntk) = ntk {
                    let others = cut(ntk, n2, first_column..first_column + count, down, across);
                    for (tile, other) in tiles.iter_mut().zip(others) {
                        tile.ntk = other.nngp;
                    }
                }
                tiles.retain(|tile| panel.wants(tile));
                tiles.into_par_iter().for_each_init(
                    || Work::new(&self.plan, batch),
                    |work, tile| panel.tile(tile, work),
                );
            }
        }
    }
}

fn starts(n: usize, step: usize) -> impl Iterator<Item = usize> {
    (0..n).step_by(step)
}

/// A rectangle of the output.
struct Tile<'a, T> {
    /// First row and column in the panel.
    row: usize,
    column: usize,
    nngp: Vec<&'a mut [T]>,
    /// Empty where it is not wanted.
    ntk: Vec<&'a mut [T]>,
}

/// Cuts rows of `n` numbers into tiles, within some columns.
fn cut<T>(
    values: &mut [T],
    n: usize,
    columns: Range<usize>,
    down: usize,
    across: usize,
) -> Vec<Tile<'_, T>> {
    let mut tiles: Vec<Tile<T>> = Vec::new();
    for (r, row) in values.chunks_exact_mut(n).enumerate() {
        let first = tiles.len();
        for (c, piece) in row[columns.clone()].chunks_mut(across).enumerate() {
            if r % down == 0 {
                tiles.push(Tile {
                    row: r,
                    column: c * across,
                    nngp: vec![piece],
                    ntk: Vec::new(),
                });
            } else {
                let strip = columns.len().div_ceil(across);
                tiles[first - strip + c].nngp.push(piece);
            }
        }
    }
    tiles
}

/// Rows and columns with their variances.
struct Panel<'a, T: Float> {
    kernel: &'a Kernel,
    wanted: Wanted,
    part: Part,
    first_row: usize,
    first_column: usize,
    rows: &'a [T],
    sides: &'a Sides<T>,
    x: &'a [T],
    columns: &'a [Columns<T>],
    /// |x|², where the Gram matrix is read.
    row_squares: &'a [T],
    column_squares: &'a [T],
    batch: usize,
}

impl<T: Float> Panel<'_, T> {
    /// Whether any pair of a tile is wanted.
    fn wants(&self, tile: &Tile<T>) -> bool {
        let end = tile.column + tile.nngp.first().map_or(0, |row| row.len());
        self.part == Part::All || self.first_column + end > self.first_row + tile.row
    }

    /// Column of a tile less its row from which on pairs are wanted.
    fn diagonal(&self, tile: &Tile<T>) -> isize {
        let (row, column) = (self.first_row + tile.row, self.first_column + tile.column);
        match self.part {
            Part::All => isize::MIN,
            Part::Upper => row as isize - column as isize,
        }
    }

    fn tile(&self, mut tile: Tile<T>, work: &mut Work<T>) {
        let inputs = self.kernel.inputs();
        let (down, across) = (
            tile.nngp.len(),
            tile.nngp.first().map_or(0, |row| row.len()),
        );
        let rows = &self.rows[tile.row * inputs..(tile.row + down) * inputs];
        let x = &self.x[tile.column * inputs..(tile.column + across) * inputs];
        let gram = match self.kernel.plan.gram {
            true => T::gaps(
                Squared {
                    x: rows,
                    squares: &self.row_squares[tile.row..tile.row + down],
                },
                Squared {
                    x,
                    squares: &self.column_squares[tile.column..tile.column + across],
                },
                inputs,
                self.diagonal(&tile),
            ),
            false => Vec::new(),
        };
        for at in (0..across).step_by(self.batch) {
            let columns = &self.columns[(tile.column + at) / self.batch];
            let end = (at + self.batch).min(across);
            for r in 0..down {
                let last = self.first_column + tile.column + end - 1;
                if self.part == Part::Upper && last < self.first_row + tile.row + r {
                    continue;
                }
                if let Some(row) = gram.get(r * across..(r + 1) * across) {
                    work.gram.all_mut()[..end - at].copy_from_slice(&row[at..end]);
                }
                let row = Row::One {
                    x: &rows[r * inputs..(r + 1) * inputs],
                    sides: self.sides.of(tile.row + r),
                };
                self.kernel.run(self.wanted, row, columns, work);
                let ntk = tile.ntk.get_mut(r).map(|row| &mut row[at..end]);
                copy_out(work, &mut tile.nngp[r][at..end], ntk);
            }
        }
    }
}
