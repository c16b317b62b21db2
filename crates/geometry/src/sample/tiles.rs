//! The lower triangle of a symmetric matrix in square tiles: what one task computes and adds is contiguous.

use rayon::prelude::*;

/// Rows and columns of a tile.
pub(crate) const TILE: usize = 128;

/// Where a tile lies and how much of it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tile {
    /// First row.
    pub i: usize,
    /// First column; at most `i`.
    pub j: usize,
    /// Rows used.
    pub rows: usize,
    /// Columns used.
    pub cols: usize,
}

impl Tile {
    /// Numbers that a tile takes in memory, used or not.
    pub const LEN: usize = TILE * TILE;

    /// How often a tile's entries occur in the whole matrix: once on the diagonal, twice off it.
    pub fn weight(&self) -> f64 {
        if self.i == self.j { 1.0 } else { 2.0 }
    }
}

/// The tiles of a dim × dim matrix, in the order in which they are stored.
pub(crate) fn tiles(dim: usize) -> Vec<Tile> {
    let starts = (0..dim).step_by(TILE);
    let tile = |i: usize, j: usize| Tile {
        i,
        j,
        rows: TILE.min(dim - i),
        cols: TILE.min(dim - j),
    };
    starts
        .flat_map(|i| (0..=i).step_by(TILE).map(move |j| tile(i, j)))
        .collect()
}

/// The whole matrix from its tiles; `entry` is given a position in tile order.
pub(crate) fn unpack(dim: usize, entry: impl Fn(usize) -> f64 + Sync) -> Vec<f64> {
    let mut out = vec![0.0; dim * dim];
    let bands = out.par_chunks_mut((TILE * dim).max(1)).enumerate();
    bands.for_each(|(i, band)| {
        for (a, row) in band.chunks_exact_mut(dim).enumerate() {
            for (j, part) in row.chunks_mut(TILE).enumerate() {
                let tile = i.max(j) * (i.max(j) + 1) / 2 + i.min(j);
                for (b, x) in part.iter_mut().enumerate() {
                    // Above the diagonal it is the mirror image that counts.
                    let inside = match (j, b) <= (i, a) {
                        true => a * TILE + b,
                        false => b * TILE + a,
                    };
                    *x = entry(tile * Tile::LEN + inside);
                }
            }
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every entry of every tile comes to its place and to its mirror image.
    #[test]
    fn tiles_make_a_matrix() {
        let dim = 2 * TILE + 3;
        let matrix = unpack(dim, |at| at as f64);
        for (t, tile) in tiles(dim).iter().enumerate() {
            for (a, b) in (0..tile.rows).flat_map(|a| (0..tile.cols).map(move |b| (a, b))) {
                let (i, j) = (tile.i + a, tile.j + b);
                if j <= i {
                    let at = (t * Tile::LEN + a * TILE + b) as f64;
                    assert_eq!([matrix[i * dim + j], matrix[j * dim + i]], [at, at]);
                }
            }
        }
    }
}
