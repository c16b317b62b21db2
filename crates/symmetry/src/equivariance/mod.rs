//! `equivariance`: whether the values of a network's layers move along when its images do.
//!
//! The error of a layer Φ under a transformation g is √(⟨‖Φ(gx) − L_g Φ(x)‖²⟩ / ⟨‖Φ(x) − Φ(z)‖²⟩): 0 where its values are those of
//! the image, moved along by L_g, and 1 where they are as far from them as those of another image. L_g moves the positions of maps;
//! where there are none, as in outputs, it does nothing and the error is that of invariance.
//!
//! ```
//! use polariscope_graph::{ZooOptions, zoo};
//! use polariscope_lens::Quiet;
//! use polariscope_symmetry::equivariance::{Question, answer};
//! use polariscope_symmetry::{Learnt, Subject, noise};
//! use polariscope_train::Problem;
//!
//! let input = "3x8x8".parse()?;
//! let graph = zoo("cnn-gap", &ZooOptions { width: Some(8), ..ZooOptions::with_input(input) })?;
//! let data = noise(input, 16, 0);
//! let subject = Subject::<f64> { problem: Problem { graph, data }, learnt: Learnt::Nothing };
//! let question = Question { images: 16, under: vec!["cyclic:3".parse()?, "flip".parse()?], ..Question::default() };
//! let summary = answer(&subject, &question, &mut Quiet)?.summary;
//! // Circular convolutions and a mean over positions: cyclic translations are built in, flips are not.
//! let outputs = summary.networks[0].under.iter().map(|u| u.output().exact);
//! assert_eq!(outputs.collect::<Vec<_>>(), [true, false]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod job;
mod measure;
mod page;
mod places;
mod question;
mod words;

pub use answer::{Answer, Cell, Network, Summary, Under, Verdict, Verdicts};
pub use job::{Job, answer};
pub use page::{page, sections};
pub use question::{Question, STANDARD};
