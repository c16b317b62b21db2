//! Samples as people look at them.

use polariscope_graph::Shape;

use crate::dataset::Dataset;

/// Shows samples that are images: three channels as red, green and blue, another number as its mean in grey, all
/// on one scale from the smallest to the largest number of the training set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Viewer {
    channels: usize,
    pixels: usize,
    width: usize,
    low: f64,
    high: f64,
}

impl Dataset {
    /// How to show its samples; `None` unless they are images of two pixels or more.
    pub fn viewer(&self) -> Option<Viewer> {
        let Shape::Image {
            channels,
            height,
            width,
        } = self.shape
        else {
            return None;
        };
        if height * width < 2 {
            return None;
        }
        let numbers = self.train.x.iter();
        let (low, high) = numbers.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), &x| {
            (low.min(x), high.max(x))
        });
        Some(Viewer {
            channels,
            pixels: height * width,
            width,
            low: f64::from(low),
            high: f64::from(high),
        })
    }
}

impl Viewer {
    /// Rows of red, green and blue in 0…1 of a sample.
    pub fn picture(&self, sample: &[f32]) -> Vec<Vec<[f64; 3]>> {
        let range = self.high - self.low;
        let place = |x: f32| match range > 0.0 {
            true => ((f64::from(x) - self.low) / range).clamp(0.0, 1.0),
            false => 0.5,
        };
        let value = |c: usize, p: usize| {
            sample
                .get(c * self.pixels + p)
                .map_or(f64::NAN, |&x| place(x))
        };
        let colour = |p: usize| match self.channels {
            3 => [0, 1, 2].map(|c| value(c, p)),
            n => [(0..n).map(|c| value(c, p)).sum::<f64>() / n as f64; 3],
        };
        let places: Vec<[f64; 3]> = (0..self.pixels).map(colour).collect();
        places
            .chunks(self.width.max(1))
            .map(<[_]>::to_vec)
            .collect()
    }
}
