//! Why an experiment cannot be run.

use polariscope_data::DataError;
use polariscope_experiment::Failure;
use polariscope_graph::GraphError;
use polariscope_landscape::LandscapeError;
use polariscope_train::TrainError;
use thiserror::Error;

/// An experiment that cannot be run.
#[derive(Debug, Error)]
pub enum LandscapeExperimentsError {
    /// A question that makes no sense; says what would.
    #[error("{0}")]
    Question(String),
    /// The architecture could not be built.
    #[error(transparent)]
    Graph(Box<GraphError>),
    /// The data could not be had.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A network could not be trained.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// A network could not be looked at.
    #[error(transparent)]
    Landscape(Box<LandscapeError>),
}

impl From<LandscapeError> for LandscapeExperimentsError {
    fn from(e: LandscapeError) -> Self {
        LandscapeExperimentsError::Landscape(Box::new(e))
    }
}

impl LandscapeExperimentsError {
    /// Whether something else could be asked; else the work failed.
    pub fn is_usage(&self) -> bool {
        match self {
            LandscapeExperimentsError::Question(_)
            | LandscapeExperimentsError::Graph(_)
            | LandscapeExperimentsError::Data(_) => true,
            LandscapeExperimentsError::Train(e) => e.is_usage(),
            LandscapeExperimentsError::Landscape(e) => e.is_usage(),
        }
    }
}

impl From<GraphError> for LandscapeExperimentsError {
    fn from(e: GraphError) -> Self {
        LandscapeExperimentsError::Graph(Box::new(e))
    }
}

impl From<LandscapeExperimentsError> for Failure {
    fn from(e: LandscapeExperimentsError) -> Self {
        match e.is_usage() {
            true => Failure::Asked(e.into()),
            false => Failure::Work(e.into()),
        }
    }
}
