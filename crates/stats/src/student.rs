//! Student's t: how far a mean may be from the truth in units of a standard error that was itself estimated.
//!
//! With ν degrees of freedom and x = ν/(ν + t²) the upper tail is
//!
//! ```text
//! P(T > t) = ½ I_x(ν/2, ½),   t ≥ 0
//! ```
//!
//! I is the regularised incomplete beta function, by its continued fraction. Quantiles invert the tail by bisection: the
//! tail falls with t, and a bracket cannot be lost.

/// P(T ≤ t) for ν degrees of freedom; not a number where ν is not above 0.
///
/// ```
/// // One degree of freedom is Cauchy's law: ½ + arctan(1)/π.
/// assert!((polariscope_stats::student_cdf(1.0, 1.0) - 0.75).abs() < 1e-15);
/// ```
pub fn student_cdf(t: f64, freedom: f64) -> f64 {
    match t >= 0.0 {
        true => 1.0 - tail(t, freedom),
        false => tail(-t, freedom),
    }
}

/// The t with P(T ≤ t) = p; not a number where p is not inside (0, 1) or ν not above 0.
///
/// ```
/// // Two degrees of freedom: t = (2p − 1)/√(2p(1 − p)).
/// let t = polariscope_stats::student_quantile(0.75, 2.0);
/// assert!((t - 0.5 / 0.375f64.sqrt()).abs() < 1e-14);
/// ```
pub fn student_quantile(p: f64, freedom: f64) -> f64 {
    let inside = p > 0.0 && p < 1.0 && freedom > 0.0 && freedom.is_finite();
    if !inside {
        return f64::NAN;
    }
    if p < 0.5 {
        return -upper(p, freedom);
    }
    upper(1.0 - p, freedom)
}

/// Degrees of freedom of the difference of two means (Welch and Satterthwaite), from their standard errors and how many
/// numbers each is of; not a number where both errors are 0.
///
/// ```
/// // Alike, they are those of both together.
/// assert_eq!(polariscope_stats::welch((0.1, 2), (0.1, 2)), 2.0);
/// ```
pub fn welch((a, m): (f64, usize), (b, n): (f64, usize)) -> f64 {
    let part = |s: f64, n: usize| s.powi(4) / (n as f64 - 1.0);
    (a * a + b * b).powi(2) / (part(a, m) + part(b, n))
}

/// The t ≥ 0 with P(T > t) = q, q ≤ ½.
fn upper(q: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while tail(high, freedom) > q && high < f64::MAX / 2.0 {
        (low, high) = (high, 2.0 * high);
    }
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        match tail(middle, freedom) > q {
            true => low = middle,
            false => high = middle,
        }
    }
}

/// P(T > t), t ≥ 0.
fn tail(t: f64, freedom: f64) -> f64 {
    let square = t * t;
    // x and 1 − x, each without cancellation; t² may be infinite.
    let (x, rest) = match square.is_finite() {
        true => (freedom / (freedom + square), square / (freedom + square)),
        false => (0.0, 1.0),
    };
    0.5 * beta(0.5 * freedom, 0.5, (x, rest))
}

/// I_x(a, b), given x and 1 − x.
fn beta(a: f64, b: f64, (x, rest): (f64, f64)) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if rest <= 0.0 {
        return 1.0;
    }
    let log = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * rest.ln();
    // The fraction converges fast on its own side of the mean.
    match x < (a + 1.0) / (a + b + 2.0) {
        true => log.exp() * fraction(a, b, x) / a,
        false => 1.0 - log.exp() * fraction(b, a, rest) / b,
    }
}

/// The continued fraction of I_x(a, b), by Lentz's method.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    // Stands in for a denominator of 0.
    const TINY: f64 = 1e-300;
    const TERMS: usize = 10_000;
    let safe = |v: f64| if v.abs() < TINY { TINY } else { v };
    let (mut c, mut d) = (1.0, 1.0 / safe(1.0 - (a + b) * x / (a + 1.0)));
    let mut value = d;
    for m in 1..TERMS {
        let m = m as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = value;
        for coefficient in [even, odd] {
            d = 1.0 / safe(1.0 + coefficient * d);
            c = safe(1.0 + coefficient / c);
            value *= c * d;
        }
        if (value - before).abs() <= f64::EPSILON * value.abs() {
            break;
        }
    }
    value
}

/// ln Γ(x), x > 0, by Lanczos' sum (g = 7).
fn ln_gamma(x: f64) -> f64 {
    const G: f64 = 7.0;
    const SUM: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let mut sum = 0.999_999_999_999_809_9;
    for (i, c) in SUM.iter().enumerate() {
        sum += c / (x + i as f64);
    }
    let t = x + G - 0.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x - 0.5) * t.ln() - t + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// t_{0.975} as SciPy prints it: off by 4·10⁻¹¹ itself, for ν = 1 and 2 have the closed forms 12.70620473617 and
    /// 4.30265272975.
    #[test]
    fn quantiles_of_the_tables() {
        let table = [
            (1.0, 12.7062047364),
            (2.0, 4.30265272991),
            (3.0, 3.18244630528),
            (4.0, 2.7764451052),
            (10.0, 2.22813885199),
            (30.0, 2.04227245630),
            (120.0, 1.97993040505),
        ];
        for (freedom, wanted) in table {
            let found = student_quantile(0.975, freedom);
            assert!((found / wanted - 1.0).abs() < 5e-11, "{freedom}: {found}");
        }
    }

    /// ν = 1: −1/tan πp; ν = 2: (2p − 1)/√(2p(1 − p)); ν = 4 by its cubic. Far tails included.
    #[test]
    fn closed_forms() {
        for p in [1e-9, 0.01, 0.3, 0.5, 0.6, 0.975, 0.9999] {
            let one = -1.0 / (std::f64::consts::PI * p).tan();
            let two = (2.0 * p - 1.0) / (2.0 * p * (1.0 - p)).sqrt();
            for (freedom, wanted) in [(1.0, one), (2.0, two)] {
                let found = student_quantile(p, freedom);
                let error = (found - wanted).abs() / wanted.abs().max(1e-3);
                assert!(error < 1e-11, "{p} {freedom}: {found} {wanted}");
            }
        }
        // ν = 4: ½ + ¾ (u − u³/3) with u = t/√(4 + t²).
        for t in [0.1, 1.0, 3.0, 50.0_f64] {
            let u = t / (4.0 + t * t).sqrt();
            let wanted = 0.5 + 0.75 * (u - u.powi(3) / 3.0);
            assert!((student_cdf(t, 4.0) - wanted).abs() < 1e-14, "{t}");
        }
    }

    #[test]
    fn quantiles_invert_the_law() {
        for freedom in [0.7, 1.0, 1.5, 2.0, 3.7, 10.0, 47.3, 1000.0, 1e6] {
            for p in [1e-6, 0.025, 0.4, 0.5, 0.75, 0.975, 0.999] {
                let back = student_cdf(student_quantile(p, freedom), freedom);
                assert!((back - p).abs() < 1e-12, "{freedom} {p}: {back}");
            }
        }
    }

    /// Many degrees of freedom make it normal.
    #[test]
    fn the_limit_is_normal() {
        let found = student_quantile(0.975, 1e7);
        assert!((found - 1.959_963_984_540_054).abs() < 1e-6, "{found}");
    }

    #[test]
    fn what_has_no_answer_is_no_number() {
        for (p, freedom) in [(0.0, 1.0), (1.0, 1.0), (0.5, 0.0), (0.5, -1.0)] {
            assert!(student_quantile(p, freedom).is_nan());
        }
        assert!(student_quantile(f64::NAN, 1.0).is_nan());
        assert!(welch((0.0, 2), (0.0, 2)).is_nan());
    }

    /// s² = 4, n = 4 and s² = 1, n = 10 as standard errors 1 and √0.1: 1.1²/(1/3 + 0.01/9).
    #[test]
    fn welch_by_hand() {
        let found = welch((1.0, 4), (0.1_f64.sqrt(), 10));
        assert!((found - 1.21 / (1.0 / 3.0 + 0.01 / 9.0)).abs() < 1e-12);
        // An error of 0 adds nothing: those of the other.
        assert_eq!(welch((1.0, 3), (0.0, 9)), 2.0);
    }
}
