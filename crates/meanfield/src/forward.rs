//! Second moments and means of signals at infinite width, from the input to the outputs.
//!
//! Q[α,α'] = E[h_α h_α'] and m[α] = E[h_α] over positions of one channel, at one probe x. With v = Var(w):
//!
//! | op | Q_out |
//! |---|---|
//! | input | x_c x_cᵀ in channel c |
//! | dense | v Σ Q over all inputs, on the diagonal |
//! | conv | v Σ_c Σ_β Q_c[s·o + β − pad, s·o' + β − pad] |
//! | local | the same with o = o' only: weights are not shared |
//! | bias | Q + Var(b) for all pairs of a channel |
//! | activation | E[φ(u)φ(v)], (u, v) Gaussians of mean m and covariance Q − m mᵀ ([`crate::dual`]) |
//! | average pool of k numbers | Σ Q/k² over both windows |
//! | add | sum over the inputs, and m_i m_jᵀ for each pair i ≠ j |
//!
//! A max pool is taken as an average pool. Means come from the input and from activations, go through pools and
//! sums as signals do, and end at a weight; they are followed where a sum or an activation reads them before.

use std::collections::HashMap;
use std::sync::Arc;

use polariscope_graph::{Activation, Graph, Node, Op, Passage, Shape, Window};
use rayon::prelude::*;

use crate::backward::{Slope, by_group};
use crate::blocks::{Block, Blocks, Mean};
use crate::chain::{Arguments, chains};
use crate::dual::{Dual, Pair, Shifted, dual};
use crate::laws::{batch_norm_gain, bias_variance, weight_variance};
use crate::layout::{Layout, channels};
use crate::matrix::{Form, Matrix};
use crate::paths::read_unweighted;
use crate::refusal::unsupported;
use crate::window::{Axis, Direction, Pairing, axes, slide, slide_sums};
use crate::{Method, Refusal};

/// E[φ'φ'] of every activation at the probe x, and what skips make of it ([`crate::chain`]).
pub(crate) fn slopes(
    graph: &Graph,
    layouts: &[Layout],
    live: &[bool],
    x: &[f64],
) -> Result<Vec<Slope>, Refusal> {
    let chains = chains(graph, &readers(graph, live))?;
    let with_mean = read_unweighted(graph);
    let mut slopes: Vec<Slope> = (0..graph.nodes.len())
        .map(|_| Slope::Constant(1.0))
        .collect();
    let mut arguments: HashMap<usize, Arguments> = HashMap::new();
    walk(graph, live, |i, node, inputs| {
        match (&node.op, &inputs[..]) {
            (Op::Input, _) => Ok(probe(&layouts[i], x)),
            (Op::Activation(activation), [argument]) if !activation.is_identity() => {
                if chains.iter().any(|c| c.first == i || c.second == i) {
                    arguments.insert(i, Arguments::new(*activation, argument));
                }
                let means = Means::follow(with_mean[i]);
                let (values, field) = activate_all(*activation, argument, means);
                slopes[i] = Slope::Field(field);
                Ok(values)
            }
            _ => step(graph, node, layouts, inputs),
        }
    })?;
    for chain in &chains {
        let (first, second) = (arguments.get(&chain.first), arguments.get(&chain.second));
        if let (Some(first), Some(second)) = (first, second) {
            let factor = second.after(first, chain.gain);
            slopes[chain.sum].add_side(chain.side, factor);
        }
    }
    Ok(slopes)
}

/// How often each value is read on the way to the output.
pub(crate) fn readers(graph: &Graph, live: &[bool]) -> Vec<usize> {
    let mut readers = vec![0; graph.nodes.len()];
    for (node, _) in graph.nodes.iter().zip(live).filter(|(_, live)| **live) {
        node.inputs.iter().for_each(|i| readers[i.0] += 1);
    }
    readers
}

/// Makes the value of every node that is read, and of every activation, from those that it reads; a value is freed
/// with its last reader.
pub(crate) fn walk(
    graph: &Graph,
    live: &[bool],
    mut visit: impl FnMut(usize, &Node, Vec<Blocks>) -> Result<Blocks, Refusal>,
) -> Result<(), Refusal> {
    let mut readers = readers(graph, live);
    let mut values: Vec<Option<Blocks>> = vec![None; graph.nodes.len()];
    for (i, node) in graph.nodes.iter().enumerate() {
        if !live[i] || (readers[i] == 0 && !matches!(node.op, Op::Activation(_))) {
            continue;
        }
        let mut inputs = Vec::with_capacity(node.inputs.len());
        for input in &node.inputs {
            readers[input.0] -= 1;
            let value = match readers[input.0] {
                0 => values[input.0].take(),
                _ => values[input.0].clone(),
            };
            inputs.push(value.unwrap_or_default());
        }
        values[i] = Some(visit(i, node, inputs)?);
    }
    Ok(())
}

/// Whether the mean of a value is read.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Means {
    Follow,
    Drop,
}

impl Means {
    pub fn follow(read: bool) -> Self {
        match read {
            true => Means::Follow,
            false => Means::Drop,
        }
    }
}

/// A step forward through anything but the input and a nonlinear activation.
pub(crate) fn step(
    graph: &Graph,
    node: &Node,
    layouts: &[Layout],
    mut inputs: Vec<Blocks>,
) -> Result<Blocks, Refusal> {
    if node.op == Op::Concat {
        let mut all = Blocks::default();
        for block in inputs.iter().flat_map(Blocks::iter) {
            all.push(block.clone());
        }
        return Ok(all);
    }
    if node.op == Op::Add {
        let sum = inputs.into_iter().reduce(Blocks::plus);
        return Ok(sum.unwrap_or_default());
    }
    let q = inputs.pop().unwrap_or_default();
    let input = node.inputs.first().map_or(&layouts[0], |i| &layouts[i.0]);
    Ok(match node.op.facts().passage {
        Passage::Dense { weight, scale } => {
            let v = weight_variance(graph, weight, scale)?;
            let features = graph.param(weight).shape[0];
            let form = q.iter().next().map_or(Form::Symmetric, |b| b.matrix.form);
            Block::new(features, v * q.trace(), Matrix::filled(form, [1, 1], 1.0)).into()
        }
        Passage::Conv {
            weight,
            scale,
            window,
            groups,
        } => {
            let v = weight_variance(graph, weight, scale)?;
            let axes = ahead(window, input, node);
            let out = graph.param(weight).shape[0] / groups;
            by_group(&q, groups, channels(input) / groups, out, |sum| Block {
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
            let axes = ahead(window, input, node);
            let (n, all) = (channels(input), graph.param(weight).shape[0]);
            let grid = crate::window::grid(node.shape).unwrap_or([1, 1]);
            by_group(&q, 1, n, all, |sum| {
                let [_, width] = sum.matrix.grid();
                let variances = slide_sums(&sum.matrix.variances(), width, &axes);
                let matrix = Matrix::diagonal_in(sum.matrix.form, grid, &variances);
                Block::new(1, v * sum.scale, matrix)
            })
        }
        Passage::Bias { bias, scale } => {
            let v = bias_variance(graph, bias, scale)?;
            with_bias(q, v, node.shape)
        }
        Passage::AvgPool(window) | Passage::MaxPool(window) => {
            let axes = ahead(window, input, node);
            let taps = (window.kernel[0] * window.kernel[1]) as f64;
            let mean = |block: &Block| {
                let [_, width] = block.matrix.grid();
                // Of both inputs in the general form.
                let inputs = block.mean.as_ref()?.chunks(block.matrix.positions());
                let sums = inputs.flat_map(|mean| slide_sums(mean, width, &axes));
                Some(sums.map(|sum| sum / taps).collect())
            };
            q.map(|block| Block {
                scale: block.scale / (taps * taps),
                mean: mean(block),
                ..Block::new(1, 1.0, slide(&block.matrix, &axes, Pairing::All))
            })
        }
        Passage::GlobalAvgPool => q.map(|block| {
            let positions = block.matrix.positions() as f64;
            let mean = block.matrix.sum() / (positions * positions);
            let inputs = |m: &Mean| {
                let inputs = m.chunks(block.matrix.positions());
                inputs.map(|m| m.iter().sum::<f64>() / positions).collect()
            };
            Block {
                mean: block.mean.as_ref().map(inputs),
                ..Block::new(
                    1,
                    block.scale * mean,
                    Matrix::filled(block.matrix.form, [1, 1], 1.0),
                )
            }
        }),
        Passage::Scale { by } => q.amplified(by, by * by),
        Passage::BatchNorm {
            weight,
            running_var,
            eps,
            ..
        } => {
            let gain = batch_norm_gain(graph, weight, running_var, eps)?;
            q.amplified(gain.factor, gain.square)
        }
        Passage::Same | Passage::Flatten | Passage::Add | Passage::Concat => q,
        Passage::Input | Passage::Activation(_) => q,
        Passage::Norm(_) | Passage::Other(_) => return Err(unsupported(Method::MeanField, node)),
    })
}

/// x_c x_cᵀ for every channel.
pub(crate) fn probe(layout: &Layout, x: &[f64]) -> Blocks {
    let mut blocks = Blocks::default();
    let grid = layout[0].grid;
    for channel in x.chunks_exact((grid[0] * grid[1]).max(1)) {
        blocks.push(Block {
            mean: Some(channel.into()),
            ..Block::new(1, 1.0, Matrix::outer(grid, channel))
        });
    }
    blocks
}

/// Adds a bias: one number a channel of an image or signal, one a feature of a vector.
fn with_bias(q: Blocks, variance: f64, shape: Shape) -> Blocks {
    if variance == 0.0 {
        return q;
    }
    q.map(|block| {
        let (form, grid) = (block.matrix.form, block.matrix.grid());
        let bias = match shape {
            Shape::Vector { .. } => {
                Matrix::diagonal_in(form, grid, &vec![1.0; block.matrix.positions()])
            }
            Shape::Image { .. } | Shape::Signal { .. } | Shape::Tokens { .. } => {
                Matrix::filled(form, grid, 1.0)
            }
        };
        let terms = [(block.scale, &*block.matrix), (variance, &bias)];
        Block {
            mean: block.mean.clone(),
            ..Block::new(1, 1.0, Matrix::combination(&terms))
        }
    })
}

/// Taps from the inputs of a node to its outputs.
pub(crate) fn ahead(window: &Window, input: &Layout, node: &Node) -> [Axis; 2] {
    let output = crate::window::grid(node.shape).unwrap_or([1, 1]);
    axes(window, input[0].grid, output, Direction::Forward)
}

/// What an activation makes of all channels, and its E[φ'φ'].
fn activate_all(activation: Activation, q: &Blocks, means: Means) -> (Blocks, Blocks) {
    let mut slopes = Vec::new();
    let values = q.map(|block| {
        let (value, slope, mean) = activate(activation, block, means);
        slopes.push((Arc::clone(&value), slope));
        Block {
            channels: 1,
            scale: 1.0,
            matrix: value,
            mean,
        }
    });
    let mut field = Blocks::default();
    for block in values.iter() {
        let made = slopes.iter().find(|(v, _)| Arc::ptr_eq(v, &block.matrix));
        if let Some((_, slope)) = made {
            field.push(Block {
                channels: block.channels,
                scale: 1.0,
                matrix: Arc::clone(slope),
                mean: None,
            });
        }
    }
    (values, field)
}

/// E[φφ] and E[φ'φ'] for every pair of positions, E[φ] for every position.
fn activate(
    activation: Activation,
    block: &Block,
    means: Means,
) -> (Arc<Matrix>, Arc<Matrix>, Option<Mean>) {
    let scale = block.scale;
    let moments: Vec<f64> = block.matrix.variances().iter().map(|v| v * scale).collect();
    let follow = means == Means::Follow;
    let Some(mean) = block.mean.as_deref() else {
        let (value, slope) = over_pairs(&block.matrix, |a, b, q| {
            let pair = Pair {
                q11: moments[a],
                q12: scale * q,
                q22: moments[b],
            };
            dual(activation, pair)
        });
        let mean = (follow && !activation.is_odd()).then(|| {
            let centred = Shifted::new(activation, &vec![0.0; moments.len()], &moments);
            (0..moments.len()).map(|p| centred.value(p)).collect()
        });
        return (value, slope, mean);
    };
    let laws = Shifted::new(activation, mean, &block.variances());
    let (value, slope) = over_pairs(&block.matrix, |a, b, q| {
        laws.dual(a, b, scale * q - mean[a] * mean[b])
    });
    let mean = follow.then(|| (0..moments.len()).map(|p| laws.value(p)).collect());
    (value, slope, mean)
}

/// Two matrices made from one, entry by entry: `dual` gets two positions in row order and the entry.
pub(crate) fn over_pairs(
    q: &Matrix,
    dual: impl Fn(usize, usize, f64) -> Dual + Sync,
) -> (Arc<Matrix>, Arc<Matrix>) {
    let [height, width] = q.grid();
    let mut value = Matrix::filled(q.form, [height, width], 0.0);
    let mut slope = Matrix::filled(q.form, [height, width], 0.0);
    let symmetric = q.form == Form::Symmetric;
    let bands = value.bands().into_par_iter().zip(slope.bands());
    bands.enumerate().for_each(|(y, (value, slope))| {
        for y2 in q.form.first(y)..height {
            let square = q.square(y, y2);
            let first = (y2 - q.form.first(y)) * width * width;
            for x in 0..width {
                // A square on the diagonal of a symmetric matrix is symmetric: half of it is enough.
                for x2 in if symmetric && y == y2 { x } else { 0 }..width {
                    let at = x * width + x2;
                    let made = dual(y * width + x, y2 * width + x2, square[at]);
                    (value[first + at], slope[first + at]) = (made.value, made.slope);
                }
            }
        }
    });
    value.mirror();
    slope.mirror();
    (Arc::new(value), Arc::new(slope))
}
