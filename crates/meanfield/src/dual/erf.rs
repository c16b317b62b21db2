//! E[erf u erf v] = (2/π) asin(2q12/√((1+2q11)(1+2q22))),  E[erf' erf'] = (4/π)/√D,
//! D = (1+2q11)(1+2q22) − 4q12² (Williams 1997).

use std::f64::consts::{FRAC_2_PI, PI};

use super::{Dual, Pair};

pub(super) fn erf(q: Pair) -> Dual {
    let doubled = q.times(2.0);
    let root = doubled.determinant_with(1.0, 1.0).sqrt();
    Dual {
        value: FRAC_2_PI * doubled.q12.atan2(root),
        slope: 4.0 / (PI * root),
    }
}
