//! How far the kernels of the infinitely wide network are from K(τx, τx′) = K(x, x′).

use polariscope_nngp::{Kernel, Values, Wanted};
use serde::{Deserialize, Serialize};

use super::runs::relative;
use super::{Element, SymmetryError};

/// Relative change of the kernels among some samples when all of them are transformed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deviation {
    /// ‖K(τx) − K(x)‖ / ‖K(x)‖.
    pub nngp: f64,
    /// The same of Θ.
    pub ntk: f64,
}

impl Deviation {
    /// The larger of the two.
    pub fn largest(&self) -> f64 {
        self.nngp.max(self.ntk)
    }
}

/// Compares the kernels among the samples of `x` with those among τx.
pub fn kernel_deviation(
    kernel: &Kernel,
    x: &[f64],
    tau: &Element,
) -> Result<Deviation, SymmetryError> {
    let before = kernel.among(Wanted::Both, x)?;
    change(kernel, &before, &tau.apply(x)?)
}

/// The same with the kernels of `x` at hand, from the transformed samples.
pub(super) fn change(
    kernel: &Kernel,
    before: &Values<f64>,
    transformed: &[f64],
) -> Result<Deviation, SymmetryError> {
    let after = kernel.among(Wanted::Both, transformed)?;
    let ntk = before.ntk.as_deref().zip(after.ntk.as_deref());
    Ok(Deviation {
        nngp: relative(&after.nngp, &before.nngp),
        ntk: ntk.map_or(0.0, |(before, after)| relative(after, before)),
    })
}
