//! Blocks of kernels: rows against batches of columns, in tiles.
//!
//! Samples are taken in panels whose variances fit in memory, panels in tiles of rows × columns that workers share.
//! How a block is cut depends on its shape alone, so the numbers do not depend on the number of workers.

use std::collections::BTreeMap;
use std::iter;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::gram::{self, Squared};
use crate::kernel::{Kernel, Samples, copy_out};
use crate::run::{Columns, Row, Sides, Work};
use crate::{Float, Values, Wanted, all_finite};

/// Bytes of variances kept at a time, for rows and for columns.
const PANEL: usize = 256 << 20;
/// Operations in a tile: long enough to share a batch's memory, short enough to balance workers.
const TILE: f64 = 2e8;
/// Rows or columns of a tile, at most.
const SIDE: usize = 128;
/// Rows of a tile of a Gram matrix: few, so that workers end together.
const STRIP: usize = 48;

/// Which pairs are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    All,
    /// Those with column ≥ row, and a few more.
    Upper,
}

impl Kernel {
    /// Fills the block of rows `x1` and columns `x2`, which are the same for [`Part::Upper`]; whether all is finite.
    pub(crate) fn fill<T: Float>(
        &self,
        wanted: Wanted,
        x1: &Samples<T>,
        x2: &Samples<T>,
        part: Part,
        values: &mut Values<T>,
    ) -> bool {
        let inputs = self.inputs();
        let (n1, n2) = (x1.count, x2.count);
        let batch = self.batch::<T>(n2);
        let per_sample = (self.plan.sides.iter().sum::<usize>() + inputs) * size_of::<T>();
        let panel = (PANEL / per_sample).max(SIDE).next_multiple_of(SIDE);
        // Tiles of whole batches, about as many rows as columns; where a product reads all inputs, of as many columns as
        // the second cache holds.
        let pairs = match self.plan.gram {
            true => (SIDE * STRIP) as f64,
            false => (TILE / self.operations()).max(1.0),
        };
        let square = match self.plan.gram {
            true => SIDE,
            false => pairs.sqrt() as usize,
        };
        let across = square.clamp(batch, SIDE.max(batch)) / batch * batch;
        let down = ((pairs / across as f64) as usize).clamp(1, SIDE);
        let mut finite = true;
        for first_row in starts(n1, panel) {
            let rows = Side::new(self, x1, first_row..(first_row + panel).min(n1), batch);
            let range = first_row * n2..(first_row + rows.count) * n2;
            for first_column in starts(n2, panel) {
                let end = (first_column + panel).min(n2);
                if part == Part::Upper && end <= first_row {
                    continue;
                }
                let others;
                let columns = match part == Part::Upper && first_column == first_row {
                    true => &rows,
                    false => {
                        others = Side::new(self, x2, first_column..end, batch);
                        &others
                    }
                };
                let panel = Panel {
                    kernel: self,
                    wanted,
                    part,
                    rows: &rows,
                    columns,
                    batch,
                };
                let nngp = &mut values.nngp[range.clone()];
                let ntk = values.ntk.as_mut().map(|v| &mut v[range.clone()]);
                let mut tiles = cut(nngp, n2, first_column..end, down, across);
                if let Some(ntk) = ntk {
                    let others = cut(ntk, n2, first_column..end, down, across);
                    for (tile, other) in tiles.iter_mut().zip(others) {
                        tile.ntk = other.nngp;
                    }
                }
                tiles.retain(|tile| panel.wants(tile));
                let queue = Queue::new(tiles);
                let workers = (0..rayon::current_num_threads())
                    .into_par_iter()
                    .with_max_len(1);
                let all = workers.map(|_| {
                    let mut work = Work::new(&self.plan, batch);
                    let mut column = None;
                    let tiles = iter::from_fn(|| queue.next(&mut column));
                    tiles.fold(true, |all, tile| all & panel.tile(tile, &mut work))
                });
                finite &= all.reduce(|| true, |a, b| a & b);
            }
        }
        finite
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

impl<T> Tile<'_, T> {
    fn across(&self) -> usize {
        self.nngp.first().map_or(0, |row| row.len())
    }
}

/// Tiles by column. A worker stays in one as long as there are tiles in it, because what was made of its samples serves
/// them all, and goes on to one where nobody is.
struct Queue<'a, T>(Mutex<Vec<Column<'a, T>>>);

/// Tiles with the same columns.
struct Column<'a, T> {
    tiles: Vec<Tile<'a, T>>,
    taken: bool,
}

impl<'a, T> Queue<'a, T> {
    fn new(tiles: Vec<Tile<'a, T>>) -> Self {
        let mut columns: BTreeMap<usize, Vec<Tile<T>>> = BTreeMap::new();
        for tile in tiles {
            columns.entry(tile.column).or_default().push(tile);
        }
        let taken = false;
        let columns = columns.into_values();
        Queue(Mutex::new(
            columns.map(|tiles| Column { tiles, taken }).collect(),
        ))
    }

    /// The next tile, in the column where the worker is if it has more.
    fn next(&self, current: &mut Option<usize>) -> Option<Tile<'a, T>> {
        let mut columns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let more = |c: &Column<T>| !c.tiles.is_empty();
        if current.is_none_or(|at| !more(&columns[at])) {
            let left = columns.iter().enumerate().filter(|(_, c)| more(c));
            *current = left
                .max_by_key(|(_, c)| (!c.taken, c.tiles.len()))
                .map(|(at, _)| at);
        }
        let column = &mut columns[(*current)?];
        column.taken = true;
        column.tiles.pop()
    }
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

/// Samples of a panel with their variances.
struct Side<'a, T> {
    /// The first one among all.
    first: usize,
    count: usize,
    samples: Squared<'a, T>,
    columns: Vec<Columns<T>>,
    sides: Sides<T>,
}

impl<'a, T: Float> Side<'a, T> {
    fn new(kernel: &Kernel, x: &'a Samples<T>, range: Range<usize>, batch: usize) -> Self {
        let inputs = kernel.inputs();
        let samples = x.squared().part(range.clone(), inputs);
        let columns = kernel.columns(samples, batch, None);
        Side {
            first: range.start,
            count: range.len(),
            samples,
            sides: Sides::new(&columns, batch),
            columns,
        }
    }
}

/// Rows and columns.
struct Panel<'a, T: Float> {
    kernel: &'a Kernel,
    wanted: Wanted,
    part: Part,
    rows: &'a Side<'a, T>,
    columns: &'a Side<'a, T>,
    batch: usize,
}

impl<'a, T: Float> Panel<'a, T> {
    /// Column of a tile less its row from which on pairs are wanted.
    fn diagonal(&self, tile: &Tile<T>) -> isize {
        let (row, column) = (self.rows.first + tile.row, self.columns.first + tile.column);
        match self.part {
            Part::All => isize::MIN,
            Part::Upper => row as isize - column as isize,
        }
    }

    /// Whether any pair of a tile is wanted.
    fn wants(&self, tile: &Tile<T>) -> bool {
        self.diagonal(tile) < tile.across() as isize
    }

    /// Fills a tile; whether all is finite.
    fn tile(&self, mut tile: Tile<T>, work: &mut Work<T>) -> bool {
        let inputs = self.kernel.inputs();
        let (down, across, diagonal) = (tile.nngp.len(), tile.across(), self.diagonal(&tile));
        let (rows, columns) = (self.rows, self.columns);
        let gram = self.kernel.plan.gram;
        if gram {
            let side = |of: &Side<'a, T>, range| gram::Side {
                samples: of.samples,
                range,
                inputs,
            };
            T::gaps(gram::Fill {
                rows: side(rows, tile.row..tile.row + down),
                columns: side(columns, tile.column..tile.column + across),
                diagonal,
                gaps: &mut work.gaps,
            });
        }
        let mut finite = true;
        for at in (0..across).step_by(self.batch) {
            let batch = &columns.columns[(tile.column + at) / self.batch];
            let end = (at + self.batch).min(across);
            for r in 0..down {
                let first = (r as isize).saturating_add(diagonal).max(at as isize) as usize;
                if first >= end {
                    break;
                }
                if gram {
                    work.gram.all_mut()[..end - at].copy_from_slice(&work.gaps.row(r)[at..end]);
                }
                let row = Row::One {
                    x: &rows.samples.x[(tile.row + r) * inputs..][..inputs],
                    sides: rows.sides.of(tile.row + r),
                };
                self.kernel.run(self.wanted, row, batch, work);
                let nngp = &mut tile.nngp[r][at..end];
                let mut ntk = tile.ntk.get_mut(r).map(|row| &mut row[at..end]);
                copy_out(work, nngp, ntk.as_deref_mut());
                finite &= all_finite(&nngp[first - at..]);
                finite &= ntk.is_none_or(|row| all_finite(&row[first - at..]));
            }
        }
        finite
    }
}
