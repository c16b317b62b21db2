//! What was found, in numbers and words.

use polariscope_report::{Align, Cell, Table, pretty};
use polariscope_stats::{Estimate, PowerLaw, power_law};
use serde::{Deserialize, Serialize};

use polariscope_train::Problem;

use super::words;
use super::{Evolution, EvolutionConfig, FiniteStep};

/// Steps whose error is above this are too long to say anything about order: kinks have passed, or more than the
/// first derivative counts.
pub const SHORT: f64 = 0.1;

/// What was found, in numbers and words.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Moved {
    /// The finding.
    pub words: String,
    /// T.
    pub networks: u64,
    /// Data samples.
    pub samples: usize,
    /// Corr(−Δ, S); absent where Δ is lost in its noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corr_s: Option<Estimate>,
    /// Corr(−Δ, GSG).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corr_gsg: Option<Estimate>,
    /// Standard error of Δ over its norm.
    pub delta_error: f64,
    /// Standard error of the sampled G over its norm.
    pub geometry_error: f64,
    /// The G of GSG.
    pub geometry: KnownFrom,
    /// Δ against steps of finite time.
    pub finite: Vec<FiniteStep>,
    /// How the error of a step falls with the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<PowerLaw>,
    /// Time taken.
    pub seconds: f64,
}

/// Where the G of GSG came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KnownFrom {
    /// A closed form.
    Exact,
    /// The networks of Δ.
    Sampled,
}

impl Moved {
    /// Puts the numbers into words.
    pub(super) fn new(
        problem: &Problem,
        config: &EvolutionConfig,
        found: &Evolution,
        geometry: KnownFrom,
        finite: Vec<FiniteStep>,
    ) -> Self {
        let finite: Vec<FiniteStep> = finite.into_iter().filter(|f| f.error.is_finite()).collect();
        let mut moved = Self {
            words: String::new(),
            networks: found.networks,
            samples: problem.data.train.len(),
            corr_s: found.corr_s,
            corr_gsg: found.corr_gsg,
            delta_error: found.delta_error,
            geometry_error: found.geometry_error,
            geometry,
            order: order(&finite),
            finite,
            seconds: 0.0,
        };
        moved.words = words::words(problem, config, &moved);
        moved
    }

    /// Correlations and errors.
    pub fn table(&self) -> Table {
        use Align::{Left, Right};
        let mut table = Table::new([("quantity", Left), ("value", Right)]);
        let shown = |corr: Option<Estimate>| match corr {
            Some(corr) => Cell::Text(corr.pair()),
            None => "lost in noise".into(),
        };
        table.push(["Corr(−Δ, S)".into(), shown(self.corr_s)]);
        table.push(["Corr(−Δ, GSG)".into(), shown(self.corr_gsg)]);
        table.push(["relative error of Δ".into(), self.delta_error.into()]);
        table.push(["relative error of G".into(), self.geometry_error.into()]);
        if let Some(order) = &self.order {
            let exponent = Estimate {
                value: order.exponent,
                standard_error: order.error,
                samples: self.finite.len() as u64,
            };
            let name = "order of finite steps (1 for a smooth network)";
            table.push([name.into(), exponent.pair().into()]);
        }
        table
    }

    /// Steps and their errors.
    pub fn steps(&self) -> Table {
        let columns = ["step, in units of ‖θ‖/‖θ̇‖", "relative error of Δ"];
        let mut table = Table::new(columns.map(|c| (c, Align::Right)));
        for step in &self.finite {
            table.push([step.step.into(), pretty(step.error).into()]);
        }
        table
    }
}

/// error ∝ stepᵃ by least squares in logarithms, over the steps short enough for it; the error of a from the scatter
/// about the line.
fn order(finite: &[FiniteStep]) -> Option<PowerLaw> {
    let finite: Vec<FiniteStep> = finite.iter().filter(|f| f.error < SHORT).copied().collect();
    let points: Vec<(f64, Estimate)> = finite
        .iter()
        .map(|f| {
            let y = Estimate {
                value: f.error,
                standard_error: f.error,
                samples: 1,
            };
            (f.step, y)
        })
        .collect();
    let mut fit = power_law(&points)?;
    let free = points.len().checked_sub(2).filter(|n| *n > 0)? as f64;
    let miss = |f: &FiniteStep| (f.error / (fit.factor * f.step.powf(fit.exponent))).ln();
    let squares: f64 = finite.iter().map(|f| miss(f).powi(2)).sum();
    fit.error *= (squares / free).sqrt();
    Some(fit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors 3 δt² have order 2 without scatter, the step of error 3 left out; a point off by a factor e gives an error.
    #[test]
    fn the_order_of_a_power() {
        let law = |step: f64| FiniteStep {
            step,
            error: 3.0 * step * step,
        };
        let mut steps: Vec<FiniteStep> = [1.0, 1e-1, 1e-2, 1e-3].map(law).into();
        let fit = order(&steps).unwrap();
        assert!((fit.exponent - 2.0).abs() < 1e-12 && fit.error < 1e-12);
        assert_eq!(fit.range, (1e-3, 1e-1));
        // Middle point up by e: the slope stays, residuals −1/3, 2/3, −1/3, one degree of freedom: √(6/9)/(√2 ln 10).
        steps[2].error *= 1f64.exp();
        let fit = order(&steps).unwrap();
        let want = (6.0f64 / 9.0).sqrt() / (2f64.sqrt() * 10f64.ln());
        assert!((fit.exponent - 2.0).abs() < 1e-12 && (fit.error - want).abs() < 1e-12);
        assert_eq!(order(&steps[..3]), None);
    }
}
