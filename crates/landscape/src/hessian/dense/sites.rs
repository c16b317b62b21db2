//! Where the parameters of a network of dense layers act: each weight multiplies one feature into one unit.

use polariscope_graph::{Graph, Op, ParamId, Shape};

/// A dense layer, a bias, or both: unit i gets Σ_j w_ij a_j, with a constant feature for the bias.
pub(super) struct Site {
    /// The node whose value the units are.
    pub node: usize,
    pub units: usize,
    /// The node that is multiplied, its width and the scale of the product.
    pub source: Option<(usize, usize, f64)>,
    /// Scale of the bias: the constant feature.
    pub constant: Option<f64>,
    /// First of its weights and of its biases among the parameters.
    weights: usize,
    biases: usize,
}

impl Site {
    /// Features, the constant one last.
    pub fn features(&self) -> usize {
        self.width() + usize::from(self.constant.is_some())
    }

    /// Features that are not constant.
    pub fn width(&self) -> usize {
        self.source.map_or(0, |(_, width, _)| width)
    }

    /// The parameter that multiplies feature j into unit i.
    pub fn parameter(&self, i: usize, j: usize) -> usize {
        match j < self.width() {
            true => self.weights + i * self.width() + j,
            false => self.biases + i,
        }
    }
}

/// The sites of a network; none where a parameter acts otherwise, or twice.
pub(super) fn sites(graph: &Graph) -> Option<Vec<Site>> {
    let mut first = vec![None; graph.params.len()];
    let mut count = 0;
    for i in graph.trainable() {
        first[i] = Some(count);
        count += graph.params[i].len();
    }
    let mut used = vec![false; graph.params.len()];
    let mut take = |id: ParamId| {
        let again = std::mem::replace(&mut used[id.0], true);
        first[id.0].filter(|_| !again)
    };
    let mut sites: Vec<Site> = Vec::new();
    for (at, node) in graph.nodes.iter().enumerate() {
        let Shape::Vector { features: units } = node.shape else {
            continue;
        };
        match node.op {
            Op::Dense { weight, scale } => {
                let width = graph.param(weight).shape[1];
                let source = node.inputs[0].0;
                if graph.nodes[source].shape.len() != width {
                    return None;
                }
                sites.push(Site {
                    node: at,
                    units,
                    source: Some((source, width, scale)),
                    constant: None,
                    weights: take(weight)?,
                    biases: 0,
                });
            }
            Op::Bias { bias, scale } => {
                let biases = take(bias)?;
                let below = node.inputs[0].0;
                let alone = graph.nodes.iter().flat_map(|n| &n.inputs);
                let alone = alone.filter(|i| i.0 == below).count() == 1;
                match sites.last_mut() {
                    // The bias of the layer before, whose sum nobody else reads.
                    Some(site) if site.node == below && site.constant.is_none() && alone => {
                        site.node = at;
                        site.constant = Some(scale);
                        site.biases = biases;
                    }
                    _ => sites.push(Site {
                        node: at,
                        units,
                        source: None,
                        constant: Some(scale),
                        weights: 0,
                        biases,
                    }),
                }
            }
            _ => {}
        }
    }
    let all = graph.trainable().all(|i| used[i]);
    all.then_some(sites)
}
