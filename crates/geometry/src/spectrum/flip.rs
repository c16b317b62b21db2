//! flip(G): the same eigenvectors with the eigenvalues in reverse order. For I_C ⊗ B it is I_C ⊗ flip(B), since the
//! C equal eigenvalues of a multiplet move together.

use super::Spectrum;
use crate::Kron;
use polariscope_linalg::product;

/// The matrix Σ λ_{D−1−i} uᵢuᵢᵀ.
pub fn flip(spectrum: &Spectrum) -> Kron {
    let n = spectrum.n;
    let values = spectrum.values.iter().step_by(spectrum.channels.max(1));
    let reversed: Vec<f64> = values.rev().copied().collect();
    let mut scaled = vec![0.0; n * n];
    // Row i of Vᵀ diag(λ reversed): entry j is λ_{n−1−j} u_j[i].
    for (j, (u, value)) in spectrum
        .vectors
        .chunks_exact(n.max(1))
        .zip(&reversed)
        .enumerate()
    {
        for (i, u) in u.iter().enumerate() {
            scaled[i * n + j] = value * u;
        }
    }
    Kron {
        channels: spectrum.channels,
        n,
        factor: product(&scaled, &spectrum.vectors, n, n),
    }
}
