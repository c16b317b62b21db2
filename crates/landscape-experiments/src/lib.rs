//! Experiments on the loss landscape of networks: how many parameters fit, how rough the place is where training ends, in
//! which regime it trains, and which regime generalises.
//!
//! Every entry of [`EXPERIMENTS`] makes a [`Trial`]: a design, claims with the statistics that decide them, a way to measure
//! a cell, and a view of the table. All of them compute in f64.
#![forbid(unsafe_code)]

mod double_descent;
mod entries;
mod error;
mod fluctuations;
mod jamming;
mod jamming_hessian;
mod jamming_point;
mod kernel_pca;
mod lab;
mod lazy;
mod machine;
mod phase_diagram;
mod regimes;
mod scored;
mod stripe;

pub use entries::entries;
pub use error::LandscapeExperimentsError;
pub use lab::Lab;

use polariscope_experiment::{Experiment, View};

/// An experiment with its view.
pub trait Trial: Experiment<Error = LandscapeExperimentsError> + View + Send + Sync {}

impl<T: Experiment<Error = LandscapeExperimentsError> + View + Send + Sync> Trial for T {}

/// An experiment of the lens.
#[derive(Debug)]
pub struct Entry {
    /// As it is typed.
    pub name: &'static str,
    /// The figure or table that it reproduces.
    pub source: &'static str,
    /// What it shows.
    pub line: &'static str,
    /// The architecture where none is named; `None` where it has its own.
    pub architecture: Option<&'static str>,
    /// The data where none are named; `None` where it draws its own.
    pub data: Option<&'static str>,
    /// Minutes at the small scale on two cores, about.
    pub minutes: f64,
    /// Makes it.
    pub make: fn(&Lab) -> Result<Box<dyn Trial>, LandscapeExperimentsError>,
}

/// Every experiment of the lens.
pub static EXPERIMENTS: [Entry; 9] = [
    jamming::ENTRY,
    jamming_point::ENTRY,
    jamming_hessian::ENTRY,
    double_descent::ENTRY,
    fluctuations::ENTRY,
    regimes::ENTRY,
    phase_diagram::ENTRY,
    stripe::ENTRY,
    kernel_pca::ENTRY,
];

/// The experiment of a name.
pub fn entry(name: &str) -> Option<&'static Entry> {
    EXPERIMENTS.iter().find(|e| e.name == name)
}
