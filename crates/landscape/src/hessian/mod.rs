//! `hessian`: the curvature of the loss at given weights, H = H₀ + H_p ([`Matrix`](polariscope_train::Matrix)).
//!
//! - [`dense`], [`split`]: the matrices and all their eigenvalues, for up to [`DENSE`] parameters.
//! - [`Operator`]: the ends, the density and the trace from products alone.
//! - [`answer`]: the lens, which takes the way that fits.
//!
//! ```
//! use polariscope_data::Dataset;
//! use polariscope_graph::{ZooOptions, zoo};
//! use polariscope_landscape::hessian::{Question, Subject, answer};
//! use polariscope_lens::Quiet;
//! use polariscope_network::Weights;
//! use polariscope_train::Problem;
//!
//! let data = Dataset::load("linear?shape=6&sigma=0.5&train=50&test=0")?;
//! let options = ZooOptions { input: Some(data.shape), outputs: Some(1), ..ZooOptions::default() };
//! let graph = zoo("mlp-1x8", &options)?;
//! let weights = Weights::draw(&graph, 0, 0);
//! let subject = Subject { problem: Problem { graph, data }, weights, initial: true };
//! let answer = answer(&subject, &Question::default(), &mut Quiet)?;
//! let numbers = answer.summary.matrices.unwrap();
//! // relu: the outputs are linear in every single weight.
//! assert_eq!((numbers.constraints, numbers.spectra[2].trace), (50, 0.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod dense;
mod job;
mod page;
mod question;
mod sampled;
mod spectrum;

pub use answer::{About, Answer, Ends, Found, Numbers, Place, Probed, Row, Summary};
pub use dense::{Dense, dense};
pub use job::{Job, Subject, answer};
pub use page::page;
pub use question::{DENSE, Products, Question, Which};
pub use sampled::{Operator, Sampled};
pub use spectrum::{Counts, Spectrum, Split, split};
