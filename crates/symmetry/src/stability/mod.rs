//! `stability`: how much less a network minds deformations of its images than noise of the same size.
//!
//! R_f = ⟨‖f(τx) − f(x)‖²⟩ / ⟨‖f(x + η) − f(x)‖²⟩ (eq. 4) with maximum-entropy deformations τ ([`Deformations`]) and noise η, uniform
//! on the sphere of radius ‖η‖ = ⟨‖τx − x‖⟩. D_f and G_f (eq. 5) are its numerator and denominator over ⟨‖f(x) − f(z)‖²⟩ of two images,
//! so that R_f = D_f/G_f.
//!
//! [`Deformations`]: polariscope_data::deform::Deformations
//!
//! ```
//! use polariscope_graph::{ZooOptions, zoo};
//! use polariscope_lens::Quiet;
//! use polariscope_symmetry::stability::{Question, answer};
//! use polariscope_symmetry::{Learnt, Subject, noise};
//! use polariscope_train::Problem;
//!
//! let data = noise("1x20x20".parse()?, 40, 0);
//! let graph = zoo("lenet", &ZooOptions::with_input(data.shape))?;
//! let subject = Subject::<f32> { problem: Problem { graph, data }, learnt: Learnt::Nothing };
//! let question = Question { images: 40, ..Question::default() };
//! let summary = answer(&subject, &question, &mut Quiet)?.summary;
//! // What makes networks stable is learnt.
//! assert!(summary.networks[0].asked().relative.value > 0.1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod averages;
mod changes;
mod job;
mod page;
mod question;
mod words;

pub use answer::{Answer, Change, Depth, Network, Point, Shown, Summary};
pub use job::{Job, answer};
pub use page::{page, sections};
pub use question::{Average, Pairs, Question, Radius, Rules};
