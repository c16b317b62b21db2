//! The experiments on symmetries, as a list has them.

use polariscope_diff::Place;
use polariscope_experiment::{About, Entry, Failure, Settings, Study};

use crate::{poses, stability_law};

/// Makes an experiment of its settings.
type Make = fn(&Settings, Place) -> Result<Box<dyn Study>, Failure>;

/// An experiment on symmetries.
pub(crate) struct Symmetry {
    /// What the list says of it.
    pub about: About,
    /// Makes it from options that it takes.
    pub make: Make,
}

impl Entry for Symmetry {
    fn about(&self) -> About {
        self.about
    }

    fn make(&self, settings: &Settings, place: Place) -> Result<Box<dyn Study>, Failure> {
        settings.refuse(self.about.name, self.about.options)?;
        (self.make)(settings, place)
    }
}

/// Every experiment of the lens.
pub fn entries() -> impl Iterator<Item = &'static dyn Entry> {
    let all: [&'static dyn Entry; 2] = [&poses::ENTRY, &stability_law::ENTRY];
    all.into_iter()
}
