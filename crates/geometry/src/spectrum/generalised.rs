//! Directions that the data have and the architecture does not see.
//!
//! The generalised eigenvectors of the pair (S, G + ρI),
//!
//! ```text
//! S v = μ (G + ρI) v,      ρ = 10⁻³ tr G / D,
//! ```
//!
//! largest μ = vᵀSv / vᵀ(G + ρI)v first: much of S for little of G. The floor ρ makes every direction that G sees a
//! thousand times less than the average one equally unseen, and among those S decides; without it, directions in the
//! kernel of G that the data do not have either would come first or nowhere, as rounding has it.
//!
//! G is whitened with its own eigenvectors, W = (Λ + ρ)^{−1/2} Uᵀ, then W S Wᵀ = Σ μ w wᵀ and v = Wᵀ w. No matrix
//! is inverted: the condition number of the whitening is at most √(1 + λ₁/ρ).

use polariscope_linalg::symmetric_eigen;

use super::Spectrum;
use crate::GeometryError;
use crate::matrix::dot;
use polariscope_linalg::product;

/// ρ in units of tr G / D.
const FLOOR: f64 = 1e-3;

/// Generalised eigenvectors of (S, G + ρI).
#[derive(Clone, Debug, PartialEq)]
pub struct Generalised {
    /// D.
    pub dim: usize,
    /// ρ.
    pub floor: f64,
    /// μ, largest first.
    pub values: Vec<f64>,
    /// v of unit length, one a row, in the order of the values (not orthogonal to each other).
    pub vectors: Vec<f64>,
}

impl Generalised {
    /// Orthonormal rows q₁ … q_k with the span of v₁ … v_k, each qᵢ in the span of v₁ … vᵢ (Gram and Schmidt,
    /// twice): what I − Σ qqᵀ deletes.
    pub fn span(&self, k: usize) -> Vec<f64> {
        let mut rows: Vec<f64> = Vec::with_capacity(k * self.dim);
        for v in self.vectors.chunks_exact(self.dim.max(1)).take(k) {
            let mut q = v.to_vec();
            for _ in 0..2 {
                for row in rows.chunks_exact(self.dim) {
                    let c = dot(row, &q);
                    q.iter_mut().zip(row).for_each(|(q, r)| *q -= c * r);
                }
            }
            let length = dot(&q, &q).sqrt();
            rows.extend(q.iter().map(|q| q / length));
        }
        rows
    }
}

/// Solves S v = μ (G + ρI) v for a symmetric D × D matrix S, given the spectrum of G.
pub fn generalised(geometry: &Spectrum, s: &[f64]) -> Result<Generalised, GeometryError> {
    let dim = geometry.dim();
    if s.len() != dim * dim {
        return Err(GeometryError::Size {
            what: "the covariance",
            found: s.len().isqrt(),
            wanted: dim,
        });
    }
    let floor = FLOOR * geometry.values.iter().sum::<f64>() / dim as f64;
    if floor.is_nan() || floor <= 0.0 {
        return Err(GeometryError::Vanishes);
    }
    let mut whitening = geometry.directions(dim);
    for (row, value) in whitening.chunks_exact_mut(dim).zip(&geometry.values) {
        // Rounding may have made a small eigenvalue negative.
        let scale = (value.max(0.0) + floor).sqrt().recip();
        row.iter_mut().for_each(|w| *w *= scale);
    }
    let half = product(&whitening, s, dim, dim);
    let whitened = polariscope_linalg::product_transposed(&half, &whitening, dim, dim);
    let eigen = symmetric_eigen(&whitened, dim)?;
    let mut vectors = product(&eigen.vectors, &whitening, dim, dim);
    for v in vectors.chunks_exact_mut(dim) {
        let length = dot(v, v).sqrt();
        v.iter_mut().for_each(|v| *v /= length);
    }
    Ok(Generalised {
        dim,
        floor,
        values: eigen.values,
        vectors,
    })
}
