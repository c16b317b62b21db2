//! Numbers that came from sampling, with their errors; fits with theirs.
#![forbid(unsafe_code)]

mod estimate;
mod fit;

pub use estimate::{Estimate, superscript};
pub use fit::{PowerLaw, power_law};
