//! Matrices of kernels, computed in tiles and kept in memory or in growing files.

mod fill;
mod store;
mod tiles;

pub(crate) use fill::{FillPlan, Tiled, fill};
pub(crate) use store::Matrix;
pub use store::{Store, StoreError};
pub(crate) use tiles::{Symmetry, Tile, tiles};
