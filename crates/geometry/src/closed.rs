//! G in closed form: exactly, or at infinite width.

use polariscope_graph::Graph;
use polariscope_meanfield::{Covariance, ExactProbe, Inputs, Readout};
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
    mean(points, |x| {
        Ok(polariscope_meanfield::mean_field(graph, &x, output.into()).map(kron)?)
    })
}

/// The coherent geometry at infinite width: E_θ[ḡ ḡᵀ] with ḡ = E_x ∇f(x), for inputs from N(0, σ²I) in one walk, for
/// listed ones averaged over `probes` pairs of neighbours in the list. At one point it is the local one.
///
/// ```
/// use polariscope_geometry::{Output, Probe, coherent};
/// use polariscope_graph::{ZooOptions, zoo};
/// let options = ZooOptions { input: Some("1x32x32".parse()?), ..ZooOptions::default() };
/// let g = coherent(&zoo("lenet", &options)?, &Probe::Gauss { sigma: 1.0 }, 1, Output::Logit(0), 0)?;
/// assert_eq!((g.channels, g.n), (1, 1024));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn coherent(
    graph: &Graph,
    probe: &Probe,
    probes: usize,
    output: Output,
    seed: u64,
) -> Result<Kron, GeometryError> {
    let at =
        |inputs: Inputs| polariscope_meanfield::coherent(graph, inputs, output.into()).map(kron);
    match probe {
        Probe::Zero => mean_field(graph, probe, 1, output, seed),
        Probe::Gauss { sigma } => Ok(at(Inputs::White { sigma: *sigma })?),
        Probe::Points { .. } => {
            let pairs = pairs(graph.input().len(), probe, probes, seed)?;
            mean(pairs, |[x, y]| {
                let mut g = at(Inputs::Given([&x, &y]))?;
                symmetrise(&mut g);
                Ok(g)
            })
        }
    }
}

/// The coherent geometry for inputs from N(0, σ²I), and the local one found in the same way.
pub fn coherent_and_local(
    graph: &Graph,
    sigma: f64,
    output: Output,
) -> Result<[Kron; 2], GeometryError> {
    let both = polariscope_meanfield::coherent_and_local(graph, sigma, output.into())?;
    Ok(both.map(kron))
}

/// (A + Aᵀ)/2: the two inputs can be exchanged.
fn symmetrise(g: &mut Kron) {
    let n = g.n;
    for i in 0..n {
        for j in 0..i {
            let half = 0.5 * (g.factor[i * n + j] + g.factor[j * n + i]);
            (g.factor[i * n + j], g.factor[j * n + i]) = (half, half);
        }
    }
}

/// The mean of geometries, few of them at a time: each holds several matrices.
fn mean<I: Sync + Send>(
    items: Vec<I>,
    one: impl Fn(I) -> Result<Kron, GeometryError> + Sync,
) -> Result<Kron, GeometryError> {
    let count = items.len();
    let mut sum: Option<Kron> = None;
    let mut items = items.into_iter();
    loop {
        let some: Vec<I> = items.by_ref().take(2).collect();
        if some.is_empty() {
            break;
        }
        let found: Vec<Kron> = some.into_par_iter().map(&one).collect::<Result<_, _>>()?;
        for g in found {
            match &mut sum {
                None => sum = Some(g),
                Some(sum) => {
                    let pairs = sum.factor.iter_mut().zip(&g.factor);
                    pairs.for_each(|(a, b)| *a += b);
                }
            }
        }
    }
    let mut mean =
        sum.ok_or_else(|| GeometryError::Question("there must be at least one probe".into()))?;
    mean.factor.iter_mut().for_each(|x| *x /= count as f64);
    Ok(mean)
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

/// Pairs of different points: each of the first ones with the next, the last with the first.
pub(crate) fn pairs(
    dim: usize,
    probe: &Probe,
    count: usize,
    seed: u64,
) -> Result<Vec<[Vec<f64>; 2]>, GeometryError> {
    let points = points(dim, probe, count.max(2), seed)?;
    match &points[..] {
        [] | [_] => Err(GeometryError::Question(
            "the coherent geometry takes gradients at two inputs or more: give more points, or ‹gradient local›".into(),
        )),
        [x, y] => Ok(vec![[x.clone(), y.clone()]]),
        all => {
            let next = |i: usize| all[(i + 1) % all.len()].clone();
            Ok(all.iter().enumerate().map(|(i, x)| [x.clone(), next(i)]).collect())
        }
    }
}
