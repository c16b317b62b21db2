//! Why an experiment cannot be run.

use polariscope_data::DataError;
use polariscope_geometry::GeometryError;
use polariscope_graph::GraphError;
use polariscope_train::TrainError;
use thiserror::Error;

/// An experiment that cannot be run.
#[derive(Debug, Error)]
pub enum TrialError {
    /// The architecture could not be built.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// Its geometry could not be had.
    #[error(transparent)]
    Geometry(Box<GeometryError>),
    /// The data could not be had.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A network could not be trained.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// It needs images.
    #[error("{name} learns from CIFAR-10: give --data cifar10:DIR")]
    NoData {
        /// The experiment.
        name: &'static str,
    },
    /// Cells were measured before what they share was made.
    #[error("the experiment was not prepared")]
    Unprepared,
    /// Fewer images than the scale takes.
    #[error("{wanted} {part} images are needed, there are {there}")]
    Samples {
        /// Which part.
        part: &'static str,
        /// Needed.
        wanted: usize,
        /// In the data.
        there: usize,
    },
}

impl From<GeometryError> for TrialError {
    fn from(e: GeometryError) -> Self {
        TrialError::Geometry(Box::new(e))
    }
}
