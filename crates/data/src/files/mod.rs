//! Data in files.

pub(crate) mod arrays;
pub mod cifar;
pub(crate) mod csv;
pub(crate) mod directory;
pub(crate) mod folder;
pub mod idx;
mod image;
pub mod npy;
mod resize;

/// 8-bit images with a class each, sample by sample in C,H,W order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Images {
    /// Pixels.
    pub pixels: Vec<u8>,
    /// Classes.
    pub labels: Vec<u32>,
}
