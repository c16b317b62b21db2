//! Duals of activations in registers, from the variances p, q and the gap D = p + q − 2c.
//!
//! φ(u) = αu + β|u|: with y = 2√det, y² = D(2(p+q) − D) − (p−q)², x = 2c = p + q − D, θ = atan2(y, x),
//!
//! D_out = (α²+β²) D − β² (2/π)(y − θx),  E[φ'φ'] = α² + β² (1 − 2θ/π).
//!
//! erf and gelu: the formulas of `meanfield::dual`, with det = y²/4.

use std::f64::consts::{FRAC_2_PI, PI, TAU};

use pulp::Simd;

use super::{SimdNumber, V, angle};

/// αu + β|u|.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Kink {
    /// α, the mean slope.
    pub alpha: f64,
    /// β.
    pub beta: f64,
    /// φ'(0) of automatic differentiation, the slope of a Gaussian of variance 0.
    pub at_zero: f64,
}

impl Kink {
    /// E[φ²]/E[u²].
    pub fn gain(&self) -> f64 {
        self.alpha * self.alpha + self.beta * self.beta
    }
}

/// 4 det.
#[inline(always)]
fn four_det<S: Simd, T: SimdNumber>(gap: V<S, T>, p: V<S, T>, q: V<S, T>) -> V<S, T> {
    let (sum, difference) = (p + q, p - q);
    let positive = gap * (sum + sum - gap);
    (-difference).mul_add(difference, positive).max(gap.k(0.0))
}

/// (D_out, E[φ'φ']) of αu + β|u|.
#[inline(always)]
pub(crate) fn kinked<S: Simd, T: SimdNumber>(
    kink: &Kink,
    gap: V<S, T>,
    p: V<S, T>,
    q: V<S, T>,
) -> (V<S, T>, V<S, T>) {
    let zero = gap.k(0.0);
    let y = four_det(gap, p, q).sqrt();
    let x = p + q - gap;
    let theta = angle(y, x);
    let gain = gap.k(kink.gain());
    let bend = gap.k(-kink.beta * kink.beta * FRAC_2_PI);
    let straight = gain * gap;
    let out = bend.mul_add(y - theta * x, straight);
    let slope = bend.mul_add(theta, gain);
    // A Gaussian of variance 0 sits on the kink.
    let still = gap.k(kink.at_zero * kink.at_zero);
    let one_moves = zero.where_less(p + q, gap.k(kink.at_zero * kink.alpha), still);
    // Then y is 0 too, but for its rounding.
    let least = p.min(q);
    (
        zero.where_less(least, out, straight),
        zero.where_less(least, slope, one_moves),
    )
}

/// (E[φφ], E[φ'φ']) of erf.
#[inline(always)]
pub(crate) fn erf<S: Simd, T: SimdNumber>(
    gap: V<S, T>,
    p: V<S, T>,
    q: V<S, T>,
) -> (V<S, T>, V<S, T>) {
    let sum = p + q;
    let doubled = sum - gap;
    let root = (four_det(gap, p, q) + (sum + sum) + gap.k(1.0)).sqrt();
    let value = gap.k(FRAC_2_PI) * angle(doubled.abs(), root);
    let slope = gap.k(4.0 / PI) / root;
    (doubled.where_less(gap.k(0.0), -value, value), slope)
}

/// (E[φφ], E[φ'φ']) of gelu.
#[inline(always)]
pub(crate) fn gelu<S: Simd, T: SimdNumber>(
    gap: V<S, T>,
    p: V<S, T>,
    q: V<S, T>,
) -> (V<S, T>, V<S, T>) {
    let one = gap.k(1.0);
    let sum = p + q;
    let c = (sum - gap) * gap.k(0.5);
    let det = four_det(gap, p, q) * gap.k(0.25);
    let noise = sum + one;
    let delta = det + noise;
    let root = delta.sqrt();
    let asin = angle(c.abs(), root);
    let turn = gap.k(1.0 / TAU);
    let quadrant = c
        .where_less(gap.k(0.0), -asin, asin)
        .mul_add(turn, gap.k(0.25));
    let kappa = one / (p + one) + one / (q + one);
    let shared = kappa * c * c;
    let density = turn / root;
    let value = c * quadrant + (det + shared) * density;
    let slope = quadrant + c * density * (kappa + kappa + (shared - noise) / delta);
    (value, slope)
}
