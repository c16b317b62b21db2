//! Images to look at: a few bright blobs on each, in two classes.

use polariscope_data::{Dataset, Labels, Split};
use polariscope_graph::Shape;
use polariscope_random::Stream;

/// Pixels a side.
const SIDE: usize = 20;

/// So many test images; one training image of each class.
pub fn blobs(count: usize) -> Dataset {
    let split = |name: &str, count: usize| {
        let image = |i: usize| {
            let mut draw = Stream::new(0, i as u64, name).cursor();
            let blobs: Vec<[f32; 4]> = (0..3 + 2 * (i % 2))
                .map(|_| {
                    let side = SIDE as f32;
                    [
                        side * draw.unit(),
                        side * draw.unit(),
                        1.0 + 2.0 * draw.unit(),
                        0.5 + draw.unit(),
                    ]
                })
                .collect();
            (0..SIDE * SIDE).map(move |p| {
                let (r, c) = ((p / SIDE) as f32, (p % SIDE) as f32);
                let bright = |[y, x, w, a]: &[f32; 4]| {
                    a * (-((r - y).powi(2) + (c - x).powi(2)) / (2.0 * w * w)).exp()
                };
                blobs.iter().map(bright).sum::<f32>()
            })
        };
        Split {
            x: (0..count).flat_map(image).collect(),
            y: Labels::Classes((0..count).map(|i| (i % 2) as u32).collect()),
        }
    };
    Dataset {
        name: "blobs".into(),
        shape: Shape::Image {
            channels: 1,
            height: SIDE,
            width: SIDE,
        },
        classes: 2,
        class_names: vec!["few".into(), "many".into()],
        train: split("train", 2),
        test: split("test", count),
    }
}
