//! `deform`: what the deformations of a temperature and a cutoff do to images ([`polariscope_data::deform`]).
//!
//! ```
//! use polariscope_lens::Quiet;
//! use polariscope_symmetry::deform::{Question, answer, patterns};
//!
//! let question = Question { fields: 50, ..Question::default() };
//! let answer = answer(&patterns(), &question, &mut Quiet)?;
//! let asked = answer.summary.asked();
//! assert!((asked.exact - 1.0).abs() < 1e-12);
//! # Ok::<(), polariscope_symmetry::SymmetryError>(())
//! ```

mod answer;
mod job;
mod page;
mod patterns;
mod question;

pub use answer::{About, Answer, Column, Limit, Row, Stage, Summary};
pub use job::{Job, answer};
pub use page::page;
pub use patterns::patterns;
pub use question::Question;
