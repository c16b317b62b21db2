//! `spectrum`: the Gram spectrum of any architecture on samples.
//!
//! ```
//! use polariscope_graph::{ZooOptions, zoo};
//! use polariscope_kernels::spectrum::{self, Question};
//! use polariscope_lens::Quiet;
//!
//! let (input, activation) = (Some("2".parse()?), Some("identity".parse()?));
//! let graph = zoo("fcn", &ZooOptions { input, activation, depth: Some(1), ..ZooOptions::default() })?;
//! // A linear network of two inputs sees two directions, whatever the number of samples.
//! let x = [1.0, 0.0, 0.0, 2.0, 1.0, 1.0];
//! let answer = spectrum::answer(&graph, &x, &Question::default(), &mut Quiet)?;
//! assert!(answer.eigenvalues[1] > 0.1 && answer.eigenvalues[2].abs() < 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod job;
mod page;
mod question;

pub use answer::{Answer, Summary};
pub use job::{Job, answer};
pub use page::page;
pub use question::Question;
