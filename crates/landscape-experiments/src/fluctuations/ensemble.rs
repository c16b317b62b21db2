//! Networks that differ in their initial weights alone: how far they lie apart, and what their mean is worth.

use polariscope_data::{Dataset, Labels, Split};
use polariscope_graph::Graph;
use polariscope_landscape::LandscapeError;
use polariscope_landscape::spread::{Distance, Ensemble};
use polariscope_network::{Network, Weights};
use polariscope_random::Stream;
use polariscope_stats::Estimate;
use rayon::prelude::*;

use super::{MEASURES, NETWORKS, SIZES, UNTRAINED};
use crate::lazy::{fitted, regime};
use crate::machine::samples;
use crate::{Lab, LandscapeExperimentsError, lazy};

/// α̃ = √h α: features are learnt, and outputs are calm.
pub(super) const CONTROL: f64 = 1.0;
/// Training samples of a run.
pub(super) const TRAIN: usize = 100;
/// Test samples of a run, where there are as many.
const TEST: usize = 20_000;
/// Those of them that boundary distances are taken on.
const NEAR: usize = 1000;

/// Refuses what has fewer training samples than a run takes.
pub(super) fn check(data: &Dataset) -> Result<(), LandscapeExperimentsError> {
    match data.train.len() {
        n if n < TRAIN => Err(LandscapeExperimentsError::Question(format!(
            "‹data {}› has {n} training samples: fluctuations wants {TRAIN} or more, better some times as many, for every run draws its own",
            data.name
        ))),
        _ => Ok(()),
    }
}

/// What is measured of an ensemble where `fitted` of its networks fit: nothing else.
pub(super) fn nothing(fitted: f64) -> Vec<f64> {
    let mut values = vec![f64::NAN; MEASURES.len() - UNTRAINED + 2 * SIZES.len() + 1];
    values[0] = fitted;
    values
}

/// Trains the ensemble of a run, and measures it.
pub(super) fn train(
    lab: &Lab,
    graph: &Graph,
    data: &Dataset,
    width: usize,
    run: u64,
) -> Result<Vec<f64>, LandscapeExperimentsError> {
    let learn = choose(
        &data.train,
        graph,
        TRAIN,
        (lab.seed, run, "fluctuations.train"),
    );
    let test = choose(
        &data.test,
        graph,
        TEST,
        (lab.seed, run, "fluctuations.test"),
    );
    let Labels::Classes(classes) = &test.y else {
        return Ok(nothing(f64::NAN));
    };
    let config = regime(CONTROL, width);
    let inputs = graph.input().len();
    let near = &test.x[..inputs * NEAR.min(test.len())];
    let near: Vec<f64> = near.iter().map(|&x| f64::from(x)).collect();
    let network = Network::<f64>::new(graph.clone());
    let slopes = |weights: &Weights<f64>| {
        let ones = vec![1.0; near.len() / inputs];
        let found = network.input_vjp(weights, &near, &ones);
        found.map_err(LandscapeError::from)
    };
    let first = run * NETWORKS as u64;
    let one = |index: u64| -> Result<Option<Member>, LandscapeExperimentsError> {
        let sets = (samples(&learn), samples(&test));
        let Some(net) = fitted(lazy::train(lab, graph, &config, sets, index)?) else {
            return Ok(None);
        };
        let initial = Weights::draw(graph, lab.seed, index);
        let (end, start) = (slopes(&net.weights)?, slopes(&initial)?);
        let pairs = end.iter().zip(start);
        Ok(Some(Member {
            f: net.test,
            gradient: pairs.map(|(w, w0)| config.alpha * (w - w0)).collect(),
        }))
    };
    let members = (first..first + NETWORKS as u64).into_par_iter().map(one);
    let members: Vec<Option<Member>> = members.collect::<Result<_, _>>()?;
    let all = members.len() as f64;
    let members: Vec<Member> = members.into_iter().flatten().collect();
    if members.len() < NETWORKS {
        return Ok(nothing(members.len() as f64 / all));
    }
    Ok(measures(&members, classes, inputs, lab.seed))
}

/// Samples of a run, in an order of its own.
fn choose(
    split: &Split,
    graph: &Graph,
    count: usize,
    (seed, run, name): (u64, u64, &str),
) -> Split {
    let mut rows = Stream::new(seed, run, name)
        .cursor()
        .permutation(split.len());
    rows.truncate(count);
    split.select(graph.input().len(), &rows)
}

/// A network, or the mean of some.
pub(super) struct Member {
    /// F on the test samples.
    pub f: Vec<f64>,
    /// ∇ₓF on the first of them.
    pub gradient: Vec<f64>,
}

/// What is measured of an ensemble that fits.
pub(super) fn measures(members: &[Member], classes: &[u32], inputs: usize, seed: u64) -> Vec<f64> {
    let outputs: Vec<Vec<f64>> = members.iter().map(|m| m.f.clone()).collect();
    let ensemble = Ensemble {
        outputs: &outputs,
        classes,
    };
    let curve = ensemble.curve(seed);
    let error = |m: usize| {
        let point = curve.points.iter().find(|(size, _)| *size == m);
        point.map_or(f64::NAN, |(_, error)| error.value)
    };
    let value = |e: Option<Estimate>| e.map_or(f64::NAN, |e| e.value);
    let apart = SIZES.map(|m| distance(&pieces(members, m), classes, inputs));
    let single = apart[0];
    let squares: f64 = members
        .iter()
        .flat_map(|m| &m.gradient)
        .map(|g| g * g)
        .sum();
    let count = members
        .iter()
        .map(|m| m.gradient.len() / inputs)
        .sum::<usize>();
    let mut values = vec![
        1.0,
        value(ensemble.variance()),
        single.map_or(f64::NAN, |d| d.disagreement.value),
        value(single.and_then(|d| d.overall)),
        (squares / count as f64).sqrt(),
    ];
    values.extend(SIZES.map(error));
    values.push(error(members.len()));
    values.extend(apart.map(|d| value(d.and_then(|d| d.at_disagreement))));
    values
}

/// Means of m networks that follow each other. Their own mean is that of all networks.
fn pieces(members: &[Member], m: usize) -> Vec<Member> {
    let mean = |part: &[Member], of: &dyn Fn(&Member) -> &[f64]| {
        let mut sum = vec![0.0; of(&part[0]).len()];
        for member in part {
            sum.iter_mut().zip(of(member)).for_each(|(s, x)| *s += x);
        }
        sum.iter_mut().for_each(|s| *s /= m as f64);
        sum
    };
    let piece = |part: &[Member]| Member {
        f: mean(part, &|m| &m.f),
        gradient: mean(part, &|m| &m.gradient),
    };
    members.chunks_exact(m).map(piece).collect()
}

/// How far the boundaries of some lie from that of their mean.
fn distance(members: &[Member], classes: &[u32], inputs: usize) -> Option<Distance> {
    let near = members.first()?.gradient.len() / inputs;
    let outputs: Vec<Vec<f64>> = members.iter().map(|m| m.f[..near].to_vec()).collect();
    let norm = |row: &[f64]| row.iter().map(|g| g * g).sum::<f64>().sqrt();
    let norms = |m: &Member| m.gradient.chunks_exact(inputs).map(norm).collect();
    let norms: Vec<Vec<f64>> = members.iter().map(norms).collect();
    let ensemble = Ensemble {
        outputs: &outputs,
        classes: &classes[..near],
    };
    ensemble.distance(&norms)
}
