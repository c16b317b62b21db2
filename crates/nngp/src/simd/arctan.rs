//! The angle of a point in the upper half plane.
//!
//! With y ≥ 0 and x = |c| the angle is a constant plus arctan z, |z| ≤ tan(π/8), where (z, constant) is
//! (y/x, 0), ((y−x)/(y+x), π/4) or (−x/y, π/2) by the sector, and π minus that for c < 0.
//! arctan z = z + z³ Q(z²), Q a minimax polynomial: relative error below 4e-17 (10 terms), 7e-10 (5 terms)
//! before rounding.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI, SQRT_2};

use pulp::Simd;

use super::{SimdNumber, V};

pub(super) const DOUBLE: [f64; 10] = [
    -0.333_333_333_333_303_36,
    0.199_999_999_991_262_74,
    -0.142_857_141_979_967_46,
    0.111_111_067_548_301_36,
    -0.090_907_845_691_800_3,
    0.076_900_963_553_801_06,
    -0.066_413_476_862_859_95,
    0.056_936_465_502_436_47,
    -0.043_620_993_734_963_24,
    0.021_294_527_822_953_274,
];
pub(super) const SINGLE: [f64; 5] = [
    -0.333_333_156_650_370_35,
    0.199_984_969_857_649_66,
    -0.142_439_671_123_284_6,
    0.105_967_590_071_342_76,
    -0.060_851_594_925_263_08,
];

/// atan2(y, c) for y ≥ 0: exactly 0 where y = 0 < c. At the origin it is π/4.
#[inline(always)]
pub(crate) fn angle<S: Simd, T: SimdNumber>(y: V<S, T>, c: V<S, T>) -> V<S, T> {
    let zero = y.k(0.0);
    let x = c.abs();
    // Nearer to the x axis than π/8, nearer to the y axis than π/8, or between.
    let (low, high) = (y.k(SQRT_2 - 1.0) * x, y.k(SQRT_2 + 1.0) * x);
    let (sum, difference) = (y + x, y - x);
    let numerator = y.where_less(low, y, high.where_less(y, -x, difference));
    let denominator = y.where_less(low, x, high.where_less(y, y, sum));
    let start = y.where_less(
        low,
        zero,
        high.where_less(y, y.k(FRAC_PI_2), y.k(FRAC_PI_4)),
    );
    let tiny = y.k(T::TINY);
    let z = numerator / denominator.max(tiny);
    let s = z * z;
    let mut q = y.k(T::ARCTAN[T::ARCTAN.len() - 1]);
    let mut n = T::ARCTAN.len() - 1;
    while n > 0 {
        n -= 1;
        q = q.mul_add(s, y.k(T::ARCTAN[n]));
    }
    let theta = start + (z * s).mul_add(q, z);
    c.where_less(zero, y.k(PI) - theta, theta)
}
