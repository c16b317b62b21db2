//! How the geometry begins to move: the average geometry evolution at initialisation.
//!
//! Under gradient flow θ̇ = −∇_θ L each network's input gradient g = ∇ₓf moves with d = ∂/∂ε ∇ₓf_{θ+εθ̇}, so
//!
//! ```text
//! Δ = E_{x~P} E_θ [ d gᵀ + g dᵀ ],        θ̇ = −Σ_μ ∇_θ f(x_μ)(f(x_μ) − y_μ) for L = ½Σ(f − y)²        (eq. 3)
//! ```
//!
//! d is a tangent in the parameters of a gradient in the input; ∇²_{x,θ}f is never formed. Batch norm
//! is in evaluation mode and its buffers do not move.
//!
//! Every network stands for itself and its mirror image with the opposite read-out, where there is one ([`mirror`]): for
//! the squared error the labels, which do not matter on average, then do not matter at all.
//!
//! A piecewise linear network's g jumps where a kink passes x. The formula, here as in the paper, is the derivative
//! between jumps: for ReLU it is not the derivative of E[g gᵀ], to which the jumps contribute at first order.
//!
//! **Errors.** Network i belongs to group i mod 16. The groups' means M_k are independent, so ‖Δ‖² is estimated
//! without the bias of its noise, by Σ_{k≠l} ⟨M_k, M_l⟩ over pairs of groups, and correlations carry the correction
//! and the error of the jackknife that leaves out one group at a time (they may end a little above 1). Where the geometry in Corr(−Δ, GSG) is the sampled one, its own
//! noise is in the error, and in ‖GSG‖: then the correlation is on the low side.

mod answer;
mod finite;
mod flow;
mod groups;
mod lens;
mod mirror;
mod page;
mod picture;
mod words;

use polariscope_diff::Number;
use polariscope_linalg::covariance;
use polariscope_network::{Network, Scalar, Weights};
use polariscope_stats::Estimate;
use polariscope_train::{Loss, Samples};

use crate::matrix::dot;
use crate::{GeometryError, Kron, Output, Probe};
use polariscope_linalg::product;

pub use answer::{KnownFrom, Moved};
pub use finite::{FiniteStep, finite_steps};
pub use lens::{EvolutionQuestion, Movement, movement, movement_memory};
pub use page::evolution_page;

pub(crate) use flow::Flow;
pub(crate) use groups::{GROUPS, Groups, Rows, gather, packed, unpacked};

/// What is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct EvolutionConfig {
    /// Seed of weights and probes.
    pub seed: u64,
    /// T, at least 16.
    pub networks: u64,
    /// Points for each network.
    pub probes: usize,
    /// Where gradients are taken.
    pub probe: Probe,
    /// The scalar whose geometry moves; the loss always sees every output.
    pub output: Output,
    /// L, over all samples.
    pub loss: Loss,
}

/// Δ, with the geometry of the same networks.
#[derive(Clone, Debug, PartialEq)]
pub struct Evolution {
    /// D.
    pub dim: usize,
    /// T.
    pub networks: u64,
    /// Δ, D × D.
    pub delta: Vec<f64>,
    /// Relative standard error of Δ in the Frobenius norm.
    pub delta_error: f64,
    /// G, D × D.
    pub geometry: Vec<f64>,
    /// Relative standard error of G in the Frobenius norm.
    pub geometry_error: f64,
    /// Corr(−Δ, S); `None` where Δ is lost in its noise.
    pub corr_s: Option<Estimate>,
    /// Corr(−Δ, GSG), with the given geometry or the sampled one; `None` where Δ is lost in its noise.
    pub corr_gsg: Option<Estimate>,
}

/// Measures Δ on the samples. `geometry` is the G of GSG where it is known better than the same networks
/// tell; `progress` hears (networks done, networks). Memory: 16 D² numbers, the groups' triangles.
pub fn evolution<T: Number>(
    network: &Network<T>,
    config: &EvolutionConfig,
    samples: Samples<'_>,
    geometry: Option<&Kron>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Evolution, GeometryError> {
    let (evolution, _) = by_groups(network, config, samples, geometry, progress)?;
    Ok(evolution)
}

/// [`evolution`] and the groups behind it.
pub(crate) fn by_groups<T: Number>(
    network: &Network<T>,
    config: &EvolutionConfig,
    samples: Samples<'_>,
    geometry: Option<&Kron>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(Evolution, Groups), GeometryError> {
    let dim = network.graph().input().len();
    if let Some(geometry) = geometry
        && geometry.dim() != dim
    {
        return Err(GeometryError::Size {
            what: "the given geometry",
            found: geometry.dim(),
            wanted: dim,
        });
    }
    if config.networks < GROUPS as u64 {
        return Err(GeometryError::Question(format!(
            "{} networks: an evolution with errors takes at least {GROUPS}",
            config.networks
        )));
    }
    let scalars = scalars(network, config.output)?;
    let flow = Flow::new(network, config.loss, samples)?;
    let mirrored = mirror::mirrors(network.graph());
    let rows = |index: u64| -> Result<Rows, GeometryError> {
        let weights = Weights::draw(network.graph(), config.seed, index);
        let velocity = match mirrored {
            true => flow.mirrored_velocity(&weights)?,
            false => flow.velocity(&weights)?,
        };
        let x = points::<T>(config, dim, index)?;
        // Rows of one network average to its Δ.
        let scale = (x.len() as f64 / dim as f64).sqrt().recip();
        let widen = |v: Vec<T>| v.into_iter().map(|v| v.to_f64() * scale);
        let mut rows = Rows::default();
        for &scalar in &scalars {
            rows.gradients
                .extend(widen(network.input_gradient(&weights, &x, scalar)?));
            let moved = network.input_gradient_tangent(&weights, &velocity, &x, scalar)?;
            rows.tangents.extend(widen(moved));
        }
        Ok(rows)
    };
    let groups = gather(dim, config.networks, &rows, progress)?;
    let s = covariance(samples.x, dim);
    let corr_gsg = match geometry {
        Some(g) => corr_with(&groups, &packed(&gsg(&g.to_dense(), &s, dim), dim)),
        None => corr_with_own(&groups, &s, dim),
    };
    let found = Evolution {
        dim,
        networks: config.networks,
        delta_error: groups.relative_error(&groups.deltas),
        geometry_error: groups.relative_error(&groups.geometries),
        corr_s: corr_with(&groups, &packed(&s, dim)),
        corr_gsg,
        delta: unpacked(&groups.mean_delta(), dim),
        geometry: unpacked(&groups.mean_geometry(None), dim),
    };
    Ok((found, groups))
}

/// Corr(−Δ, B) for a fixed B, a triangle.
fn corr_with(groups: &Groups, target: &[f64]) -> Option<Estimate> {
    let (inner, square) = (groups.inner(target), dot(target, target));
    jackknife(groups, |left_out| groups.corr(&inner, square, left_out))
}

/// Corr(−Δ, GSG) with the sampled G, which is another one for every group left out.
fn corr_with_own(groups: &Groups, s: &[f64], dim: usize) -> Option<Estimate> {
    jackknife(groups, |left_out| {
        let g = unpacked(&groups.mean_geometry(left_out), dim);
        let target = packed(&gsg(&g, s, dim), dim);
        groups.corr(&groups.inner(&target), dot(&target, &target), left_out)
    })
}

/// Value, bias correction and error of a correlation from leaving out one group at a time.
fn jackknife(groups: &Groups, corr: impl Fn(Option<usize>) -> Option<f64>) -> Option<Estimate> {
    let value = -corr(None)?;
    let left = (0..GROUPS).map(|k| corr(Some(k)).map(|c| -c));
    let left: Vec<f64> = left.collect::<Option<_>>()?;
    let k = GROUPS as f64;
    let mean = left.iter().sum::<f64>() / k;
    let squares: f64 = left.iter().map(|v| (v - mean).powi(2)).sum();
    Some(Estimate {
        // A ratio of averages is biased by 1/T; the jackknife removes that too.
        value: k * value - (k - 1.0) * mean,
        standard_error: (squares * (k - 1.0) / k).sqrt(),
        samples: groups.networks(),
    })
}

/// G S G.
fn gsg(g: &[f64], s: &[f64], dim: usize) -> Vec<f64> {
    product(&product(g, s, dim, dim), g, dim, dim)
}

/// The scalars of an output.
fn scalars<T: Number>(network: &Network<T>, output: Output) -> Result<Vec<Scalar>, GeometryError> {
    let outputs = network.graph().output().len();
    match output {
        Output::Logit(k) if k >= outputs => Err(GeometryError::Question(format!(
            "‹output {k}›: the network has {outputs} outputs, counted from 0"
        ))),
        Output::Logit(k) => Ok(vec![Scalar::Logit(k)]),
        Output::Mean => Ok(vec![Scalar::Mean]),
        Output::All => Ok((0..outputs).map(Scalar::Logit).collect()),
    }
}

/// The probes of a network, those at which its geometry is sampled.
fn points<T: Number>(
    config: &EvolutionConfig,
    dim: usize,
    index: u64,
) -> Result<Vec<T>, GeometryError> {
    config.probe.check(dim)?;
    let probes = config.probes.max(1);
    let x = config.probe.points(probes, dim, config.seed, index);
    Ok(x.into_iter().map(|x| T::from_f64(f64::from(x))).collect())
}
