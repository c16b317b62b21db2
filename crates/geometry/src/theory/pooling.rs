//! The linear model of pooling, f = θᵀA(m ⊙ φ ⊙ x), and its ReLU form θᵀA(m ⊙ ρ(φ ⊙ x)).
//!
//! A = [I … I]/√S folds D numbers onto M = D/S; m is the prefilter; θ, φ are Gaussian. AᵀA has 1/S on its diagonal and
//! wherever two numbers fold onto one, so
//!
//! ```text
//! E ∇f∇fᵀ = σ_φ²σ_θ² diag(m²)/S                                (NAD Ex. 1; print drops the 1/S)
//! E MᵀM   = (σ_θ² + σ_φ²)/S · diag(m²)                         (print: the 1/S on σ_φ² alone)
//! E ∇f∇fᵀ = σ_θ² (AᵀA ⊙ mmᵀ ⊙ Ξ(x)) for ReLU,  Ξ_ii = σ_φ²/2,  Ξ_ij = σ_φ² sgn(xᵢxⱼ)/2π
//!                                                              (NAD Ex. 4; print: Ξ_ii = (σ_φ²/2)(1 − 2/π))
//! E ∇²_φ J = (2σ_θ²/S)(ε²m²[ℓ] diag(e_ℓ) + σ² diag(m²))         (NAD Lemma 1, J = (y − f)²; print drops the 1/S)
//! ```
//!
//! f is linear in x (between kinks), in θ and in φ, so derivatives are values of f at unit vectors.

use polariscope_random::Stream;
use std::f64::consts::PI;

use super::Agreement;
use crate::GeometryError;
use crate::evolution::{Rows, gather};
use crate::matrix::dot;

const DIM: usize = 12;
/// S.
const FOLD: usize = 3;
/// M.
const FOLDED: usize = DIM / FOLD;
const SIGMA_THETA: f64 = 0.8;
const SIGMA_PHI: f64 = 1.3;

/// A low-pass prefilter.
fn prefilter() -> Vec<f64> {
    (0..DIM).map(|i| 1.0 / (1.0 + 0.2 * i as f64)).collect()
}

/// θᵀA(m ⊙ h).
fn read(theta: &[f64], h: impl Iterator<Item = f64>) -> f64 {
    let folded = h.zip(prefilter()).enumerate();
    let terms = folded.map(|(i, (h, m))| theta[i % FOLDED] * m * h);
    terms.sum::<f64>() / (FOLD as f64).sqrt()
}

fn unit(n: usize, i: usize) -> Vec<f64> {
    (0..n).map(|j| f64::from(u8::from(i == j))).collect()
}

fn draw(index: u64, name: &str, std: f64, count: usize) -> Vec<f64> {
    let mut numbers = vec![0.0; count];
    Stream::new(0, index, name).normal(std as f32, &mut numbers);
    numbers.into_iter().map(f64::from).collect()
}

/// The linear model.
fn linear(theta: &[f64], phi: &[f64], x: &[f64]) -> f64 {
    read(theta, phi.iter().zip(x).map(|(p, x)| p * x))
}

fn diagonal(entries: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut matrix = vec![0.0; DIM * DIM];
    let places = matrix.iter_mut().step_by(DIM + 1);
    places.zip(entries).for_each(|(m, e)| *m = e);
    matrix
}

fn agreement(
    networks: u64,
    prediction: &[f64],
    rows: impl Fn(u64) -> Vec<f64> + Sync,
) -> Result<Agreement, GeometryError> {
    let rows = |index| {
        Ok(Rows {
            gradients: rows(index),
            tangents: Vec::new(),
        })
    };
    let groups = gather(DIM, networks, &rows, &mut |_, _| {})?;
    Ok(Agreement::geometry(&groups, prediction, DIM))
}

/// Example 1: the gradient covariance.
pub fn gradient_covariance(networks: u64) -> Result<Agreement, GeometryError> {
    let level = (SIGMA_THETA * SIGMA_PHI).powi(2) / FOLD as f64;
    let prediction = diagonal(prefilter().into_iter().map(|m| level * m * m));
    agreement(networks, &prediction, |index| {
        let theta = draw(index, "theta", SIGMA_THETA, FOLDED);
        let phi = draw(index, "phi", SIGMA_PHI, DIM);
        (0..DIM)
            .map(|i| linear(&theta, &phi, &unit(DIM, i)))
            .collect()
    })
}

/// Example 1: `E[MᵀM]` of the mixed second derivative.
pub fn mixed_derivative(networks: u64) -> Result<Agreement, GeometryError> {
    let level = (SIGMA_THETA.powi(2) + SIGMA_PHI.powi(2)) / FOLD as f64;
    let prediction = diagonal(prefilter().into_iter().map(|m| level * m * m));
    agreement(networks, &prediction, |index| {
        let theta = draw(index, "theta", SIGMA_THETA, FOLDED);
        let phi = draw(index, "phi", SIGMA_PHI, DIM);
        let in_theta = (0..FOLDED).flat_map(|j| {
            let phi = &phi;
            (0..DIM).map(move |i| linear(&unit(FOLDED, j), phi, &unit(DIM, i)))
        });
        let in_phi = (0..DIM).flat_map(|j| {
            let theta = &theta;
            (0..DIM).map(move |i| linear(theta, &unit(DIM, j), &unit(DIM, i)))
        });
        in_theta.chain(in_phi).collect()
    })
}

/// Example 4: the gradient covariance of the ReLU model at one x.
pub fn relu_covariance(networks: u64) -> Result<Agreement, GeometryError> {
    let m = prefilter();
    let x = draw(0, "point", 1.0, DIM);
    let entry = |at: usize| {
        let (i, j) = (at / DIM, at % DIM);
        let xi = match i == j {
            true => 0.5,
            false => (x[i] * x[j]).signum() / (2.0 * PI),
        };
        let folds = f64::from(u8::from(i % FOLDED == j % FOLDED)) / FOLD as f64;
        (SIGMA_THETA * SIGMA_PHI).powi(2) * folds * m[i] * m[j] * xi
    };
    let prediction: Vec<f64> = (0..DIM * DIM).map(entry).collect();
    agreement(networks, &prediction, |index| {
        let theta = draw(index, "theta", SIGMA_THETA, FOLDED);
        let phi = draw(index, "phi", SIGMA_PHI, DIM);
        let f = |x: &[f64]| read(&theta, phi.iter().zip(x).map(|(p, x)| (p * x).max(0.0)));
        // Homogeneous in every x_i alone: f(x) − f(x without x_i) = x_i ∂f/∂x_i.
        let without = |i: usize| {
            let mut other = x.clone();
            other[i] = 0.0;
            (f(&x) - f(&other)) / x[i]
        };
        (0..DIM).map(without).collect()
    })
}

/// Lemma 1's data: x = ε y e_ℓ + N(0, σ²I).
const EPSILON: f64 = 1.5;
const SIGMA: f64 = 0.7;
const FEATURE: usize = 2;

/// Lemma 1: E ∇²_φ J, over networks and samples.
pub fn curvature(networks: u64) -> Result<Agreement, GeometryError> {
    let level = 2.0 * SIGMA_THETA.powi(2) / FOLD as f64;
    let entries = prefilter().into_iter().enumerate().map(|(i, m)| {
        let signal = f64::from(u8::from(i == FEATURE)) * EPSILON * EPSILON;
        level * m * m * (signal + SIGMA * SIGMA)
    });
    let prediction = diagonal(entries);
    agreement(networks, &prediction, |index| {
        let theta = draw(index, "theta", SIGMA_THETA, FOLDED);
        let mut x = draw(index, "noise", SIGMA, DIM);
        let y = if index % 2 == 0 { 1.0 } else { -1.0 };
        x[FEATURE] += EPSILON * y;
        // ∇²(y − f)² = 2 ∇f∇fᵀ, since f is linear in φ.
        (0..DIM)
            .map(|i| 2f64.sqrt() * linear(&theta, &unit(DIM, i), &x))
            .collect()
    })
}

/// `ζ(ℓ) = ε²m²[ℓ]/(σ² max m²)` from the closed form, and the ratio of signal to largest noise curvature that the
/// Hessian's two terms give.
pub fn signal_to_noise() -> (f64, f64) {
    let m = prefilter();
    let largest = m.iter().fold(0.0_f64, |a, m| a.max(m * m));
    let zeta = (EPSILON * m[FEATURE] / SIGMA).powi(2) / largest;
    // One θ stands for all: both terms carry the same θ².
    let theta = vec![1.0; FOLDED];
    let curvature = |i: usize, x: f64| {
        let mut point = vec![0.0; DIM];
        point[i] = x;
        let g: Vec<f64> = (0..DIM)
            .map(|j| linear(&theta, &unit(DIM, j), &point))
            .collect();
        2.0 * dot(&g, &g)
    };
    let noise = (0..DIM)
        .map(|i| curvature(i, SIGMA))
        .fold(0.0_f64, f64::max);
    (zeta, curvature(FEATURE, EPSILON) / noise)
}
