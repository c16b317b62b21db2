//! `kernel`: NNGP and NTK of samples, tile by tile.
//!
//! ```
//! use polariscope_graph::{ZooOptions, zoo};
//! use polariscope_kernels::kernel::{self, Data, Question};
//! use polariscope_lens::Quiet;
//!
//! let input = Some("2".parse()?);
//! let graph = zoo("fcn", &ZooOptions { input, depth: Some(1), ..ZooOptions::default() })?;
//! // Orthogonal samples of variance ½, one hidden layer of ReLU: E[φφ'] = ½/2π, and Θ adds ½·0 for the first layer.
//! let data = Data::of(&[1.0, 0.0, 0.0, 1.0]);
//! let answer = kernel::answer(&graph, data, &Question::default(), &mut Quiet)?;
//! let ntk = &answer.matrices[1];
//! assert_eq!((ntk.kind.name(), ntk.rows, ntk.columns), ("ntk", 2, 2));
//! assert!((ntk.numbers[1] - 0.25 / std::f64::consts::PI).abs() < 1e-7);
//! let page = kernel::page(&answer, Vec::new());
//! assert!(page.files("lenet").iter().any(|(name, _)| name == "report.html"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod engine;
mod job;
mod merge;
mod page;
mod question;
mod survey;

pub use answer::{Answer, Entries, Numbers, Part, Summary};
pub use job::{Job, answer};
pub use merge::{Whole, merge};
pub use page::page;
pub use question::{Data, Kind, Kinds, Outputs, Question};
pub use survey::Survey;
