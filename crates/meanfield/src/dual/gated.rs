//! φ(u) = u·P(ζ < u), ζ Gaussian noise of variance τ: gelu is τ = 1, silu a mixture.
//!
//! With s = u − ζ, t = v − ζ', S = q11 + τ, T = q22 + τ', E[φφ] = E[u v 1(s>0) 1(t>0)]. Stein's lemma in u
//! and v leaves the quadrant probability ¼ + A/2π, A = atan2(q12, √Δ), Δ = ST − q12², the density
//! 1/(2π√Δ) of (s, t) at 0, and E[δ'(s) 1(t>0)] = −q12/(2πS√Δ). Together, with κ = τ/S + τ'/T, N = det + κ q12²,
//!
//! E[φφ] = q12(¼ + A/2π) + N/(2π√Δ)
//! E[φ'φ'] = ¼ + A/2π + q12/(2π√Δ) · (2κ + (κ q12² − Δ + det)/Δ).

use std::f64::consts::TAU;

use super::{Dual, Pair};

pub(super) fn gated(tau: f64, tau_prime: f64, q: Pair) -> Dual {
    let (det, noise) = (q.determinant(), q.noise_part(tau, tau_prime));
    let delta = det + noise;
    let root = delta.sqrt();
    let quadrant = 0.25 + q.q12.atan2(root) / TAU;
    let kappa = tau / (q.q11 + tau) + tau_prime / (q.q22 + tau_prime);
    let shared = kappa * q.q12 * q.q12;
    Dual {
        value: q.q12 * quadrant + (det + shared) / (TAU * root),
        slope: quadrant + q.q12 / (TAU * root) * (2.0 * kappa + (shared - noise) / delta),
    }
}
