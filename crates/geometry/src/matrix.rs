//! Symmetric matrices over inputs, flattened C,H,W.
//!
//! Where the first layer treats channels alike, G = I_C ⊗ B: only B is kept.

use serde::{Deserialize, Serialize};

use crate::GeometryError;
use polariscope_linalg::product;

/// I_channels ⊗ factor: the same n × n block for every channel, zero between channels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kron {
    /// Number of equal blocks.
    pub channels: usize,
    /// Rows of a block.
    pub n: usize,
    /// The block, row by row.
    pub factor: Vec<f64>,
}

impl Kron {
    /// A matrix without block structure.
    pub fn dense(factor: Vec<f64>, n: usize) -> Self {
        Self {
            channels: 1,
            n,
            factor,
        }
    }

    /// Rows of the whole matrix, D.
    pub fn dim(&self) -> usize {
        self.channels * self.n
    }

    /// The whole D × D matrix, row by row.
    pub fn to_dense(&self) -> Vec<f64> {
        if self.channels == 1 {
            return self.factor.clone();
        }
        let dim = self.dim();
        let mut dense = vec![0.0; dim * dim];
        for c in 0..self.channels {
            for (i, row) in self.factor.chunks_exact(self.n).enumerate() {
                let at = (c * self.n + i) * dim + c * self.n;
                dense[at..at + self.n].copy_from_slice(row);
            }
        }
        dense
    }

    /// Sum of the diagonal.
    pub fn trace(&self) -> f64 {
        let block: f64 = (0..self.n).map(|i| self.factor[i * self.n + i]).sum();
        self.channels as f64 * block
    }

    /// M A M, such as GSG.
    pub fn sandwich(&self, a: &Kron) -> Result<Kron, GeometryError> {
        let dim = self.dim();
        if a.dim() != dim {
            return Err(GeometryError::Size {
                what: "the matrix between",
                found: a.dim(),
                wanted: dim,
            });
        }
        let outer = self.to_dense();
        let half = product(&outer, &a.to_dense(), dim, dim);
        Ok(Kron::dense(product(&half, &outer, dim, dim), dim))
    }

    /// xᵀ M x.
    pub fn quadratic(&self, x: &[f64]) -> f64 {
        let block = |x: &[f64]| -> f64 {
            let rows = self.factor.chunks_exact(self.n).zip(x);
            rows.map(|(row, xi)| xi * dot(row, x)).sum()
        };
        x.chunks_exact(self.n).map(block).sum()
    }
}

/// a · b.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I₂ ⊗ [[2,1],[1,3]]: trace 10, and (1,2,3,4) has 2+4+12 + 18+24+48 = 108.
    #[test]
    fn two_channels_by_hand() {
        let m = Kron {
            channels: 2,
            n: 2,
            factor: vec![2.0, 1.0, 1.0, 3.0],
        };
        assert_eq!(m.trace(), 10.0);
        assert_eq!(m.quadratic(&[1.0, 2.0, 3.0, 4.0]), 108.0);
        let whole = Kron::dense(m.to_dense(), 4);
        assert_eq!(whole.factor[2 * 4 + 3], 1.0);
        // [[2,1],[1,3]]³ = [[15,20],[20,35]] in each block.
        let cube = m.sandwich(&whole).unwrap().factor;
        assert_eq!(
            (cube[0], cube[1], cube[2], cube[4 * 3 + 3]),
            (15.0, 20.0, 0.0, 35.0)
        );
        assert_eq!(whole.factor[4 + 2], 0.0);
        assert_eq!(whole.quadratic(&[1.0, 2.0, 3.0, 4.0]), 108.0);
    }
}
