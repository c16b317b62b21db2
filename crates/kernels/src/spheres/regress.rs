//! Learning an eigenfunction from samples.
//!
//! The target is Π_i √N(d0, r_i) P_{r_i}(first coordinate of ξ_i), of unit variance; for GAP its sum over
//! the different shifts over √(their number). Regression without ridge: f̂(ξ) = k(ξ)ᵀ K⁻¹ f. Kernels with
//! few eigenvalues above rounding need a jitter on the diagonal, 10⁻¹² of it, or more where that does not
//! suffice.

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};
use polariscope_stats::Estimate;
use rayon::prelude::*;

use super::harmonics::{harmonics, legendre};
use super::{Level, Points, Profile, Spectrum, SphereError, System};

/// What was learnt of a level.
#[derive(Clone, Debug, PartialEq)]
pub struct Lesson {
    /// Training samples.
    pub samples: usize,
    /// Squared error on fresh points over the variance of the target; its error is over draws.
    pub error: Estimate,
    /// What [`Spectrum::error`] foretells.
    pub predicted: Option<f64>,
}

/// Learns an eigenfunction of the `level`-th level from `samples` points, `draws` times anew.
pub fn regress(
    spectrum: &Spectrum,
    profile: &Profile,
    level: usize,
    samples: usize,
    draws: u64,
    seed: u64,
) -> Result<Lesson, SphereError> {
    let points = |points: usize, least: usize| SphereError::Points { points, least };
    if samples == 0 {
        return Err(points(0, 1));
    }
    let target = &spectrum.levels[level];
    let tests = samples.clamp(100, 1000);
    let mut errors = Vec::new();
    for draw in 0..draws {
        let all = Points::draw(spectrum.product, samples + tests, seed, draw);
        errors.push(missed(spectrum, profile, target, &all, samples)?);
    }
    Ok(Lesson {
        samples,
        error: Estimate::mean(&errors).ok_or(points(errors.len(), 2))?,
        predicted: spectrum.error(samples as u64).map(|e| e[level]),
    })
}

/// Squared error on the points after the first m.
fn missed(
    spectrum: &Spectrum,
    profile: &Profile,
    target: &Level,
    points: &Points,
    m: usize,
) -> Result<f64, SphereError> {
    let f: Vec<f64> = (0..points.len())
        .map(|a| eigenfunction(spectrum, target, points, a))
        .collect();
    let row = |a: usize, count: usize| -> Vec<f64> {
        let own = (0..count).map(|b| points.kernel(spectrum.system, profile, a, b));
        own.collect()
    };
    let lower: Vec<Vec<f64>> = (0..m).into_par_iter().map(|a| row(a, a + 1)).collect();
    let diagonal = profile.at(1.0);
    let weights = (0..4).find_map(|attempt| {
        let jitter = diagonal * 1e-12 * 100f64.powi(attempt);
        let gram = Mat::from_fn(m, m, |a, b| {
            let k = lower[a.max(b)][a.min(b)];
            if a == b { k + jitter } else { k }
        });
        let factor = gram.llt(Side::Lower).ok()?;
        Some(factor.solve(Mat::from_fn(m, 1, |a, _| f[a])))
    });
    let weights = weights.ok_or(SphereError::Decomposition)?;
    let tests = points.len() - m;
    let squares: Vec<f64> = (m..points.len())
        .into_par_iter()
        .map(|a| {
            let terms = row(a, m);
            let found: f64 = terms
                .iter()
                .enumerate()
                .map(|(b, k)| k * weights[(b, 0)])
                .sum();
            (found - f[a]).powi(2)
        })
        .collect();
    Ok(squares.iter().sum::<f64>() / tests as f64)
}

/// A function of unit variance inside a level, at point a.
fn eigenfunction(spectrum: &Spectrum, level: &Level, points: &Points, a: usize) -> f64 {
    let (p, d0) = (spectrum.product.p(), spectrum.product.d0());
    let factor = |i: usize, r: usize| {
        let n = harmonics(d0, r).unwrap_or(0) as f64;
        n.sqrt() * legendre(d0, r, points.unit(a, i)[0])[r]
    };
    let shifted = |shift: usize| -> f64 {
        let degrees = level.degrees.iter().enumerate();
        degrees.map(|(i, &r)| factor((i + shift) % p, r)).product()
    };
    match spectrum.system {
        System::Fcn | System::Vec => shifted(0),
        System::Gap => {
            let r = &level.degrees;
            let fixes = |q: &usize| (0..p).all(|i| r[i] == r[(i + q) % p]);
            let orbit = (1..=p).find(fixes).unwrap_or(p);
            (0..orbit).map(shifted).sum::<f64>() / (orbit as f64).sqrt()
        }
    }
}
