//! The lower triangle of a symmetric matrix in square tiles: what one task computes and adds is contiguous.

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
pub(crate) fn unpack(dim: usize, entry: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut out = vec![0.0; dim * dim];
    for (t, tile) in tiles(dim).into_iter().enumerate() {
        for a in 0..tile.rows {
            for b in 0..tile.cols {
                let x = entry(t * Tile::LEN + a * TILE + b);
                out[(tile.i + a) * dim + tile.j + b] = x;
                out[(tile.j + b) * dim + tile.i + a] = x;
            }
        }
    }
    out
}
