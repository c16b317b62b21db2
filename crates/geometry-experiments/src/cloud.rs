//! A geometry as rows: G = Σ a aᵀ over gradients, S = Σ x xᵀ over samples. Corr of two of them needs no D × D matrix:
//!
//! ```text
//! ⟨AᵀA, BᵀB⟩ = ‖ABᵀ‖²
//! ```

use polariscope_linalg::apply;

/// Rows of `dim` numbers.
#[derive(Clone, Debug)]
pub(crate) struct Cloud {
    dim: usize,
    rows: Vec<f32>,
    /// ‖AᵀA‖.
    norm: f64,
}

impl Cloud {
    /// Of at least one row.
    pub fn new(rows: Vec<f32>, dim: usize) -> Self {
        let norm = inner(&rows, &rows, dim).sqrt();
        Cloud { dim, rows, norm }
    }

    /// Corr(AᵀA, BᵀB); 0 where one of them is 0.
    pub fn corr(&self, other: &Cloud) -> f64 {
        let norms = self.norm * other.norm;
        match norms > 0.0 {
            true => inner(&self.rows, &other.rows, self.dim) / norms,
            false => 0.0,
        }
    }
}

/// ‖ABᵀ‖².
fn inner(a: &[f32], b: &[f32], dim: usize) -> f64 {
    let wide: Vec<f64> = b.iter().map(|&b| f64::from(b)).collect();
    let products = apply(&wide, dim, a);
    products.iter().map(|&p| f64::from(p).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::Cloud;

    /// A = (1,0), (0,1): AᵀA = I. B = (1,1): BᵀB = ones. ⟨I, ones⟩ = 2, norms √2 and 2.
    #[test]
    fn by_hand() {
        let (a, b) = (
            Cloud::new(vec![1.0, 0.0, 0.0, 1.0], 2),
            Cloud::new(vec![1.0, 1.0], 2),
        );
        assert!((a.corr(&b) - 0.5_f64.sqrt()).abs() < 1e-7);
        assert!((a.corr(&a) - 1.0).abs() < 1e-7);
        assert_eq!(a.corr(&Cloud::new(vec![0.0, 0.0], 2)), 0.0);
    }
}
