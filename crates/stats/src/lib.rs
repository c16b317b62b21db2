//! Numbers that came from sampling, with their errors; fits with theirs; statistics of ranks; Student's t.
#![forbid(unsafe_code)]

mod bootstrap;
mod estimate;
mod fit;
mod jackknife;
mod rank;
mod student;

pub use bootstrap::{Interval, bootstrap};
pub use estimate::{Estimate, superscript};
pub use fit::{PowerLaw, power_law};
pub use jackknife::jackknife;
pub use rank::{auc, spearman};
pub use student::{student_cdf, student_quantile, welch};
