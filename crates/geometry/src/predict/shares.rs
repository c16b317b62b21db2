//! The fixed point, in shares.
//!
//! With t = n̂σ²/δ the shares p_i = n̂σ²d_i are tλ_i/(1 + tλ_i), and n̂(1 + e) = n reads
//!
//! ```text
//! δt/σ² + Σ p_i(t) = n:
//! ```
//!
//! the left side grows with t, so there is one solution; it does not depend on v. Then
//!
//! ```text
//! P_k = Σ a_i² p_i^k,  a = 1/(1 + σ²(1/P₁ − 1)),  s² = a²(P₂/P₁² − 1),  γ = (Σ p_i² − 2P₃/P₁ + (P₂/P₁)²)/n.
//! ```
//!
//! γ < 1 because Σ p_i² ≤ Σ p_i ≤ n. Where λ_i = 0 the share is 0. Without a ridge t is infinite, all other shares are
//! 1 if there are samples enough, and the rule is found exactly.

use super::LinearProblem;

/// Halvings of the bracket: enough for the last bit of ln t.
const HALVINGS: usize = 80;

/// p_i at a ridge.
pub(super) struct Shares {
    t: f64,
    /// Of one block.
    shares: Vec<f64>,
    /// Σ p_i and Σ p_i² over all blocks.
    sum: f64,
    squares: f64,
}

impl Shares {
    /// The shares at a ridge δ ≥ 0.
    pub fn at(problem: LinearProblem, delta: f64, values: &[f64], channels: usize) -> Self {
        let n = problem.train as f64;
        let ridge = delta / problem.sigma.powi(2);
        let level = |t: f64| ridge * t + sum(t, values, channels);
        if level(f64::MAX) <= n {
            return Self::of(f64::INFINITY, values, channels);
        }
        // p_i ≤ tλ_i: the solution is not below this.
        let trace: f64 = channels as f64 * values.iter().sum::<f64>();
        let mut low = (n / (ridge + trace)).ln();
        let mut high = low + 1.0;
        while level(high.exp()) < n {
            (low, high) = (high, high + 2.0 * (high - low));
        }
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if level(middle.exp()) < n {
                low = middle;
            } else {
                high = middle;
            }
        }
        Self::of(low.exp(), values, channels)
    }

    /// The shares at t.
    pub fn of(t: f64, values: &[f64], channels: usize) -> Self {
        let shares: Vec<f64> = values.iter().map(|&v| share(t, v)).collect();
        let over = |power: i32| channels as f64 * shares.iter().map(|p| p.powi(power)).sum::<f64>();
        Self {
            t,
            sum: over(1),
            squares: over(2),
            shares,
        }
    }

    /// The δ that has these shares; 0 where more samples are matched than there are.
    pub fn delta(&self, problem: LinearProblem) -> f64 {
        let free = (problem.train as f64 - self.sum).max(0.0);
        problem.sigma.powi(2) * free / self.t
    }

    /// t.
    pub fn t(&self) -> f64 {
        self.t
    }

    /// The share of an eigenvalue.
    pub fn share(&self, value: f64) -> f64 {
        share(self.t, value)
    }

    /// P₁, P₂, P₃ of squared coordinates.
    pub fn moments(&self, squares: &[f64]) -> [f64; 3] {
        let mut moments = [0.0; 3];
        for (a, p) in squares.iter().zip(&self.shares) {
            moments[0] += a * p;
            moments[1] += a * p * p;
            moments[2] += a * p * p * p;
        }
        moments
    }

    /// Φ(a/√…).
    pub fn accuracy(&self, problem: LinearProblem, [p1, p2, p3]: [f64; 3]) -> f64 {
        if p1 <= 0.0 {
            return 0.5;
        }
        let variance = problem.sigma.powi(2);
        let a = 1.0 / (1.0 + variance * (1.0 / p1 - 1.0).max(0.0));
        let leak = variance * (a * a * (p2 / (p1 * p1) - 1.0)).max(0.0);
        let trace = (self.squares - 2.0 * p3 / p1 + (p2 / p1).powi(2)).max(0.0);
        let gamma = trace / problem.train as f64;
        // Rounding may bring γ to 1 where there are as many samples as directions.
        let scatter = ((1.0 - a).powi(2) + leak) * gamma / (1.0 - gamma).max(f64::EPSILON);
        normal(a / (leak + scatter).sqrt())
    }
}

fn share(t: f64, value: f64) -> f64 {
    match t * value {
        // Also where the product of an infinite t with 0 is no number.
        _ if value <= 0.0 => 0.0,
        x if x.is_infinite() => 1.0,
        x => x / (1.0 + x),
    }
}

fn sum(t: f64, values: &[f64], channels: usize) -> f64 {
    channels as f64 * values.iter().map(|&v| share(t, v)).sum::<f64>()
}

/// Φ.
fn normal(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}
