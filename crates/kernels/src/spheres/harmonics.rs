//! One sphere.
//!
//! N(d0, r) = (2r + d0 − 2)/r · C(d0 + r − 3, r − 1) harmonics of degree r, N(d0, 0) = 1 (the printed
//! formula drops the 1/r). P_r by (r + d0 − 2) P_{r+1} = (2r + d0 − 2) t P_r − r P_{r−1}: Legendre for d0 =
//! 3, Chebyshev for d0 = 2. S⁰ = {±1} has the degrees 0 and 1 alone. Addition theorem: Σ_l Y_l(u) Y_l(v) =
//! N(d0, r) P_r(u·v).

/// N(d0, r); `None` where it does not fit.
///
/// ```
/// use polariscope_kernels::spheres::harmonics;
/// assert_eq!(harmonics(3, 2), Some(5));
/// assert_eq!(harmonics(2, 7), Some(2));
/// assert_eq!((harmonics(1, 1), harmonics(1, 2)), (Some(1), Some(0)));
/// ```
pub fn harmonics(d0: usize, r: usize) -> Option<u64> {
    match (d0, r) {
        (_, 0) => return Some(1),
        (1, 1) => return Some(1),
        (1, _) => return Some(0),
        (2, _) => return Some(2),
        _ => {}
    }
    let (d0, r) = (d0 as u128, r as u128);
    let choose = binomial(d0.checked_add(r)?.checked_sub(3)?, r - 1)?;
    let product = choose.checked_mul(2 * r + d0 - 2)?;
    u64::try_from(product / r).ok()
}

/// C(n, k).
pub(super) fn binomial(n: u128, k: u128) -> Option<u128> {
    let k = k.min(n.checked_sub(k)?);
    (0..k).try_fold(1u128, |c, i| Some(c.checked_mul(n - i)? / (i + 1)))
}

/// P_0(t), …, P_order(t) of dimension d0. For d0 = 1 every degree above 1 is 0: it has no harmonics.
pub fn legendre(d0: usize, order: usize, t: f64) -> Vec<f64> {
    let mut p = vec![1.0; order + 1];
    if order > 0 {
        p[1] = t;
    }
    let d = d0 as f64;
    for n in 2..=order {
        let r = (n - 1) as f64;
        p[n] = if d0 == 1 {
            0.0
        } else {
            ((2.0 * r + d - 2.0) * t * p[n - 1] - r * p[n - 2]) / (r + d - 2.0)
        };
    }
    p
}
