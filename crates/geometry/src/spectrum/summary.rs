//! A spectrum in four numbers.
//!
//! With λ the D eigenvalues and p = λ/Σλ (eigenvalues below 0 count as 0 in the last two):
//!
//! ```text
//! trace Σλ · participation ratio (Σλ)²/Σλ² · effective rank exp(−Σ p ln p) · share of the first ⌈D/10⌉
//! ```
//!
//! The last three are D, D and ⌈D/10⌉/D where all eigenvalues are equal.

use super::{Spectrum, Summary};

impl Summary {
    /// The numbers of a spectrum, taken as exact.
    pub fn of(spectrum: &Spectrum) -> Summary {
        Summary::of_values(&spectrum.values)
    }

    /// The numbers of eigenvalues, largest first.
    pub fn of_values(values: &[f64]) -> Summary {
        let trace: f64 = values.iter().sum();
        let squares: f64 = values.iter().map(|v| v * v).sum();
        // A sampled coherent geometry has such eigenvalues until it has converged, and then a trace that may be 0.
        let positive = |values: &[f64]| -> f64 { values.iter().filter(|v| **v > 0.0).sum() };
        let whole = positive(values);
        let entropy: f64 = values
            .iter()
            .map(|v| v / whole)
            .filter(|p| *p > 0.0)
            .map(|p| -p * p.ln())
            .sum();
        let first = positive(&values[..values.len().div_ceil(10)]);
        Summary {
            trace,
            trace_error: None,
            participation_ratio: trace * trace / squares,
            participation_ratio_error: None,
            effective_rank: entropy.exp(),
            effective_rank_error: None,
            top10_share: first / whole,
            top10_share_error: None,
        }
    }
}
