//! In which pose samples are seen: each moved by a random element of a group.

use std::fmt;
use std::str::FromStr;

use polariscope_data::{Action, Split};
use polariscope_graph::Shape;
use polariscope_random::Stream;

use crate::SymmetryExperimentsError;

/// As samples come.
const UPRIGHT: &str = "upright";

/// As samples come, or moved by a random power of a transformation: `turn:90` stands for all quarter turns, `turn:1` for
/// turns by any whole number of degrees, `flip` for the image or its mirror image, `cyclic:1` for all cyclic shifts of rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pose {
    /// As they come.
    Upright,
    /// Moved by a random element of the group that this generates.
    Powers(Action),
}

impl Pose {
    /// The elements of the group other than 1; an error where the powers of the transformation do not come back to 1 or do
    /// not act on these samples.
    pub fn elements(self, shape: Shape) -> Result<Vec<Action>, SymmetryExperimentsError> {
        let Pose::Powers(action) = self else {
            return Ok(Vec::new());
        };
        action.check(shape)?;
        let endless = || SymmetryExperimentsError::Pose {
            pose: self.to_string(),
        };
        match action {
            Action::Flip | Action::FlipDown | Action::Transpose => Ok(vec![action]),
            Action::Turn { degrees } => {
                let order = 360.0 / degrees.abs();
                if order.fract() != 0.0 {
                    return Err(endless());
                }
                let powers = (1..order as u32).map(|k| Action::Turn {
                    degrees: degrees * f64::from(k),
                });
                Ok(powers.collect())
            }
            Action::Cyclic { across, down } => {
                let Shape::Image { height, width, .. } = shape else {
                    return Err(endless());
                };
                let (height, width) = (height as i32, width as i32);
                let power = |k: i32| {
                    [
                        (k * across).rem_euclid(width),
                        (k * down).rem_euclid(height),
                    ]
                };
                let powers = (1..).map(power).take_while(|moved| *moved != [0, 0]);
                Ok(powers
                    .map(|[across, down]| Action::Cyclic { across, down })
                    .collect())
            }
            _ => Err(endless()),
        }
    }

    /// The samples of a split, each moved by an element that is drawn from (seed, run, name).
    pub fn seen(
        self,
        shape: Shape,
        split: &Split,
        (seed, run, name): (u64, u64, &str),
    ) -> Result<Split, SymmetryExperimentsError> {
        let elements = self.elements(shape)?;
        let mut cursor = Stream::new(seed, run, name).cursor();
        let drawn: Vec<usize> = (0..split.len())
            .map(|_| cursor.below(elements.len() as u64 + 1) as usize)
            .collect();
        let mut seen = split.clone();
        let size = shape.len();
        for (place, element) in (1..).zip(&elements) {
            let rows: Vec<usize> = (0..split.len()).filter(|&i| drawn[i] == place).collect();
            let moved = element.apply(shape, &split.select(size, &rows).x, seed)?;
            for (row, x) in rows.into_iter().zip(moved.chunks_exact(size)) {
                seen.x[row * size..][..size].copy_from_slice(x);
            }
        }
        Ok(seen)
    }
}

impl fmt::Display for Pose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pose::Upright => f.write_str(UPRIGHT),
            Pose::Powers(action) => action.fmt(f),
        }
    }
}

impl FromStr for Pose {
    type Err = SymmetryExperimentsError;

    fn from_str(text: &str) -> Result<Self, SymmetryExperimentsError> {
        match text {
            UPRIGHT => Ok(Pose::Upright),
            _ => Ok(Pose::Powers(text.parse()?)),
        }
    }
}
