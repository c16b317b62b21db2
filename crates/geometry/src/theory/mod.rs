//! What theory knows about geometries, measured: the statements of the two papers with a known right-hand side.
//!
//! Each function measures one statement on real networks or random draws and returns numbers with their errors, beside
//! the closed form. Constants that the papers misprint are corrected here; `docs/geometry-theory.md` lists them.
//!
//! | module | statements |
//! |---|---|
//! | [`linear`] | linear model; one hidden ReLU layer (NAD Ex. 3); deep MLPs and flatten CNNs (GIH Thm A.2) |
//! | [`mlp`] | Δ of one hidden ReLU layer (GIH Thm 3.1) |
//! | [`conv`] | Δ of a linear convolution with global average pool (GIH Thm 3.2) |
//! | [`labels`] | Δ does not depend on labels (GIH Prop. A.1) |
//! | [`patches`] | the patch-overlap matrix (GIH Thm A.3, App. A.10, Cor. A.4), several input channels |
//! | [`propagation`] | exact covariance propagation, against unit kernels and against sampled networks |
//! | [`pooling`] | the linear and the ReLU model of pooling (NAD Ex. 1, Ex. 4, Lemma 1) |
//! | [`bayes`] | what pooling leaves of a Fourier feature (NAD Thm 1) |

mod agreement;
pub mod bayes;
pub mod conv;
pub mod labels;
pub mod linear;
pub mod mlp;
pub mod patches;
pub mod pooling;
pub mod propagation;

use polariscope_graph::{BiasRule, Builder, Parametrisation, Shape};
use polariscope_random::Stream;

use crate::GeometryError;

pub use agreement::Agreement;

/// Standard normal numbers that have nothing to do with weights.
fn normal(name: &str, count: usize) -> Vec<f32> {
    let mut numbers = vec![0.0; count];
    Stream::new(1, 0, name).normal(1.0, &mut numbers);
    numbers
}

/// A builder of networks with weights N(0, 1/fan_in) and no biases.
fn builder(input: Shape) -> Result<Builder, GeometryError> {
    let lecun = Parametrisation::Lecun;
    Ok(Builder::new("theory", input, lecun, BiasRule::Zero)?)
}

/// c · I.
fn scaled_identity(dim: usize, c: f64) -> Vec<f64> {
    let mut identity = vec![0.0; dim * dim];
    identity.iter_mut().step_by(dim + 1).for_each(|d| *d = c);
    identity
}
