//! φ(u) = αu + β|u|: relu (½, ½), leaky relu ((1+s)/2, (1−s)/2), abs (0, 1).
//!
//! Odd and even parts do not mix, so with A = asin(q12/√(q11 q22)) = atan2(q12, √det)
//!
//! E[φφ] = α² q12 + β² (2/π)(√det + q12 A),  E[φ'φ'] = α² + β² (2/π) A.
//!
//! Where a variance is 0 the Gaussian sits on the kink; the slope there is that of automatic
//! differentiation: 0 for relu and abs, s for leaky relu.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

use super::{Dual, Pair};

pub(super) fn leaky_relu(slope: f64, q: Pair) -> Dual {
    dual(0.5 * (1.0 + slope), 0.5 * (1.0 - slope), slope, q)
}

pub(super) fn abs(q: Pair) -> Dual {
    dual(0.0, 1.0, 0.0, q)
}

fn dual(alpha: f64, beta: f64, at_kink: f64, q: Pair) -> Dual {
    if q.q11 <= 0.0 || q.q22 <= 0.0 {
        let mean_slope = |variance: f64| if variance > 0.0 { alpha } else { at_kink };
        return Dual {
            value: 0.0,
            slope: mean_slope(q.q11) * mean_slope(q.q22),
        };
    }
    let root = q.determinant().sqrt();
    // Divided rather than multiplied by 2/π: exactly 1 where u = v.
    let angle = q.q12.atan2(root) / FRAC_PI_2;
    let (odd, even) = (alpha * alpha, beta * beta);
    Dual {
        value: odd * q.q12 + even * (FRAC_2_PI * root + q.q12 * angle),
        slope: odd + even * angle,
    }
}
