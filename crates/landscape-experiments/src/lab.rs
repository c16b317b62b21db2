//! What every experiment is given: an architecture, data, a scale, a seed.

use polariscope_data::Dataset;
use polariscope_diff::Place;
use polariscope_experiment::Size;

use crate::LandscapeExperimentsError;

/// The settings of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Lab {
    /// A name of the zoo; empty where the experiment has its own.
    pub architecture: String,
    /// What is learnt, as a specification; empty where the experiment draws its own.
    pub data: String,
    /// How large.
    pub scale: Size,
    /// Runs; `None` takes the experiment's own number.
    pub runs: Option<u64>,
    /// Seed of weights and samples.
    pub seed: u64,
    /// Where networks are trained.
    pub place: Place,
}

impl Lab {
    /// One of two values.
    pub fn pick<T>(&self, small: T, paper: T) -> T {
        match self.scale {
            Size::Small => small,
            Size::Paper => paper,
        }
    }

    /// Runs as asked, or the experiment's own numbers.
    pub fn runs(&self, small: u64, paper: u64) -> u64 {
        self.runs.unwrap_or(self.pick(small, paper))
    }

    /// The samples.
    pub fn samples(&self) -> Result<Dataset, LandscapeExperimentsError> {
        Ok(Dataset::load(&self.data)?)
    }
}
