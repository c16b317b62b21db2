//! Groups under which a learning system cannot tell data apart.
//!
//! A learning algorithm is G-invariant (Def. 1) if training on τ(D) and testing on τ(x) gives the same distribution of
//! predictions, for every τ ∈ G. Whether it is follows from its first layer (Thm 3.1): if W x = W′ (τx) with W′ = W τᵀ
//! has the distribution of W, and the update rule rotates with the weights, then every run on D has a twin on τ(D).
//!
//! - [`Group`], [`Element`]: the six groups O(Cd), O(C)^d, O(C)⊗I_d and their permutations, and the same over patches;
//!   drawing, applying, inverting.
//! - [`Geodesic`]: τ_t = exp(t log τ), from the identity to τ.
//! - [`deduce`]: the group of a graph, at finite and at infinite width, with the proof in words.
//! - [`match_weights`], [`train`]: the twin's initial weights and whole runs of it, an exact test without statistics.
//! - [`Motion`], [`follow`]: translations, flips and turns of the positions, and the weights that go along with them.
//! - [`kernel_deviation`]: how far the kernels of the infinitely wide network are from invariance.
//! - [`gap_in_vec`], [`vec_in_lcn`], [`lcn_in_vec`]: GAP_n ⊆ VEC_n ⊆ LCN_n ⊆ VEC_{dn} (Thm 2.1), by explicit weights.
//! - [`answer`]: the groups of a network, proved and checked.
//!
//! ```
//! use polariscope_graph::{ZooOptions, zoo};
//! use polariscope_kernels::symmetry::{self, Question};
//! use polariscope_lens::Quiet;
//!
//! let input = Some("3x2x2".parse()?);
//! let graph = zoo("cnn-gap", &ZooOptions { input, width: Some(4), ..ZooOptions::default() })?;
//! let question = Question { samples: 4, steps: 4, ..Question::default() };
//! let found = symmetry::answer(&graph, None, &question, &mut Quiet)?.summary;
//! // Three channels, rotated alike at all four places: neither the network nor its kernel can tell.
//! assert_eq!((found.finite.group.as_str(), found.infinite.dimension), ("O(3)⊗I_4", 3));
//! let row = found.row("O(3)⊗I_4").and_then(|row| row.kernel_change);
//! assert!(row.is_some_and(|change| change < 1e-10));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod deduce;
mod element;
mod error;
mod first;
mod geodesic;
mod grid;
mod group;
mod haar;
mod inclusion;
mod invariance;
mod matched;
mod measure;
mod page;
mod places;
mod positions;
mod question;
mod runs;
mod words;

pub use answer::{Answer, Proved, Row, Summary, answer};
pub use deduce::{Deduction, Finding, deduce};
pub use element::Element;
pub use error::SymmetryError;
pub use geodesic::Geodesic;
pub use group::{Cell, Elements, Group, Sharing};
pub use inclusion::{gap_in_vec, lcn_in_vec, vec_in_lcn};
pub use invariance::{Deviation, kernel_deviation};
pub use matched::{Matched, match_weights};
pub use page::page;
pub use places::{Axis, Followed, Known, Lost, Motion, Place, follow};
pub use question::Question;
pub use runs::{Run, distance, train};
