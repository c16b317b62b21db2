//! Experiments: a grid of conditions and runs, one tidy table, a verdict by statistics fixed beforehand.
//!
//! A [`Design`] names its factors, what is measured and every [`Cell`]; [`Design::fill`] measures the cells that a
//! [`Table`] does not hold yet, so an interrupted experiment goes on where it stopped; [`Claim`]s are judged from the
//! table alone. An [`Experiment`] puts the three together.
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

mod claim;
mod design;
mod experiment;
mod judge;
mod memo;
mod order;
mod table;
mod view;

pub use claim::{Claim, Outcome, Scale, Test, Verdict, Wanted, exponent, level};
pub use design::{Cell, Design, Unknown};
pub use experiment::Experiment;
pub use memo::Memo;
pub use order::{Order, Spread};
pub use table::{Mean, Row, Select, Table, TableError};
pub use view::{Curves, Grid, Pivot, View, levels, shown};
