//! The experiments on kernels, as a list has them.

use polariscope_diff::Place;
use polariscope_experiment::{About, Entry, Failure, Settings, Study};

use super::{dide, rotations, sample_gain, spectra, symmetry_breaking};

/// Makes an experiment of its settings.
type Make = fn(&Settings, Place) -> Result<Box<dyn Study>, Failure>;

/// An experiment on kernels.
pub(super) struct Kernel {
    /// What the list says of it.
    pub about: About,
    /// Makes it from options that it takes.
    pub make: Make,
}

impl Entry for Kernel {
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
    let all: [&'static dyn Entry; 5] = [
        &rotations::ENTRY,
        &symmetry_breaking::ENTRY,
        &dide::ENTRY,
        &spectra::ENTRY,
        &sample_gain::ENTRY,
    ];
    all.into_iter()
}
