//! A number over networks with its interval.

use polariscope_report::{Cell, pretty};
use polariscope_stats::{Estimate, student_quantile};
use serde::{Deserialize, Serialize};

/// What lies below an interval, and above it.
const TAIL: f64 = 0.025;

/// A number over networks with its interval of 95 % by Student's t.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sampled {
    /// The number, its standard error, networks.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl From<Estimate> for Sampled {
    fn from(estimate: Estimate) -> Self {
        let freedom = estimate.samples.saturating_sub(1) as f64;
        let reach = match estimate.standard_error {
            0.0 => 0.0,
            error => error * student_quantile(1.0 - TAIL, freedom),
        };
        Self {
            estimate,
            low: estimate.value - reach,
            high: estimate.value + reach,
        }
    }
}

impl Sampled {
    /// Of numbers of networks; none for fewer than two.
    pub fn mean(values: &[f64]) -> Option<Self> {
        Estimate::mean(values).map(Self::from)
    }

    /// The geometric mean of positive numbers, whose interval is that of their logarithms: of what varies by factors.
    pub fn geometric(values: &[f64]) -> Option<Self> {
        // What does not move at all has no logarithm.
        if values.iter().any(|x| *x <= 0.0) {
            return Self::mean(values);
        }
        let logarithms: Vec<f64> = values.iter().map(|x| x.ln()).collect();
        let found = Self::mean(&logarithms)?;
        let value = found.value().exp();
        Some(Self {
            estimate: Estimate {
                value,
                standard_error: value * found.estimate.standard_error,
                ..found.estimate
            },
            low: found.low.exp(),
            high: found.high.exp(),
        })
    }

    /// How much lower the second error is than the first, of networks that were judged by the same samples: `wrong` tells
    /// for each network which samples are wrong in both cases. Its error is that over networks and that over samples, as
    /// squares add up.
    pub fn gain(wrong: &[(Vec<bool>, Vec<bool>)]) -> Option<Self> {
        let number = |wrong: bool| f64::from(u8::from(wrong));
        let samples = wrong.first()?.0.len();
        let over = |values: Vec<f64>| Estimate::mean(&values);
        let networks = over(
            wrong
                .iter()
                .map(|(a, b)| {
                    let pairs = a.iter().zip(b);
                    pairs.map(|(a, b)| number(*a) - number(*b)).sum::<f64>() / samples as f64
                })
                .collect(),
        )?;
        let each = |i: usize| {
            let differences = wrong.iter().map(|(a, b)| number(a[i]) - number(b[i]));
            differences.sum::<f64>() / wrong.len() as f64
        };
        let samples = over((0..samples).map(each).collect())?;
        let error = networks.standard_error.hypot(samples.standard_error);
        Some(Self::from(Estimate {
            standard_error: error,
            ..networks
        }))
    }

    /// The value.
    pub fn value(&self) -> f64 {
        self.estimate.value
    }

    /// Whether it is surely above a number.
    pub fn above(&self, number: f64) -> bool {
        self.low > number
    }

    /// Whether it is surely below a number.
    pub fn below(&self, number: f64) -> bool {
        self.high < number
    }

    /// `0.12 to 0.15`.
    pub fn interval(&self) -> String {
        format!(
            "{} to {}",
            pretty(round(self.low)),
            pretty(round(self.high))
        )
    }

    /// The number with its error, its interval, and networks.
    pub(super) fn cells(&self) -> [Cell; 3] {
        let shown = match self.estimate.standard_error {
            0.0 => pretty(self.estimate.value),
            _ => self.estimate.pair(),
        };
        [
            shown.into(),
            self.interval().into(),
            Cell::Count(self.estimate.samples),
        ]
    }
}

/// To three digits.
fn round(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let unit = 10f64.powi(x.abs().log10().floor() as i32 - 2);
    (x / unit).round() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 ± √(2/3)/√2 … of 0, 1, 2: standard error 1/√3, t with two degrees of freedom 4.3027.
    #[test]
    fn intervals_are_students() {
        let found = Sampled::mean(&[0.0, 1.0, 2.0]).unwrap();
        assert!((found.high - 1.0 - 4.302_652_73 / 3f64.sqrt()).abs() < 1e-8);
        assert!((found.low + found.high - 2.0).abs() < 1e-12);
        assert!(found.below(4.0) && !found.above(0.0));
        assert_eq!(Sampled::mean(&[1.0]), None);
        let same = Sampled::mean(&[0.5, 0.5]).unwrap();
        assert!(same.low == 0.5 && same.high == 0.5);
    }

    /// 1 and e²: e, by e^±12.706 (t with one degree of freedom; the error of the logarithm is 1).
    #[test]
    fn factors_have_intervals_of_factors() {
        let e = std::f64::consts::E;
        let found = Sampled::geometric(&[1.0, e * e]).unwrap();
        assert!(
            (found.value() - e).abs() < 1e-12 && (found.estimate.standard_error - e).abs() < 1e-12
        );
        assert!((found.low.ln() - (1.0 - 12.706_205)).abs() < 1e-5);
        assert!((found.high.ln() - (1.0 + 12.706_205)).abs() < 1e-5);
    }

    /// Two networks, four samples. Gains ¼ and ½, error ⅛; by sample 1, ½, 0, 0: mean 3/8, error √(0.6875/12).
    #[test]
    fn a_gain_has_the_errors_of_networks_and_of_samples() {
        let wrong = [
            (
                vec![true, false, false, true],
                vec![false, false, false, true],
            ),
            (
                vec![true, true, false, false],
                vec![false, false, false, false],
            ),
        ];
        let found = Sampled::gain(&wrong).unwrap();
        assert_eq!(found.value(), 0.375);
        let squares: f64 = [0.625f64, 0.125, -0.375, -0.375]
            .map(|x| x * x)
            .iter()
            .sum();
        let error = (1.0 / 64.0 + squares / 12.0).sqrt();
        assert!((found.estimate.standard_error - error).abs() < 1e-15);
    }
}
