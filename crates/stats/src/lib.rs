//! Numbers that came from sampling, with their errors; fits with theirs; statistics of ranks.
#![forbid(unsafe_code)]

mod bootstrap;
mod estimate;
mod fit;
mod rank;

pub use bootstrap::{Interval, bootstrap};
pub use estimate::{Estimate, superscript};
pub use fit::{PowerLaw, power_law};
pub use rank::{auc, spearman};
