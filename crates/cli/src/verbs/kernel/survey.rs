//! A pass over a finished matrix: its numbers for the table, a picture, its eigenvalues.

use polariscope_data::symmetric_eigenvalues;
use polariscope_diff::Real;

use super::Kind;
use super::answer::Summary;
use super::store::{MatrixFile, Stored};
use super::tiles::{Symmetry, Tile};
use crate::error::CliError;

/// Squares of the picture, on each side.
const PICTURE: usize = 96;
/// Samples up to which eigenvalues take seconds.
const EIGEN: usize = 2048;
/// Rows read at a time.
const ROWS: usize = 256;

/// What a matrix looks like.
pub struct Survey {
    /// In numbers.
    pub summary: Summary,
    /// Means over squares of entries.
    pub picture: Vec<Vec<f64>>,
    /// Largest first, of K/n.
    pub eigenvalues: Vec<f64>,
}

impl Survey {
    /// Reads the matrix once.
    pub fn of<T: Stored + Real>(
        file: &MatrixFile,
        kind: Kind,
        rows: usize,
        columns: usize,
        symmetry: Symmetry,
    ) -> Result<Self, CliError> {
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
            let numbers = file.read::<T>(&band)?;
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
            eigenvalues =
                symmetric_eigenvalues(&whole, rows).map_err(|e| CliError::Failed(e.to_string()))?;
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
            summary: Summary {
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
