//! Why an experiment cannot be done.

use polariscope_data::DataError;
use polariscope_diff::cuda::CudaError;
use polariscope_experiment::Failure;
use polariscope_graph::{GraphError, Shape};
use polariscope_lens::TooLarge;
use polariscope_nngp::NngpError;
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

    /// Data that cannot be had.
    #[error(transparent)]
    Data(#[from] DataError),
    /// No data.
    #[error(
        "{name} needs images with classes, for example ‹data 'cifar10:DIR?pool=4&standardise'›"
    )]
    NoData {
        /// The experiment.
        name: &'static str,
    },

    // === Settings ===
    /// Several widths where one is taken.
    #[error("‹width›: {name} takes one width; only symmetry-breaking takes a list")]
    OneWidth {
        /// The experiment.
        name: &'static str,
    },
    /// One width where several are compared.
    #[error("‹width›: symmetry-breaking compares widths; give at least two, such as 8,32")]
    Widths,
    /// Too few sizes for a learning curve.
    #[error(
        "‹train {train}›: a curve needs at least three sizes from {smallest} on, doubling; give at least {}",
        4 * .smallest
    )]
    Curve {
        /// The largest training set.
        train: usize,
        /// The smallest.
        smallest: usize,
    },
    /// More memory than there is.
    #[error(transparent)]
    Memory(#[from] TooLarge),
    /// Settings that have no form in TOML.
    #[error("cannot express the settings as TOML: {0}")]
    Toml(#[from] toml::ser::Error),
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
    Kernel(#[from] NngpError),
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

impl ExperimentError {
    /// Whether something else could be asked; else the work failed.
    fn is_asked(&self) -> bool {
        match self {
            ExperimentError::Train(e) => !matches!(
                e,
                TrainError::Diverged(_)
                    | TrainError::Stalled { .. }
                    | TrainError::Device(_)
                    | TrainError::Checkpoint { .. }
            ),
            ExperimentError::Kernel(e) => !matches!(e, NngpError::Cuda(CudaError::Call { .. })),
            ExperimentError::Inference(_) | ExperimentError::Toml(_) => false,
            ExperimentError::Shape { .. }
            | ExperimentError::Classes { .. }
            | ExperimentError::Samples { .. }
            | ExperimentError::Data(_)
            | ExperimentError::NoData { .. }
            | ExperimentError::OneWidth { .. }
            | ExperimentError::Widths
            | ExperimentError::Curve { .. }
            | ExperimentError::Memory(_)
            | ExperimentError::System { .. }
            | ExperimentError::Training { .. }
            | ExperimentError::Graph(_)
            | ExperimentError::Symmetry(_)
            | ExperimentError::Sphere(_) => true,
        }
    }
}

impl From<ExperimentError> for Failure {
    fn from(e: ExperimentError) -> Self {
        match e.is_asked() {
            true => Failure::Asked(e.into()),
            false => Failure::Work(e.into()),
        }
    }
}
