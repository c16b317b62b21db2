//! Covariances of gradients and signals, propagated over a graph in closed form.
//!
//! G = E_θ[∇ₓf ∇ₓfᵀ] is carried back from the outputs layer by layer as a covariance over positions, B; channels
//! are uncorrelated because weights are independent with mean 0.
//!
//! - [`exact`]: activations with a constant slope (none, or smooth ones probed at x = 0). Exact at any width.
//! - [`mean_field`]: any activation at any probe, at infinite width: a forward pass gives the mean and covariance
//!   of pre-activations, whose [`dual`]s are the slopes that the backward pass multiplies by.
//! - [`coherent`]: the same for gradients at two independent inputs.
//!
//! What has no closed form is refused by name ([`Refusal`]).
//!
//! ```
//! use polariscope_graph::{ZooOptions, parse_file};
//! use polariscope_meanfield::{ExactProbe, Readout, exact};
//!
//! // Three inputs, a kernel of 2, an average over both positions; kernel entries of variance 1.
//! let text = r#"
//!     input = [1, 3]
//!     parametrisation = "ntk"
//!     w_std = 1.4142135623730951
//!     layers = [ { op = "conv", channels = 1, kernel = 2, bias = false }, { op = "global-avg-pool" } ]
//! "#;
//! let graph = parse_file(text, "example.toml", &ZooOptions::default())?;
//! let g = exact(&graph, ExactProbe::Anywhere, Readout::Logit(0))?;
//! let want = [1.0, 1.0, 0.0, 1.0, 2.0, 1.0, 0.0, 1.0, 1.0];
//! assert!(g.factor.iter().zip(want).all(|(g, w)| (g - w / 4.0).abs() < 1e-15));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod approximation;
mod backward;
mod blocks;
mod buffer;
mod chain;
mod coherent;
mod cost;
mod covariance;
pub mod dual;
mod forward;
mod laws;
mod layout;
mod linear;
mod matrix;
mod paths;
mod refusal;
mod window;

pub use approximation::{approximations, coherent_approximations};
pub use coherent::{Inputs, coherent, coherent_and_local};
pub use cost::operations;
pub use covariance::Covariance;
pub use refusal::{Cause, Method, Refusal};

use backward::{Slope, backward};
use layout::layouts;
use polariscope_graph::Graph;

/// The scalar that is differentiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readout {
    /// Output k.
    Logit(usize),
    /// Mean of the outputs.
    Mean,
    /// Every output: the sum of their outer products.
    All,
}

/// Where an exact covariance is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExactProbe {
    /// At x = 0.
    Zero,
    /// At any x: only networks without activations have one covariance for all.
    Anywhere,
}

/// The covariance of input gradients at finite width, exactly.
///
/// Refused unless the network is linear around the probe.
pub fn exact(graph: &Graph, probe: ExactProbe, readout: Readout) -> Result<Covariance, Refusal> {
    let live = graph.live();
    let slopes = linear::slopes(graph, &live, probe)?;
    paths::check(graph, &live, readout)?;
    let layouts = layouts(graph, Method::Exact)?;
    let slopes = slopes.into_iter().map(Slope::Constant).collect();
    backward(graph, &layouts, slopes, readout, Method::Exact)
}

/// Whether [`exact`] answers, without the work.
pub fn exact_applies(graph: &Graph, probe: ExactProbe, readout: Readout) -> Result<(), Refusal> {
    let live = graph.live();
    linear::slopes(graph, &live, probe)?;
    paths::check(graph, &live, readout)?;
    layouts(graph, Method::Exact).map(|_| ())
}

/// Whether [`mean_field`] answers, without the work.
pub fn mean_field_applies(graph: &Graph, readout: Readout) -> Result<(), Refusal> {
    let live = graph.live();
    approximation::check(graph, &live)?;
    paths::check(graph, &live, readout)?;
    layouts(graph, Method::MeanField).map(|_| ())
}

/// The covariance of input gradients at infinite width, at one probe x (flattened C,H,W), slopes taken
/// independent of weights; [`approximations`] says where that and more is approximate.
pub fn mean_field(graph: &Graph, x: &[f64], readout: Readout) -> Result<Covariance, Refusal> {
    if x.len() != graph.input().len() {
        return Err(Refusal::Probe {
            length: x.len(),
            wanted: graph.input().len(),
        });
    }
    let live = graph.live();
    approximation::check(graph, &live)?;
    paths::check(graph, &live, readout)?;
    let layouts = layouts(graph, Method::MeanField)?;
    let slopes = forward::slopes(graph, &layouts, &live, x)?;
    backward(graph, &layouts, slopes, readout, Method::MeanField)
}
