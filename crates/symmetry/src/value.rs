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
                short(self.value),
                short(self.low),
                short(self.high)
            ),
            false => short(self.value),
        }
    }
}

/// Three digits: intervals over some hundred images carry no more.
pub(crate) fn short(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return pretty(x);
    }
    let unit = 10f64.powi(x.abs().log10().floor() as i32 - 2);
    let rounded = (x / unit).round() * unit;
    pretty(rounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits() {
        let shown = [0.51573, 12.345, 0.0050149, 1234.0, 0.0, 1.0].map(short);
        assert_eq!(shown, ["0.516", "12.3", "0.00501", "1230", "0", "1"]);
    }
}
