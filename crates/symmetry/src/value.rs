//! A statistic with its interval over images.

use polariscope_report::pretty;
use polariscope_stats::{Interval, bootstrap};
use serde::{Deserialize, Serialize};

/// A statistic with its interval over images.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// The statistic.
    pub value: f64,
    /// 95 %.
    pub low: f64,
    /// 95 %.
    pub high: f64,
}

impl Value {
    pub(crate) fn new(value: f64, interval: Option<Interval>) -> Self {
        Value {
            value,
            low: interval.map_or(f64::NAN, |i| i.low),
            high: interval.map_or(f64::NAN, |i| i.high),
        }
    }

    /// A statistic of all images with its interval; the same seed sees the same resamples.
    pub(crate) fn over_images(
        images: usize,
        seed: u64,
        statistic: impl Fn(&[usize]) -> Option<f64>,
    ) -> Self {
        let all: Vec<usize> = (0..images).collect();
        let value = statistic(&all).unwrap_or(f64::NAN);
        Value::new(value, bootstrap(images, seed, statistic))
    }

    /// `0.42 (0.38 to 0.47)`.
    pub fn words(&self) -> String {
        match self.low.is_finite() && self.high.is_finite() {
            true => format!(
                "{} ({} to {})",
                pretty(self.value),
                pretty(self.low),
                pretty(self.high)
            ),
            false => pretty(self.value),
        }
    }
}
