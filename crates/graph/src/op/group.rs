//! Quarter turns and mirror images of a square: the groups that group convolutions are over.
//!
//! Elements have numbers. Element a is a mirror image (columns reversed) if a ≥ 4, followed by a mod 4 quarter turns
//! counterclockwise: ρ^r σ^f with a = 4 f + r.

use serde::{Deserialize, Serialize};

/// The turns, or turns and mirror images, that go with the shifts of the plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Group {
    /// Four quarter turns.
    P4,
    /// Four quarter turns and four mirror images.
    P4m,
}

impl Group {
    /// Elements.
    pub fn order(self) -> usize {
        match self {
            Group::P4 => 4,
            Group::P4m => 8,
        }
    }

    /// The convolution over it, as architecture files spell it.
    pub fn conv(self) -> &'static str {
        match self {
            Group::P4 => "p4-conv",
            Group::P4m => "p4m-conv",
        }
    }

    /// What it is called in the literature.
    pub fn name(self) -> &'static str {
        match self {
            Group::P4 => "p4",
            Group::P4m => "p4m",
        }
    }

    /// The element that does b and then a: σρ = ρ⁻¹σ.
    pub fn product(a: usize, b: usize) -> usize {
        let turns = match a < 4 {
            true => a + b,
            false => a + 4 - b % 4,
        };
        4 * ((a / 4) ^ (b / 4)) + turns % 4
    }

    /// The element that undoes a.
    pub fn inverse(a: usize) -> usize {
        match a < 4 {
            true => (4 - a) % 4,
            false => a,
        }
    }

    /// Where element a takes (row, column) of a square of n × n.
    pub fn place(a: usize, n: usize, [row, column]: [usize; 2]) -> [usize; 2] {
        let start = match a < 4 {
            true => [row, column],
            false => [row, n - 1 - column],
        };
        (0..a % 4).fold(start, |[row, column], _| [n - 1 - column, row])
    }
}

/// How the numbers of a field at a position, one an element of the group, become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Projection {
    /// The largest.
    Max,
    /// The mean.
    Mean,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Products and inverses are those of the places: a(b(p)) = (ab)(p), by every place of a square.
    #[test]
    fn elements_multiply_as_they_act() {
        for a in 0..8 {
            for b in 0..8 {
                for p in 0..9 {
                    let p = [p / 3, p % 3];
                    let both = Group::place(a, 3, Group::place(b, 3, p));
                    assert_eq!(Group::place(Group::product(a, b), 3, p), both, "{a} {b}");
                }
            }
            assert_eq!(Group::product(a, Group::inverse(a)), 0, "{a}");
        }
        // Worked by hand: the upper left corner of a square of 3 goes down in a turn counterclockwise.
        assert_eq!(Group::place(1, 3, [0, 0]), [2, 0]);
        assert_eq!(Group::place(4, 3, [0, 0]), [0, 2]);
    }
}
