//! Covariances of gradients, from the outputs to the input.
//!
//! B[α,α'] = E[∂f/∂h_α ∂f/∂h_α'] over positions of one channel. With v = Var(w) and n outgoing channels:
//!
//! | op | B_in |
//! |---|---|
//! | dense | v Σ B over all outputs, on the diagonal |
//! | conv | v n Σ_β B[o,o'] over γ = s·o + β − pad, γ' = s·o' + β − pad (the same β: the kernel is shared) |
//! | local | the same with o = o' only, hence diagonal |
//! | average pool of k numbers | Σ B[o,o']/k² over the windows of γ and γ' |
//! | global average pool | B/P² for all pairs |
//! | activation | B ∘ E[φ'φ'], or φ'(0)² B |
//! | add, concat | B to every input, the channels of each (a skip between activations: [`crate::chain`]) |
//!
//! and a node that is read several times gets the sum ([`crate::paths`] says when).

use std::collections::HashMap;

use polariscope_graph::{Graph, Node, Op, Passage, Window};

use crate::blocks::{Block, Blocks, Key};
use crate::laws::{batch_norm_gain, weight_variance};
use crate::layout::{Layout, channels, readout_blocks, white};
use crate::matrix::Matrix;
use crate::refusal::unsupported;
use crate::window::{Axis, Direction, Pairing, axes, slide, slide_sums};
use crate::{Covariance, Method, Readout, Refusal};

/// E[φ'φ'] of an activation.
pub(crate) enum Slope {
    /// The same for all positions.
    Constant(f64),
    /// By channel and position.
    Field(Blocks),
    /// What a sum sends to some of its inputs, by their place, is multiplied by ([`crate::chain`]).
    Sides(Vec<(usize, Blocks)>),
    /// Of a max pool between two inputs, the slope of an activation behind it included: what reaches every pair of
    /// its taps, and what reaches a tap and itself.
    Winners { apart: Blocks, same: Blocks },
}

impl Slope {
    /// Of a sum: one more factor.
    pub fn add_side(&mut self, side: usize, factor: Blocks) {
        match self {
            Slope::Sides(sides) => sides.push((side, factor)),
            other => *other = Slope::Sides(vec![(side, factor)]),
        }
    }
}

/// Covariance of the gradient at the input; `slopes` has an entry a node, used up on the way.
pub(crate) fn backward(
    graph: &Graph,
    layouts: &[Layout],
    mut slopes: Vec<Slope>,
    readout: Readout,
    method: Method,
) -> Result<Covariance, Refusal> {
    let output = layouts.last().map_or(&[][..], |layout| layout);
    let output = readout_blocks(output, readout)?;
    let mut gradients: Vec<Option<Blocks>> = vec![None; graph.nodes.len()];
    if let Some(last) = gradients.last_mut() {
        *last = Some(output);
    }
    for (i, node) in graph.nodes.iter().enumerate().rev() {
        let slope = slopes.pop();
        if node.op == Op::Input {
            continue;
        }
        let Some(b) = gradients[i].take() else {
            continue;
        };
        match &node.op {
            Op::Concat => {
                let mut first = 0;
                for input in &node.inputs {
                    let last = first + channels(&layouts[input.0]);
                    accumulate(&mut gradients[input.0], b.slice(first..last));
                    first = last;
                }
            }
            Op::Add => {
                let sides = match &slope {
                    Some(Slope::Sides(sides)) => &sides[..],
                    Some(Slope::Constant(_) | Slope::Field(_) | Slope::Winners { .. }) | None => {
                        &[]
                    }
                };
                for (place, input) in node.inputs.iter().enumerate() {
                    let side = sides.iter().find(|(side, _)| *side == place);
                    let b = side.map_or_else(|| b.clone(), |(_, factor)| b.times(factor));
                    accumulate(&mut gradients[input.0], b);
                }
            }
            _ => {
                let Some(input) = node.inputs.first() else {
                    continue;
                };
                let b = through(graph, node, &layouts[input.0], b, slope, method)?;
                accumulate(&mut gradients[input.0], b);
            }
        }
    }
    // Every node is made from the input, and the output is a node.
    let input = gradients.swap_remove(0).unwrap_or_default();
    Covariance::from_blocks(graph, &input)
}

fn accumulate(gradient: &mut Option<Blocks>, more: Blocks) {
    *gradient = Some(match gradient.take() {
        Some(sum) => sum.plus(more),
        None => more,
    });
}

/// One step back through a node with one input.
fn through(
    graph: &Graph,
    node: &Node,
    input: &Layout,
    b: Blocks,
    slope: Option<Slope>,
    method: Method,
) -> Result<Blocks, Refusal> {
    Ok(match node.op.facts().passage {
        Passage::Dense { weight, scale } => {
            let v = weight_variance(graph, weight, scale)?;
            white(input, v * b.trace())
        }
        Passage::Conv {
            weight,
            scale,
            window,
            groups,
        } => {
            let v = weight_variance(graph, weight, scale)?;
            let axes = back(window, input, node);
            let out = graph.param(weight).shape[0] / groups;
            by_group(&b, groups, out, channels(input) / groups, |sum| Block {
                scale: v * sum.scale,
                ..Block::new(1, 1.0, slide(&sum.matrix, &axes, Pairing::Shared))
            })
        }
        Passage::Local {
            weight,
            scale,
            window,
        } => {
            let v = weight_variance(graph, weight, scale)?;
            let axes = back(window, input, node);
            let (n, all) = (channels(input), graph.param(weight).shape[0]);
            by_group(&b, 1, all, n, |sum| {
                let [_, width] = sum.matrix.grid();
                let variances = slide_sums(&sum.matrix.variances(), width, &axes);
                Block::new(
                    1,
                    v * sum.scale,
                    Matrix::diagonal(input[0].grid, &variances),
                )
            })
        }
        Passage::MaxPool(window) if let Some(Slope::Winners { apart, same }) = &slope => {
            let axes = back(window, input, node);
            let spread = |b: Blocks, pairing: Pairing| {
                b.map(|block| Block {
                    scale: block.scale,
                    ..Block::new(1, 1.0, slide(&block.matrix, &axes, pairing))
                })
            };
            spread(b.times(apart), Pairing::All).plus(spread(b.times(same), Pairing::Shared))
        }
        // The local mean field takes a max pool as an average pool; `exact` never comes here with one.
        Passage::AvgPool(window) | Passage::MaxPool(window) => {
            let axes = back(window, input, node);
            let taps = (window.kernel[0] * window.kernel[1]) as f64;
            b.map(|block| Block {
                scale: block.scale / (taps * taps),
                ..Block::new(1, 1.0, slide(&block.matrix, &axes, Pairing::All))
            })
        }
        Passage::GlobalAvgPool => {
            let grid = input[0].grid;
            let positions = (grid[0] * grid[1]) as f64;
            b.map(|block| {
                let value = block.matrix.trace() / (positions * positions);
                Block::new(1, block.scale, Matrix::constant(grid, value))
            })
        }
        Passage::Activation(_) => match slope {
            Some(Slope::Field(field)) => b.times(&field),
            Some(Slope::Constant(slope)) => b.scaled(slope),
            Some(Slope::Sides(_) | Slope::Winners { .. }) | None => b,
        },
        Passage::Scale { by } => b.scaled(by * by),
        Passage::BatchNorm {
            weight,
            running_var,
            eps,
            ..
        } => b.scaled(batch_norm_gain(graph, weight, running_var, eps)?.square),
        Passage::Bias { .. } | Passage::Same | Passage::Flatten => b,
        Passage::Input | Passage::Add | Passage::Concat => b,
        Passage::Norm(_) | Passage::Other(_) => return Err(unsupported(method, node)),
    })
}

/// Taps from the outputs of a node to its inputs.
fn back(window: &Window, input: &Layout, node: &Node) -> [Axis; 2] {
    let output = crate::window::grid(node.shape).unwrap_or([1, 1]);
    axes(window, input[0].grid, output, Direction::Backward)
}

/// What a grouped weight does: `step` maps the sum over a group's `from` channels to each of its `to` channels.
/// Groups of one sum share one result.
pub(crate) fn by_group(
    blocks: &Blocks,
    groups: usize,
    from: usize,
    to: usize,
    step: impl Fn(&Block) -> Block,
) -> Blocks {
    let mut made: HashMap<Vec<(usize, Key)>, Block> = HashMap::new();
    let mut result = Blocks::default();
    for group in 0..groups {
        let part = blocks.slice(group * from..(group + 1) * from);
        let image = made.entry(part.signature()).or_insert_with(|| {
            // A group holds at least one channel.
            let zero = || Block::new(1, 0.0, Matrix::constant([1, 1], 0.0));
            step(&part.total().unwrap_or_else(zero))
        });
        result.push(Block {
            channels: to,
            ..image.clone()
        });
    }
    result
}
