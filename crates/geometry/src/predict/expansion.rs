//! Directions as a geometry sees them.

/// Squared coordinates of unit vectors in the eigenvectors of G.
#[derive(Clone, Debug, PartialEq)]
pub struct Expansion {
    /// a_i², summed over equal blocks; one direction after the other.
    squares: Vec<f64>,
    /// vᵀGv with tr G = D.
    weights: Vec<f64>,
}

impl Expansion {
    /// Of squares over the eigenvalues of one block.
    pub(super) fn new(squares: Vec<f64>, values: &[f64]) -> Self {
        let weight = |row: &[f64]| row.iter().zip(values).map(|(a, l)| a * l).sum();
        let rows = squares.chunks_exact(values.len().max(1));
        Self {
            weights: rows.map(weight).collect(),
            squares,
        }
    }

    /// Number of directions.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// vᵀGv of every direction, with tr G = D: 1 is what an isotropic geometry gives.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    pub(super) fn squares(&self, row: usize) -> &[f64] {
        let n = self.squares.len() / self.weights.len().max(1);
        &self.squares[row * n..(row + 1) * n]
    }
}
