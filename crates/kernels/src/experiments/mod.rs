//! The experiments of the theory of symmetries of learning systems (spec section 5), each a
//! [`polariscope_experiment::Experiment`]: what is varied, what is measured, what is claimed.
//!
//! - [`Rotations`] (Fig 1): accuracy under six groups. A system that is given a symmetry beyond its own falls towards the
//!   system that has it.
//! - [`SymmetryBreaking`] (Fig 2): VEC_n along τ_t ∈ O(C)^d and with its width moves from GAP_n to VEC_∞.
//! - [`Dide`] (Fig 3): learning curves, and whether they bend.
//! - [`Spectra`] (Fig 5): eigenvalues on products of spheres, and how they decay with the dimension.
//! - [`SampleGain`]: how many samples a symmetry of the kernel saves.
//!
//! Each is made from settings with defaults of its own and brings its view; [`entries`] lists them.
//!
//! A run draws its own samples, its own transformations and its own weights from (seed, run). Nothing that a cell
//! measures depends on other cells.

mod dide;
mod entries;
mod error;
mod finite;
mod infinite;
mod problem;
mod rotations;
mod sample_gain;
mod settings;
mod spectra;
mod symmetry_breaking;
mod system;

pub use dide::{Dide, Flips};
pub use entries::entries;
pub use error::ExperimentError;
pub use finite::{Finite, Training};
pub use infinite::{RIDGE, regression};
pub use problem::{Part, Problem};
pub use rotations::Rotations;
pub use sample_gain::SampleGain;
pub use settings::Sizes;
pub use spectra::{Spectra, SpectraSizes};
pub use symmetry_breaking::{Kept, SymmetryBreaking};
pub use system::System;

use polariscope_diff::Number;
use polariscope_nngp::Float;

/// A number type for kernels and networks alike.
pub trait Precision: Number + Float {}

impl<T: Number + Float> Precision for T {}

/// Numbers in another type.
fn convert<T: Number>(x: &[f64]) -> Vec<T> {
    x.iter().map(|&x| T::from_f64(x)).collect()
}

/// Fraction of right predictions.
fn accuracy(outputs: &[f64], classes: usize, labels: &[u32]) -> f64 {
    let predicted = crate::inference::argmax(outputs, classes);
    let right = predicted.iter().zip(labels).filter(|(a, b)| a == b).count();
    right as f64 / labels.len().max(1) as f64
}

/// Mean square of the differences, over samples and outputs.
fn mean_square(a: &[f64], b: &[f64]) -> f64 {
    let squares: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
    squares / a.len().max(1) as f64
}
