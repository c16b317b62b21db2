//! Reading a part of a map that is the base outside a patch.
//!
//! Maps and patches lie position by position with their channels together, so neighbouring positions are one copy.

use super::region::{Lines, Span, Taps};

/// The patches of one node, in rows and columns.
#[derive(Clone, Debug)]
pub struct Region {
    /// Channels.
    pub channels: usize,
    /// Rows.
    pub rows: Span,
    /// Columns.
    pub cols: Span,
}

impl Region {
    /// Positions of a patch.
    pub fn positions(&self) -> usize {
        self.rows.length * self.cols.length
    }

    /// Numbers of a patch.
    pub fn len(&self) -> usize {
        self.positions() * self.channels
    }
}

/// A row of a target: where it lies in the base and, if the patch has it, there.
#[derive(Clone, Copy, Debug)]
struct Row {
    to: usize,
    base: usize,
    patch: Option<usize>,
}

/// Where a stretch of positions is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// The map of the base point.
    Base(usize),
    /// The sample's patch.
    Patch(usize),
}

/// How targets of one size read a node, for every pixel that may have moved.
#[derive(Clone, Debug)]
pub struct Gather {
    /// Rows and columns of a target.
    pub size: [usize; 2],
    rows: Vec<Vec<Row>>,
    cols: Vec<Lines>,
    base_width: usize,
    patch_width: usize,
}

impl Gather {
    /// The patch of another node over the same positions.
    pub fn patch(from: &Region, to: &Region) -> Self {
        Gather::new(
            from,
            (from.rows.lines(&to.rows), to.rows.length),
            (from.cols.lines(&to.cols), to.cols.length),
        )
    }

    /// What the patch of `to` sees through a window over `from`.
    pub fn crop(from: &Region, to: &Region, taps: &[Taps; 2]) -> Self {
        Gather::new(
            from,
            from.rows.crops(&to.rows, &taps[0]),
            from.cols.crops(&to.cols, &taps[1]),
        )
    }

    fn new(
        from: &Region,
        (rows, height): (Vec<Lines>, usize),
        (cols, width): (Vec<Lines>, usize),
    ) -> Self {
        let expand = |lines: Lines| {
            let mut patch = vec![None; height];
            for run in lines.patch {
                (0..run.length).for_each(|i| patch[run.to + i] = Some(run.from + i));
            }
            let rows = lines.base.iter().flat_map(|run| {
                (0..run.length).map(|i| Row {
                    to: run.to + i,
                    base: run.from + i,
                    patch: patch[run.to + i],
                })
            });
            rows.collect()
        };
        Gather {
            size: [height, width],
            rows: rows.into_iter().map(expand).collect(),
            cols,
            base_width: from.cols.n,
            patch_width: from.cols.length,
        }
    }

    /// Positions of a target.
    pub fn positions(&self) -> usize {
        self.size[0] * self.size[1]
    }

    /// Calls `f(first target position, source, how many)` for the pixel (row, col); the rest of a target is border.
    #[inline]
    pub fn each(&self, [row, col]: [usize; 2], mut f: impl FnMut(usize, From, usize)) {
        let cols = &self.cols[col];
        for row in &self.rows[row] {
            let (to, base) = (row.to * self.size[1], row.base * self.base_width);
            let Some(patch) = row.patch else {
                for run in &cols.base {
                    f(to + run.to, From::Base(base + run.from), run.length);
                }
                continue;
            };
            for run in &cols.outside {
                f(to + run.to, From::Base(base + run.from), run.length);
            }
            for run in &cols.patch {
                let from = patch * self.patch_width + run.from;
                f(to + run.to, From::Patch(from), run.length);
            }
        }
    }
}
