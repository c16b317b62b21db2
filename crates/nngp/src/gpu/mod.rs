//! Kernels on a GPU: CUDA C++ from the same plan that the processor follows.
//!
//! Variances of single samples come from the processor; pairs are computed in batches, stage by stage. A stage that is a
//! stack of 3×3 convolutions under a global pool has a kernel of its own ([`pooled`]), every other one takes fields through
//! the memory of a block ([`text`]).

mod batch;
mod panel;
mod pooled;
mod programs;
mod text;

use std::ops::Range;
use std::sync::Arc;

use polariscope_diff::cuda::Gpu;

use crate::kernel::{Kernel, Samples};
use crate::run::Tangent;
use crate::{Float, NngpError, Values, Wanted};
use batch::Batch;
use panel::Panel;
use programs::Programs;
use text::Kind;

/// How many times the work of a processor is little for a GPU.
pub(crate) const FASTER: f64 = 2500.0;
/// Bytes of samples and their variances kept on the GPU, for rows and for columns.
const PANEL: usize = 2 << 30;
/// Samples of a panel, at most: a pair is two numbers of 16 bits.
const SIDE: usize = 1 << 14;

/// A GPU that kernels are computed on.
#[derive(Clone)]
pub(crate) struct Place(pub Arc<Gpu>);

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Place")
    }
}

/// Which pairs are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairs {
    /// Every row with every column.
    All,
    /// Those with column ≥ row.
    Upper,
    /// Every sample with itself: as many numbers as samples.
    Diagonal,
}

impl Place {
    /// Fills the block of rows `x1` and columns `x2`, which are the same samples unless all pairs are wanted.
    pub fn fill<T: Float>(
        &self,
        kernel: &Kernel,
        wanted: Wanted,
        [x1, x2]: [&Samples<T>; 2],
        pairs: Pairs,
        values: &mut Values<T>,
    ) -> Result<(), NngpError> {
        let kind = Kind {
            dtype: T::DTYPE,
            tangent: match wanted {
                Wanted::Nngp => Tangent::Left,
                Wanted::Both => Tangent::Carried,
            },
        };
        let gpu = &self.0;
        let programs = Programs::new(gpu, &kernel.plan, kind)?;
        let panel = (PANEL / programs.bytes_of_sample(&kernel.plan, size_of::<T>())).clamp(1, SIDE);
        let mut batch = Batch::new(gpu, kernel, &programs, wanted, values.nngp.len())?;
        for rows in ranges(x1.count, panel) {
            let left = Panel::new(&mut batch, kernel, x1, rows.clone())?;
            for columns in ranges(x2.count, panel) {
                let skipped = match pairs {
                    Pairs::All => false,
                    Pairs::Upper => columns.end <= rows.start,
                    Pairs::Diagonal => columns != rows,
                };
                if skipped {
                    continue;
                }
                let others;
                let right = match pairs != Pairs::All && columns == rows {
                    true => &left,
                    false => {
                        others = Panel::new(&mut batch, kernel, x2, columns.clone())?;
                        &others
                    }
                };
                batch.panels([&left, right])?;
                let wanted = (0..rows.len()).map(|row| Run {
                    row,
                    columns: columns_of(row, pairs, &rows, &columns),
                });
                for runs in batches(wanted, batch.pairs()) {
                    let made = batch.run([&left, right], &runs)?;
                    let mut done = 0;
                    for Run { row, columns: c } in &runs {
                        let to = match pairs {
                            Pairs::Diagonal => rows.start + row,
                            Pairs::All | Pairs::Upper => {
                                (rows.start + row) * x2.count + columns.start + c.start
                            }
                        };
                        let (to, from) = (to..to + c.len(), done..done + c.len());
                        values.nngp[to.clone()].copy_from_slice(&made.nngp[from.clone()]);
                        if let (Some(ntk), Some(made)) = (&mut values.ntk, &made.ntk) {
                            ntk[to].copy_from_slice(&made[from]);
                        }
                        done += c.len();
                    }
                }
            }
        }
        Ok(())
    }
}

/// Pairs of one row with neighbouring columns, counted from the starts of their panels.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    row: usize,
    columns: Range<usize>,
}

/// Runs of at most so many pairs in all, cut where they must be.
fn batches(runs: impl Iterator<Item = Run>, most: usize) -> Vec<Vec<Run>> {
    let mut made: Vec<Vec<Run>> = Vec::new();
    let mut room = 0;
    for Run { row, columns } in runs {
        let mut start = columns.start;
        while start < columns.end {
            if room == 0 {
                made.push(Vec::new());
                room = most;
            }
            let end = columns.end.min(start + room);
            if let Some(last) = made.last_mut() {
                let columns = start..end;
                last.push(Run { row, columns });
            }
            room -= end - start;
            start = end;
        }
    }
    made
}

fn ranges(n: usize, step: usize) -> impl Iterator<Item = Range<usize>> {
    (0..n).step_by(step).map(move |i| i..(i + step).min(n))
}

/// Columns that are wanted in a row, both counted from the start of their panel.
fn columns_of(
    row: usize,
    pairs: Pairs,
    rows: &Range<usize>,
    columns: &Range<usize>,
) -> Range<usize> {
    match pairs {
        Pairs::All => 0..columns.len(),
        Pairs::Upper => (rows.start + row).saturating_sub(columns.start)..columns.len(),
        Pairs::Diagonal => row..row + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(row: usize, columns: Range<usize>) -> Run {
        Run { row, columns }
    }

    /// Every pair once, and no batch larger than it may be.
    #[test]
    fn runs_are_cut_into_batches() {
        let runs = [run(0, 0..5), run(1, 1..5), run(2, 5..5), run(3, 3..5)];
        let made = batches(runs.into_iter(), 4);
        assert_eq!(
            made,
            [
                vec![run(0, 0..4)],
                vec![run(0, 4..5), run(1, 1..4)],
                vec![run(1, 4..5), run(3, 3..5)],
            ]
        );
    }

    #[test]
    fn the_upper_triangle_of_a_panel() {
        let upper = |row, rows, columns| columns_of(row, Pairs::Upper, &rows, &columns);
        assert_eq!(upper(2, 4..8, 4..8), 2..4);
        assert_eq!(upper(2, 4..8, 8..12), 0..4);
        assert_eq!(columns_of(3, Pairs::Diagonal, &(4..8), &(4..8)), 3..4);
    }
}
