//! What is learnt with m samples, and when.
//!
//! Directions are learnt in the order of their eigenvalues. The rule of thumb of Thm 4.1: m samples fix m
//! directions, so a level is learnt once the multiplicities down to and with it add up to at most m;
//! gradient flow with rate η on the mean squared error over many samples moves a component of eigenvalue λ
//! as e^{−ηλt}, so it takes t ≈ 1/(ηλ).
//!
//! In numbers (replica theory of kernel regression without ridge, targets without noise): κ solves
//!
//! κ = Σ_i N_i λ_i κ/(mλ_i + κ) + (what is not listed of the trace),
//!
//! and a target of unit variance inside level i is missed by (κ/(mλ_i + κ))²/(1 − γ),
//! γ = Σ_j N_j m λ_j²/(mλ_j + κ)².

use super::Spectrum;

/// What a level needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Need {
    /// Samples; `None` where the eigenvalue is 0: no number suffices.
    pub samples: Option<u64>,
    /// ηt = 1/λ; `None` likewise.
    pub time: Option<f64>,
}

impl Spectrum {
    /// What every level needs, in the order of the levels.
    pub fn needs(&self) -> Vec<Need> {
        let mut sum: u64 = 0;
        let need = |l: &super::Level| {
            sum = sum.saturating_add(l.multiplicity);
            let seen = l.eigenvalue > 0.0;
            Need {
                samples: seen.then_some(sum),
                time: seen.then(|| 1.0 / l.eigenvalue),
            }
        };
        self.levels.iter().map(need).collect()
    }

    /// How many of the first levels m samples teach: their multiplicities add up to at most m.
    pub fn learnt(&self, m: u64) -> usize {
        let enough = |n: &Need| n.samples.is_some_and(|s| s <= m);
        self.needs().iter().take_while(|n| enough(n)).count()
    }

    /// How many of the first levels are learnt at time t with rate η, given as ηt: those with ηλt ≥ 1.
    pub fn learnt_by(&self, time: f64) -> usize {
        let enough = |n: &Need| n.time.is_some_and(|t| t <= time);
        self.needs().iter().take_while(|n| enough(n)).count()
    }

    /// Expected squared test error with m samples on a target of unit variance inside each level; `None`
    /// where the trace is not known.
    pub fn error(&self, m: u64) -> Option<Vec<f64>> {
        let (trace, m) = (self.trace?, m as f64);
        let seen: Vec<(f64, f64)> = self
            .levels
            .iter()
            .map(|l| (l.eigenvalue.max(0.0), l.multiplicity as f64))
            .collect();
        let rest = (trace - self.listed()).max(0.0);
        // κ − (right side) grows through its only zero between these ends.
        let excess = |k: f64| {
            let terms = seen.iter().map(|(l, n)| n * l * k / (m * l + k));
            k - rest - terms.sum::<f64>()
        };
        let (mut low, mut high) = (1e-16 * trace, trace);
        for _ in 0..200 {
            let middle = (low * high).sqrt();
            if excess(middle) > 0.0 {
                high = middle;
            } else {
                low = middle;
            }
        }
        let k = high;
        let gamma: f64 = seen
            .iter()
            .map(|(l, n)| n * m * (l / (m * l + k)).powi(2))
            .sum();
        let missed = |l: f64| (k / (m * l + k)).powi(2) / (1.0 - gamma);
        Some(seen.iter().map(|(l, _)| missed(*l)).collect())
    }
}
