//! What is computed of a chunk of samples: features and gradients of the units, and how both move when a unit does.

use std::sync::Arc;

use polariscope_diff::{Id, Program, Session, Trace, jvp, vjp, vmap};
use polariscope_graph::Graph;
use polariscope_network::{Mode, Weights, lower_through};

use super::sites::Site;

/// Most samples of a chunk.
const SAMPLES: usize = 256;
/// Numbers of the directions that go with a chunk.
const DIRECTIONS: usize = 1 << 20;

/// Plans for chunks of so many samples.
pub(super) struct Programs {
    pub samples: usize,
    outputs: usize,
    base: Arc<Program>,
    jacobian: Arc<Program>,
    moves: Vec<Option<Moves>>,
    /// Units of each site.
    units: Vec<usize>,
}

/// How gradients and features change along the units of a site.
struct Moves {
    program: Arc<Program>,
    /// Whether the gradients of each site change, and its features.
    gradients: Vec<bool>,
    features: Vec<bool>,
}

/// What was found of a chunk. Arrays are samples × units or samples × features; changes lie unit by unit of the site that
/// moves.
pub(super) struct Chunk {
    /// Scaled, with the constant one last.
    pub features: Vec<Vec<f64>>,
    /// With ℓ′ as it is.
    pub gradients: Vec<Vec<f64>>,
    /// Of every output, one after the other.
    pub jacobian: Vec<Vec<f64>>,
    /// For the site that moves, then the site that changes; empty where nothing does.
    pub gradient_changes: Vec<Vec<Vec<f64>>>,
    /// The same; the constant feature is left out.
    pub feature_changes: Vec<Vec<Vec<f64>>>,
}

/// A network with a leaf at every site.
struct Opened {
    t: Trace,
    f: Id,
    /// Values that the sites multiply.
    sources: Vec<Option<Id>>,
    /// Zeros added to the units.
    shifts: Vec<Id>,
}

fn open(graph: &Graph, sites: &[Site], samples: usize) -> Opened {
    let mut shifts = Vec::with_capacity(sites.len());
    let lowered = lower_through(graph, samples, Mode::Evaluate, |t, node, value| {
        let Some(site) = sites.iter().find(|s| s.node == node) else {
            return value;
        };
        let shift = t.leaf(&[samples, site.units]);
        shifts.push(shift);
        t.add(value, shift)
    });
    let source = |site: &Site| site.source.map(|(node, ..)| lowered.nodes[node]);
    Opened {
        sources: sites.iter().map(source).collect(),
        t: lowered.trace,
        f: lowered.output,
        shifts,
    }
}

impl Programs {
    pub fn new(graph: &Graph, sites: &[Site], samples: usize) -> Self {
        let outputs = graph.output().len();
        let widest = sites.iter().map(|s| s.units).max().unwrap_or(1);
        let samples = (DIRECTIONS / widest.pow(2))
            .clamp(1, SAMPLES)
            .min(samples.max(1));
        let Opened {
            mut t,
            f,
            sources,
            shifts,
        } = open(graph, sites, samples);
        let slope = t.leaf(&[samples, outputs]);
        let gradients = vjp(&mut t, &[(f, slope)], &shifts);
        let found: Vec<Id> = sources
            .iter()
            .flatten()
            .chain(&gradients)
            .copied()
            .collect();
        let base = Arc::new(Program::new(&t, &found));
        // The same gradients for every output by itself.
        let (all, rows) = vmap(&t, &gradients, &[slope], outputs);
        let jacobian = Arc::new(Program::new(&all, &rows));
        let moves = (0..sites.len())
            .map(|l| moves(&t, &sources, &gradients, (shifts[l], l, sites[l].units)))
            .collect();
        Programs {
            samples,
            outputs,
            base,
            jacobian,
            moves,
            units: sites.iter().map(|s| s.units).collect(),
        }
    }

    /// Everything of at most [`Programs::samples`] samples: what is missing is filled with zeros, which add nothing.
    pub fn run(&self, weights: &Weights<f64>, sites: &[Site], x: &[f64], slope: &[f64]) -> Chunk {
        let n = self.samples;
        let sample = self.base.leaves[0] / n;
        let filled = |from: &[f64], width: usize| {
            let mut all = from.to_vec();
            all.resize(n * width, 0.0);
            all
        };
        let (x, slope) = (filled(x, sample), filled(slope, self.outputs));
        let shifts: Vec<Vec<f64>> = self.units.iter().map(|u| vec![0.0; n * u]).collect();
        let mut leaves: Vec<&[f64]> = vec![&x];
        leaves.extend(weights.values.iter().map(Vec::as_slice));
        leaves.extend(shifts.iter().map(Vec::as_slice));
        let evaluate = |program: &Arc<Program>, rest: &[&[f64]]| {
            let mut session = Session::new(program.clone());
            session.run(&[&leaves[..], rest].concat());
            (0..session.outputs())
                .map(|i| session.output(i).to_vec())
                .collect::<Vec<_>>()
        };
        let mut found = evaluate(&self.base, &[&slope]).into_iter();
        let features = sites
            .iter()
            .map(|site| match site.source {
                Some(_) => site_features(site, &found.next().unwrap_or_default(), n),
                None => site_features(site, &[], n),
            })
            .collect();
        let gradients = found.collect();
        let mut units = vec![0.0; self.outputs * n * self.outputs];
        for (k, block) in units.chunks_exact_mut(n * self.outputs).enumerate() {
            block
                .iter_mut()
                .skip(k)
                .step_by(self.outputs)
                .for_each(|u| *u = 1.0);
        }
        let jacobian = evaluate(&self.jacobian, &[&units]);
        let mut chunk = Chunk {
            features,
            gradients,
            jacobian,
            gradient_changes: Vec::new(),
            feature_changes: Vec::new(),
        };
        for (l, moves) in self.moves.iter().enumerate() {
            let mut changes = [vec![Vec::new(); sites.len()], vec![Vec::new(); sites.len()]];
            if let Some(moves) = moves {
                let units = self.units[l];
                let mut directions = vec![0.0; units * n * units];
                for (p, block) in directions.chunks_exact_mut(n * units).enumerate() {
                    block
                        .iter_mut()
                        .skip(p)
                        .step_by(units)
                        .for_each(|d| *d = 1.0);
                }
                let mut found = evaluate(&moves.program, &[&slope, &directions]).into_iter();
                for (changes, which) in changes.iter_mut().zip([&moves.gradients, &moves.features])
                {
                    for m in (0..sites.len()).filter(|&m| which[m]) {
                        changes[m] = found.next().unwrap_or_default();
                    }
                }
                for (site, change) in sites.iter().zip(&mut changes[1]) {
                    if let Some((_, _, scale)) = site.source {
                        change.iter_mut().for_each(|c| *c *= scale);
                    }
                }
            }
            let [gradients, features] = changes;
            chunk.gradient_changes.push(gradients);
            chunk.feature_changes.push(features);
        }
        chunk
    }
}

/// Scaled features of every sample, the constant one last.
fn site_features(site: &Site, source: &[f64], samples: usize) -> Vec<f64> {
    let width = site.width();
    let mut features = Vec::with_capacity(samples * site.features());
    for s in 0..samples {
        if let Some((_, _, scale)) = site.source {
            features.extend(source[s * width..][..width].iter().map(|a| scale * a));
        }
        features.extend(site.constant);
    }
    features
}

/// Changes along every unit of site `l`, of that site and those after it: what comes before follows by symmetry.
fn moves(
    t: &Trace,
    sources: &[Option<Id>],
    gradients: &[Id],
    (shift, l, units): (Id, usize, usize),
) -> Option<Moves> {
    let mut t = t.clone();
    let shape = t.shape(shift).to_vec();
    let direction = t.leaf(&shape);
    let mut changes = |values: &[Option<Id>]| {
        let some: Vec<Id> = values.iter().flatten().copied().collect();
        let mut dots = jvp(&mut t, &some, &[(shift, direction)]).into_iter();
        let dots: Vec<Option<Id>> = values.iter().map(|v| v.and_then(|_| dots.next())).collect();
        let moved = |(m, dot): (usize, Option<Id>)| {
            dot.filter(|&d| m >= l && t.constant_value(d) != Some(0.0))
        };
        dots.into_iter().enumerate().map(moved).collect::<Vec<_>>()
    };
    let gradients: Vec<Option<Id>> = gradients.iter().copied().map(Some).collect();
    let (gradients, features) = (changes(&gradients), changes(sources));
    let wanted: Vec<Id> = gradients
        .iter()
        .chain(&features)
        .flatten()
        .copied()
        .collect();
    if wanted.is_empty() {
        return None;
    }
    let (all, wanted) = vmap(&t, &wanted, &[direction], units);
    Some(Moves {
        program: Arc::new(Program::new(&all, &wanted)),
        gradients: gradients.iter().map(Option::is_some).collect(),
        features: features.iter().map(Option::is_some).collect(),
    })
}
