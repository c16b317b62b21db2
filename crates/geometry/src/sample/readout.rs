//! The last layer, integrated out.
//!
//! If f = w·h(x) with w independent of the trunk h, of mean 0 and variance σ² an entry, then
//! E_w[∇f ∇fᵀ] = σ² Σᵢ ∇hᵢ ∇hᵢᵀ: a trunk can serve many read-outs w. With k of them the variance of a trunk's
//! estimate of G is V_T + V_R/k (V_T between trunks, V_R between read-outs of one trunk) and its cost c_T + k c_R, so
//! the best k is √(V_R c_T / (V_T c_R)). With at most [`SMALL`] features the sum over all of them replaces the draws.

use polariscope_graph::{Graph, Law, Op, Shape};
use polariscope_random::Stream;
use serde::{Deserialize, Serialize};

use crate::Output;

/// A last layer of at most this width is summed over whole.
const SMALL: usize = 16;
/// More read-outs than this gain nothing that more trunks would not.
const MOST: usize = 64;

/// How the last layer is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Readouts {
    /// As the network has it.
    Own,
    /// This many drawn from its law, for every trunk.
    Drawn(usize),
    /// All features, each weighted by the variance of its weight.
    Every,
}

/// A network without its last dense layer, and the law of that layer.
pub(crate) struct Trunk {
    /// Everything before the last layer; parameters are the whole network's.
    pub graph: Graph,
    /// Features that the last layer reads.
    pub width: usize,
    /// Outputs of the last layer.
    outputs: usize,
    /// Law of a weight.
    law: Law,
    /// Factor on the weights.
    scale: f64,
}

impl Trunk {
    /// Cuts the last layer off, if the network ends in a dense one with independent weights of mean 0 on a vector.
    pub fn of(graph: &Graph) -> Option<Self> {
        let mut last = graph.nodes.len() - 1;
        while matches!(graph.nodes[last].op, Op::Bias { .. } | Op::Dropout { .. }) {
            last = graph.nodes[last].inputs[0].0;
        }
        let Op::Dense { weight, scale } = graph.nodes[last].op else {
            return None;
        };
        let law = graph.param(weight).law;
        let features = graph.nodes[last].inputs[0].0;
        let Shape::Vector { features: width } = graph.nodes[features].shape else {
            return None;
        };
        let random = matches!(law, Law::Uniform { .. } | Law::Normal { .. });
        // The cut is clean only if nothing after it reads anything else.
        let clean = features + 1 == last && features > 0;
        (random && clean).then(|| Self {
            graph: Graph {
                nodes: graph.nodes[..=features].to_vec(),
                ..graph.clone()
            },
            width,
            outputs: graph.output().len(),
            law,
            scale,
        })
    }

    /// Whether the sum over all features is short enough to be taken whole.
    pub fn is_short(&self) -> bool {
        self.width <= SMALL
    }

    /// Standard deviation of a weight, its factor included.
    fn deviation(&self) -> f64 {
        let std = match self.law {
            Law::Uniform { bound } => bound / 3f64.sqrt(),
            Law::Normal { std } => std,
            Law::Constant(_) | Law::Orthogonal { .. } => 0.0,
        };
        std * self.scale
    }

    /// Cotangents of the features, one a row, whose outer products average to σ²I: network `index`'s k read-outs.
    /// For the mean of C outputs σ² is that of the mean of C rows, for all outputs the sum over them.
    pub fn cotangents(
        &self,
        readouts: Readouts,
        output: Output,
        seed: u64,
        index: u64,
    ) -> Vec<f64> {
        let n = self.width;
        let factor = match output {
            Output::Logit(_) => 1.0,
            Output::Mean => 1.0 / (self.outputs as f64).sqrt(),
            Output::All => (self.outputs as f64).sqrt(),
        };
        match readouts {
            Readouts::Own | Readouts::Every => {
                let mut rows = vec![0.0; n * n];
                for i in 0..n {
                    // Rows are averaged over, so each carries √n.
                    rows[i * n + i] = factor * self.deviation() * (n as f64).sqrt();
                }
                rows
            }
            Readouts::Drawn(k) => {
                let stream = Stream::new(seed, index, "read-outs");
                let mut draws = vec![0f32; k * n];
                match self.law {
                    Law::Uniform { .. } => stream.uniform(3f32.sqrt(), &mut draws),
                    Law::Normal { .. } | Law::Constant(_) | Law::Orthogonal { .. } => {
                        stream.normal(1.0, &mut draws);
                    }
                }
                let scale = factor * self.deviation();
                draws.iter().map(|&w| scale * f64::from(w)).collect()
            }
        }
    }
}

/// The k of least cost for a given error, from gradients of a few trunks with a few read-outs each:
/// `rows[t][r]` is ∇f of trunk t with read-out r. ⟨g gᵀ, g' g'ᵀ⟩ = (g·g')².
pub(crate) fn best(rows: &[Vec<Vec<f64>>], trunk_cost: f64, readout_cost: f64) -> usize {
    let square = |a: &[f64], b: &[f64]| crate::matrix::dot(a, b).powi(2);
    let (mut own, mut same, mut other) = (Mean::default(), Mean::default(), Mean::default());
    for (t, trunk) in rows.iter().enumerate() {
        for (r, g) in trunk.iter().enumerate() {
            own.add(square(g, g));
            trunk[..r].iter().for_each(|h| same.add(square(g, h)));
            for before in &rows[..t] {
                before.iter().for_each(|h| other.add(square(g, h)));
            }
        }
    }
    let between_trunks = (same.value() - other.value()).max(0.0);
    let between_readouts = (own.value() - same.value()).max(0.0);
    let k = (between_readouts * trunk_cost / (between_trunks * readout_cost)).sqrt();
    // NaN where no variance was seen.
    if k.is_finite() {
        (k.round() as usize).clamp(1, MOST)
    } else {
        1
    }
}

#[derive(Default)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, x: f64) {
        self.sum += x;
        self.count += 1.0;
    }

    fn value(&self) -> f64 {
        self.sum / self.count.max(1.0)
    }
}
