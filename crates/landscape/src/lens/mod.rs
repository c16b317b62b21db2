//! `landscape`: how many parameters a network has for what it learns, how rough the loss is where training ends, in which
//! regime it trains, and what the noise of its initial weights is worth, from a few networks that are trained.
//!
//! All are trained on F = α (f − f₀) until every y F is at least the margin: by gradient flow where the gradient is
//! continuous, by full-batch Adam at a small rate elsewhere.
//!
//! With batch norm f₀ = 0, and what is asked of a single sample (kernels, the Hessian, test errors) is asked with the
//! statistics of all training samples, at the start and at the end: the function that full batches train. That these move
//! with the weights is in neither kernels nor Hessians.
//!
//! ```
//! use polariscope_data::Dataset;
//! use polariscope_graph::{Activation, ZooOptions, zoo};
//! use polariscope_landscape::lens::{Job, Question};
//! use polariscope_lens::Quiet;
//! use polariscope_train::Problem;
//!
//! let data = Dataset::load("stripe?shape=3&train=20&test=50")?;
//! let options = ZooOptions {
//!     outputs: Some(1),
//!     activation: Some(Activation::Softplus { beta: 5.0 }.into()),
//!     ..ZooOptions::with_input(data.shape)
//! };
//! let problem = Problem { graph: zoo("mlp-1x8", &options)?, data };
//! let question = Question { networks: 2, ..Question::default() };
//! let answer = Job::new(&problem, &question)?.answer(&mut Quiet)?;
//! assert!(answer.summary.words[0].contains("by gradient flow"));
//! assert_eq!(answer.outputs[1].len(), 50);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod budget;
mod curvature;
mod few;
mod job;
mod network;
mod page;
mod plan;
mod question;
mod sampled;
mod settle;
mod statistics;
mod words;

pub use answer::{Answer, Summary};
pub use curvature::{Curvature, Parts};
pub use job::Job;
pub use network::{FrozenEnd, FrozenPair, KernelMotion, Network};
pub use page::page;
pub use question::{Dynamics, Question};
pub use sampled::Sampled;
pub use statistics::{Layer, Statistics};
pub use words::findings;
