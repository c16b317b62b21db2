//! Why an experiment cannot be run.

use std::path::PathBuf;

use polariscope_data::DataError;
use polariscope_diff::cuda::CudaError;
use polariscope_experiment::Failure;
use polariscope_geometry::{GeometryError, PredictError};
use polariscope_graph::GraphError;
use polariscope_network::NetworkError;
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
    #[error("‹accuracies {}›: {reason}", path.display())]
    Known {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
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

impl From<GeometryError> for TrialError {
    fn from(e: GeometryError) -> Self {
        TrialError::Geometry(Box::new(e))
    }
}

impl TrialError {
    /// Whether something else could be asked; else the work failed.
    fn is_asked(&self) -> bool {
        match self {
            TrialError::Geometry(e) => match &**e {
                GeometryError::Train(e) => trainable(e),
                GeometryError::Network(e) => {
                    !matches!(e, NetworkError::Device(CudaError::Call { .. }))
                }
                GeometryError::Eigen(_)
                | GeometryError::Decomposition { .. }
                | GeometryError::NotFinite { .. }
                | GeometryError::Range
                | GeometryError::Checkpoint(_) => false,
                _ => true,
            },
            TrialError::Train(e) => trainable(e),
            TrialError::Unprepared => false,
            TrialError::Graph(_)
            | TrialError::Data(_)
            | TrialError::NoData { .. }
            | TrialError::Cifar { .. }
            | TrialError::Numbers
            | TrialError::Part { .. }
            | TrialError::Known { .. }
            | TrialError::Predict(_)
            | TrialError::Uncalibrated { .. }
            | TrialError::Samples { .. } => true,
        }
    }
}

/// Whether another question could be trained.
fn trainable(e: &TrainError) -> bool {
    !matches!(
        e,
        TrainError::Diverged(_)
            | TrainError::Stalled { .. }
            | TrainError::Device(_)
            | TrainError::Checkpoint { .. }
    )
}

impl From<TrialError> for Failure {
    fn from(e: TrialError) -> Self {
        match e.is_asked() {
            true => Failure::Asked(e.into()),
            false => Failure::Work(e.into()),
        }
    }
}

/// What would help.
fn advice(least: f64, most: f64) -> &'static str {
    if least > 97.0 {
        "give a larger --sigma or a smaller --train"
    } else if most < 60.0 {
        "give a smaller --sigma or a larger --train"
    } else {
        "give another --seed, or --delta"
    }
}
