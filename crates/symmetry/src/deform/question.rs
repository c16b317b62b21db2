//! What is asked: a displacement, a cutoff, and how both are understood.

use polariscope_data::deform::{Convention, Interpolation, ModeRule};
use polariscope_lens::{Device, Dtype, Setup};
use serde::{Deserialize, Serialize};

use crate::SymmetryError;

/// Most fields that are drawn at a temperature.
const MOST: usize = 1_000_000;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Question {
    /// Seed of the fields.
    pub setup: Setup,
    /// δ, in pixels.
    pub displacement: f64,
    /// c.
    pub cutoff: usize,
    /// Which modes are below the cutoff.
    pub modes: ModeRule,
    /// What δ is.
    pub displacement_is: Convention,
    /// Values between pixels.
    pub interpolation: Interpolation,
    /// Fields that are drawn at each temperature.
    pub fields: usize,
}

impl Default for Question {
    fn default() -> Self {
        Question {
            setup: Setup::default(),
            displacement: 1.0,
            cutoff: 3,
            modes: ModeRule::Strict,
            displacement_is: Convention::Exact,
            interpolation: Interpolation::Bilinear,
            fields: 1000,
        }
    }
}

impl Question {
    /// Refuses what makes no sense for any images.
    pub fn check(&self) -> Result<(), SymmetryError> {
        let refuse = |message: &str| Err(SymmetryError::Question(message.into()));
        if self.setup.device != Device::Cpu {
            return refuse("‹device›: deformations are computed on the processor; leave it out");
        }
        if self.setup.dtype != Dtype::F32 {
            return refuse("‹dtype f64›: deformations are computed in f32; leave it out");
        }
        if !(20..=MOST).contains(&self.fields) {
            return Err(SymmetryError::Question(format!(
                "‹fields {}›: give 20 to {MOST}, for a mean with an error",
                self.fields
            )));
        }
        Ok(())
    }
}
