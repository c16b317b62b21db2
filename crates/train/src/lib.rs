//! Training: losses, optimisers, schedules, gradient flow.
//!
//! A [`Trainer`] moves a [`State`] (weights, optimiser, history) through the steps of a [`Config`];
//! a [`Flow`] follows the gradient in continuous time. Both take [`Samples`]: plain slices.
//!
//! ```
//! use polariscope_graph::{ZooOptions, zoo};
//! use polariscope_train::{BatchSize, Config, Labels, Length, Quiet, Samples, State, Trainer};
//!
//! // Two points, two classes: any network separates them.
//! let input = Some("2".parse()?);
//! let graph = zoo("mlp-1x16", &ZooOptions { input, outputs: Some(1), ..ZooOptions::default() })?;
//! let train = Samples { x: &[1.0, 0.0, 0.0, 1.0], y: Labels::Classes(&[0, 1]) };
//! let config = Config { batch_size: BatchSize::Full, length: Length::Steps(200), ..Config::default() };
//! let state = State::<f32>::new(&graph, &config, 0);
//! let mut trainer = Trainer::new(&graph, &config, train, None, state)?;
//! trainer.run(&mut Quiet)?;
//! let last = trainer.state().history.last().unwrap();
//! assert_eq!((last.epoch, last.train_accuracy), (200, Some(1.0)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod augment;
mod chance;
mod codec;
mod config;
pub mod controls;
mod cuda;
mod ensemble;
mod error;
mod evaluate;
mod expressions;
mod flow;
mod hessian;
mod history;
mod lane;
mod local;
mod loss;
mod objective;
mod optimiser;
mod problem;
mod samples;
mod state;
mod step;
mod train;

pub use augment::Augment;
pub use chance::AtChance;
pub use config::{BatchSize, Config, Length, Schedule};
pub use cuda::{DeviceDescent, DeviceStop, Margin, Standing};
pub use ensemble::ensemble;
pub use error::{Diverged, TrainError};
pub use evaluate::{Evaluator, Metrics};
pub use flow::{
    Flow, FlowConfig, FlowEnd, FlowRow, FlowState, Halving, StopReason, Tried, flow_csv, flows,
};
pub use hessian::{Local, LossHessian, Matrix};
pub use history::{Row, csv};
pub use loss::Loss;
pub use objective::{Objective, Origin};
pub use optimiser::{Moments, Optimiser};
pub use problem::Problem;
pub use samples::{Labels, Samples, label_noise};
pub use state::{Running, State};
pub use step::{Batch, BatchGradient, samples_at_once};
pub use train::{Control, Observer, Outcome, Quiet, Trainer};
