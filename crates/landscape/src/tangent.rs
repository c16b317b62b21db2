//! The tangent kernel, its mean over outputs, layer by layer.
//!
//! A dense layer of units z = W a + b has the gradients ∂f/∂W = g aᵀ and ∂f/∂b = g with g = ∂f/∂z, whose inner products
//! are (g·g′)(a·a′) and g·g′: they are never formed. Gradients of all other parameters are, a sample and an output at a
//! time. With rows of features, and scales s of the weights and t of the biases, that is
//!
//! ```text
//! Θ(x, x′) = (1/C) [ Σ_layers (s² a·a′ + t²) Σ_c g_c·g_c′ + Σ_c ∇f_c·∇f_c′ ]
//! ```

use std::sync::Arc;

use polariscope_diff::{Id, Program, Session, vjp, vmap};
use polariscope_graph::{Graph, Op, ParamId, Role, Shape};
use polariscope_linalg::{gram, product_transposed};
use polariscope_network::{Mode, Weights, lower_through};
use rayon::prelude::*;

/// Samples whose rows are held beside those of the first set.
const BLOCK: usize = 256;
/// Samples of a task.
const TASK: usize = 32;

/// A dense layer, a bias, or both: a node whose value is a linear map of another, to which a bias may be added.
struct Site {
    node: usize,
    units: usize,
    /// The node that is multiplied, its width and s.
    source: Option<(usize, usize, f64)>,
    /// t, 0 without a bias.
    bias: f64,
}

/// The kernel of a network at weights.
pub struct Tangent<'a> {
    weights: &'a Weights<f64>,
    sites: Vec<Site>,
    program: Arc<Program>,
    sample: usize,
    outputs: usize,
    /// Numbers of the gradient that are formed.
    rest: usize,
    /// Samples of a run of the program.
    together: usize,
}

/// Rows of features of some samples: for each site a and g, then the gradient of the rest; outputs follow each other.
struct Rows {
    features: Vec<Vec<f64>>,
    gradients: Vec<Vec<f64>>,
    rest: Vec<f64>,
}

impl<'a> Tangent<'a> {
    /// Plans it.
    pub fn new(graph: &Graph, weights: &'a Weights<f64>) -> Self {
        let (sites, rest) = sites(graph);
        let outputs = graph.output().len();
        // A gradient that is formed is that of one sample.
        let together = if rest.is_empty() { TASK } else { 1 };
        let mut shifts = Vec::with_capacity(sites.len());
        let lowered = lower_through(graph, together, Mode::Evaluate, |t, node, value| {
            let Some(site) = sites.iter().find(|s| s.node == node) else {
                return value;
            };
            let shift = t.leaf(&[together, site.units]);
            shifts.push(shift);
            t.add(value, shift)
        });
        let mut t = lowered.trace;
        let u = t.leaf(&[together, outputs]);
        let wrt: Vec<Id> = shifts
            .iter()
            .copied()
            .chain(rest.iter().map(|&i| lowered.params[i]))
            .collect();
        let sources = sites.iter().filter_map(|s| s.source);
        let sources: Vec<Id> = sources.map(|(node, ..)| lowered.nodes[node]).collect();
        let gradients = vjp(&mut t, &[(lowered.output, u)], &wrt);
        let (mut all, found) = vmap(&t, &[gradients, sources].concat(), &[u], outputs);
        // What does not depend on the output is the same for every one.
        let (of_outputs, same) = found.split_at(wrt.len());
        let same: Vec<Id> = same.iter().map(|&id| all.slice(id, 0, 0, 1)).collect();
        Tangent {
            weights,
            program: Arc::new(Program::new(&all, &[of_outputs, &same].concat())),
            sample: graph.input().len(),
            outputs,
            rest: rest.iter().map(|&i| graph.params[i].len()).sum(),
            together,
            sites,
        }
    }

    /// Multiplications that the kernels among `n` samples and between `m` others and them take, and bytes.
    pub fn cost(graph: &Graph, n: usize, m: usize) -> (f64, f64) {
        let (sites, rest) = sites(graph);
        let outputs = graph.output().len();
        let rest: usize = rest.iter().map(|&i| graph.params[i].len()).sum();
        let row: usize = sites
            .iter()
            .map(|s| outputs * s.units + s.source.map_or(0, |(_, width, _)| width))
            .sum();
        let row = (row + outputs * rest) as f64;
        let (n, m) = (n as f64, m as f64);
        let passes = (1 + 2 * outputs) as f64 * polariscope_network::multiplications(graph) as f64;
        let bytes = 8.0 * (row * (n + m.min(BLOCK as f64)) + n * (n + m));
        ((n + m) * passes + n * (n + m) * row, bytes)
    }

    /// Θ among the first samples, n × n, and between the others and them, m × n.
    pub fn kernels(&self, x: &[f64], others: &[f64]) -> [Vec<f64>; 2] {
        let rows = self.rows(x);
        let blocks = others.chunks(BLOCK * self.sample);
        let blocks: Vec<Vec<f64>> = blocks
            .map(|block| self.product(&self.rows(block), Some(&rows)))
            .collect();
        [self.product(&rows, None), blocks.concat()]
    }

    fn rows(&self, x: &[f64]) -> Rows {
        let n = self.together;
        let zeros = |s: &Site| vec![0.0; n * s.units];
        let shifts: Vec<Vec<f64>> = self.sites.iter().map(zeros).collect();
        // For each output all samples.
        let units = (0..self.outputs * n * self.outputs).map(|at| {
            let (k, other) = (at / (n * self.outputs), at % self.outputs);
            if k == other { 1.0 } else { 0.0 }
        });
        let units: Vec<f64> = units.collect();
        let fixed: Vec<&[f64]> = self
            .weights
            .values
            .iter()
            .chain(&shifts)
            .map(Vec::as_slice)
            .chain([units.as_slice()])
            .collect();
        let task = |x: &[f64]| {
            let mut session = Session::new(self.program.clone());
            let mut rows = self.empty(x.len() / self.sample);
            let mut filled = vec![0.0; n * self.sample];
            for x in x.chunks(n * self.sample) {
                // What is missing stays as it is, and is not read.
                filled[..x.len()].copy_from_slice(x);
                let first = std::iter::once(filled.as_slice());
                let leaves: Vec<&[f64]> = first.chain(fixed.iter().copied()).collect();
                session.run(&leaves);
                self.add(&mut rows, &session, x.len() / self.sample);
            }
            rows
        };
        let parts: Vec<Rows> = x.par_chunks(TASK * self.sample).map(task).collect();
        let mut all = self.empty(x.len() / self.sample);
        for part in parts {
            let pairs = all.features.iter_mut().zip(part.features);
            pairs.for_each(|(all, part)| all.extend(part));
            let pairs = all.gradients.iter_mut().zip(part.gradients);
            pairs.for_each(|(all, part)| all.extend(part));
            all.rest.extend(part.rest);
        }
        all
    }

    /// Rows of no sample, with memory for some.
    fn empty(&self, samples: usize) -> Rows {
        let width = |s: &Site| s.source.map_or(0, |(_, width, _)| width);
        let of = |numbers: usize| Vec::with_capacity(samples * numbers);
        Rows {
            features: self.sites.iter().map(|s| of(width(s))).collect(),
            gradients: self
                .sites
                .iter()
                .map(|s| of(self.outputs * s.units))
                .collect(),
            rest: of(self.outputs * self.rest),
        }
    }

    /// Adds what was found of the first `count` samples of a run.
    fn add(&self, rows: &mut Rows, session: &Session<f64>, count: usize) {
        for (k, (site, gradients)) in self.sites.iter().zip(&mut rows.gradients).enumerate() {
            let found = session.output(k);
            for s in 0..count {
                for output in 0..self.outputs {
                    let at = (output * self.together + s) * site.units;
                    gradients.extend_from_slice(&found[at..at + site.units]);
                }
            }
        }
        let sources = self.sites.iter().filter(|s| s.source.is_some()).count();
        let first = session.outputs() - sources;
        // The gradient of an output, parameter by parameter: inner products add up in any order.
        (self.sites.len()..first).for_each(|k| rows.rest.extend_from_slice(session.output(k)));
        let mut next = first;
        for (site, features) in self.sites.iter().zip(&mut rows.features) {
            if let Some((_, width, _)) = site.source {
                features.extend_from_slice(&session.output(next)[..count * width]);
                next += 1;
            }
        }
    }

    /// Θ of the samples of two sets of rows, or of those of one.
    fn product(&self, a: &Rows, b: Option<&Rows>) -> Vec<f64> {
        let columns = b.unwrap_or(a).samples(self);
        let mut kernel = vec![0.0; a.samples(self) * columns];
        let weight = 1.0 / self.outputs as f64;
        let inner = |length: usize, of: fn(&Rows, usize) -> &[f64], k: usize| match b {
            None => gram(of(a, k), length),
            Some(b) => product_transposed(of(a, k), of(b, k), length, columns),
        };
        for (k, site) in self.sites.iter().enumerate() {
            let gradients = inner(self.outputs * site.units, |rows, k| &rows.gradients[k], k);
            let constant = weight * site.bias * site.bias;
            match site.source {
                None => add(&mut kernel, gradients.iter().map(|g| constant * g)),
                Some((_, width, scale)) => {
                    let features = inner(width, |rows, k| &rows.features[k], k);
                    let factor = weight * scale * scale;
                    let pairs = gradients.iter().zip(&features);
                    add(&mut kernel, pairs.map(|(g, f)| (factor * f + constant) * g));
                }
            }
        }
        if self.rest > 0 {
            let rest = inner(self.outputs * self.rest, |rows, _| &rows.rest, 0);
            add(&mut kernel, rest.iter().map(|g| weight * g));
        }
        kernel
    }
}

impl Rows {
    fn samples(&self, tangent: &Tangent) -> usize {
        let outputs = tangent.outputs;
        match tangent.sites.first() {
            Some(site) => self.gradients[0].len() / (outputs * site.units),
            None => self.rest.len() / (outputs * tangent.rest).max(1),
        }
    }
}

fn add(to: &mut [f64], numbers: impl Iterator<Item = f64>) {
    to.iter_mut().zip(numbers).for_each(|(to, x)| *to += x);
}

/// Where dense layers and their biases act, and the parameters that act otherwise.
fn sites(graph: &Graph) -> (Vec<Site>, Vec<usize>) {
    let mut uses = vec![0usize; graph.params.len()];
    for node in &graph.nodes {
        let parameters = node.op.facts().parameters;
        parameters.iter().for_each(|(id, _)| uses[id.0] += 1);
    }
    let mut here = vec![false; graph.params.len()];
    let mut take = |id: ParamId| {
        let ours = uses[id.0] == 1 && graph.param(id).role == Role::Trainable;
        here[id.0] |= ours;
        ours
    };
    let readers = |node: usize| {
        let inputs = graph.nodes.iter().flat_map(|n| &n.inputs);
        inputs.filter(|i| i.0 == node).count()
    };
    let mut sites: Vec<Site> = Vec::new();
    for (at, node) in graph.nodes.iter().enumerate() {
        let Shape::Vector { features: units } = node.shape else {
            continue;
        };
        match node.op {
            Op::Dense { weight, scale } if take(weight) => {
                let source = node.inputs[0].0;
                let width = graph.nodes[source].shape.len();
                sites.push(Site {
                    node: at,
                    units,
                    source: Some((source, width, scale)),
                    bias: 0.0,
                });
            }
            Op::Bias { bias, scale } if take(bias) => {
                let below = node.inputs[0].0;
                match sites.last_mut() {
                    // The bias of the layer before, whose sum nobody else reads: both have the same g.
                    Some(site) if site.node == below && readers(below) == 1 => {
                        site.node = at;
                        site.bias = site.bias.hypot(scale);
                    }
                    _ => sites.push(Site {
                        node: at,
                        units,
                        source: None,
                        bias: scale,
                    }),
                }
            }
            _ => {}
        }
    }
    let rest = graph.trainable().filter(|&i| !here[i]).collect();
    (sites, rest)
}

#[cfg(test)]
mod tests {
    use polariscope_diff::Device;
    use polariscope_empirical::{MEMORY, Outputs, among, between};
    use polariscope_graph::{Activation, ZooOptions, zoo};
    use polariscope_network::Network;
    use polariscope_random::Stream;

    use super::*;

    /// Against gradients that are formed: dense and convolutional networks, scaled weights, several outputs.
    #[test]
    fn layers_add_up_to_the_kernel() {
        let tanh = Some(Activation::Tanh.into());
        for (name, input, outputs, parametrisation) in [
            ("mlp-2x7", "5", 3, None),
            (
                "mlp-2x7",
                "5",
                1,
                Some(polariscope_graph::Parametrisation::Ntk {
                    w_std: 1.3,
                    b_std: 0.4,
                }),
            ),
            ("lenet", "1x32x32", 2, None),
            ("cnn-gap", "1x8x8", 2, None),
        ] {
            let options = ZooOptions {
                input: Some(input.parse().unwrap()),
                outputs: Some(outputs),
                activation: tanh,
                parametrisation,
                ..ZooOptions::default()
            };
            let graph = zoo(name, &options).unwrap();
            let weights = Weights::<f64>::draw(&graph, 3, 0);
            let (n, m, d) = (11, 4, graph.input().len());
            let mut x = vec![0.0f32; (n + m) * d];
            Stream::new(1, 0, "x").normal(1.0, &mut x);
            let x: Vec<f64> = x.into_iter().map(f64::from).collect();
            let (first, others) = x.split_at(n * d);
            let network = Network::on(graph.clone(), Device::Cpu);
            let want = [
                among(&network, &weights, first, Outputs::Mean, MEMORY).unwrap(),
                between(&network, &weights, others, first, Outputs::Mean, MEMORY).unwrap(),
            ];
            let found = Tangent::new(&graph, &weights).kernels(first, others);
            for (found, want) in found.iter().zip(&want) {
                assert_eq!(found.len(), want.len());
                let largest = want.iter().fold(0.0f64, |m, k| m.max(k.abs()));
                let pairs = found.iter().zip(want);
                let error = pairs.fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
                assert!(error < 1e-12 * largest, "{name}: {error} of {largest}");
            }
        }
    }
}
