//! Data in files.

pub mod cifar;
pub(crate) mod directory;
pub mod idx;
pub(crate) mod image;
pub mod npy;

/// 8-bit images with a class each, sample by sample in C,H,W order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Images {
    /// Pixels.
    pub pixels: Vec<u8>,
    /// Classes.
    pub labels: Vec<u32>,
}
