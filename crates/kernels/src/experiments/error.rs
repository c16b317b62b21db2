//! Why an experiment cannot be done.

use polariscope_graph::{GraphError, Shape};
use polariscope_infinite::InfiniteError;
use polariscope_train::TrainError;
use thiserror::Error;

use crate::inference::InferenceError;
use crate::spheres::SphereError;
use crate::symmetry::SymmetryError;

/// Why an experiment cannot be done.
#[derive(Debug, Error)]
pub enum ExperimentError {
    // === Data ===
    /// Inputs without positions.
    #[error(
        "the experiment needs images with several positions, such as 3x8x8; these samples are {shape}"
    )]
    Shape {
        /// Shape of a sample.
        shape: Shape,
    },
    /// Real targets, or a single class.
    #[error("the experiment needs labels of at least two classes; these data have {classes}")]
    Classes {
        /// Classes there are; 0 for real targets.
        classes: usize,
    },
    /// Fewer samples than a run draws.
    #[error("a run draws {wanted} {part} samples and the data have {there}; ask for fewer")]
    Samples {
        /// `training` or `test`.
        part: &'static str,
        /// Samples a run draws.
        wanted: usize,
        /// Samples there are.
        there: usize,
    },

    // === Settings ===
    /// No such system.
    #[error("no system is called '{name}'; it is fcn, lcn, vec, lap4, lap8 or gap")]
    System {
        /// What was asked for.
        name: String,
    },
    /// No such way to train.
    #[error("no training is called '{name}'; it is ntk, nn, nn+ or nn++")]
    Training {
        /// What was asked for.
        name: String,
    },

    // === The work ===
    /// A network that cannot be built.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A kernel that cannot be had.
    #[error(transparent)]
    Kernel(#[from] InfiniteError),
    /// A regression that cannot be done.
    #[error(transparent)]
    Inference(#[from] InferenceError),
    /// A network that cannot be trained.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// A transformation that cannot be made.
    #[error(transparent)]
    Symmetry(#[from] SymmetryError),
    /// A spectrum that cannot be had.
    #[error(transparent)]
    Sphere(#[from] SphereError),
}
