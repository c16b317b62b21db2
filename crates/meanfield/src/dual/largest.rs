//! The largest of K independent standard normals, and of K others with correlation c to them, one by one.
//!
//! P(c) = P(the same one wins) = K ∫∫ φ₂(x, y; c) Φ₂(x, y; c)^{K−1} dx dy rises from 1/K at c = 0 to 1 at c = 1, so
//! with m_i = 1(i wins)
//!
//! E[m_i m'_j] = (1 − ρ)/K² + ρ δ_ij/K,  ρ(c) = (P(c) − 1/K)/(1 − 1/K),
//!
//! and because d Cov(max, max')/dc = P (Price), Cov = c/K + (1 − 1/K) c R(c) with R(c) = ∫₀¹ ρ(ct) dt.

use std::collections::HashMap;
use std::f64::consts::FRAC_PI_2;
use std::sync::{Arc, Mutex, PoisonError};

use super::normal::{Threshold, density, distribution, quadrant};

/// Intervals of the table over asin c from 0 to either end: even, for Simpson's rule.
const HALF: usize = 32;
/// Step and half number of nodes of trapezoid sums over normals.
const STEP: f64 = 0.4;
const NODES: i32 = 16;

/// Moments of the largest of K.
#[derive(Debug)]
pub(crate) struct Largest {
    /// E max.
    pub mean: f64,
    /// ρ and ∫₀^c ρ at asin c = −π/2 … π/2 in equal steps.
    table: Vec<(f64, f64)>,
}

impl Largest {
    /// Of `count` numbers, at least one; made once.
    pub fn of(count: usize) -> Arc<Self> {
        static MADE: Mutex<Option<HashMap<usize, Arc<Largest>>>> = Mutex::new(None);
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let made = made.get_or_insert_with(HashMap::new);
        let entry = made.entry(count);
        Arc::clone(entry.or_insert_with(|| Arc::new(Largest::new(count))))
    }

    fn new(count: usize) -> Self {
        let k = count as f64;
        let fine = (-160..=160).map(|i| f64::from(i) / 16.0);
        let mean = fine.map(|x| x * k * density(x) * distribution(x).powf(k - 1.0) / 16.0);
        let step = FRAC_PI_2 / HALF as f64;
        let angle = |i: usize| (i as f64 - HALF as f64) * step;
        let nodes = 0..=2 * HALF;
        let mut rho: Vec<f64> = nodes.map(|i| agreement(angle(i).sin(), count)).collect();
        // By symmetry; quadrature is off by 1e-10.
        rho[HALF] = 0.0;
        // ∫ρ dc = ∫ρ cos dθ outwards from 0, by Simpson's rule; odd nodes by a parabola through three.
        let term = |i: usize| rho[i] * angle(i).cos();
        let mut integral = vec![0.0; 2 * HALF + 1];
        for (side, sign) in [(1isize, 1.0), (-1, -1.0)] {
            let at = |j: usize| (HALF as isize + side * j as isize) as usize;
            for j in (0..HALF).step_by(2) {
                let [a, b, c] = [at(j), at(j + 1), at(j + 2)];
                let [f, g, h] = [term(a), term(b), term(c)];
                integral[b] = integral[a] + sign * step * (5.0 * f + 8.0 * g - h) / 12.0;
                integral[c] = integral[a] + sign * step * (f + 4.0 * g + h) / 3.0;
            }
        }
        Largest {
            mean: mean.sum(),
            table: rho.into_iter().zip(integral).collect(),
        }
    }

    /// ρ and R at a correlation.
    pub fn at(&self, c: f64) -> (f64, f64) {
        let c = c.clamp(-1.0, 1.0);
        let place = (c.asin() / FRAC_PI_2 + 1.0) * HALF as f64;
        // A cubic through the four nodes around it.
        let first = (place.floor() as usize).saturating_sub(1).min(2 * HALF - 3);
        let t = place - first as f64;
        let weights = [
            (1.0 - t) * (2.0 - t) * (3.0 - t) / 6.0,
            t * (2.0 - t) * (3.0 - t) / 2.0,
            t * (t - 1.0) * (3.0 - t) / 2.0,
            t * (t - 1.0) * (t - 2.0) / 6.0,
        ];
        let nodes = &self.table[first..first + 4];
        let sum = |f: fn(&(f64, f64)) -> f64| -> f64 {
            weights.iter().zip(nodes).map(|(w, node)| w * f(node)).sum()
        };
        let rho = sum(|node| node.0);
        // ∫ρ/c near 0 is ρ's slope times c/2.
        let mean = match c.abs() < 1e-3 {
            true => 0.5 * rho,
            false => sum(|node| node.1) / c,
        };
        (rho, mean)
    }
}

/// ρ(c).
fn agreement(c: f64, count: usize) -> f64 {
    if count < 2 {
        return 0.0;
    }
    let k = count as f64;
    // x, y = r p ± s q of independent p, q.
    let (r, s) = ((0.5 * (1.0 + c)).sqrt(), (0.5 * (1.0 - c)).sqrt());
    let root = 2.0 * r * s;
    let mut same = 0.0;
    for p in (-NODES..=NODES).map(|i| f64::from(i) * STEP) {
        // x and y change places with the sign of q.
        for (q, times) in (0..=NODES).map(|i| (f64::from(i) * STEP, f64::from(i.min(1) + 1))) {
            let [x, y] = [r * p + s * q, r * p - s * q].map(Threshold::new);
            let below = quadrant(&x, &y, c, root).probability;
            same += times * STEP * STEP * density(p) * density(q) * below.powf(k - 1.0);
        }
    }
    (k * same - 1.0 / k) / (1.0 - 1.0 / k)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two, the sign of a difference wins: P = ½ + asin(c)/π, ρ = 2 asin(c)/π, and
    /// cR = ∫ρ = (2/π)(c asin c + √(1 − c²) − 1). E max = 1/√π.
    #[test]
    fn two_are_a_sign() {
        let two = Largest::of(2);
        assert!((two.mean - 1.0 / std::f64::consts::PI.sqrt()).abs() < 1e-12);
        for c in [-0.9, -0.3, 1e-5, 0.2, 0.71, 0.97, 1.0] {
            let (rho, mean) = two.at(c);
            let wanted = c.asin() / FRAC_PI_2;
            let integral = (c * c.asin() + (1.0 - c * c).sqrt() - 1.0) / FRAC_PI_2;
            assert!((rho - wanted).abs() < 1e-6, "{c}: {rho} {wanted}");
            assert!((c * mean - integral).abs() < 1e-6, "{c}: {mean}");
        }
    }

    /// The largest of four has mean 1.02938 and variance 0.49172 (tables of order statistics): at c = 1 the covariance
    /// is the variance, 1/K + (1 − 1/K) R(1).
    #[test]
    fn four_have_the_tabulated_moments() {
        let four = Largest::of(4);
        assert!((four.mean - 1.029_375_373).abs() < 1e-8, "{}", four.mean);
        let (rho, mean) = four.at(1.0);
        assert!((rho - 1.0).abs() < 1e-6, "{rho}");
        assert!((0.25 + 0.75 * mean - 0.491_715).abs() < 1e-5, "{mean}");
        assert!(four.at(0.0).0.abs() < 1e-9);
    }
}
