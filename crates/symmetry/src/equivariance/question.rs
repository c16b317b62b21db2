//! What is asked: under which transformations, on how many images.

use polariscope_data::Action;
use polariscope_graph::Shape;
use polariscope_lens::Setup;
use serde::{Deserialize, Serialize};

use crate::SymmetryError;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Question {
    /// Seed of weights and transformations; precision, device.
    pub setup: Setup,
    /// The first so many test images.
    pub images: usize,
    /// The transformations; empty for all of [`STANDARD`] that act on the images.
    pub under: Vec<Action>,
}

/// Transformations where nothing is said.
pub const STANDARD: [Action; 15] = [
    Action::Cyclic { across: 1, down: 0 },
    Action::Cyclic { across: 4, down: 0 },
    Action::Shift { across: 1, down: 0 },
    Action::Shift { across: 2, down: 0 },
    Action::Shift { across: 4, down: 0 },
    Action::Flip,
    Action::FlipDown,
    Action::Transpose,
    Action::Turn { degrees: 90.0 },
    Action::Turn { degrees: 15.0 },
    Action::Scale { by: 1.2 },
    Action::Scale { by: 0.8 },
    Action::Colours,
    Action::Jitter { strength: 0.2 },
    Action::Pixels,
];

impl Default for Question {
    fn default() -> Self {
        Question {
            setup: Setup::default(),
            images: 64,
            under: Vec::new(),
        }
    }
}

impl Question {
    /// Refuses what makes no sense for any data.
    pub fn check(&self) -> Result<(), SymmetryError> {
        match self.images {
            0..10 => Err(SymmetryError::Question(format!(
                "‹images {}› are too few for an interval; give 10 or more",
                self.images
            ))),
            _ => Ok(()),
        }
    }

    /// The transformations of samples of this shape.
    pub(super) fn actions(&self, shape: Shape) -> Result<Vec<Action>, SymmetryError> {
        if self.under.is_empty() {
            let acts = |action: &Action| action.check(shape).is_ok();
            return Ok(STANDARD.into_iter().filter(acts).collect());
        }
        for action in &self.under {
            action.check(shape)?;
        }
        Ok(self.under.clone())
    }
}
