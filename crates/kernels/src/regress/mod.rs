//! `regress`: a data set learnt with the kernel of the infinitely wide network.
//!
//! | kind | mean at test points | beside it |
//! |---|---|---|
//! | NTK | f_t = Θ*(Θ + λI)⁻¹(I − e^{−η(Θ + λI)t})Y, t = ∞ unless times are given | the whole path over t |
//! | NNGP | K*(K + λI)⁻¹Y | variance K** − K*(K + λI)⁻¹K*ᵀ |
//!
//! Classes become targets 1 − 1/C and −1/C; the largest output is the answer.
//!
//! ```
//! use polariscope_data::Dataset;
//! use polariscope_graph::{ZooOptions, zoo};
//! use polariscope_kernels::regress::{self, Question};
//! use polariscope_lens::Quiet;
//!
//! let data = Dataset::load("linear?shape=6&sigma=0.5&train=120&test=300")?;
//! let graph = zoo("fcn", &ZooOptions { input: Some(data.shape), ..ZooOptions::default() })?;
//! let answer = regress::answer(&graph, &data, &Question::default(), &mut Quiet)?;
//! // The noise is orthogonal to the direction of the classes: every sample can be told.
//! assert!(answer.summary.test.accuracy.is_some_and(|a| a.value > 0.98));
//! assert_eq!(answer.learnt.predictions.len(), 300 * 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod gram;
mod job;
mod learn;
mod mistakes;
mod page;
mod question;
mod targets;

pub use answer::{Answer, Summary};
pub use job::{Job, answer};
pub use learn::{Learnt, Moment};
pub use page::page;
pub use question::Question;
pub use targets::{Classes, Fit, Score, Targets};
