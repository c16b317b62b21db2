//! Overlap of two subspaces: ‖U_kᵀ V_k‖²_F / k, the mean squared cosine between the first k directions. 1 where they
//! span the same, k/D for unrelated ones.

use super::Spectrum;
use crate::GeometryError;
use polariscope_linalg::product_transposed;

/// Overlap of the first k directions, in order (a cut inside a multiplet takes its first channels).
pub fn overlap(a: &Spectrum, b: &Spectrum, k: usize) -> Result<f64, GeometryError> {
    let dim = a.dim();
    if b.dim() != dim {
        return Err(GeometryError::Size {
            what: "the other spectrum",
            found: b.dim(),
            wanted: dim,
        });
    }
    if k == 0 || k > dim {
        return Err(GeometryError::Question(format!(
            "an overlap of {k} directions out of {dim}: it takes 1 to {dim}"
        )));
    }
    if a.channels != b.channels {
        let cosines = product_transposed(&a.directions(k), &b.directions(k), dim, k);
        return Ok(cosines.iter().map(|c| c * c).sum::<f64>() / k as f64);
    }
    // (e_c ⊗ u)·(e_c' ⊗ v) = δ_cc' u·v: a pair counts once for every channel that both multiplets have.
    let n = a.n;
    let rows = k.div_ceil(a.channels);
    let count = |row: usize| a.channels.min(k - row * a.channels);
    let cosines = product_transposed(&a.vectors[..rows * n], &b.vectors[..rows * n], n, rows);
    let term = |(at, c): (usize, &f64)| count(at / rows).min(count(at % rows)) as f64 * c * c;
    Ok(cosines.iter().enumerate().map(term).sum::<f64>() / k as f64)
}
