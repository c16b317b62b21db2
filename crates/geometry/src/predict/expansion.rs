//! Directions as a geometry sees them.

/// Squared coordinates of unit vectors in the eigenvectors of G.
#[derive(Clone, Debug, PartialEq)]
pub struct Expansion {
    /// a_i², summed over equal blocks; one direction after the other.
    squares: Vec<f64>,
    /// vᵀGv with tr G = D.
    weights: Vec<f64>,
    purities: Vec<f64>,
}

impl Expansion {
    /// Of squares over the eigenvalues of one block.
    pub(super) fn new(squares: Vec<f64>, values: &[f64]) -> Self {
        let rows = || squares.chunks_exact(values.len().max(1));
        let moment = |row: &[f64], power: i32| -> f64 {
            let terms = row.iter().zip(values);
            terms.map(|(a, l)| a * l.powi(power)).sum()
        };
        let purity = |row: &[f64]| match moment(row, 2) {
            square if square > 0.0 => moment(row, 1).powi(2) / square,
            _ => 0.0,
        };
        Self {
            weights: rows().map(|row| moment(row, 1)).collect(),
            purities: rows().map(purity).collect(),
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

    /// (vᵀGv)²/vᵀG²v of every direction, 0 to 1: the part of Gv that lies along v, squared. 1 for an eigenvector; what is
    /// missing is weight that v lends to other directions.
    pub fn purities(&self) -> &[f64] {
        &self.purities
    }

    pub(super) fn squares(&self, row: usize) -> &[f64] {
        let n = self.squares.len() / self.weights.len().max(1);
        &self.squares[row * n..(row + 1) * n]
    }
}
