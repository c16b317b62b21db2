//! Data sets: generators, files, transforms.
//!
//! One string names a data set, [`Spec::parse`] checks it, [`Dataset::load`] makes it:
//! ```
//! use polariscope_data::Dataset;
//!
//! let data = Dataset::load("stripe?shape=5&train=100&test=50&seed=1")?;
//! assert_eq!((data.shape.len(), data.train.len(), data.test.len(), data.classes), (5, 100, 50, 2));
//! # Ok::<(), polariscope_data::DataError>(())
//! ```
//! Inputs are flattened C,H,W. Pixels of image files are scaled to 0…1 (byte / 255). [`help`] prints every
//! name and parameter.
#![forbid(unsafe_code)]

mod action;
mod choose;
mod dataset;
pub mod deform;
mod dft;
mod direction;
mod error;
mod files;
mod generate;
mod load;
mod order;
mod params;
mod parquet;
mod picture;
mod projection;
mod source;
mod spec;
mod table;
mod transform;

pub use action::{Action, ActionError, Resample, Tap};
pub use dataset::{Dataset, Labels, Split};
pub use dft::{Frequency, Phase, dft_basis, dft_frequencies, dft_vector};
pub use direction::Direction;
pub use error::DataError;
pub use files::arrays::Samples;
pub use files::{Images, cifar, idx, npy};
pub use generate::{Generator, Labeling};
pub use picture::Viewer;
pub use projection::{Pca, Projection};
pub use spec::{DataSource, Spec};
pub use table::{PARAMETERS, Parameter, SOURCES, SourceEntry, help};
pub use transform::{Transforms, grey, normalise, pool, standardise};
