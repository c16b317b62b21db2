//! Why an experiment cannot be done.

use polariscope_data::{ActionError, DataError};
use polariscope_experiment::{Failure, KnownError};
use polariscope_graph::{GraphError, Shape};
use polariscope_network::NetworkError;
use polariscope_symmetry::SymmetryError;
use polariscope_train::TrainError;
use thiserror::Error;

/// An experiment that cannot be done.
#[derive(Debug, Error)]
pub enum SymmetryExperimentsError {
    /// No data.
    #[error("{name} needs images with classes, for example ‹data mnist:DIR›")]
    NoData {
        /// The experiment.
        name: &'static str,
    },
    /// Samples that are not images with classes.
    #[error(
        "‹data {data}›: {name} needs images with at least two classes; these are {shape} with {classes}"
    )]
    Samples {
        /// The experiment.
        name: &'static str,
        /// What was given.
        data: String,
        /// Shape of a sample.
        shape: Shape,
        /// Classes there are; 0 for real targets.
        classes: usize,
    },
    /// Fewer samples than a run draws.
    #[error("a run draws {wanted} {part} samples and the data have {there}; ask for fewer")]
    Few {
        /// `training` or `test`.
        part: &'static str,
        /// Samples a run draws.
        wanted: usize,
        /// Samples there are.
        there: usize,
    },
    /// A transformation whose repetitions are no group.
    #[error(
        "‹poses›: {pose} does not come back to where it started; give upright, turn:90, turn:1, flip, transpose or cyclic:1"
    )]
    Pose {
        /// What was given.
        pose: String,
    },
    /// Nothing to compare with.
    #[error("‹poses›: give one pose beside upright at least, such as turn:90")]
    OnePose,
    /// It trains in single precision.
    #[error("‹dtype›: {name} trains in f32; leave it out")]
    Numbers {
        /// The experiment.
        name: &'static str,
    },
    /// A table of earlier runs that cannot be read.
    #[error(transparent)]
    Known(#[from] KnownError),
    /// A network that cannot be looked at.
    #[error(transparent)]
    Stability(#[from] SymmetryError),
    /// Data that cannot be had.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A transformation that cannot be made.
    #[error("‹poses›: {0}")]
    Action(#[from] ActionError),
    /// A network that cannot be built.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A network that cannot be trained.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// A network that cannot be asked.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

impl SymmetryExperimentsError {
    /// Whether something else could be asked; else the work failed.
    pub fn is_usage(&self) -> bool {
        match self {
            SymmetryExperimentsError::Train(e) => e.is_usage(),
            SymmetryExperimentsError::Stability(e) => e.is_usage(),
            SymmetryExperimentsError::Network(_) => false,
            SymmetryExperimentsError::NoData { .. }
            | SymmetryExperimentsError::Samples { .. }
            | SymmetryExperimentsError::Few { .. }
            | SymmetryExperimentsError::Pose { .. }
            | SymmetryExperimentsError::OnePose
            | SymmetryExperimentsError::Known(_)
            | SymmetryExperimentsError::Numbers { .. }
            | SymmetryExperimentsError::Data(_)
            | SymmetryExperimentsError::Action(_)
            | SymmetryExperimentsError::Graph(_) => true,
        }
    }
}

impl From<SymmetryExperimentsError> for Failure {
    fn from(e: SymmetryExperimentsError) -> Self {
        match e.is_usage() {
            true => Failure::Asked(e.into()),
            false => Failure::Work(e.into()),
        }
    }
}
