//! δ from measured accuracies.
//!
//! The predicted accuracy along v falls as δ grows, from its value without a ridge to that of δ = ∞, where ŵ is
//! proportional to GΣ_k y_k x_k. A measured accuracy between the two is met by one δ, found by bisection in ln t
//! (module `shares`); where the curve is not monotone it is the largest such δ. A measured accuracy outside
//! says that the geometry is not the whole story for this direction: it is refused, and the bound is named.

use serde::{Deserialize, Serialize};

use super::shares::Shares;
use super::{Expansion, LinearProblem, PredictError, Predictor};

/// Steps of ln t that look for the first crossing.
const STEP: f64 = 0.2;
/// Beyond this factor from the eigenvalues shares are 0 or 1.
const FAR: f64 = 1e6;
/// Halvings of a step.
const HALVINGS: usize = 60;

/// A measured accuracy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Part of the test samples that were right.
    pub accuracy: f64,
    /// Its standard error.
    pub error: f64,
}

/// δ with what is not known about it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ridge {
    /// δ, for tr G = D.
    pub delta: f64,
    /// Standard error of ln δ.
    pub log_error: f64,
    /// Standard deviation of ln δ over the calibrating directions, where there are two or more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_spread: Option<f64>,
}

impl Ridge {
    /// One that is taken as exact.
    pub fn given(delta: f64) -> Self {
        Self {
            delta,
            log_error: 0.0,
            log_spread: None,
        }
    }

    /// The mean in ln δ; its error is what the errors of the parts leave or what their spread says, whichever is more.
    pub fn mean(parts: &[Ridge]) -> Option<Self> {
        let k = parts.len() as f64;
        let logs = || parts.iter().map(|r| r.delta.ln());
        let mean = logs().sum::<f64>() / k;
        let own = parts
            .iter()
            .map(|r| r.log_error.powi(2))
            .sum::<f64>()
            .sqrt()
            / k;
        let squares: f64 = logs().map(|l| (l - mean).powi(2)).sum();
        let spread = (parts.len() > 1).then(|| (squares / (k - 1.0)).sqrt());
        (!parts.is_empty()).then(|| Self {
            delta: mean.exp(),
            log_error: spread.map_or(own, |s| own.max(s / k.sqrt())),
            log_spread: spread,
        })
    }
}

impl Predictor {
    /// δ at which the predicted accuracy along direction `row` is the measured one.
    pub fn ridge(
        &self,
        problem: LinearProblem,
        directions: &Expansion,
        row: usize,
        measured: Measured,
    ) -> Result<Ridge, PredictError> {
        problem.check()?;
        let delta = |accuracy: f64| self.delta(problem, directions, row, accuracy);
        let middle = delta(measured.accuracy)?;
        let ends = [-1.0, 1.0].map(|side| {
            let end = delta(measured.accuracy + side * measured.error);
            // Beyond reach the error is told by the other side.
            end.map(|d| (d / middle).ln().abs()).ok()
        });
        let known: Vec<f64> = ends.into_iter().flatten().collect();
        Ok(Ridge {
            delta: middle,
            log_error: known.iter().sum::<f64>() / known.len() as f64,
            log_spread: None,
        })
    }

    /// Accuracies with the standard errors that the one of δ leaves.
    pub fn accuracies_with_errors(
        &self,
        problem: LinearProblem,
        ridge: &Ridge,
        directions: &Expansion,
    ) -> Result<(Vec<f64>, Vec<f64>), PredictError> {
        let at = |side: f64| {
            let delta = ridge.delta * (side * ridge.log_error).exp();
            self.accuracies(problem, delta.min(f64::MAX), directions)
        };
        let (low, high) = (at(1.0)?, at(-1.0)?);
        let error = |(a, b): (&f64, &f64)| 0.5 * (a - b).abs();
        let errors = low.iter().zip(&high).map(error).collect();
        Ok((at(0.0)?, errors))
    }

    fn delta(
        &self,
        problem: LinearProblem,
        directions: &Expansion,
        row: usize,
        accuracy: f64,
    ) -> Result<f64, PredictError> {
        let shares = |t: f64| Shares::of(t, &self.values, self.channels);
        let at = |t: f64| self.accuracy(problem, &shares(t), directions, row);
        let (least_value, most_value) = self.positive_range();
        let end = Shares::at(problem, 0.0, &self.values, self.channels).t();
        let high = end.min(FAR / least_value).ln();
        let mut low = (1.0 / (FAR * most_value)).ln();
        let least = at(low.exp());
        if accuracy.is_nan() || accuracy <= least {
            return Err(PredictError::Below { accuracy, least });
        }
        let mut upper = low;
        while at(upper.exp()) < accuracy {
            if upper >= high {
                let most = at(end);
                return Err(PredictError::Above { accuracy, most });
            }
            low = upper;
            upper = (low + STEP).min(high);
        }
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + upper);
            if at(middle.exp()) < accuracy {
                low = middle;
            } else {
                upper = middle;
            }
        }
        Ok(shares(low.exp()).delta(problem))
    }

    /// The least and the largest eigenvalue above 0.
    fn positive_range(&self) -> (f64, f64) {
        let positive = self.values.iter().copied().filter(|v| *v > 0.0);
        positive.fold((f64::INFINITY, 0.0), |(a, b), v| (a.min(v), b.max(v)))
    }
}
