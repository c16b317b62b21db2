//! Experiments that train networks to test what their geometry predicted, before any training, that they would learn.
//!
//! Every entry of [`EXPERIMENTS`] makes a [`Trial`]: a design, claims with the statistics that decide them, a way to measure
//! one trained network, and a view of the table. [`entries`] lists them with those of other lenses.
//!
//! ```
//! use polariscope_geometry_experiments::{Lab, Scale, EXPERIMENTS, entry};
//! let nad = entry("nad-accuracy").unwrap();
//! let lab = Lab {
//!     architecture: nad.architecture.into(),
//!     scale: Scale::Small,
//!     runs: Some(1),
//!     seed: 0,
//!     place: Default::default(),
//!     cifar: None,
//!     sigma: None,
//!     known: Vec::new(),
//! };
//! let trial = (nad.make)(&lab)?;
//! assert!(trial.design().cells.len() < 50 && trial.claims().len() > 3);
//! # Ok::<(), polariscope_geometry_experiments::GeometryExperimentsError>(())
//! ```
#![forbid(unsafe_code)]

mod calibrate;
mod cloud;
mod dft_map;
mod doughnut;
mod entries;
mod error;
mod feature_drop;
mod flip_data;
mod g_gallery;
mod geometry_drift;
mod images;
mod isotropic;
mod lab;
mod labelings;
mod learn;
mod lens;
mod linear;
mod nad_accuracy;
mod nad_convergence;
mod nad_samples;
mod poison;
mod pooling;
pub mod predict;
mod prediction;
mod prepared;
mod sample_drop;
mod series;
mod simplicity;
mod velocity;
mod watch;
mod which_geometry;

pub use calibrate::{Calibrator, Candidates, FrequencyMap, MOST, Step, TELLING, Training};
pub use entries::{cifar10, entries};
pub use error::GeometryExperimentsError;
pub use lab::Lab;
pub use lens::{Directions, Lens};
pub use linear::Sizes;
pub use polariscope_experiment::Size as Scale;

use polariscope_experiment::{Experiment, View};

/// An experiment with its view.
pub trait Trial: Experiment<Error = GeometryExperimentsError> + View + Send + Sync {}

impl<T: Experiment<Error = GeometryExperimentsError> + View + Send + Sync> Trial for T {}

/// An experiment of the lens.
#[derive(Debug)]
pub struct Entry {
    /// As it is typed.
    pub name: &'static str,
    /// The figure or table that it reproduces.
    pub source: &'static str,
    /// What it shows.
    pub line: &'static str,
    /// The architecture where none is named.
    pub architecture: &'static str,
    /// Whether it needs CIFAR-10.
    pub images: bool,
    /// Minutes at the small scale on two cores, about.
    pub minutes: f64,
    /// Names of the options that it takes and others do not.
    pub own: &'static [&'static str],
    /// Makes it.
    pub make: fn(&Lab) -> Result<Box<dyn Trial>, GeometryExperimentsError>,
}

/// Every experiment of the lens.
pub static EXPERIMENTS: [Entry; 18] = [
    g_gallery::ENTRY,
    doughnut::ENTRY,
    pooling::ENTRY,
    dft_map::ENTRY,
    nad_accuracy::ENTRY,
    which_geometry::ENTRY,
    prediction::ENTRY,
    nad_convergence::ENTRY,
    nad_samples::ENTRY,
    isotropic::ENTRY,
    simplicity::ENTRY,
    velocity::ENTRY,
    geometry_drift::ENTRY,
    labelings::ENTRY,
    feature_drop::ENTRY,
    sample_drop::ENTRY,
    poison::ENTRY,
    flip_data::ENTRY,
];

/// The experiment of a name.
pub fn entry(name: &str) -> Option<&'static Entry> {
    EXPERIMENTS.iter().find(|e| e.name == name)
}
