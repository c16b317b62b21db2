//! E[sin u sin v] = e^{−(q11+q22)/2} sinh q12,  E[cos u cos v] = e^{−(q11+q22)/2} cosh q12.
//!
//! Written with e^{−d/2}, d = q11 + q22 − 2|q12| ≥ 0, so that nothing overflows.

use super::{Dual, Pair};

pub(super) fn sin(q: Pair) -> Dual {
    let c = q.q12.abs();
    let envelope = 0.5 * (-0.5 * ((q.q11 - c) + (q.q22 - c))).exp();
    // e^{−2c} − 1
    let decay = (-2.0 * c).exp_m1();
    Dual {
        value: (-envelope * decay).copysign(q.q12),
        slope: envelope * (2.0 + decay),
    }
}
