//! The NNGP recursion of one pair (x, x') over a graph, as expressions.
//!
//! With v = Var(w), fields F of every channel i of a node (E[h(x)h(x')], and those of one input with itself):
//!
//! | op | F_out |
//! |---|---|
//! | dense | v Σ_i Σ_α F_i[α,α] |
//! | conv | v Σ_i Σ_β F_i[s·o + β, s·o' + β] |
//! | local | the same for o = o', 0 otherwise |
//! | bias | F + Var(b) |
//! | activation | E[φφ] ([`super::activation`]) |
//! | average pool of k numbers | Σ F/k² over both windows |
//! | scale by a | a² F |
//! | add | Σ F: the terms are uncorrelated, or refused |

use std::collections::BTreeSet;

use polariscope_diff::{Id, Trace};
use polariscope_graph::{Graph, Node, ParamId, Passage, Shape};

use super::fields::{Algebra, At};
use super::need::{Need, Needs, needs};
use super::pairs::Taps;
use super::refusal::{KernelRefusal, unsupported};
use super::value::{Block, Fields, Law, Value, aligned};

/// What laws of weights and biases must be.
const WEIGHTS: &str = "weights must have mean 0 (uniform, normal, orthogonal)";
const BIASES: &str = "biases must have mean 0 (0, uniform, normal)";

/// The recursion as expressions.
pub(super) struct Recursion {
    pub trace: Trace,
    /// x and x', 1×C×H×W.
    pub inputs: [Id; 2],
    /// Values of the leaves, those of x and x' first; empty without a probe.
    pub leaves: Vec<Vec<f64>>,
    /// The last node.
    pub output: Vec<Block>,
}

impl Recursion {
    /// Writes the recursion down.
    pub fn new(graph: &Graph, at: At) -> Result<Self, KernelRefusal> {
        let Some([height, width]) = grid_of(graph.input()) else {
            return Err(unsupported(&graph.nodes[0]));
        };
        let channels = graph.input().len() / (height * width).max(1);
        let mut walk = Walk {
            graph,
            algebra: Algebra::new(&[1, channels, height, width], at),
        };
        let inputs = walk.algebra.inputs;
        let needs = needs(graph);
        let mut values: Vec<Option<Value>> = Vec::with_capacity(graph.nodes.len());
        for (i, node) in graph.nodes.iter().enumerate() {
            let live = needs[i].between > Need::Nothing;
            let above = node.inputs.iter().map(|j| values[j.0].clone());
            let above: Option<Vec<Value>> = above.collect();
            values.push(match above.filter(|_| live) {
                Some(above) => Some(walk.node(i, node, &above, needs[i])?),
                None => None,
            });
        }
        match values.pop().flatten() {
            Some(Value::Blocks(output)) => Ok(Recursion {
                trace: walk.algebra.t,
                inputs,
                leaves: walk.algebra.leaves,
                output,
            }),
            Some(Value::Bare(_)) | None => Err(KernelRefusal::Bare {
                what: "an output that",
            }),
        }
    }
}

/// Height and width; 1 and 1 of a vector, none of tokens.
fn grid_of(shape: Shape) -> Option<[usize; 2]> {
    match shape {
        Shape::Image { height, width, .. } => Some([height, width]),
        Shape::Signal { length, .. } => Some([1, length]),
        Shape::Vector { .. } => Some([1, 1]),
        Shape::Tokens { .. } => None,
    }
}

struct Walk<'a> {
    graph: &'a Graph,
    algebra: Algebra<'a>,
}

impl Walk<'_> {
    fn node(
        &mut self,
        index: usize,
        node: &Node,
        above: &[Value],
        needs: Needs,
    ) -> Result<Value, KernelRefusal> {
        let Some(grid) = grid_of(node.shape) else {
            return Err(unsupported(node));
        };
        let Some(first) = above.first() else {
            return Ok(Value::Bare(self.algebra.inputs));
        };
        // What a weight makes: Gaussian, alike in all channels, uncorrelated with what it reads.
        let fresh = |channels: usize, fields: Fields| {
            Value::Blocks(vec![Block {
                channels,
                grid,
                law: Law::Gaussian,
                sources: BTreeSet::from([index]),
                fields,
            }])
        };
        let a = &mut self.algebra;
        Ok(match node.op.facts().passage {
            Passage::Input => Value::Bare(a.inputs),
            Passage::Dense { weight, scale } => {
                let v = variance(self.graph, weight, scale, WEIGHTS)?;
                let sums = a.mixed(first, v, needs.equal(), |t, variances| {
                    t.sum(variances, &[0])
                });
                fresh(
                    self.graph.param(weight).shape[0],
                    a.spread(sums, needs.each()),
                )
            }
            Passage::Conv {
                weight,
                scale,
                window,
                groups: 1,
            } => {
                let v = variance(self.graph, weight, scale, WEIGHTS)?;
                let taps = Taps::new(window, a.grid(first));
                let channels = self.graph.param(weight).shape[0];
                fresh(channels, a.convolved(first, &taps, v, needs))
            }
            Passage::Conv { .. } => return Err(unsupported(node)),
            Passage::Local {
                weight,
                scale,
                window,
            } => {
                let v = variance(self.graph, weight, scale, WEIGHTS)?;
                let taps = Taps::new(window, a.grid(first));
                let equal = a.convolved(first, &taps, v, needs.equal());
                let channels = self.graph.param(weight).shape[0];
                fresh(channels, a.spread(equal, needs.each()))
            }
            Passage::Bias { bias, scale } => {
                let v = variance(self.graph, bias, scale, BIASES)?;
                if v == 0.0 {
                    return Ok(first.clone());
                }
                let mut blocks = a.mapped(first, needs, |t, id| t.shift(id, v));
                for block in &mut blocks {
                    block.sources.insert(index);
                }
                Value::Blocks(blocks)
            }
            Passage::Scale { by } => match first {
                Value::Bare(x) => Value::Bare(x.map(|x| a.t.scale(x, by))),
                Value::Blocks(_) => {
                    Value::Blocks(a.mapped(first, needs, |t, id| t.scale(id, by * by)))
                }
            },
            Passage::Same | Passage::Flatten => first.clone(),
            Passage::Activation(activation) if activation.is_identity() => first.clone(),
            Passage::Activation(activation) => {
                let Value::Blocks(blocks) = first else {
                    return Err(KernelRefusal::Unmixed {
                        op: activation.name(),
                        layer: node.layer.clone(),
                    });
                };
                let made = blocks
                    .iter()
                    .map(|block| a.activated(activation, &node.layer, block, needs));
                Value::Blocks(made.collect::<Result<_, _>>()?)
            }
            Passage::AvgPool(window) => {
                let taps = Taps::new(window, a.grid(first));
                match first {
                    Value::Bare(x) => Value::Bare(x.map(|x| {
                        let sums = taps.sums(&mut a.t, x);
                        a.t.scale(sums, 1.0 / taps.count())
                    })),
                    Value::Blocks(blocks) => {
                        Value::Blocks(a.pooled(blocks, grid, needs, |t, pairs| {
                            let sums = taps.pool_pairs(t, pairs);
                            t.scale(sums, taps.count().powi(-2))
                        }))
                    }
                }
            }
            Passage::GlobalAvgPool => match first {
                Value::Bare(x) => Value::Bare(x.map(|x| {
                    let count: usize = a.t.shape(x)[2..].iter().product();
                    let sum = a.t.sum(x, &[2, 3]);
                    a.t.scale(sum, 1.0 / count as f64)
                })),
                Value::Blocks(blocks) => {
                    Value::Blocks(a.pooled(blocks, grid, needs, |t, pairs| {
                        let positions = t.shape(pairs)[0] as f64;
                        let sum = t.sum(pairs, &[0, 1]);
                        t.scale(sum, positions.powi(-2))
                    }))
                }
            },
            Passage::Add => {
                let mut sum = a.blocks(first, needs);
                for value in &above[1..] {
                    let other = a.blocks(value, needs);
                    let mut added = Vec::new();
                    for (x, y) in aligned(&sum, &other) {
                        uncorrelated(self.graph, node, &x, &y)?;
                        added.push(a.plus(&x, &y));
                    }
                    sum = added;
                }
                Value::Blocks(sum)
            }
            Passage::Concat => {
                let parts = above.iter().flat_map(|value| a.blocks(value, needs));
                Value::Blocks(parts.collect())
            }
            Passage::BatchNorm { .. }
            | Passage::MaxPool(_)
            | Passage::Norm(_)
            | Passage::Other(_) => {
                return Err(unsupported(node));
            }
        })
    }
}

/// Refuses a sum whose terms are correlated.
fn uncorrelated(graph: &Graph, node: &Node, a: &Block, b: &Block) -> Result<(), KernelRefusal> {
    let layer = || node.layer.clone();
    if a.grid != b.grid {
        return Err(KernelRefusal::Layout { layer: layer() });
    }
    if let Some(&source) = a.sources.intersection(&b.sources).max() {
        return Err(KernelRefusal::Correlated {
            layer: layer(),
            source_layer: graph.nodes[source].layer.clone(),
        });
    }
    if a.law == Law::Other && b.law == Law::Other {
        return Err(KernelRefusal::Means { layer: layer() });
    }
    Ok(())
}

/// Var of scale · parameter.
fn variance(
    graph: &Graph,
    id: ParamId,
    scale: f64,
    wanted: &'static str,
) -> Result<f64, KernelRefusal> {
    let param = graph.param(id);
    match param.variance() {
        Some(variance) => Ok(variance * scale * scale),
        None => Err(KernelRefusal::Law {
            param: param.name.clone(),
            wanted,
        }),
    }
}
