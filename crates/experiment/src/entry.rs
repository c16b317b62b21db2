//! What a list of experiments has of each.

use polariscope_diff::Place;
use serde::Serialize;

use crate::{Failure, Settings, Study};

/// What an experiment learns from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Data {
    /// It draws its own samples.
    Own,
    /// CIFAR-10 as it comes.
    Cifar10,
    /// Any images with classes.
    Images,
}

/// A line of the list.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct About {
    /// As it is typed.
    pub name: &'static str,
    /// What it looks at networks through: `geometry`, `kernels`, …
    pub lens: &'static str,
    /// The figure or table that it reproduces.
    pub source: &'static str,
    /// What it shows.
    pub line: &'static str,
    /// The architecture where none is named; `None` where it has its own.
    pub architecture: Option<&'static str>,
    /// Whether it needs images.
    pub images: bool,
    /// What it learns from.
    pub data: Data,
    /// Minutes at the small scale on two cores, about.
    pub minutes: f64,
    /// Names of the options that it takes.
    pub options: &'static [&'static str],
    /// Numbers that it can be computed in.
    pub numbers: &'static [crate::Numbers],
    /// Whether it has work for a GPU.
    pub gpu: bool,
}

/// An experiment that can be asked for by name.
pub trait Entry: Sync {
    /// What the list says of it.
    fn about(&self) -> About;

    /// Makes it. Options that it does not take are refused, with the reason.
    fn make(&self, settings: &Settings, place: Place) -> Result<Box<dyn Study>, Failure>;
}
