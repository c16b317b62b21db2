//! Experiments: a grid of conditions and runs, one tidy table, a verdict by statistics fixed beforehand.
//!
//! A [`Design`] names its factors, what is measured and every [`Cell`]; [`Design::fill`] measures the cells that a
//! [`Table`] does not hold yet, so an interrupted experiment goes on where it stopped; [`Claim`]s are judged from the
//! table alone. An [`Experiment`] puts the three together, a [`View`] shows its table and answers its question.
//!
//! Lenses list their experiments as [`Entry`]s. An entry makes a [`Study`] from [`Settings`]; whoever runs it needs to know
//! no more.
//!
//! ```
//! use polariscope_experiment::{Claim, Design, Outcome, Select, Table, Test};
//! let design = Design::product(&[("kernel", &["fcn", "gap"])], 3, &["accuracy"]);
//! let mut table = Table::new(&design);
//! design.fill(&mut table, 1, |cell| {
//!     let better = if cell.level("kernel") == "gap" { 0.2 } else { 0.0 };
//!     Ok::<_, ()>(vec![0.5 + better + 0.01 * cell.run as f64])
//! }, |_| {}, |_| Ok(()))?;
//! let claim = Claim::new("pooling helps", Test::Above {
//!     measure: "accuracy",
//!     upper: Select::of(&[("kernel", "gap")]),
//!     lower: Select::of(&[("kernel", "fcn")]),
//! });
//! assert_eq!(claim.judge(&table).outcome, Outcome::Holds);
//! # Ok::<(), ()>(())
//! ```
#![forbid(unsafe_code)]

mod answer;
mod claim;
mod design;
mod entry;
mod experiment;
mod failure;
mod finding;
pub mod grid;
mod judge;
mod known;
mod memo;
mod order;
mod settings;
mod study;
mod table;
mod view;

pub use answer::{Answer, Answers, Judgement};
pub use claim::{Claim, Outcome, Scale, Test, Verdict, Wanted, exponent, level};
pub use design::{Cell, Design, Unknown};
pub use entry::{About, Data, Entry};
pub use experiment::Experiment;
pub use failure::Failure;
pub use finding::Finding;
pub use known::{KnownError, known};
pub use memo::Memo;
pub use order::{Order, Spread};
pub use settings::{Numbers, Settings, Size};
pub use study::{Ready, Study};
pub use table::{Mean, Row, Select, Table, TableError};
pub use view::{Curves, Grid, Pivot, View, levels, shown};
