//! The tangent kernel, its mean over outputs, layer by layer.
//!
//! A dense layer of units z = W a + b has the gradients ∂f/∂W = g aᵀ and ∂f/∂b = g with g = ∂f/∂z, whose inner products
//! are (g·g′)(a·a′) and g·g′: they are never formed. Gradients of all other parameters are, a sample and an output at a
//! time. With rows of features that is
//!
//! ```text
//! Θ(x, x′) = (1/C) [ Σ_layers (s² a·a′) Σ_c g_c·g_c′ + Σ_biases s² Σ_c g_c·g_c′ + Σ_c ∇f_c·∇f_c′ ]
//! ```

use std::sync::Arc;

use polariscope_diff::{Id, Program, Session, vjp, vmap};
use polariscope_graph::{Graph, Op, Role, Shape};
use polariscope_linalg::product_transposed;
use polariscope_network::{Mode, Weights, lower_through};
use rayon::prelude::*;

/// Samples whose rows are held beside those of the first set.
const BLOCK: usize = 256;
/// Samples of a task.
const TASK: usize = 8;

/// A node whose value is a linear map of another, or that adds a bias.
struct Site {
    node: usize,
    units: usize,
    /// The node that is multiplied, and its width; none for a bias.
    source: Option<(usize, usize)>,
    scale: f64,
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
        let mut shifts = Vec::with_capacity(sites.len());
        let lowered = lower_through(graph, 1, Mode::Evaluate, |t, node, value| {
            let Some(site) = sites.iter().find(|s| s.node == node) else {
                return value;
            };
            let shift = t.leaf(&[1, site.units]);
            shifts.push(shift);
            t.add(value, shift)
        });
        let mut t = lowered.trace;
        let u = t.leaf(&[1, outputs]);
        let wrt: Vec<Id> = shifts
            .iter()
            .copied()
            .chain(rest.iter().map(|&i| lowered.params[i]))
            .collect();
        let sources = sites.iter().filter_map(|s| s.source);
        let sources: Vec<Id> = sources.map(|(node, _)| lowered.nodes[node]).collect();
        let gradients = vjp(&mut t, &[(lowered.output, u)], &wrt);
        let (mut all, found) = vmap(&t, &[gradients, sources].concat(), &[u], outputs);
        // What does not depend on the output is the same in every row.
        let (of_outputs, same) = found.split_at(wrt.len());
        let same: Vec<Id> = same.iter().map(|&id| all.slice(id, 0, 0, 1)).collect();
        Tangent {
            weights,
            program: Arc::new(Program::new(&all, &[of_outputs, &same].concat())),
            sample: graph.input().len(),
            outputs,
            rest: rest.iter().map(|&i| graph.params[i].len()).sum(),
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
            .map(|s| outputs * s.units + s.source.map_or(0, |(_, width)| width))
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
            .map(|block| self.product(&self.rows(block), &rows))
            .collect();
        [self.product(&rows, &rows), blocks.concat()]
    }

    fn rows(&self, x: &[f64]) -> Rows {
        let shifts: Vec<Vec<f64>> = self.sites.iter().map(|s| vec![0.0; s.units]).collect();
        let mut unit = vec![0.0; self.outputs * self.outputs];
        unit.iter_mut()
            .step_by(self.outputs + 1)
            .for_each(|u| *u = 1.0);
        let fixed: Vec<&[f64]> = self
            .weights
            .values
            .iter()
            .chain(&shifts)
            .map(Vec::as_slice)
            .chain([unit.as_slice()])
            .collect();
        let task = |x: &[f64]| {
            let mut session = Session::new(self.program.clone());
            let mut rows = self.empty();
            for x in x.chunks_exact(self.sample) {
                let leaves: Vec<&[f64]> = std::iter::once(x).chain(fixed.iter().copied()).collect();
                session.run(&leaves);
                self.add(&mut rows, &session);
            }
            rows
        };
        let parts: Vec<Rows> = x.par_chunks(TASK * self.sample).map(task).collect();
        let mut all = self.empty();
        for part in parts {
            let pairs = all.features.iter_mut().zip(part.features);
            pairs.for_each(|(all, part)| all.extend(part));
            let pairs = all.gradients.iter_mut().zip(part.gradients);
            pairs.for_each(|(all, part)| all.extend(part));
            all.rest.extend(part.rest);
        }
        all
    }

    fn empty(&self) -> Rows {
        Rows {
            features: vec![Vec::new(); self.sites.len()],
            gradients: vec![Vec::new(); self.sites.len()],
            rest: Vec::new(),
        }
    }

    /// Adds what was found of a sample.
    fn add(&self, rows: &mut Rows, session: &Session<f64>) {
        for (k, gradients) in rows.gradients.iter_mut().enumerate() {
            gradients.extend_from_slice(session.output(k));
        }
        let sources = self.sites.iter().filter(|s| s.source.is_some()).count();
        let first = session.outputs() - sources;
        // The gradient of an output, parameter by parameter: inner products add up in any order.
        (self.sites.len()..first).for_each(|k| rows.rest.extend_from_slice(session.output(k)));
        let mut next = first;
        for (site, features) in self.sites.iter().zip(&mut rows.features) {
            if site.source.is_some() {
                features.extend_from_slice(session.output(next));
                next += 1;
            }
        }
    }

    /// Θ of the samples of two sets of rows.
    fn product(&self, a: &Rows, b: &Rows) -> Vec<f64> {
        let columns = b.samples(self);
        let mut kernel = vec![0.0; a.samples(self) * columns];
        let weight = 1.0 / self.outputs as f64;
        for (k, site) in self.sites.iter().enumerate() {
            let length = self.outputs * site.units;
            let inner = product_transposed(&a.gradients[k], &b.gradients[k], length, columns);
            let factor = weight * site.scale * site.scale;
            match site.source {
                None => add(&mut kernel, inner.iter().map(|g| factor * g)),
                Some((_, width)) => {
                    let same = product_transposed(&a.features[k], &b.features[k], width, columns);
                    let pairs = inner.iter().zip(&same);
                    add(&mut kernel, pairs.map(|(g, f)| factor * g * f));
                }
            }
        }
        if self.rest > 0 {
            let length = self.outputs * self.rest;
            let inner = product_transposed(&a.rest, &b.rest, length, columns);
            add(&mut kernel, inner.iter().map(|g| weight * g));
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
    let mut sites = Vec::new();
    for (at, node) in graph.nodes.iter().enumerate() {
        let Shape::Vector { features: units } = node.shape else {
            continue;
        };
        let (parameter, scale, source) = match node.op {
            Op::Dense { weight, scale } => {
                let source = node.inputs[0].0;
                let width = graph.nodes[source].shape.len();
                (weight, scale, Some((source, width)))
            }
            Op::Bias { bias, scale } => (bias, scale, None),
            _ => continue,
        };
        if uses[parameter.0] == 1 && graph.param(parameter).role == Role::Trainable {
            here[parameter.0] = true;
            sites.push(Site {
                node: at,
                units,
                source,
                scale,
            });
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
