//! Random crops and mirrors of the training images.

use polariscope_diff::Real;
use polariscope_graph::Shape;
use polariscope_random::Stream;
use serde::{Deserialize, Serialize};

use crate::TrainError;
use crate::samples::widen;

/// How every training image is changed, anew in every epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Augment {
    /// k: the image in a border of k zeros is cut to its size at one of (2k + 1)² places.
    pub crop: usize,
    /// Whether it is then mirrored, left to right, with probability ½.
    pub flip: bool,
}

/// What is done to one image. Places run from 0 to 2k; k leaves the image where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View {
    pub top: u32,
    pub left: u32,
    pub mirrored: bool,
}

impl View {
    /// What a GPU reads.
    pub fn numbers(&self) -> [u32; 3] {
        [self.top, self.left, u32::from(self.mirrored)]
    }
}

/// Images and what may be done to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub height: usize,
    pub width: usize,
    pub crop: usize,
}

impl Augment {
    /// Whether images stay as they are.
    pub fn is_none(&self) -> bool {
        *self == Augment::default()
    }

    /// Checks that inputs of this shape can be changed so.
    pub fn check(&self, input: Shape) -> Result<(), TrainError> {
        self.frame(input).map(|_| ())
    }

    /// The images, if something is to be done to them.
    pub(crate) fn frame(&self, input: Shape) -> Result<Option<Frame>, TrainError> {
        if self.is_none() {
            return Ok(None);
        }
        let Shape::Image { height, width, .. } = input else {
            return Err(TrainError::Unfit {
                what: format!("crops and flips are of images, and the input is {input}"),
                wanted: "train without them, or on images CxHxW",
            });
        };
        if self.crop >= height.min(width) {
            return Err(TrainError::Unfit {
                what: format!("a crop by {} may miss the whole image {input}", self.crop),
                wanted: "the border must be smaller than height and width",
            });
        }
        Ok(Some(Frame {
            height,
            width,
            crop: self.crop,
        }))
    }

    /// What is done to each of `samples` images in an epoch.
    pub(crate) fn views(&self, samples: usize, seed: u64, epoch: u64) -> Vec<View> {
        let mut crops = Stream::new(seed, epoch, "crop").cursor();
        let mut flips = Stream::new(seed, epoch, "flip").cursor();
        let places = 2 * self.crop as u64 + 1;
        let view = |_| View {
            top: crops.below(places) as u32,
            left: crops.below(places) as u32,
            mirrored: self.flip && flips.below(2) == 1,
        };
        (0..samples).map(view).collect()
    }
}

impl Frame {
    /// A view of an image, of which all channels follow each other in `from`.
    pub fn look<T: Real>(&self, view: View, from: &[f32], to: &mut [T]) {
        let Frame {
            height,
            width,
            crop,
        } = *self;
        // Row r of the view is row r + top − k of the image, zeros outside.
        let inside = |at: usize, place: u32, size: usize| {
            (at + place as usize)
                .checked_sub(crop)
                .filter(|&i| i < size)
        };
        for (i, to) in to.iter_mut().enumerate() {
            let (row, column) = (i / width % height, i % width);
            let column = if view.mirrored {
                width - 1 - column
            } else {
                column
            };
            let row = inside(row, view.top, height);
            let column = inside(column, view.left, width);
            *to = match (row, column) {
                (Some(row), Some(column)) => {
                    widen(from[(i / (height * width) * height + row) * width + column])
                }
                _ => T::ZERO,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use polariscope_graph::{ZooOptions, parse_file};

    use super::*;
    use crate::{BatchSize, Config, Labels, Length, Samples, Schedule, State, Trainer};

    const IMAGES: Shape = Shape::Image {
        channels: 2,
        height: 4,
        width: 5,
    };

    /// The image in its border, then a part of it, then its mirror: one array after the other.
    fn by_hand(image: &[f32], k: usize, view: View) -> Vec<f64> {
        let (h, w) = (4, 5);
        let mut seen = Vec::new();
        for channel in image.chunks(h * w) {
            let mut padded = vec![vec![0.0; w + 2 * k]; h + 2 * k];
            for (r, row) in channel.chunks(w).enumerate() {
                for (c, &x) in row.iter().enumerate() {
                    padded[k + r][k + c] = f64::from(x);
                }
            }
            for row in &padded[view.top as usize..][..h] {
                let mut cut = row[view.left as usize..][..w].to_vec();
                if view.mirrored {
                    cut.reverse();
                }
                seen.extend(cut);
            }
        }
        seen
    }

    #[test]
    fn views_are_crops_of_a_border_and_their_mirrors() {
        let image: Vec<f32> = (1..=40).map(|i| i as f32).collect();
        for k in 0..4 {
            let augment = Augment {
                crop: k,
                flip: true,
            };
            let frame = augment.frame(IMAGES).unwrap().unwrap();
            for place in 0..2 * (2 * k as u32 + 1).pow(2) {
                let (side, mirrored) = (2 * k as u32 + 1, place % 2 == 1);
                let view = View {
                    top: place / 2 / side,
                    left: place / 2 % side,
                    mirrored,
                };
                let mut seen = vec![f64::NAN; 40];
                frame.look(view, &image, &mut seen);
                assert_eq!(seen, by_hand(&image, k, view), "{k} {view:?}");
            }
        }
    }

    /// Every place and both sides are equally likely: shares of 20 000 draws within five standard errors.
    #[test]
    fn distributions_of_views() {
        let augment = Augment {
            crop: 2,
            flip: true,
        };
        let n = 20_000;
        let views = augment.views(n, 7, 3);
        let share = |of: &dyn Fn(&View) -> bool, p: f64| {
            let found = views.iter().filter(|v| of(v)).count() as f64 / n as f64;
            let error = (p * (1.0 - p) / n as f64).sqrt();
            assert!((found - p).abs() < 5.0 * error, "{found} for {p}");
        };
        for place in 0..5 {
            share(&|v| v.top == place, 0.2);
            share(&|v| v.left == place, 0.2);
            share(&|v| (v.top, v.left) == (place, 4 - place), 0.04);
            share(&|v| v.left == place && v.mirrored, 0.1);
        }
        share(&|v| v.mirrored, 0.5);
        // What is drawn depends on seed and epoch, and flips not on crops.
        assert_eq!(views, augment.views(n, 7, 3));
        assert_eq!(views[..9], augment.views(9, 7, 3));
        assert_ne!(views[..99], augment.views(99, 7, 4));
        assert_ne!(views[..99], augment.views(99, 8, 3));
        let flips = Augment { crop: 0, ..augment }.views(n, 7, 3);
        assert!(
            flips
                .iter()
                .zip(&views)
                .all(|(a, b)| a.mirrored == b.mirrored)
        );
        let crops = Augment {
            flip: false,
            ..augment
        };
        let crops = crops.views(n, 7, 3);
        assert!(
            crops
                .iter()
                .zip(&views)
                .all(|(a, b)| a.top == b.top && !a.mirrored)
        );
    }

    /// A run is one whose data set is replaced before every epoch, to the same bits; stopped in between as well.
    #[test]
    fn a_run_meets_another_view_in_every_epoch() {
        let text = "input = [2, 4, 5]\nlayers = [{ op = \"conv\", channels = 3, kernel = 3 }, { op = \"relu\" }, \
                    { op = \"flatten\" }, { op = \"dense\", features = 3 }]";
        let graph = parse_file(text, "net.toml", &ZooOptions::default()).unwrap();
        let n = 11;
        let mut x = vec![0.0; n * 40];
        Stream::new(1, 0, "x").normal(1.0, &mut x);
        let y: Vec<u32> = (0..n as u32).map(|i| i % 3).collect();
        let augment = Augment {
            crop: 2,
            flip: true,
        };
        for batch_size in [BatchSize::Of(4), BatchSize::Full] {
            let plain = Config {
                batch_size,
                length: Length::Epochs(3),
                schedule: Schedule::Cosine,
                batch_seed: 5,
                ..Config::default()
            };
            let config = Config {
                augment,
                ..plain.clone()
            };
            fn set<'a>(x: &'a [f32], y: &'a [u32]) -> Samples<'a> {
                let y = Labels::Classes(y);
                Samples { x, y }
            }
            let run = |config: &Config, x: &[f32], state: State<f64>, steps: u64| {
                let mut trainer = Trainer::new(&graph, config, set(x, &y), None, state).unwrap();
                for _ in 0..steps {
                    trainer.step().unwrap();
                }
                trainer.into_state()
            };
            let start = State::new(&graph, &config, 0);
            let an_epoch = plain.steps_an_epoch(n);
            let whole = run(&config, &x, start.clone(), 3 * an_epoch);
            let frame = augment.frame(graph.input()).unwrap().unwrap();
            let mut replaced = start.clone();
            for epoch in 0..3 {
                let views = augment.views(n, 5, epoch);
                let mut seen = vec![0.0f32; x.len()];
                let images = x.chunks(40).zip(seen.chunks_mut(40));
                images
                    .zip(views)
                    .for_each(|((from, to), view)| frame.look(view, from, to));
                replaced = run(&plain, &seen, replaced, an_epoch);
            }
            assert_eq!(whole, replaced);
            let first = run(&config, &x, start.clone(), 2).to_bytes();
            let resumed = State::from_bytes(&graph, &config, &first).unwrap();
            assert_eq!(run(&config, &x, resumed, 3 * an_epoch - 2), whole);
            assert_ne!(run(&plain, &x, start, 3 * an_epoch).weights, whole.weights);
        }
    }

    #[test]
    fn only_images_larger_than_the_border_are_cropped() {
        let crop = |crop, input| {
            let augment = Augment { crop, flip: false };
            augment.frame(input).map_err(|e| e.to_string())
        };
        assert_eq!(crop(0, Shape::Vector { features: 9 }), Ok(None));
        assert!(crop(3, IMAGES).is_ok());
        assert_eq!(
            crop(4, IMAGES).unwrap_err(),
            "a crop by 4 may miss the whole image 2x4x5; the border must be smaller than height and width"
        );
        assert_eq!(
            crop(1, Shape::Vector { features: 9 }).unwrap_err(),
            "crops and flips are of images, and the input is 9; train without them, or on images CxHxW"
        );
    }
    /// Runs without it are named by what they were named by before there was any.
    #[test]
    fn no_augmentation_is_not_written() {
        let plain = Config::default();
        let text = toml::to_string(&plain).unwrap();
        assert!(!text.contains("augment"), "{text}");
        assert_eq!(toml::from_str::<Config>(&text).unwrap(), plain);
        let flip = Config {
            augment: Augment {
                crop: 0,
                flip: true,
            },
            ..plain
        };
        let text = toml::to_string(&flip).unwrap();
        assert_eq!(toml::from_str::<Config>(&text).unwrap(), flip);
    }
}
