//! A reference implementation that shares nothing with the engine but the duals: plain loops over all pairs of
//! positions, covariances in place of gaps, one channel block at a time.

use polariscope_graph::{Activation, Graph, Law, NodeId, Op, ParamId, Shape};
use polariscope_meanfield::dual::{Pair, dual};

use super::tokens;
use super::window::slide;

/// Covariances and NTK between all positions of x and all of x', and within each.
#[derive(Clone)]
pub struct Block {
    pub channels: f64,
    pub positions: [usize; 2],
    /// c(x, x), c(x, x'), c(x', x') as P × P.
    pub c: [Vec<f64>; 3],
    pub t: Vec<f64>,
    /// Pairs of positions that share a γ whose part of Θ is still to come.
    pub gamma: Option<Vec<f64>>,
}

/// (K, Θ) of one pair.
pub fn reference(graph: &Graph, x: &[f64], y: &[f64]) -> (f64, f64) {
    let mut values: Vec<Vec<Block>> = Vec::new();
    for node in &graph.nodes {
        let settled = |i: &NodeId| -> Vec<Block> {
            match node.op {
                Op::Activation(
                    Activation::Relu | Activation::LeakyRelu { .. } | Activation::Abs,
                ) => values[i.0].clone(),
                _ => map(&values[i.0], tokens::settle),
            }
        };
        let inputs: Vec<Vec<Block>> = node.inputs.iter().map(settled).collect();
        let inputs: Vec<&Vec<Block>> = inputs.iter().collect();
        let grid = match node.shape {
            Shape::Vector { .. } => [1, 1],
            Shape::Signal { length, .. } => [1, length],
            Shape::Image { height, width, .. } => [height, width],
            Shape::Tokens { count, .. } => [1, count],
        };
        let made = match &node.op {
            Op::Input => vec![input(grid, x, y)],
            Op::Dense { weight, scale } if matches!(node.shape, Shape::Tokens { .. }) => {
                vec![weighted(graph, inputs[0], *weight, *scale, grid, |_, m| {
                    m.clone()
                })]
            }
            Op::Dense { weight, scale } => vec![weighted(
                graph,
                inputs[0],
                *weight,
                *scale,
                [1, 1],
                |b, m| {
                    let p = b.positions[0] * b.positions[1];
                    vec![(0..p).map(|i| m[i * p + i]).sum()]
                },
            )],
            Op::Conv {
                weight,
                scale,
                window,
                groups,
            } => {
                vec![weighted(graph, inputs[0], *weight, *scale, grid, |b, m| {
                    let sums = slide(window, b.positions, grid, m, false);
                    sums.iter().map(|sum| sum / *groups as f64).collect()
                })]
            }
            Op::Local {
                weight,
                scale,
                window,
            } => {
                vec![weighted(graph, inputs[0], *weight, *scale, grid, |b, m| {
                    let mut all = slide(window, b.positions, grid, m, false);
                    let p = grid[0] * grid[1];
                    (0..p * p)
                        .filter(|i| i / p != i % p)
                        .for_each(|i| all[i] = 0.0);
                    all
                })]
            }
            Op::Bias { bias, scale } => {
                let v = variance(graph, *bias) * scale * scale;
                map(inputs[0], |b| {
                    b.c.iter_mut()
                        .for_each(|c| c.iter_mut().for_each(|c| *c += v));
                    b.t.iter_mut().for_each(|t| *t += scale * scale);
                })
            }
            Op::Scale { by } => map(inputs[0], |b| {
                b.c.iter_mut()
                    .for_each(|c| c.iter_mut().for_each(|c| *c *= by * by));
                b.t.iter_mut().for_each(|t| *t *= by * by);
            }),
            Op::Activation(activation) => map(inputs[0], |b| {
                let p = b.positions[0] * b.positions[1];
                let old = b.c.clone();
                for (k, [l, r]) in [(0, [0, 0]), (1, [0, 2]), (2, [2, 2])] {
                    for i in 0..p * p {
                        let (q11, q22) = (old[l][i / p * p + i / p], old[r][i % p * p + i % p]);
                        let made = dual(
                            *activation,
                            Pair {
                                q11,
                                q12: old[k][i],
                                q22,
                            },
                        );
                        b.c[k][i] = made.value;
                        if k == 1 {
                            b.t[i] *= made.slope;
                        }
                    }
                }
                // u φ'(u) = φ(u): the γ of a norm multiplies what the kink leaves.
                tokens::settle(b);
            }),
            Op::AvgPool(window) => {
                let taps = (window.kernel[0] * window.kernel[1]) as f64;
                map(inputs[0], |b| {
                    let mean = |m: &Vec<f64>| -> Vec<f64> {
                        let sums = slide(window, b.positions, grid, m, true);
                        sums.iter().map(|s| s / (taps * taps)).collect()
                    };
                    (b.c, b.t) = (b.c.each_ref().map(mean), mean(&b.t));
                    b.positions = grid;
                })
            }
            Op::GlobalAvgPool => map(inputs[0], |b| {
                let mean = |m: &Vec<f64>| vec![m.iter().sum::<f64>() / m.len() as f64];
                (b.c, b.t) = (b.c.each_ref().map(mean), mean(&b.t));
                b.positions = [1, 1];
            }),
            Op::Add => {
                let mut sum = inputs[0].clone();
                for other in &inputs[1..] {
                    for (a, b) in sum.iter_mut().zip(other.iter()) {
                        for k in 0..3 {
                            a.c[k].iter_mut().zip(&b.c[k]).for_each(|(a, b)| *a += b);
                        }
                        a.t.iter_mut().zip(&b.t).for_each(|(a, b)| *a += b);
                    }
                }
                sum
            }
            Op::Concat => inputs.iter().flat_map(|b| b.iter().cloned()).collect(),
            Op::Flatten | Op::Dropout { .. } => inputs[0].clone(),
            Op::LayerNorm { eps, .. } | Op::GroupNorm { eps, .. } | Op::RmsNorm { eps, .. } => {
                map(inputs[0], |b| tokens::norm(node, *eps, b))
            }
            Op::ToTokens => map(inputs[0], |b| b.positions = grid),
            Op::ClassToken { token } => {
                let v = variance(graph, *token);
                map(inputs[0], |b| tokens::prepend(v, b))
            }
            Op::Position { embedding } => {
                let v = variance(graph, *embedding);
                map(inputs[0], |b| tokens::embed(v, b))
            }
            Op::TakeToken { index } => map(inputs[0], |b| tokens::take(*index, b)),
            Op::Attention {
                in_weight,
                in_bias,
                out_weight,
                out_bias,
                scale,
                bias_scale,
                ..
            } => {
                let bias = |id: &Option<ParamId>| {
                    let square = bias_scale * bias_scale;
                    id.map_or([0.0, 0.0], |id| [square * variance(graph, id), square])
                };
                let weight = |id: &ParamId| [variance(graph, *id), scale * scale];
                let layers = [
                    (weight(in_weight), bias(in_bias)),
                    (weight(out_weight), bias(out_bias)),
                ];
                vec![tokens::attend(inputs[0], layers)]
            }
            Op::GroupConv { .. }
            | Op::GroupPool { .. }
            | Op::MaxPool(_)
            | Op::BatchNorm { .. }
            | Op::Gate
            | Op::LayerScale { .. }
            | Op::ToImage => {
                panic!("no kernel for {:?}", node.op)
            }
        };
        values.push(made);
    }
    let last = &values[values.len() - 1][0];
    (last.c[1][0], last.t[0])
}

fn map(blocks: &[Block], change: impl Fn(&mut Block)) -> Vec<Block> {
    let mut blocks = blocks.to_vec();
    blocks.iter_mut().for_each(change);
    blocks
}

fn input(positions: [usize; 2], x: &[f64], y: &[f64]) -> Block {
    let p = positions[0] * positions[1];
    let product = |x: &[f64], y: &[f64]| {
        let channels = x.len() / p;
        let one = |i: usize| {
            (0..channels)
                .map(|c| x[c * p + i / p] * y[c * p + i % p])
                .sum()
        };
        (0..p * p).map(one).collect::<Vec<f64>>()
    };
    Block {
        gamma: None,
        channels: 1.0,
        positions,
        c: [product(x, x), product(x, y), product(y, y)],
        t: vec![0.0; p * p],
    }
}

fn variance(graph: &Graph, id: ParamId) -> f64 {
    match graph.param(id).law {
        Law::Normal { std } => std * std,
        Law::Uniform { bound } => bound * bound / 3.0,
        Law::Constant(0.0) => 0.0,
        law => panic!("no variance for {law:?}"),
    }
}

fn weighted(
    graph: &Graph,
    blocks: &[Block],
    weight: ParamId,
    scale: f64,
    positions: [usize; 2],
    sum: impl Fn(&Block, &Vec<f64>) -> Vec<f64>,
) -> Block {
    let v = variance(graph, weight) * scale * scale;
    let n = positions[0] * positions[1];
    let mut made = Block {
        gamma: None,
        channels: graph.param(weight).shape[0] as f64,
        positions,
        c: [vec![0.0; n * n], vec![0.0; n * n], vec![0.0; n * n]],
        t: vec![0.0; n * n],
    };
    for block in blocks {
        for k in 0..3 {
            let sums = sum(block, &block.c[k]);
            for (i, s) in sums.iter().enumerate() {
                made.c[k][i] += v * block.channels * s;
                if k == 1 {
                    made.t[i] += scale * scale * block.channels * s;
                }
            }
        }
        for (t, s) in made.t.iter_mut().zip(sum(block, &block.t)) {
            *t += v * block.channels * s;
        }
    }
    made
}
