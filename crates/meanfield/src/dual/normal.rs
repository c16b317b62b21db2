//! The normal distribution in one and two dimensions.
//!
//! For standard X, Y of correlation ρ, r = √(1−ρ²), w = (k − ρh)/r, w' = (h − ρk)/r, Owen (1956) writes
//!
//! P(X < h, Y < k) = ½Φ(h) + ½Φ(k) − T(h, w/h) − T(k, w'/k) − ½·1(hk < 0),
//!
//! T(h, α) = (1/2π) ∫₀^α e^{−h²(1+t²)/2}/(1+t²) dt = (1/2π)(atan α − Σ_j (−1)^j R_j α^{2j+1}/(2j+1)),
//!
//! R_j = P(N > j), N Poisson of mean h²/2. Terms fall faster than geometrically for α ≤ 1, and
//! T(h, α) = ¼ − (Φ(h) − ½)(Φ(αh) − ½) − T(αh, 1/α) leads there. Errors are below 1e-15.

use std::f64::consts::{FRAC_1_SQRT_2, TAU};

/// Half of h² from which on T(h, α) is below 1e-17.
const NEGLIGIBLE: f64 = 36.0;

/// 1/n; the series of T needs less than twice 128.
const RECIPROCALS: [f64; 256] = {
    let mut table = [0.0; 256];
    let mut n = 1;
    while n < 256 {
        table[n] = 1.0 / n as f64;
        n += 1;
    }
    table
};

/// φ(x) = e^{−x²/2}/√(2π).
pub(crate) fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / TAU.sqrt()
}

/// Φ(x).
pub(crate) fn distribution(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// A number with φ and Φ there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Threshold {
    pub at: f64,
    pub density: f64,
    pub distribution: f64,
}

impl Threshold {
    pub fn new(at: f64) -> Self {
        Threshold {
            at,
            density: density(at),
            distribution: distribution(at),
        }
    }
}

/// What X < h, Y < k leaves of two standard normals.
pub(crate) struct Quadrant {
    /// P(X < h, Y < k).
    pub probability: f64,
    /// P(Y < k | X = h).
    pub second_at_first: f64,
    /// P(X < h | Y = k).
    pub first_at_second: f64,
    /// Density of (X, Y) at (h, k) times 1 − ρ².
    pub density: f64,
}

/// The quadrant below (h, k) for a correlation ρ, given √(1−ρ²) as well.
pub(crate) fn quadrant(h: &Threshold, k: &Threshold, rho: f64, root: f64) -> Quadrant {
    let w = Threshold::new(distance(h.at, k.at, rho, root));
    let w2 = Threshold::new(distance(k.at, h.at, rho, root));
    let probability = if root == 0.0 {
        match rho > 0.0 {
            true => h.distribution.min(k.distribution),
            false => (h.distribution + k.distribution - 1.0).max(0.0),
        }
    } else if h.at == 0.0 && k.at == 0.0 {
        0.25 + rho.atan2(root) / TAU
    } else {
        let opposite = h.at * k.at < 0.0 || (h.at * k.at == 0.0 && h.at + k.at < 0.0);
        let both = 0.5 * (h.distribution + k.distribution) - owen(h, &w) - owen(k, &w2);
        let probability = if opposite { both - 0.5 } else { both };
        probability.clamp(0.0, 1.0)
    };
    Quadrant {
        probability,
        second_at_first: w.distribution,
        first_at_second: w2.distribution,
        density: root * h.density * w.density,
    }
}

/// (k − ρh)/√(1−ρ²) without a difference of nearly equal numbers where |ρ| is nearly 1.
fn distance(h: f64, k: f64, rho: f64, root: f64) -> f64 {
    let (apart, rest) = match rho >= 0.0 {
        true => (k - h, h * root / (1.0 + rho)),
        false => (k + h, -h * root / (1.0 - rho)),
    };
    if apart == 0.0 {
        rest
    } else {
        apart / root + rest
    }
}

/// T(h, w/h).
fn owen(h: &Threshold, w: &Threshold) -> f64 {
    let (size, size_w) = (h.at.abs(), w.at.abs());
    let positive = if size_w <= size {
        series(h, size_w / size)
    } else {
        let product = (h.distribution - 0.5) * (w.distribution - 0.5);
        0.25 - product.abs() - series(w, size / size_w)
    };
    // h = 0 counts as above 0, as the ½ of opposite signs has it.
    match (w.at < 0.0) == (h.at < 0.0) {
        true => positive,
        false => -positive,
    }
}

/// T(|h|, α) for 0 ≤ α ≤ 1.
fn series(h: &Threshold, alpha: f64) -> f64 {
    let x = 0.5 * h.at * h.at;
    if x > NEGLIGIBLE {
        return 0.0;
    }
    // P(N = j) and P(N > j).
    let mut mass = h.density * TAU.sqrt();
    let mut tail = 1.0 - mass;
    let (mut power, mut sum) = (alpha, 0.0);
    let mut j = 0;
    while j < 127 {
        sum += power * tail * RECIPROCALS[2 * j + 1];
        j += 1;
        mass *= x * RECIPROCALS[j];
        tail -= mass;
        power *= -alpha * alpha;
        // Past the mode the tail is of the order of its first term.
        if j as f64 > x && mass * power.abs() < 1e-17 {
            break;
        }
    }
    (alpha.atan() - sum) / TAU
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probability(h: f64, k: f64, rho: f64) -> f64 {
        let root = ((1.0 - rho) * (1.0 + rho)).sqrt();
        quadrant(&Threshold::new(h), &Threshold::new(k), rho, root).probability
    }

    const POINTS: [f64; 11] = [-6.0, -2.5, -1.0, -0.3, 0.0, 1e-9, 0.2, 0.9, 1.7, 4.0, 9.0];

    /// P = Φ(h)Φ(k) + ∫₀^ρ density dρ (Plackett 1954), by Simpson's rule in the angle asin ρ.
    fn by_plackett(h: f64, k: f64, rho: f64) -> f64 {
        let steps = 4000;
        let step = rho.asin() / steps as f64;
        let at = |i: usize| {
            let (sin, cos) = (i as f64 * step).sin_cos();
            (-(h * h + k * k - 2.0 * h * k * sin) / (2.0 * cos * cos)).exp()
        };
        let inner = |i: usize| if i % 2 == 1 { 4.0 } else { 2.0 };
        let inside: f64 = (1..steps).map(|i| inner(i) * at(i)).sum();
        let sum = (at(0) + at(steps) + inside) * step / 3.0;
        distribution(h) * distribution(k) + sum / TAU
    }

    #[test]
    fn quadrants_agree_with_plackett() {
        for h in POINTS {
            for k in POINTS {
                for rho in [-0.98, -0.7, -0.2, 0.0, 0.1, 0.5, 0.9, 0.98] {
                    let (found, wanted) = (probability(h, k, rho), by_plackett(h, k, rho));
                    assert!(
                        (found - wanted).abs() < 1e-13,
                        "{h} {k} {rho}: {found:e} {wanted:e}"
                    );
                }
            }
        }
    }

    #[test]
    fn quadrants_at_their_limits() {
        for rho in [-1.0, -0.999_999, -0.4, 0.0, 0.3, 0.999_999_999, 1.0f64] {
            let wanted = 0.25 + rho.asin() / TAU;
            assert!((probability(0.0, 0.0, rho) - wanted).abs() < 1e-15, "{rho}");
        }
        for h in POINTS {
            for k in POINTS {
                let (p, q) = (distribution(h), distribution(k));
                assert!((probability(h, k, 0.0) - p * q).abs() < 1e-15, "{h} {k}");
                let (upper, lower) = (p.min(q), (p + q - 1.0).max(0.0));
                assert_eq!(probability(h, k, 1.0), upper);
                assert_eq!(probability(h, k, -1.0), lower);
                // √(1−ρ²) = 1e-7: the mass between differs by the density times as much.
                let near = 1.0 - 5e-15;
                assert!((probability(h, k, near) - upper).abs() < 4e-8, "{h} {k}");
                assert!((probability(h, k, -near) - lower).abs() < 4e-8, "{h} {k}");
            }
        }
    }
}
