//! A number that came from sampling.
//!
//! For n independent samples x₁ … xₙ the value is the mean x̄ and the standard error is
//! √(Σ(xᵢ − x̄)² / (n(n−1))).

use std::fmt;

use serde::{Deserialize, Serialize};

/// A sampled quantity with its standard error.
///
/// ```
/// use polariscope_stats::Estimate;
/// let e = Estimate { value: 0.15312, standard_error: 0.0041, samples: 20 };
/// assert_eq!(e.to_string(), "0.153 ± 0.004 (n = 20)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Best value.
    pub value: f64,
    /// Standard deviation of `value` over repetitions of the whole experiment.
    pub standard_error: f64,
    /// Independent samples behind it.
    pub samples: u64,
}

impl Estimate {
    /// Mean of independent samples; `None` for fewer than two, which carry no error.
    pub fn mean(samples: &[f64]) -> Option<Self> {
        if samples.len() < 2 {
            return None;
        }
        let n = samples.len() as f64;
        let value = samples.iter().sum::<f64>() / n;
        let squares: f64 = samples.iter().map(|x| (x - value).powi(2)).sum();
        Some(Self {
            value,
            standard_error: (squares / (n * (n - 1.0))).sqrt(),
            samples: samples.len() as u64,
        })
    }

    /// `0.153 ± 0.004`: the error to one digit (two when it starts with 1), the value to the same place.
    pub fn pair(&self) -> String {
        let (value, error) = (self.value, self.standard_error);
        if !value.is_finite() || !error.is_finite() || error <= 0.0 {
            return format!("{value} ± {error}");
        }
        // The power of ten that both are written in: 0 while plain decimals stay short.
        let size = value.abs().max(error).log10().floor() as i32;
        let power = if (-4..=5).contains(&size) { 0 } else { size };
        // Two divisions, because 10^-power alone overflows for subnormal values.
        let unit = 10f64.powi(power / 2);
        let rest = 10f64.powi(power - power / 2);
        let (value, error) = (value / unit / rest, error / unit / rest);
        let place = error.log10().floor() as i32;
        let keep = if error / 10f64.powi(place) < 1.95 {
            1
        } else {
            0
        };
        let decimals = (keep - place).clamp(0, 17) as usize;
        if power == 0 {
            format!("{value:.decimals$} ± {error:.decimals$}")
        } else {
            let power = superscript(power);
            format!("({value:.decimals$} ± {error:.decimals$})·10{power}")
        }
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (n = {})", self.pair(), self.samples)
    }
}

/// −7 → `⁻⁷`.
pub fn superscript(n: i32) -> String {
    let raise = |c| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        // '0' and '4'..='9' follow each other from U+2070.
        digit => char::from_u32(0x2070 + digit as u32 - '0' as u32).unwrap_or(digit),
    };
    n.to_string().chars().map(raise).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: f64, standard_error: f64) -> String {
        Estimate {
            value,
            standard_error,
            samples: 9,
        }
        .to_string()
    }

    #[test]
    fn mean_and_error_by_hand() {
        // Mean 2.5; squared deviations 2.25+0.25+0.25+2.25 = 5; √(5/12).
        let e = Estimate::mean(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!(e.value, 2.5);
        assert!((e.standard_error - (5.0f64 / 12.0).sqrt()).abs() < 1e-15);
        assert_eq!(e.samples, 4);
        assert_eq!(Estimate::mean(&[1.0]), None);
    }

    #[test]
    fn the_error_sets_the_digits() {
        assert_eq!(shown(0.15312, 0.0041), "0.153 ± 0.004 (n = 9)");
        assert_eq!(shown(0.15312, 0.0013), "0.1531 ± 0.0013 (n = 9)");
        assert_eq!(shown(-12345.0, 400.0), "-12345 ± 400 (n = 9)");
        assert_eq!(shown(1.53e-7, 4e-9), "(1.53 ± 0.04)·10⁻⁷ (n = 9)");
        assert_eq!(shown(2.5e8, 3e6), "(2.50 ± 0.03)·10⁸ (n = 9)");
        assert_eq!(shown(0.5, 0.0), "0.5 ± 0 (n = 9)");
        assert_eq!(shown(f64::NAN, 0.1), "NaN ± 0.1 (n = 9)");
    }

    #[test]
    fn raised() {
        assert_eq!(superscript(-1_234_567_890), "⁻¹²³⁴⁵⁶⁷⁸⁹⁰");
    }

    #[test]
    fn extreme_sizes_do_not_overflow() {
        assert_eq!(shown(5e-320, 5e-321), "(5.0 ± 0.5)·10⁻³²⁰ (n = 9)");
        assert_eq!(shown(1e308, 2e306), "(1.00 ± 0.02)·10³⁰⁸ (n = 9)");
    }
}
