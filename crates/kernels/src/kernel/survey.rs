//! A pass over a finished matrix: its numbers for the table, a picture, its eigenvalues.

use polariscope_linalg::symmetric_eigenvalues;
use serde::{Deserialize, Serialize};

use super::{Kind, Numbers};
use crate::matrix::{Matrix, Symmetry, Tile};
use crate::{KernelsError, Number};

/// Squares of the picture, on each side.
const PICTURE: usize = 96;
/// Samples up to which eigenvalues take seconds.
const EIGEN: usize = 2048;
/// Rows read at a time.
const ROWS: usize = 256;

/// What a matrix looks like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Survey {
    /// In numbers.
    pub summary: Numbers,
    /// Means over squares of entries.
    pub picture: Vec<Vec<f64>>,
    /// Largest first, of K/n.
    pub eigenvalues: Vec<f64>,
}

impl Survey {
    /// Reads the matrix once.
    pub(super) fn of<T: Number>(
        matrix: &mut Matrix<T>,
        kind: Kind,
        (rows, columns): (usize, usize),
        symmetry: Symmetry,
    ) -> Result<Self, KernelsError> {
        let (high, wide) = (rows.min(PICTURE), columns.min(PICTURE));
        let mut picture = vec![vec![(0.0, 0.0); wide]; high];
        let (mut diagonal, mut sum, mut count) = (0.0, 0.0, 0.0);
        let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
        let symmetric = symmetry == Symmetry::Symmetric;
        let mut whole = Vec::new();
        for first in (0..rows).step_by(ROWS) {
            let band = Tile {
                rows: first..(first + ROWS).min(rows),
                columns: 0..columns,
            };
            let numbers = matrix.read(&band)?;
            for (i, row) in band.rows.zip(numbers.chunks_exact(columns)) {
                for (j, k) in row.iter().enumerate() {
                    let k = k.to_f64();
                    let square = &mut picture[i * high / rows][j * wide / columns];
                    *square = (square.0 + k, square.1 + 1.0);
                    if symmetric && i == j {
                        diagonal += k;
                    } else {
                        sum += k;
                        count += 1.0;
                        min = min.min(k);
                        max = max.max(k);
                    }
                }
            }
            if symmetric && rows <= EIGEN {
                whole.extend(numbers.iter().map(|k| k.to_f64() / rows as f64));
            }
        }
        let mut eigenvalues = Vec::new();
        if !whole.is_empty() {
            eigenvalues = symmetric_eigenvalues(&whole, rows)
                .map_err(|e| KernelsError::Eigen(e.to_string()))?;
        }
        let condition = match eigenvalues[..] {
            [largest, .., smallest] if smallest > 0.0 => Some(largest / smallest),
            _ => None,
        };
        // One sample has no pairs: its own entry is all there is.
        let (mean, min, max) = match count > 0.0 {
            true => (sum / count, min, max),
            false => (diagonal, diagonal, diagonal),
        };
        Ok(Self {
            summary: Numbers {
                kind: kind.name().into(),
                diagonal: symmetric.then(|| diagonal / rows as f64),
                mean,
                min,
                max,
                condition,
            },
            picture: picture
                .into_iter()
                .map(|row| row.into_iter().map(|(sum, n)| sum / n).collect())
                .collect(),
            eigenvalues,
        })
    }
}
