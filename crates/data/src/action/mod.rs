//! Transformations of images: translations, turns, flips, scalings, changes of colours, reorderings of pixels.
//!
//! An [`Action`] prints and parses as a word with numbers (`shift:2`, `turn:15`). [`Action::apply`] transforms samples;
//! [`Action::on_grid`] is what the same transformation does to positions of a coarser grid, such as a layer's.
//!
//! ```
//! use polariscope_data::Action;
//! let right: Action = "cyclic:1".parse()?;
//! let image = [1.0, 2.0, 3.0, 4.0];
//! assert_eq!(right.apply("1x1x4".parse()?, &image, 0)?, [4.0, 1.0, 2.0, 3.0]);
//! let turn: Action = "turn:90".parse()?;
//! assert_eq!(turn.apply("1x2x2".parse()?, &image, 0)?, [3.0, 1.0, 4.0, 2.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod resample;
mod text;

use std::borrow::Cow;

use polariscope_graph::Shape;
use polariscope_random::Stream;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use resample::Border;
pub use resample::{Resample, Tap};

/// A transformation of images. Turns and scalings are about the centre and, as positions of a shift that lie between
/// pixels, interpolate linearly; what comes in from outside is zero.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Cow<'_, str>", into = "String")]
pub enum Action {
    /// So many pixels to the right and down; what leaves on one side comes back on the other.
    Cyclic {
        /// To the right.
        across: i32,
        /// Down.
        down: i32,
    },
    /// So many pixels to the right and down.
    Shift {
        /// To the right.
        across: i32,
        /// Down.
        down: i32,
    },
    /// Clockwise. Quarter turns only reorder pixels.
    Turn {
        /// In degrees.
        degrees: f64,
    },
    /// Left and right change places.
    Flip,
    /// Top and bottom change places.
    FlipDown,
    /// Rows become columns.
    Transpose,
    /// Everything gets larger by a factor.
    Scale {
        /// The factor.
        by: f64,
    },
    /// Every channel goes to the place of the next one, the last to that of the first.
    Colours,
    /// Every channel of a sample times 1 + strength · u, with a u of its own, uniform on [−1, 1).
    Jitter {
        /// Largest change of the factor.
        strength: f64,
    },
    /// All pixels in another order, the same for all samples and channels.
    Pixels,
}

/// A transformation that samples do not have.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ActionError {
    /// No such transformation.
    #[error("{text}: {problem}")]
    Unknown {
        /// What was given.
        text: String,
        /// What is wrong with it.
        problem: String,
    },
    /// It does not act on samples of this shape.
    #[error("{action} does not act on samples of {shape}: {why}")]
    Shape {
        /// Which one.
        action: Action,
        /// Of the samples.
        shape: Shape,
        /// What it needs.
        why: &'static str,
    },
}

impl Action {
    /// Refuses samples that it does not act on.
    pub fn check(&self, shape: Shape) -> Result<(), ActionError> {
        let refuse = |why| {
            Err(ActionError::Shape {
                action: *self,
                shape,
                why,
            })
        };
        let Shape::Image {
            channels,
            height,
            width,
        } = shape
        else {
            return refuse("it needs images CxHxW");
        };
        let within = |by: i32, n: usize| (by.unsigned_abs() as usize) < n;
        match *self {
            Action::Cyclic { across, down } | Action::Shift { across, down }
                if !(within(across, width) && within(down, height)) =>
            {
                refuse("it moves by as much as the image is large, or more")
            }
            Action::Transpose if height != width => refuse("it needs a square"),
            Action::Turn { degrees } if height != width && degrees.rem_euclid(180.0) != 0.0 => {
                refuse("it needs a square")
            }
            Action::Colours if channels < 2 => refuse("it needs two channels or more"),
            _ => Ok(()),
        }
    }

    /// Whether it moves positions to positions, neighbours to neighbours, so that a layer's map can move along.
    pub fn moves(&self) -> bool {
        match self {
            Action::Cyclic { .. }
            | Action::Shift { .. }
            | Action::Turn { .. }
            | Action::Flip
            | Action::FlipDown
            | Action::Transpose
            | Action::Scale { .. } => true,
            Action::Colours | Action::Jitter { .. } | Action::Pixels => false,
        }
    }

    /// What it does to a grid of positions that lie `jump` pixels apart; nothing where positions do not move along.
    pub fn on_grid(&self, sizes: [usize; 2], jump: [f64; 2]) -> Option<Resample> {
        let [h, w] = sizes.map(|n| (n as f64 - 1.0) / 2.0);
        let about = move |r: f64, c: f64, [[a, b], [d, e]]: [[f64; 2]; 2]| {
            let (r, c) = (r - h, c - w);
            [h + a * r + b * c, w + d * r + e * c]
        };
        let linear = |matrix| {
            Some(Resample::new(sizes, Border::Zero, |r, c| {
                about(r, c, matrix)
            }))
        };
        match *self {
            Action::Cyclic { across, down } | Action::Shift { across, down } => {
                let border = match self {
                    Action::Cyclic { .. } => Border::Wrap,
                    _ => Border::Zero,
                };
                let [down, across] = [f64::from(down) / jump[0], f64::from(across) / jump[1]];
                Some(Resample::new(sizes, border, |r, c| [r - down, c - across]))
            }
            Action::Turn { degrees } => {
                let (sin, cos) = sine_and_cosine(degrees);
                // Rows grow downwards: clockwise, what is at (r, c) was at the left of it, c rows further down.
                linear([[cos, -sin], [sin, cos]])
            }
            Action::Flip => linear([[1.0, 0.0], [0.0, -1.0]]),
            Action::FlipDown => linear([[-1.0, 0.0], [0.0, 1.0]]),
            Action::Transpose => linear([[0.0, 1.0], [1.0, 0.0]]),
            Action::Scale { by } => linear([[1.0 / by, 0.0], [0.0, 1.0 / by]]),
            Action::Colours | Action::Jitter { .. } | Action::Pixels => None,
        }
    }

    /// The samples `x`, transformed. What is drawn depends on the seed and on the place of a sample.
    pub fn apply(&self, shape: Shape, x: &[f32], seed: u64) -> Result<Vec<f32>, ActionError> {
        self.check(shape)?;
        let Shape::Image {
            channels,
            height,
            width,
        } = shape
        else {
            return Ok(x.to_vec());
        };
        let plane = height * width;
        let mut out = vec![0.0; x.len()];
        let samples = out
            .par_chunks_exact_mut(channels * plane)
            .zip(x.par_chunks_exact(channels * plane));
        match (self.on_grid([height, width], [1.0, 1.0]), *self) {
            (Some(resample), _) => samples.for_each(|(out, x)| {
                for (out, x) in out.chunks_exact_mut(plane).zip(x.chunks_exact(plane)) {
                    let moved = resample.rows().map(|taps| {
                        let sum: f64 = taps.iter().map(|t| t.weight * f64::from(x[t.at])).sum();
                        sum as f32
                    });
                    out.iter_mut().zip(moved).for_each(|(out, x)| *out = x);
                }
            }),
            (None, Action::Jitter { strength }) => {
                samples.enumerate().for_each(|(i, (out, x))| {
                    let mut cursor = Stream::new(seed, i as u64, "data.jitter").cursor();
                    for (out, x) in out.chunks_exact_mut(plane).zip(x.chunks_exact(plane)) {
                        let factor = 1.0 + strength * (2.0 * f64::from(cursor.unit()) - 1.0);
                        out.iter_mut()
                            .zip(x)
                            .for_each(|(out, &x)| *out = (factor * f64::from(x)) as f32);
                    }
                });
            }
            (None, Action::Colours) => samples.for_each(|(out, x)| {
                out.copy_from_slice(x);
                out.rotate_right(plane);
            }),
            (None, _) => {
                let order = Stream::new(seed, 0, "data.pixels")
                    .cursor()
                    .permutation(plane);
                samples.for_each(|(out, x)| {
                    for (out, x) in out.chunks_exact_mut(plane).zip(x.chunks_exact(plane)) {
                        out.iter_mut().zip(&order).for_each(|(out, &p)| *out = x[p]);
                    }
                });
            }
        }
        Ok(out)
    }
}

/// Exact at multiples of 90°.
fn sine_and_cosine(degrees: f64) -> (f64, f64) {
    let degrees = degrees.rem_euclid(360.0);
    match degrees {
        0.0 => (0.0, 1.0),
        90.0 => (1.0, 0.0),
        180.0 => (0.0, -1.0),
        270.0 => (-1.0, 0.0),
        _ => degrees.to_radians().sin_cos(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(action: &str, shape: &str, x: &[f32]) -> Vec<f32> {
        let action: Action = action.parse().unwrap();
        action.apply(shape.parse().unwrap(), x, 3).unwrap()
    }

    #[test]
    fn reorderings_by_hand() {
        let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
        let cases: [(&str, [f32; 9]); 8] = [
            ("turn:90", [7.0, 4.0, 1.0, 8.0, 5.0, 2.0, 9.0, 6.0, 3.0]),
            ("turn:-90", [3.0, 6.0, 9.0, 2.0, 5.0, 8.0, 1.0, 4.0, 7.0]),
            ("turn:180", [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]),
            ("flip", [3.0, 2.0, 1.0, 6.0, 5.0, 4.0, 9.0, 8.0, 7.0]),
            ("flip-down", [7.0, 8.0, 9.0, 4.0, 5.0, 6.0, 1.0, 2.0, 3.0]),
            ("transpose", [1.0, 4.0, 7.0, 2.0, 5.0, 8.0, 3.0, 6.0, 9.0]),
            ("cyclic:1:2", [6.0, 4.0, 5.0, 9.0, 7.0, 8.0, 3.0, 1.0, 2.0]),
            ("shift:-1", [2.0, 3.0, 0.0, 5.0, 6.0, 0.0, 8.0, 9.0, 0.0]),
        ];
        for (action, expected) in cases {
            assert_eq!(applied(action, "1x3x3", &x), expected, "{action}");
        }
    }

    /// A linear ramp about the centre turns and scales as a function does, wherever nothing comes in from outside.
    #[test]
    fn turns_and_scalings_move_a_ramp() {
        let n = 17;
        let at = |p: usize| p as f64 - 8.0;
        let ramp: Vec<f32> = (0..n * n)
            .map(|p| (2.0 * at(p / n) + 3.0 * at(p % n)) as f32)
            .collect();
        let (sin, cos) = 30f64.to_radians().sin_cos();
        let turned = applied("turn:30", "1x17x17", &ramp);
        let scaled = applied("scale:2", "1x17x17", &ramp);
        for (r, c) in [(8, 8), (5, 9), (10, 4), (12, 11)] {
            let (y, x) = (at(r), at(c));
            // Clockwise by θ with rows downwards: the content at (y, x) was at (cos y − sin x, sin y + cos x).
            let expected = 2.0 * (cos * y - sin * x) + 3.0 * (sin * y + cos * x);
            assert!((f64::from(turned[r * n + c]) - expected).abs() < 1e-5);
            assert!((f64::from(scaled[r * n + c]) - (y + 1.5 * x)).abs() < 1e-5);
        }
    }

    #[test]
    fn colours_jitter_and_pixels() {
        let x: Vec<f32> = (0..12).map(|i| i as f32 + 1.0).collect();
        let colours = applied("colours", "3x2x2", &x);
        assert_eq!(colours[..4], [9.0, 10.0, 11.0, 12.0]);
        assert_eq!(colours[4..], x[..8]);
        let jitter = applied("jitter:0.5", "3x2x2", &x);
        for (out, x) in jitter.chunks(4).zip(x.chunks(4)) {
            let factor = out[0] / x[0];
            assert!((0.5..1.5).contains(&factor) && factor != 1.0);
            assert!(
                out.iter()
                    .zip(x)
                    .all(|(o, x)| (o / x - factor).abs() < 1e-6)
            );
        }
        let pixels = applied("pixels", "3x2x2", &x);
        let order: Vec<f32> = pixels[..4].to_vec();
        let mut sorted = order.clone();
        sorted.sort_by(f32::total_cmp);
        assert_eq!(sorted, x[..4]);
        // The same order in every channel.
        assert!((0..4).all(|p| pixels[4 + p] == order[p] + 4.0));
    }

    /// Positions two pixels apart: a shift by 2 is one of theirs, a shift by 1 lies between them.
    #[test]
    fn coarse_grids_move_along() {
        let moved = |action: &str| {
            let action: Action = action.parse().unwrap();
            let grid = action.on_grid([1, 4], [1.0, 2.0]).unwrap();
            let values = grid.rows().map(|taps| {
                taps.iter()
                    .map(|t| t.weight * [1.0, 2.0, 3.0, 5.0][t.at])
                    .sum()
            });
            values.collect::<Vec<f64>>()
        };
        assert_eq!(moved("shift:2"), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(moved("shift:1"), [0.5, 1.5, 2.5, 4.0]);
        assert_eq!(moved("cyclic:2"), [5.0, 1.0, 2.0, 3.0]);
    }

    /// Two grids of two positions that change places, each mirrored.
    #[test]
    fn stacked_grids_change_places() {
        let flip = Action::Flip.on_grid([1, 2], [1.0, 1.0]).unwrap();
        let at: Vec<usize> = flip
            .stacked(&[1, 0])
            .rows()
            .map(|taps| taps[0].at)
            .collect();
        assert_eq!(at, [3, 2, 1, 0]);
    }

    #[test]
    fn what_does_not_act_is_refused() {
        for (action, shape, why) in [
            ("shift:4", "3x4x4", "as much as the image"),
            ("turn:45", "3x4x6", "square"),
            ("transpose", "3x4x6", "square"),
            ("colours", "1x4x4", "two channels"),
            ("flip", "12", "images"),
        ] {
            let parsed: Action = action.parse().unwrap();
            let refused = parsed
                .check(shape.parse().unwrap())
                .unwrap_err()
                .to_string();
            assert!(
                refused.contains(why) && refused.starts_with(action),
                "{refused}"
            );
        }
        assert!(
            "turn:180"
                .parse::<Action>()
                .unwrap()
                .check("3x4x6".parse().unwrap())
                .is_ok()
        );
    }
}
