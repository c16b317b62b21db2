//! `train`: a network learns a data set, by steps or by gradient flow: losses and accuracies on the way, weights at the
//! end, and, if asked for, what becomes of its tangent kernel.
//!
//! ```
//! use polariscope_data::Dataset;
//! use polariscope_graph::{ZooOptions, zoo};
//! use polariscope_learning::train::{self, Method, Question};
//! use polariscope_lens::Quiet;
//! use polariscope_train::{Config, Length, Problem};
//!
//! let data = Dataset::load("linear?shape=6&sigma=0.5&train=120&test=300")?;
//! let options = ZooOptions { input: Some(data.shape), outputs: Some(1), ..ZooOptions::default() };
//! let problem = Problem { graph: zoo("mlp-1x16", &options)?, data };
//! let method = Method::Descent(Config { length: Length::Epochs(20), ..Config::default() });
//! let answer = train::answer(&problem, &Question { method, ..Question::default() }, &mut Quiet)?;
//! // The noise is orthogonal to the direction of the classes: nearly every sample can be told.
//! assert!(answer.summary.scores().test_accuracy.is_some_and(|a| a > 0.95));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod descent;
mod flow;
mod job;
mod page;
mod question;
mod scores;
mod tangent;

pub use answer::{Answer, History, Summary};
pub use descent::Descended;
pub use flow::Flowed;
pub use job::{Job, answer};
pub use page::page;
pub use question::{FlowRun, Method, Question};
pub use scores::Scores;
pub use tangent::{Followed, Look};
