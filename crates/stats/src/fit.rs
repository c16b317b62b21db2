//! Fitted exponents.
//!
//! y = c xᵃ is a line in logarithms, ln y = ln c + a ln x. Points with standard errors s of y weigh
//! w = (y/s)², the inverse variance of ln y, and the exponent's error is 1/√Σ w (ln x − ⟨ln x⟩)².

use serde::{Deserialize, Serialize};

use crate::Estimate;

/// y = c xᵃ over a range of x.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerLaw {
    /// a.
    pub exponent: f64,
    /// Standard error of a.
    pub error: f64,
    /// c.
    pub factor: f64,
    /// Smallest and largest x that were fitted.
    pub range: (f64, f64),
}

/// Fits a power law to points (x, y ± error) by weighted least squares in logarithms; `None` for fewer than two
/// points, or where a number is not positive and finite.
///
/// ```
/// use polariscope_stats::{Estimate, power_law};
/// let point = |x: f64| {
///     let y = 3.0 / x.sqrt();
///     (x, Estimate { value: y, standard_error: 0.01 * y, samples: 9 })
/// };
/// let fit = power_law(&[point(64.0), point(128.0), point(256.0)]).unwrap();
/// assert!((fit.exponent + 0.5).abs() < 1e-12 && (fit.factor - 3.0).abs() < 1e-10);
/// // Weights 10⁴ at ln x = −ln 2, 0, ln 2 around the middle: 1/√(2·10⁴ ln²2).
/// assert!((fit.error - 0.01 / (2.0f64.sqrt() * 2.0f64.ln())).abs() < 1e-12);
/// ```
pub fn power_law(points: &[(f64, Estimate)]) -> Option<PowerLaw> {
    let usable = |v: f64| v.is_finite() && v > 0.0;
    let sound = points
        .iter()
        .all(|(x, y)| usable(*x) && usable(y.value) && usable(y.standard_error));
    if points.len() < 2 || !sound {
        return None;
    }
    let weight = |y: &Estimate| (y.value / y.standard_error).powi(2);
    let total: f64 = points.iter().map(|(_, y)| weight(y)).sum();
    let mean = |f: &dyn Fn(f64, &Estimate) -> f64| -> f64 {
        points
            .iter()
            .map(|(x, y)| weight(y) * f(*x, y))
            .sum::<f64>()
            / total
    };
    let (u, v) = (mean(&|x, _| x.ln()), mean(&|_, y| y.value.ln()));
    let spread = mean(&|x, _| (x.ln() - u).powi(2));
    let exponent = mean(&|x, y| (x.ln() - u) * (y.value.ln() - v)) / spread;
    let xs = points.iter().map(|p| p.0);
    let range = (
        xs.clone().fold(f64::INFINITY, f64::min),
        xs.fold(0.0, f64::max),
    );
    exponent.is_finite().then(|| PowerLaw {
        exponent,
        error: 1.0 / (total * spread).sqrt(),
        factor: (v - exponent * u).exp(),
        range,
    })
}
