//! G in closed form: exactly, or at infinite width.

use polariscope_graph::Graph;
use polariscope_meanfield::{Covariance, ExactProbe, Readout};
use rayon::prelude::*;

use crate::{GeometryError, Kron, Output, Probe};

/// G by covariance propagation; refuses a network that is not linear around the probe, naming what breaks it.
///
/// ```
/// use polariscope_geometry::{Output, Probe, exact};
/// use polariscope_graph::{ZooOptions, zoo};
/// let options = ZooOptions {
///     input: Some("1x32x32".parse()?),
///     activation: Some("gelu".parse()?),
///     ..ZooOptions::default()
/// };
/// let g = exact(&zoo("resnet18", &options)?, &Probe::Zero, Output::Logit(0))?;
/// assert_eq!((g.channels, g.n), (1, 1024));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn exact(graph: &Graph, probe: &Probe, output: Output) -> Result<Kron, GeometryError> {
    let probe = match probe {
        Probe::Zero => ExactProbe::Zero,
        Probe::Gauss { .. } | Probe::Points { .. } => ExactProbe::Anywhere,
    };
    let covariance = polariscope_meanfield::exact(graph, probe, output.into())?;
    Ok(kron(covariance))
}

/// G at infinite width, averaged over `probes` points of the probing law: an approximation for convolutions, see
/// [`polariscope_meanfield::approximations`].
pub fn mean_field(
    graph: &Graph,
    probe: &Probe,
    probes: usize,
    output: Output,
    seed: u64,
) -> Result<Kron, GeometryError> {
    let points = points(graph.input().len(), probe, probes, seed)?;
    let one = |x: &Vec<f64>| polariscope_meanfield::mean_field(graph, x, output.into()).map(kron);
    // Few at a time: each holds several matrices.
    let mut sum: Option<Kron> = None;
    for pair in points.chunks(2) {
        let found: Vec<Kron> = pair.par_iter().map(one).collect::<Result<_, _>>()?;
        for g in found {
            match &mut sum {
                None => sum = Some(g),
                Some(sum) => sum
                    .factor
                    .iter_mut()
                    .zip(&g.factor)
                    .for_each(|(a, b)| *a += b),
            }
        }
    }
    let mut mean =
        sum.ok_or_else(|| GeometryError::Question("there must be at least one probe".into()))?;
    mean.factor
        .iter_mut()
        .for_each(|x| *x /= points.len() as f64);
    Ok(mean)
}

/// The coherent geometry in closed form: E_θ[ḡ ḡᵀ] with ḡ = E_x ∇f(x).
pub fn coherent(
    graph: &Graph,
    probe: &Probe,
    probes: usize,
    output: Output,
    seed: u64,
) -> Result<Kron, GeometryError> {
    mean_field(graph, probe, probes, output, seed)
}

impl From<Output> for Readout {
    fn from(output: Output) -> Readout {
        match output {
            Output::Logit(k) => Readout::Logit(k),
            Output::Mean => Readout::Mean,
            Output::All => Readout::All,
        }
    }
}

fn kron(covariance: Covariance) -> Kron {
    Kron {
        channels: covariance.channels,
        n: covariance.positions,
        factor: covariance.factor,
    }
}

/// The first points of the probing law.
pub(crate) fn points(
    dim: usize,
    probe: &Probe,
    count: usize,
    seed: u64,
) -> Result<Vec<Vec<f64>>, GeometryError> {
    probe.check(dim)?;
    let widen = |x: &[f32]| x.iter().map(|&x| f64::from(x)).collect();
    Ok(match probe {
        Probe::Zero => vec![vec![0.0; dim]],
        Probe::Gauss { .. } => (0..count as u64)
            .map(|i| widen(&probe.points(1, dim, seed, i)))
            .collect(),
        Probe::Points { x, .. } => x
            .chunks_exact(dim)
            .take(count)
            .map(<[f64]>::to_vec)
            .collect(),
    })
}
