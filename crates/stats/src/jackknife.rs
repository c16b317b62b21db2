//! Standard errors by the jackknife: how far a statistic moves when one of the things that it was taken over is left out.
//!
//! With θ₍ᵢ₎ the statistic without thing i and θ̄ their mean, the squared error is (n − 1)/n Σᵢ (θ₍ᵢ₎ − θ̄)². For a mean
//! that is the usual one.

use crate::Estimate;

/// A statistic of `n` things, which is told which one to leave out, if any; `None` for fewer than two things, or where it
/// cannot be had without one of them.
///
/// ```
/// use polariscope_stats::{Estimate, jackknife};
/// let x = [1.0, 2.0, 3.0, 4.0];
/// let mean = |out: Option<usize>| {
///     let kept: Vec<f64> = (0..4).filter(|i| Some(*i) != out).map(|i| x[i]).collect();
///     Some(kept.iter().sum::<f64>() / kept.len() as f64)
/// };
/// let (a, b) = (jackknife(4, mean).unwrap(), Estimate::mean(&x).unwrap());
/// assert!(a.value == b.value && (a.standard_error - b.standard_error).abs() < 1e-15);
/// ```
pub fn jackknife(n: usize, statistic: impl Fn(Option<usize>) -> Option<f64>) -> Option<Estimate> {
    if n < 2 {
        return None;
    }
    let value = statistic(None)?;
    let without: Option<Vec<f64>> = (0..n).map(|i| statistic(Some(i))).collect();
    let without = without?;
    let mean = without.iter().sum::<f64>() / n as f64;
    let squares: f64 = without.iter().map(|x| (x - mean).powi(2)).sum();
    Some(Estimate {
        value,
        standard_error: (squares * (n - 1) as f64 / n as f64).sqrt(),
        samples: n as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_thing_carries_has_no_error() {
        assert_eq!(jackknife(1, |_| Some(1.0)), None);
        let needs_the_third = |out: Option<usize>| (out != Some(2)).then_some(1.0);
        assert_eq!(jackknife(3, needs_the_third), None);
        assert_eq!(jackknife(2, needs_the_third).unwrap().standard_error, 0.0);
    }
}
