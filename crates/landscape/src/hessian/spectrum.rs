//! Eigenvalues of H, H₀, H_p and the Fisher matrix, counted by sign.
//!
//! What must hold, whatever the weights (H₀ is positive semidefinite for a convex loss):
//!
//! - rank H₀ ≤ N_Δ, the constraints: H₀ has at least N − N_Δ zero modes.
//! - N₋(H) ≤ N₋(H_p): H₀ only lifts.
//! - N₋(H_p) ≤ N₋(H) + rank H₀: it lifts no more directions than it has. At a minimum of a smooth network N₋(H) = 0, and
//!   that many constraints are needed to hold it: N₋(H_p) ≤ N_Δ.
//! - tr H_p = 0 where the outputs are piecewise linear in every single weight, as with relu; with one hidden layer of relu
//!   H_p only joins one layer with the other, and its eigenvalues are symmetric about 0.

use polariscope_lens::Observer;
use polariscope_linalg::symmetric_eigenvalues;
use polariscope_network::Weights;
use polariscope_train::LossHessian;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::dense::{Dense, dense};
use crate::LandscapeError;

/// An eigenvalue is 0 up to this many roundings of the largest one, times the square root of the parameters.
const ROUNDINGS: f64 = 4.0;

/// Eigenvalues by sign.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// N₋.
    pub negative: usize,
    /// N₀.
    pub zero: usize,
    /// N₊.
    pub positive: usize,
    /// Up to which size an eigenvalue counts as 0.
    pub tolerance: f64,
}

impl Counts {
    /// Of eigenvalues, each of which is 0 up to `tolerance`.
    pub fn of(eigenvalues: &[f64], tolerance: f64) -> Self {
        let count = |f: &dyn Fn(f64) -> bool| eigenvalues.iter().filter(|l| f(**l)).count();
        Counts {
            negative: count(&|l| l < -tolerance),
            zero: count(&|l| l.abs() <= tolerance),
            positive: count(&|l| l > tolerance),
            tolerance,
        }
    }

    /// Eigenvalues in all.
    pub fn all(&self) -> usize {
        self.negative + self.zero + self.positive
    }

    /// N₋/N.
    pub fn negative_fraction(&self) -> f64 {
        self.negative as f64 / self.all().max(1) as f64
    }
}

/// The spectrum of a matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spectrum {
    /// Largest first.
    pub eigenvalues: Vec<f64>,
    /// By sign.
    pub counts: Counts,
    /// The sum of the diagonal, not of the eigenvalues: exact where the diagonal is.
    pub trace: f64,
}

impl Spectrum {
    /// Of a symmetric n × n matrix.
    pub fn of(matrix: &[f64], n: usize) -> Result<Self, LandscapeError> {
        let eigenvalues = symmetric_eigenvalues(matrix, n)?;
        let largest = eigenvalues.iter().fold(0.0, |m: f64, l| m.max(l.abs()));
        let tolerance = ROUNDINGS * f64::EPSILON * (n as f64).sqrt() * largest;
        Ok(Spectrum {
            counts: Counts::of(&eigenvalues, tolerance),
            trace: matrix.iter().step_by(n + 1).sum(),
            eigenvalues,
        })
    }

    /// √(mean of λ²).
    pub fn rms(&self) -> f64 {
        let squares: f64 = self.eigenvalues.iter().map(|l| l * l).sum();
        (squares / self.eigenvalues.len().max(1) as f64).sqrt()
    }

    /// The smallest eigenvalue above 0, over the largest: how wide the gap is above the zero modes.
    pub fn gap(&self) -> Option<f64> {
        let last = self.counts.positive.checked_sub(1)?;
        Some(self.eigenvalues[last] / self.eigenvalues[0])
    }
}

/// The Hessian and its parts, diagonalised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Split {
    /// N.
    pub parameters: usize,
    /// L.
    pub loss: f64,
    /// N_Δ: see [`Dense::constraints`].
    pub constraints: usize,
    /// H.
    pub hessian: Spectrum,
    /// H₀.
    pub gauss_newton: Spectrum,
    /// H_p.
    pub curvature: Spectrum,
    /// (1/n) Σ g gᵀ.
    pub fisher: Spectrum,
}

impl Split {
    /// Of the matrices.
    pub fn of(matrices: &Dense) -> Result<Self, LandscapeError> {
        let hessian = matrices.hessian();
        let all = [
            &hessian,
            &matrices.gauss_newton,
            &matrices.curvature,
            &matrices.fisher,
        ];
        let spectra: Vec<Spectrum> = all
            .par_iter()
            .map(|matrix| Spectrum::of(matrix, matrices.parameters))
            .collect::<Result<_, _>>()?;
        let mut spectra = spectra.into_iter();
        let mut next = || spectra.next().ok_or(polariscope_linalg::EigenError);
        Ok(Split {
            parameters: matrices.parameters,
            loss: matrices.loss,
            constraints: matrices.constraints,
            hessian: next()?,
            gauss_newton: next()?,
            curvature: next()?,
            fisher: next()?,
        })
    }

    /// rank H₀.
    pub fn rank(&self) -> usize {
        self.gauss_newton.counts.positive + self.gauss_newton.counts.negative
    }

    /// Zero modes of H₀ beyond the parameters − N_Δ that it must have.
    pub fn further_zero_modes(&self) -> i64 {
        self.gauss_newton.counts.zero as i64
            - (self.parameters.saturating_sub(self.constraints)) as i64
    }

    /// The size of H_p over √L, which is the same at every loss near jamming: √(mean of λ²)/√L.
    pub fn collapse(&self) -> Option<f64> {
        (self.loss > 0.0).then(|| self.curvature.rms() / self.loss.sqrt())
    }
}

/// The Hessian at `weights` and its parts, diagonalised: for networks of a few thousand parameters.
pub fn split(
    hessian: &LossHessian<f64>,
    weights: &Weights<f64>,
    observer: &mut dyn Observer,
) -> Result<Split, LandscapeError> {
    Split::of(&dense(hessian, weights, observer)?)
}
