//! Why an experiment cannot be run.

use polariscope_data::DataError;
use polariscope_experiment::{Failure, KnownError};
use polariscope_geometry::{GeometryError, PredictError};
use polariscope_graph::GraphError;
use polariscope_lens::{Stopped, TooLarge};
use polariscope_train::TrainError;
use thiserror::Error;

/// An experiment that cannot be run.
#[derive(Debug, Error)]
pub enum GeometryExperimentsError {
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
    /// A question that makes no sense for this network; says what would.
    #[error("{0}")]
    Question(String),
    /// It does not fit into memory.
    #[error(transparent)]
    Memory(#[from] TooLarge),
    /// A checkpoint that cannot be used, or written.
    #[error("{0}")]
    Checkpoint(String),
    /// Whoever looked on had the work stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// It needs images.
    #[error("{name} learns from CIFAR-10: give --data cifar10:DIR")]
    NoData {
        /// The experiment.
        name: &'static str,
    },
    /// It needs images as they come.
    #[error("‹data '{spec}'›: this takes CIFAR-10 as it is, ‹data cifar10:DIR›")]
    Cifar {
        /// What was given.
        spec: String,
    },
    /// It trains in single precision.
    #[error("‹dtype›: the experiments on geometry train in f32; leave it out")]
    Numbers,
    /// A part of an experiment whose σ is chosen by all of it.
    #[error("‹only›: a part of {name} needs its σ; give ‹sigma› too")]
    Part {
        /// The experiment.
        name: &'static str,
    },
    /// A table of earlier runs that cannot be read.
    #[error(transparent)]
    Known(#[from] KnownError),
    /// An accuracy could not be predicted.
    #[error(transparent)]
    Predict(#[from] PredictError),
    /// No direction tells δ.
    #[error(
        "no direction is learnt to between 60 and 97 %, which it takes to find delta (tried: {trainings}, with {least:.1} to {most:.1} %); {}",
        advice(*.least, *.most)
    )]
    Uncalibrated {
        /// How many were tried.
        trainings: usize,
        /// The least accuracy, in %.
        least: f64,
        /// The largest.
        most: f64,
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

impl From<GeometryError> for GeometryExperimentsError {
    fn from(e: GeometryError) -> Self {
        GeometryExperimentsError::Geometry(Box::new(e))
    }
}

impl GeometryExperimentsError {
    /// Whether something else could be asked; else the work failed.
    pub fn is_usage(&self) -> bool {
        match self {
            GeometryExperimentsError::Geometry(e) => e.is_usage(),
            GeometryExperimentsError::Train(e) => e.is_usage(),
            GeometryExperimentsError::Unprepared
            | GeometryExperimentsError::Checkpoint(_)
            | GeometryExperimentsError::Stopped(_) => false,
            GeometryExperimentsError::Graph(_)
            | GeometryExperimentsError::Data(_)
            | GeometryExperimentsError::Question(_)
            | GeometryExperimentsError::Memory(_)
            | GeometryExperimentsError::NoData { .. }
            | GeometryExperimentsError::Cifar { .. }
            | GeometryExperimentsError::Numbers
            | GeometryExperimentsError::Part { .. }
            | GeometryExperimentsError::Known(_)
            | GeometryExperimentsError::Predict(_)
            | GeometryExperimentsError::Uncalibrated { .. }
            | GeometryExperimentsError::Samples { .. } => true,
        }
    }

    /// A checkpoint that cannot be read.
    pub(crate) fn damaged(why: &str) -> Self {
        GeometryExperimentsError::Checkpoint(format!(
            "the checkpoint cannot be read ({why}); ‹force› starts over"
        ))
    }
}

impl From<GeometryExperimentsError> for Failure {
    fn from(e: GeometryExperimentsError) -> Self {
        match e.is_usage() {
            true => Failure::Asked(e.into()),
            false => Failure::Work(e.into()),
        }
    }
}

/// What would help.
fn advice(least: f64, most: f64) -> &'static str {
    if least > 97.0 {
        "give a larger ‹sigma› or a smaller ‹train›"
    } else if most < 60.0 {
        "give a smaller ‹sigma› or a larger ‹train›"
    } else {
        "give another ‹seed›, or ‹delta›"
    }
}
