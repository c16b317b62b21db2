//! sigmoid, tanh, softplus and silu.
//!
//! A logistic variable is a Gaussian of random variance τ = 4K², K Kolmogorov's law (Andrews and Mallows
//! 1974). So σ(u) = P(ζ < u) averages over τ what Gaussian noise ζ of variance τ gives, and with
//! s = u − ζ, t = v − ζ' the duals of all four average closed forms over independent τ, τ':
//!
//! | | E[φφ] | E[φ'φ'] |
//! |---|---|---|
//! | sigmoid | P(s>0, t>0) = ¼ + A/2π | density of (s, t) at 0 = 1/(2π√Δ) |
//! | tanh u = 2σ(2u) − 1 | 4·A/2π at 4q | 16/(2π√Δ) at 4q |
//! | softplus u | E[s₊ t₊] = q12/4 + (√Δ + q12 A)/2π | that of sigmoid |
//! | silu = u σ(u) | [`super::gated`] | |
//!
//! A = atan2(q12, √Δ), Δ = (q11+τ)(q22+τ') − q12². The average is the 12-point Gauss rule of the law of
//! ln τ: σ and its mixture then differ by less than 7e-10 anywhere, hence so for every variance.

use std::f64::consts::TAU;

use super::gated::gated;
use super::{Dual, Pair};

/// The Gauss rule of logistic functions: variances τ of Gaussian noise, and their weights.
pub const RULE: [(f64, f64); 12] = [
    (0.30785608866732017, 6.515686399676799e-06),
    (0.45934464215537935, 0.0006346896919439016),
    (0.6770597776333637, 0.01105456038119369),
    (1.0083118534981772, 0.06680359139714923),
    (1.528305441968601, 0.18634620490848983),
    (2.357572956458278, 0.2825826783009423),
    (3.676703585396486, 0.25666119286146355),
    (5.725997590867621, 0.14306434548266098),
    (8.802582987045511, 0.045497709898706835),
    (13.308833220365717, 0.0069637656335712365),
    (19.906328388650355, 0.0003809413247877472),
    (30.123977975622765, 3.8044326909892084e-06),
];

/// Average over the noise variances of u and of v.
fn average(dual: impl Fn(f64, f64) -> Dual) -> Dual {
    let (mut value, mut slope) = (0.0, 0.0);
    for (tau, weight) in RULE {
        for (tau_prime, weight_prime) in RULE {
            let part = dual(tau, tau_prime);
            value += weight * weight_prime * part.value;
            slope += weight * weight_prime * part.slope;
        }
    }
    Dual { value, slope }
}

/// The dual of σ − ½: sums of one sign, so small covariances keep their digits.
fn centred_sigmoid(q: Pair) -> Dual {
    average(|tau, tau_prime| {
        let root = q.determinant_with(tau, tau_prime).sqrt();
        Dual {
            value: q.q12.atan2(root) / TAU,
            slope: 1.0 / (TAU * root),
        }
    })
}

pub(super) fn sigmoid(q: Pair) -> Dual {
    let Dual { value, slope } = centred_sigmoid(q);
    Dual {
        value: 0.25 + value,
        slope,
    }
}

pub(super) fn tanh(q: Pair) -> Dual {
    let Dual { value, slope } = centred_sigmoid(q.times(4.0));
    Dual {
        value: 4.0 * value,
        slope: 16.0 * slope,
    }
}

pub(super) fn softplus(beta: f64, q: Pair) -> Dual {
    let square = beta * beta;
    let q = q.times(square);
    let Dual { value, slope } = average(|tau, tau_prime| {
        let root = q.determinant_with(tau, tau_prime).sqrt();
        let angle = q.q12.atan2(root);
        Dual {
            value: 0.25 * q.q12 + (root + q.q12 * angle) / TAU,
            slope: 0.25 + angle / TAU,
        }
    });
    Dual {
        value: value / square,
        slope,
    }
}

pub(super) fn silu(q: Pair) -> Dual {
    average(|tau, tau_prime| gated(tau, tau_prime, q))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moments of the logistic law: total 1, variance π²/3, fourth moment 3E[τ²] = 7π⁴/15.
    #[test]
    fn the_rule_has_the_moments_of_the_logistic_law() {
        let moment = |p| RULE.iter().map(|(t, w)| w * f64::powi(*t, p)).sum::<f64>();
        let pi = std::f64::consts::PI;
        assert!((moment(0) - 1.0).abs() < 1e-14);
        assert!((moment(1) - pi.powi(2) / 3.0).abs() < 1e-9);
        assert!((3.0 * moment(2) - 7.0 * pi.powi(4) / 15.0).abs() < 1e-7);
        // The logistic density at 0 is ¼ = E[1/√(2πτ)].
        let density: f64 = RULE.iter().map(|(t, w)| w / (TAU * t).sqrt()).sum();
        assert!((density - 0.25).abs() < 2e-9);
    }
}
