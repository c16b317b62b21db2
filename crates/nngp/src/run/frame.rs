//! Where a field lies on its grid at one displacement.

use std::ops::Range;

use crate::plan::{Axis, Step};

/// Positions α of a field and their partners α + δ.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// Displacement: in [0, n) on wrapped axes.
    pub delta: [isize; 2],
    /// Positions of the grid.
    pub grid: [usize; 2],
    /// Rows and columns of α that are there.
    pub area: [Range<usize>; 2],
    /// Columns as (first α, how many, first partner).
    runs: [(usize, usize, usize); 2],
    axes: [Axis; 2],
}

impl Frame {
    /// The frame of a step when the stage is at a displacement.
    pub fn new(step: &Step, displacement: [isize; 2]) -> Self {
        let axes = step.axes;
        let mut delta = [0; 2];
        let mut area = [0..0, 0..0];
        for a in 0..2 {
            let n = step.grid[a] as isize;
            let times = isize::try_from(step.times[a]).unwrap_or(isize::MAX);
            let d = displacement[a].saturating_mul(times);
            (delta[a], area[a]) = match axes[a] {
                Axis::Wrapped => (d.rem_euclid(n), 0..step.grid[a]),
                Axis::Signed => {
                    let first = d.saturating_neg().clamp(0, n);
                    (
                        d,
                        first as usize..n.saturating_sub(d).clamp(first, n) as usize,
                    )
                }
            };
        }
        let columns = &area[1];
        let runs = match axes[1] {
            Axis::Wrapped => {
                let (n, d) = (step.grid[1], delta[1] as usize);
                [(0, n - d, d), (n - d, d, 0)]
            }
            Axis::Signed => {
                let partner = columns.start.saturating_add_signed(delta[1]);
                [(columns.start, columns.len(), partner), (0, 0, 0)]
            }
        };
        Frame {
            delta,
            grid: step.grid,
            area,
            runs,
            axes,
        }
    }

    /// Row r: (first α, how many, first partner) as positions of the grid.
    #[inline(always)]
    pub fn runs(&self, r: usize) -> [(usize, usize, usize); 2] {
        let width = self.grid[1];
        let (mine, other) = (r * width, self.partner_row(r) * width);
        let [(a, n, b), (c, m, d)] = self.runs;
        [(mine + a, n, other + b), (mine + c, m, other + d)]
    }

    /// Row r of α that are there, in numbers of `each`.
    #[inline(always)]
    pub fn row(&self, r: usize, each: usize) -> Range<usize> {
        let (width, columns) = (self.grid[1], &self.area[1]);
        (r * width + columns.start) * each..(r * width + columns.end) * each
    }

    /// The row that is paired with row r.
    #[inline(always)]
    pub fn partner_row(&self, r: usize) -> usize {
        let partner = r.saturating_add_signed(self.delta[0]);
        match self.axes[0] {
            Axis::Wrapped if partner >= self.grid[0] => partner - self.grid[0],
            _ => partner,
        }
    }

    /// The column that is paired with column c.
    #[inline(always)]
    pub fn partner_column(&self, c: usize) -> usize {
        let partner = c.saturating_add_signed(self.delta[1]);
        match self.axes[1] {
            Axis::Wrapped if partner >= self.grid[1] => partner - self.grid[1],
            _ => partner,
        }
    }

    /// Whether every position is paired with itself.
    pub fn is_diagonal(&self) -> bool {
        self.delta == [0, 0]
    }
}
