//! Corr(A, B) = ⟨A, B⟩ / (‖A‖ ‖B‖), the cosine of two matrices in the Frobenius inner product.

use crate::matrix::dot;
use crate::{GeometryError, Kron};

/// Corr(A, B); 0 where one of them is 0. Block structures may differ.
///
/// ```
/// use polariscope_geometry::{Kron, corr};
/// let identity = Kron { channels: 2, n: 1, factor: vec![1.0] };
/// let other = Kron::dense(vec![2.0, 1.0, 1.0, 2.0], 2);
/// // ⟨I, B⟩ = 4, ‖I‖² = 2, ‖B‖² = 10.
/// assert!((corr(&identity, &other)? - 4.0 / 20f64.sqrt()).abs() < 1e-15);
/// # Ok::<(), polariscope_geometry::GeometryError>(())
/// ```
pub fn corr(a: &Kron, b: &Kron) -> Result<f64, GeometryError> {
    if a.dim() != b.dim() {
        return Err(GeometryError::Size {
            what: "the other matrix",
            found: b.dim(),
            wanted: a.dim(),
        });
    }
    // The finer one has the fewer entries that are not 0 by structure.
    let (fine, coarse) = if a.n <= b.n { (a, b) } else { (b, a) };
    let norms = norm(fine) * norm(coarse);
    Ok(if norms > 0.0 {
        inner(fine, coarse) / norms
    } else {
        0.0
    })
}

/// ‖A‖_F.
pub(crate) fn norm(a: &Kron) -> f64 {
    (a.channels as f64 * dot(&a.factor, &a.factor)).sqrt()
}

fn inner(fine: &Kron, coarse: &Kron) -> f64 {
    if fine.n == coarse.n {
        return fine.channels as f64 * dot(&fine.factor, &coarse.factor);
    }
    let (n, m) = (fine.n, coarse.n);
    let mut sum = 0.0;
    for c in 0..fine.channels {
        for (i, row) in fine.factor.chunks_exact(n).enumerate() {
            let at = c * n + i;
            let across = &coarse.factor[(at % m) * m..(at % m + 1) * m];
            for (j, value) in row.iter().enumerate() {
                let column = c * n + j;
                if at / m == column / m {
                    sum += value * across[column % m];
                }
            }
        }
    }
    sum
}
