//! Images on which a deformation is seen well, for those who bring none.

use std::f64::consts::TAU;

use polariscope_data::{Dataset, Labels, Split};
use polariscope_graph::Shape;

/// Pixels a side.
const SIDE: usize = 32;

/// Grey in 0…1 at a point of the square [−1, 1]².
type Pattern = fn(f64, f64) -> f64;

/// Names and patterns.
const PATTERNS: [(&str, Pattern); 4] = [
    ("rings", |x, y| wave(2.5 * x.hypot(y))),
    ("stripes", |x, y| wave(1.5 * (x + y))),
    ("chessboard", |x, y| {
        f64::from(((2.0 * x).floor() as i32 + (2.0 * y).floor() as i32).rem_euclid(2))
    }),
    // An edge as wide as a pixel.
    ("disc", |x, y| {
        (8.0 - 16.0 * (x.hypot(y) - 0.1)).clamp(0.0, 1.0)
    }),
];

fn wave(turns: f64) -> f64 {
    0.5 + 0.5 * (TAU * turns).cos()
}

/// Rings, stripes, a chessboard and a disc, 1x32x32 in 0…1.
pub fn patterns() -> Dataset {
    let middle = |k: usize| (2 * k + 1) as f64 / SIDE as f64 - 1.0;
    let pixels = |(_, f): (&str, Pattern)| {
        (0..SIDE * SIDE).map(move |p| f(middle(p % SIDE), middle(p / SIDE)) as f32)
    };
    Dataset {
        name: "patterns".into(),
        shape: Shape::Image {
            channels: 1,
            height: SIDE,
            width: SIDE,
        },
        classes: PATTERNS.len(),
        class_names: PATTERNS.map(|(name, _)| name.to_string()).into(),
        train: Split {
            x: PATTERNS.into_iter().flat_map(pixels).collect(),
            y: Labels::Classes((0..PATTERNS.len() as u32).collect()),
        },
        test: Split {
            x: Vec::new(),
            y: Labels::Classes(Vec::new()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_a_data_set() {
        let data = patterns();
        assert_eq!((data.train.len(), data.train.x.len()), (4, 4 * 1024));
        assert!(data.check().is_ok() && data.viewer().is_some());
        for image in data.train.x.chunks(1024) {
            assert!(image.iter().all(|x| (0.0..=1.0).contains(x)));
            let mean = image.iter().sum::<f32>() / 1024.0;
            assert!((0.2..0.8).contains(&mean), "{mean}");
        }
    }
}
