//! The groups: what is mixed, and whether every place mixes alike.
//!
//! A sample of C channels and d positions is cut into cells: all of it, its positions (C numbers each) or patches of k×k
//! positions (C k² numbers each). A group acts on every cell of m numbers by O(m) or by the permutations P(m), its own
//! element in each cell (power) or the same one in all of them (⊗ I).

use polariscope_graph::Shape;
use serde::{Deserialize, Serialize};

use super::SymmetryError;
use super::grid::Grid;

/// Which matrices act on a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Elements {
    /// All orthogonal ones.
    Orthogonal,
    /// Those that reorder.
    Permutation,
}

/// What is mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cell {
    /// Every number with every other.
    All,
    /// The channels of a patch of this many rows and columns; of a position for 1×1.
    Patch([usize; 2]),
}

/// Whether cells share their element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// An element for each cell.
    Own,
    /// One for all.
    Shared,
}

/// A group of transformations of samples.
///
/// ```
/// use polariscope_kernels::symmetry::Group;
/// let shape = "3x6x6".parse()?;
/// let names = Group::SIX.map(|g| g.name(shape));
/// assert_eq!(names, ["O(108)", "O(3)^36", "O(3)⊗I_36", "P(108)", "P(3)^36", "P(3)⊗I_36"]);
/// // dim O(3d) = 3d(3d − 1)/2, dim O(3)^d = 3d, dim O(3)⊗I_d = 3.
/// assert_eq!(Group::SIX.map(|g| g.dimension(shape)), [5778, 108, 3, 0, 0, 0]);
/// # Ok::<(), polariscope_graph::GraphError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Rotations or permutations.
    pub elements: Elements,
    /// What is mixed.
    pub cell: Cell,
    /// Everywhere alike or not.
    pub sharing: Sharing,
}

/// One position.
const POSITION: Cell = Cell::Patch([1, 1]);

impl Group {
    /// O(Cd).
    pub const ALL: Group = Group::rotations(Cell::All, Sharing::Own);
    /// O(C)^d.
    pub const EACH_POSITION: Group = Group::rotations(POSITION, Sharing::Own);
    /// O(C)⊗I_d.
    pub const CHANNELS: Group = Group::rotations(POSITION, Sharing::Shared);
    /// The six groups of the theory: O(Cd), O(C)^d, O(C)⊗I_d and their permutations.
    pub const SIX: [Group; 6] = [
        Group::ALL,
        Group::EACH_POSITION,
        Group::CHANNELS,
        Group::ALL.permutations(),
        Group::EACH_POSITION.permutations(),
        Group::CHANNELS.permutations(),
    ];

    /// Rotations of cells.
    pub const fn rotations(cell: Cell, sharing: Sharing) -> Self {
        Group {
            elements: Elements::Orthogonal,
            cell,
            sharing,
        }
    }

    /// The permutations in it.
    pub const fn permutations(self) -> Self {
        Group {
            elements: Elements::Permutation,
            ..self
        }
    }

    /// The numbers of every cell.
    pub(super) fn cells(&self, shape: Shape) -> Result<Vec<Vec<usize>>, SymmetryError> {
        let grid = Grid::of(shape);
        match self.cell {
            Cell::All => Ok(vec![(0..grid.len()).collect()]),
            Cell::Patch(kernel) => grid.patches(kernel, shape),
        }
    }

    /// Numbers in a cell, and cells.
    fn sizes(&self, shape: Shape) -> (usize, usize) {
        let grid = Grid::of(shape);
        match self.cell {
            Cell::All => (grid.len(), 1),
            Cell::Patch([kh, kw]) => {
                let area = kh * kw;
                (grid.channels * area, grid.positions() / area.max(1))
            }
        }
    }

    /// Dimension as a manifold; 0 for permutations.
    pub fn dimension(&self, shape: Shape) -> usize {
        let (size, cells) = self.sizes(shape);
        match (self.elements, self.sharing) {
            (Elements::Permutation, _) => 0,
            (Elements::Orthogonal, Sharing::Own) => cells * size * size.saturating_sub(1) / 2,
            (Elements::Orthogonal, Sharing::Shared) => size * size.saturating_sub(1) / 2,
        }
    }

    /// `O(3)^36`, `O(3)⊗I_36`, `P(108)`.
    pub fn name(&self, shape: Shape) -> String {
        let letter = match self.elements {
            Elements::Orthogonal => 'O',
            Elements::Permutation => 'P',
        };
        match (self.sizes(shape), self.sharing) {
            ((size, 1), _) => format!("{letter}({size})"),
            ((size, cells), Sharing::Own) => format!("{letter}({size})^{cells}"),
            ((size, cells), Sharing::Shared) => format!("{letter}({size})⊗I_{cells}"),
        }
    }

    /// What it does, in words.
    pub fn words(&self) -> String {
        let verb = match self.elements {
            Elements::Orthogonal => "rotates",
            Elements::Permutation => "reorders",
        };
        let what = match self.cell {
            Cell::All => return format!("{verb} all numbers of a sample together"),
            Cell::Patch([1, 1]) => "the channels of every position".to_owned(),
            Cell::Patch([kh, kw]) => format!("the numbers of every {kh}x{kw} patch"),
        };
        match self.sharing {
            Sharing::Own => format!("{verb} {what} in its own way"),
            Sharing::Shared => format!("{verb} {what} in the same way"),
        }
    }

    /// Whether every element of `other` is one of these.
    pub fn contains(&self, other: &Group) -> bool {
        let elements =
            self.elements == Elements::Orthogonal || other.elements == Elements::Permutation;
        let sharing = self.sharing == Sharing::Own || other.sharing == Sharing::Shared;
        let cells = match (self.cell, other.cell) {
            (Cell::All, _) => true,
            (_, Cell::All) => false,
            (Cell::Patch(a), Cell::Patch(b)) => {
                (0..2).all(|i| b[i] > 0 && a[i].is_multiple_of(b[i]))
            }
        };
        // A shared element of small cells repeats inside a larger one; an own element does not.
        elements && cells && (sharing || self.cell == Cell::All)
    }

    /// The next larger group of rotations: own elements for shared ones, then everything mixed; none beyond O(Cd).
    pub fn larger(&self) -> Option<Group> {
        match (self.elements, self.cell, self.sharing) {
            (Elements::Permutation, ..) => Some(Group {
                elements: Elements::Orthogonal,
                ..*self
            }),
            (_, Cell::All, _) => None,
            (_, cell, Sharing::Shared) => Some(Group::rotations(cell, Sharing::Own)),
            (_, _, Sharing::Own) => Some(Group::ALL),
        }
    }

    /// The largest group known to lie in both.
    pub(super) fn meet(self, other: Group) -> Group {
        let cell = match (self.cell, other.cell) {
            (Cell::All, cell) | (cell, Cell::All) => cell,
            (a, b) if a == b => a,
            _ => POSITION,
        };
        let shared = [self, other]
            .iter()
            .any(|g| g.cell != Cell::All && g.sharing == Sharing::Shared);
        let permutation = [self, other]
            .iter()
            .any(|g| g.elements == Elements::Permutation);
        Group {
            elements: match permutation {
                true => Elements::Permutation,
                false => Elements::Orthogonal,
            },
            cell,
            sharing: match shared {
                true => Sharing::Shared,
                false => Sharing::Own,
            },
        }
    }

    /// The same group by its plainest name: one cell is all of the sample.
    pub(super) fn plain(self, shape: Shape) -> Group {
        match self.sizes(shape) {
            (_, 1) => Group {
                cell: Cell::All,
                sharing: Sharing::Own,
                ..self
            },
            _ => self,
        }
    }
}
