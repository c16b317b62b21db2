//! Smooth φ of Gaussians with means, by Hermite polynomials.
//!
//! For u = m + σX, v = m' + σ'Y, X and Y standard of correlation ρ, Mehler's formula is
//!
//! E[φ(u)φ(v)] = Σ_n a_n a'_n ρ^n,  a_n = E[φ(m + σX) He_n(X)]/√n!,
//!
//! and likewise for φ'. The sum stops at [`TERMS`]; what is left of E[φ²] = Σ a_n² becomes its last term, so that
//! nothing is lost where u = v. Expectations over X are trapezoid sums.
//! Errors are below 1e-6 up to standard deviations of 2, where logistic functions still look smooth.

use std::sync::LazyLock;

use super::Dual;
use super::normal::density;

/// Terms of the series; even, so that its last power of ρ has no sign.
const TERMS: usize = 64;

/// Step and reach of the trapezoid rule.
const STEP: f64 = 1.0 / 16.0;
const REACH: i32 = 136;

/// A node of the rule.
struct Node {
    z: f64,
    weight: f64,
    /// weight · He_n(z)/√n!.
    hermite: [f64; TERMS],
}

static NODES: LazyLock<Vec<Node>> = LazyLock::new(|| (-REACH..=REACH).map(node).collect());

fn node(i: i32) -> Node {
    let z = f64::from(i) * STEP;
    let weight = STEP * density(z);
    let (mut last, mut now) = (0.0, weight);
    let hermite = std::array::from_fn(|n| {
        let next = (z * now - (n as f64).sqrt() * last) / (n as f64 + 1.0).sqrt();
        last = std::mem::replace(&mut now, next);
        last
    });
    Node { z, weight, hermite }
}

/// φ and φ' of one Gaussian as Hermite series.
#[derive(Clone, Debug)]
pub(super) struct Smooth {
    deviation: f64,
    value: Series,
    slope: Series,
}

/// Coefficients, then the size of what is left.
type Series = [f64; TERMS + 1];

impl Smooth {
    /// `phi` is (φ, φ').
    pub fn new(phi: impl Fn(f64) -> (f64, f64), mean: f64, variance: f64) -> Self {
        let deviation = variance.max(0.0).sqrt();
        let (mut value, mut slope) = ([0.0; TERMS + 1], [0.0; TERMS + 1]);
        for Node { z, weight, hermite } in NODES.iter() {
            let (f, g) = phi(mean + deviation * z);
            for (n, hermite) in hermite.iter().enumerate() {
                value[n] += f * hermite;
                slope[n] += g * hermite;
            }
            value[TERMS] += weight * f * f;
            slope[TERMS] += weight * g * g;
        }
        for series in [&mut value, &mut slope] {
            let seen: f64 = series[..TERMS].iter().map(|a| a * a).sum();
            series[TERMS] = (series[TERMS] - seen).max(0.0).sqrt();
        }
        Smooth {
            deviation,
            value,
            slope,
        }
    }

    /// E[φ(u)].
    pub fn value(&self) -> f64 {
        self.value[0]
    }

    /// E[φ'(u)].
    pub fn slope(&self) -> f64 {
        self.slope[0]
    }

    pub fn dual(&self, other: &Smooth, covariance: f64) -> Dual {
        let scale = self.deviation * other.deviation;
        let rho = match scale > 0.0 {
            true => (covariance / scale).clamp(-1.0, 1.0),
            false => 0.0,
        };
        Dual {
            value: mehler(&self.value, &other.value, rho),
            slope: mehler(&self.slope, &other.slope, rho),
        }
    }
}

/// Σ a_n b_n ρ^n; even and odd powers apart, as two chains that do not wait for each other.
fn mehler(a: &Series, b: &Series, rho: f64) -> f64 {
    let square = rho * rho;
    let (mut even, mut odd) = (a[TERMS] * b[TERMS], 0.0);
    for n in (0..TERMS).rev().step_by(2) {
        odd = odd * square + a[n] * b[n];
        even = even * square + a[n - 1] * b[n - 1];
    }
    even + rho * odd
}
