//! One motion: where every position of a sample goes, all channels alike.

use polariscope_diff::Real;
use polariscope_graph::Shape;
use serde::{Deserialize, Serialize};

use super::super::grid::Grid;

/// Direction of a motion. Signals and sequences of tokens are one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// From row to row.
    Down,
    /// From column to column.
    Across,
}

impl Axis {
    /// Positions along it.
    pub(super) fn of(self, grid: &Grid) -> usize {
        match self {
            Axis::Down => grid.height,
            Axis::Across => grid.width,
        }
    }
}

/// A bijection of the positions of a sample.
///
/// ```
/// use polariscope_kernels::symmetry::{Axis, Motion};
/// let row = Motion::Shift { axis: Axis::Across, by: 1 };
/// assert_eq!(row.apply("1x1x4".parse()?, &[1.0, 2.0, 3.0, 4.0]).unwrap(), [4.0, 1.0, 2.0, 3.0]);
/// assert_eq!(Motion::Transpose.apply("1x2x2".parse()?, &[1.0, 2.0, 3.0, 4.0]).unwrap(), [1.0, 3.0, 2.0, 4.0]);
/// // Only a square has a transpose.
/// assert!(Motion::Transpose.apply("1x1x4".parse()?, &[0.0; 4]).is_none());
/// # Ok::<(), polariscope_graph::GraphError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Motion {
    /// Every position goes this far along an axis; what leaves on one side comes back on the other.
    Shift {
        /// Along which.
        axis: Axis,
        /// Positions.
        by: usize,
    },
    /// The order along an axis is reversed.
    Flip(Axis),
    /// Rows become columns.
    Transpose,
    /// A quarter turn clockwise.
    Turn,
}

impl Motion {
    /// Where position (row, column) of a grid of these sizes goes.
    fn target(self, [height, width]: [usize; 2], [row, column]: [usize; 2]) -> [usize; 2] {
        match self {
            Motion::Shift {
                axis: Axis::Down,
                by,
            } => [(row + by) % height, column],
            Motion::Shift {
                axis: Axis::Across,
                by,
            } => [row, (column + by) % width],
            Motion::Flip(Axis::Down) => [height - 1 - row, column],
            Motion::Flip(Axis::Across) => [row, width - 1 - column],
            Motion::Transpose => [column, row],
            Motion::Turn => [column, height - 1 - row],
        }
    }

    /// Whether rows and columns change places.
    fn needs_square(self) -> bool {
        matches!(self, Motion::Transpose | Motion::Turn)
    }

    /// Position p goes to place order[p]; nothing where the grid has no such motion.
    pub(super) fn order(self, sizes: [usize; 2]) -> Option<Vec<usize>> {
        let [height, width] = sizes;
        if self.needs_square() && height != width {
            return None;
        }
        let place = |p: usize| {
            let [row, column] = self.target(sizes, [p / width, p % width]);
            row * width + column
        };
        Some((0..height * width).map(place).collect())
    }

    /// The same for the taps of a window: a shift leaves them where they are.
    pub(super) fn taps(self, kernel: [usize; 2]) -> Option<Vec<usize>> {
        match self {
            Motion::Shift { .. } => Some((0..kernel[0] * kernel[1]).collect()),
            Motion::Flip(_) | Motion::Transpose | Motion::Turn => self.order(kernel),
        }
    }

    /// The motion as an element of [`Group`](polariscope_graph::Group); a shift turns nothing.
    pub(super) fn element(self) -> usize {
        match self {
            Motion::Shift { .. } => 0,
            Motion::Flip(Axis::Across) => 4,
            Motion::Flip(Axis::Down) => 6,
            Motion::Transpose => 5,
            Motion::Turn => 3,
        }
    }

    /// gx for every sample x; nothing where samples of this shape have no such motion, or the numbers are no whole samples.
    pub fn apply<T: Real>(self, shape: Shape, x: &[T]) -> Option<Vec<T>> {
        let grid = Grid::of(shape);
        let order = self.order([grid.height, grid.width])?;
        if !x.len().is_multiple_of(grid.len()) {
            return None;
        }
        let mut out = vec![T::ZERO; x.len()];
        let samples = x
            .chunks_exact(grid.len())
            .zip(out.chunks_exact_mut(grid.len()));
        for (x, out) in samples {
            for channel in 0..grid.channels {
                for (p, &place) in order.iter().enumerate() {
                    out[grid.at(channel, place)] = x[grid.at(channel, p)];
                }
            }
        }
        Some(out)
    }
}

/// Every sample moved by one position along its rows, zeros where nothing comes from.
pub(super) fn filled(shape: Shape, x: &[f64]) -> Vec<f64> {
    let grid = Grid::of(shape);
    let mut out = vec![0.0; x.len()];
    for (x, out) in x
        .chunks_exact(grid.len())
        .zip(out.chunks_exact_mut(grid.len()))
    {
        for channel in 0..grid.channels {
            for p in (0..grid.positions()).filter(|p| p % grid.width != 0) {
                out[grid.at(channel, p)] = x[grid.at(channel, p - 1)];
            }
        }
    }
    out
}
