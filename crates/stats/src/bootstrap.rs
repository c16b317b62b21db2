//! Intervals by the bootstrap: how far a statistic moves when what it was taken over is drawn again.

use polariscope_random::Stream;
use serde::{Deserialize, Serialize};

/// Resamples of an interval.
const RESAMPLES: u64 = 2000;
/// What lies below an interval, and above it.
const TAIL: f64 = 0.025;

/// A percentile interval of 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Standard deviation over the resamples.
    pub standard_error: f64,
}

impl Interval {
    /// Whether it lies on one side of 0.
    pub fn excludes_zero(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// The interval of a statistic of `n` things, which is given their indices in each of 2000 resamples. Two statistics with the
/// same seed see the same resamples. Resamples without the statistic are left out; `None` where they are most.
///
/// ```
/// use polariscope_stats::bootstrap;
/// let x: Vec<f64> = (0..100).map(f64::from).collect();
/// let mean = |at: &[usize]| Some(at.iter().map(|&i| x[i]).sum::<f64>() / at.len() as f64);
/// let found = bootstrap(x.len(), 0, mean).unwrap();
/// // The mean 49.5 has the standard error 28.87/√100.
/// assert!((found.standard_error - 2.89).abs() < 0.15);
/// assert!((found.low - 43.8).abs() < 0.6 && (found.high - 55.2).abs() < 0.6);
/// ```
pub fn bootstrap(
    n: usize,
    seed: u64,
    statistic: impl Fn(&[usize]) -> Option<f64>,
) -> Option<Interval> {
    let resample = |k: u64| {
        let mut cursor = Stream::new(seed, k, "bootstrap").cursor();
        let chosen: Vec<usize> = (0..n).map(|_| cursor.below(n as u64) as usize).collect();
        statistic(&chosen)
    };
    let mut found: Vec<f64> = (0..RESAMPLES).filter_map(resample).collect();
    if 2 * (found.len() as u64) < RESAMPLES {
        return None;
    }
    found.sort_unstable_by(f64::total_cmp);
    let last = (found.len() - 1) as f64;
    let at = |part: f64| found[(part * last).round() as usize];
    let mean = found.iter().sum::<f64>() / found.len() as f64;
    let squares: f64 = found.iter().map(|x| (x - mean).powi(2)).sum();
    Some(Interval {
        low: at(TAIL),
        high: at(1.0 - TAIL),
        standard_error: (squares / last).sqrt(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_has_no_width() {
        let found = bootstrap(5, 1, |_| Some(2.0)).unwrap();
        assert_eq!(
            (found.low, found.high, found.standard_error),
            (2.0, 2.0, 0.0)
        );
        assert!(found.excludes_zero());
    }

    /// All of two things equal: half of the resamples, which are left out; the others hold both.
    #[test]
    fn resamples_without_the_statistic_are_left_out() {
        let both = |at: &[usize]| (at[0] != at[1]).then_some(1.0);
        let found = bootstrap(2, 0, both);
        assert!(found.is_none_or(|i| i.low == 1.0 && i.high == 1.0));
        assert_eq!(bootstrap(2, 0, |_| None), None);
    }
}
