//! From the graph to tensor expressions: what each op computes, for a batch.
//!
//! Images are N×C×H×W, signals N×C×1×L, vectors N×F, tokens N×T×W.

mod group;

use polariscope_diff::{Conv, Function, Id, Trace, Window};
use polariscope_graph::{self as graph, Activation, Graph, Node, Op, Padding, ParamId, Shape};

/// Whether batch-norm uses the batch and dropout is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Running statistics, no dropout.
    Evaluate,
    /// Batch statistics, dropout.
    Train,
}

/// The statistics that a batch-norm layer saw in training mode.
#[derive(Clone, Copy, Debug)]
pub struct BatchStatistics {
    /// Mean over the batch, one number a channel.
    pub mean: Id,
    /// Unbiased variance over the batch.
    pub variance: Id,
    /// Buffer that follows the mean.
    pub running_mean: ParamId,
    /// Buffer that follows the variance.
    pub running_var: ParamId,
    /// Weight of the new batch.
    pub momentum: f64,
}

/// A leaf that holds a dropout mask: 0 or 1/(1−rate) for every number.
#[derive(Clone, Copy, Debug)]
pub struct Mask {
    /// The leaf.
    pub leaf: Id,
    /// Probability of zero.
    pub rate: f64,
}

/// A network as expressions.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The expressions; x is leaf 0, parameter i leaf i+1, masks follow.
    pub trace: Trace,
    /// Input, N × sample.
    pub x: Id,
    /// Parameters and buffers, in the order of [`Graph::params`].
    pub params: Vec<Id>,
    /// What every node computes, in the order of [`Graph::nodes`].
    pub nodes: Vec<Id>,
    /// Output, N × outputs.
    pub output: Id,
    /// Batch-norm statistics, in training mode.
    pub statistics: Vec<BatchStatistics>,
    /// Dropout masks, in training mode.
    pub masks: Vec<Mask>,
}

/// Expressions of a graph for `batch` samples.
pub fn lower(graph: &Graph, batch: usize, mode: Mode) -> Lowered {
    lower_through(graph, batch, mode, |_, _, value| value)
}

/// The same with what `see` makes of the value of every node, by its index: derivatives in the middle of a network.
pub fn lower_through(
    graph: &Graph,
    batch: usize,
    mode: Mode,
    mut see: impl FnMut(&mut Trace, usize, Id) -> Id,
) -> Lowered {
    let (mut lowering, x) = Lowering::new(graph, batch, mode);
    let mut values: Vec<Id> = Vec::with_capacity(graph.nodes.len());
    for (i, node) in graph.nodes.iter().enumerate() {
        let inputs: Vec<Id> = node.inputs.iter().map(|i| values[i.0]).collect();
        let value = lowering.node(node, x, &inputs);
        values.push(see(&mut lowering.t, i, value));
    }
    let output = values[values.len() - 1];
    let outputs = graph.output().len();
    let output = lowering.t.reshape(output, &[batch, outputs]);
    let Lowering {
        t: trace,
        params,
        statistics,
        masks,
        ..
    } = lowering;
    Lowered {
        trace,
        x,
        params,
        nodes: values,
        output,
        statistics,
        masks,
    }
}

/// Dimensions of a batch.
pub(crate) fn dims(batch: usize, shape: Shape) -> Vec<usize> {
    match shape {
        Shape::Vector { features } => vec![batch, features],
        Shape::Signal { channels, length } => vec![batch, channels, 1, length],
        Shape::Image {
            channels,
            height,
            width,
        } => vec![batch, channels, height, width],
        Shape::Tokens { count, width } => vec![batch, count, width],
    }
}

/// The elementwise function of an activation; nothing for the identity, and for those that are made of several.
fn function(activation: Activation) -> Option<Function> {
    Some(match activation {
        Activation::Identity
        | Activation::Silu
        | Activation::HardSigmoid
        | Activation::HardSwish => return None,
        Activation::Relu => Function::Relu,
        Activation::LeakyRelu { slope } => Function::LeakyRelu(slope.into()),
        Activation::Gelu => Function::Gelu,
        Activation::Tanh => Function::Tanh,
        Activation::Erf => Function::Erf,
        Activation::Sin => Function::Sin,
        Activation::Sigmoid => Function::Sigmoid,
        Activation::Softplus { beta } => Function::Softplus(beta.into()),
        Activation::Abs => Function::Abs,
    })
}

/// Expressions that are being made.
pub(crate) struct Lowering<'a> {
    pub graph: &'a Graph,
    pub batch: usize,
    pub mode: Mode,
    pub t: Trace,
    pub params: Vec<Id>,
    pub statistics: Vec<BatchStatistics>,
    pub masks: Vec<Mask>,
}

impl<'a> Lowering<'a> {
    /// The leaves: an input of `batch` samples, and parameters.
    pub fn new(graph: &'a Graph, batch: usize, mode: Mode) -> (Self, Id) {
        let mut t = Trace::new();
        let x = t.leaf(&dims(batch, graph.input()));
        let params = graph.params.iter().map(|p| t.leaf(&p.shape)).collect();
        let lowering = Lowering {
            graph,
            batch,
            mode,
            t,
            params,
            statistics: Vec::new(),
            masks: Vec::new(),
        };
        (lowering, x)
    }

    /// What a node computes from its inputs.
    pub fn node(&mut self, node: &Node, input: Id, inputs: &[Id]) -> Id {
        let shape = dims(self.batch, node.shape);
        let Some(&x) = inputs.first() else {
            return input;
        };
        match node.op {
            Op::Input => input,
            Op::Dense { weight, scale } => {
                let y = self.dense(x, weight);
                let y = self.t.reshape(y, &shape);
                self.t.scale(y, scale)
            }
            Op::Conv {
                weight,
                scale,
                window,
                groups,
            } => {
                let (x, window) = self.window(x, window, node.shape);
                let w = self.kernel(weight);
                let y = self.t.conv(x, w, Conv::new(window, groups));
                self.t.scale(y, scale)
            }
            Op::Local {
                weight,
                scale,
                window,
            } => {
                let (x, window) = self.window(x, window, node.shape);
                let y = self.local(x, weight, window, &shape);
                self.t.scale(y, scale)
            }
            Op::GroupConv {
                weight,
                scale,
                window,
                group,
            } => {
                let y = self.group_conv(x, weight, window, group, node.shape);
                self.t.scale(y, scale)
            }
            Op::GroupPool { group, by } => self.group_pool(x, group, by, &shape),
            Op::Bias { bias, scale } => {
                let b = self.channels(bias, &shape);
                let b = self.t.scale(b, scale);
                let b = self.t.expand(b, &shape);
                self.t.add(x, b)
            }
            Op::Scale { by } => self.t.scale(x, by),
            Op::LayerScale { weight } => {
                let gamma = self.channels(weight, &shape);
                let gamma = self.t.expand(gamma, &shape);
                self.t.mul(x, gamma)
            }
            Op::Dropout { rate } => match self.mode {
                Mode::Evaluate => x,
                Mode::Train => {
                    let leaf = self.t.leaf(&shape);
                    self.masks.push(Mask { leaf, rate });
                    self.t.mul(x, leaf)
                }
            },
            Op::Activation(Activation::Silu) => {
                let s = self.t.map(Function::Sigmoid, x);
                self.t.mul(x, s)
            }
            Op::Activation(Activation::HardSigmoid) => self.hard_sigmoid(x),
            Op::Activation(Activation::HardSwish) => {
                let s = self.hard_sigmoid(x);
                self.t.mul(x, s)
            }
            Op::Activation(activation) => match function(activation) {
                Some(f) => self.t.map(f, x),
                None => x,
            },
            Op::MaxPool(window) => {
                let (x, window) = self.window(x, window, node.shape);
                self.t.max_pool(x, window)
            }
            Op::AvgPool(window) => {
                let (x, window) = self.window(x, window, node.shape);
                let taps = window.kernel[0] * window.kernel[1];
                let y = self.t.sum_pool(x, window);
                self.t.scale(y, 1.0 / taps as f64)
            }
            Op::GlobalAvgPool => {
                let axes: &[usize] = if self.t.shape(x).len() == 4 {
                    &[2, 3]
                } else {
                    &[1]
                };
                let y = self.mean(x, axes);
                self.t.reshape(y, &shape)
            }
            Op::Flatten => self.t.reshape(x, &shape),
            Op::Add => inputs[1..].iter().fold(x, |sum, &y| self.t.add(sum, y)),
            Op::Gate => {
                let gate = self.wide(inputs[1], &shape);
                let gate = self.t.expand(gate, &shape);
                self.t.mul(x, gate)
            }
            Op::Concat => {
                let axis = if matches!(node.shape, Shape::Tokens { .. }) {
                    2
                } else {
                    1
                };
                self.t.concat(inputs, axis)
            }
            Op::BatchNorm {
                weight,
                bias,
                running_mean,
                running_var,
                eps,
                momentum,
            } => match self.mode {
                Mode::Evaluate => {
                    // x·s + (β − μ s) with s = γ/√(σ² + ε)
                    let variance = self.channels(running_var, &shape);
                    let variance = self.t.shift(variance, eps);
                    let inverse = self.t.map(Function::Pow((-0.5).into()), variance);
                    let gamma = self.channels(weight, &shape);
                    let s = self.t.mul(gamma, inverse);
                    let mean = self.channels(running_mean, &shape);
                    let shift = self.t.mul(mean, s);
                    let beta = self.channels(bias, &shape);
                    let shift = self.t.sub(beta, shift);
                    self.affine(x, s, shift)
                }
                Mode::Train => {
                    let axes: &[usize] = match shape.len() {
                        4 => &[0, 2, 3],
                        3 => &[0, 1],
                        _ => &[0],
                    };
                    let (centred, mean, variance) = self.moments(x, axes);
                    let (gamma, beta) =
                        (self.channels(weight, &shape), self.channels(bias, &shape));
                    let y = self.normalise(centred, variance, eps);
                    let count = shape.iter().product::<usize>() / self.graph.param(weight).len();
                    // The running variance follows the unbiased estimate, as PyTorch's does.
                    let unbiased = self
                        .t
                        .scale(variance, count as f64 / (count.max(2) - 1) as f64);
                    self.statistics.push(BatchStatistics {
                        mean,
                        variance: unbiased,
                        running_mean,
                        running_var,
                        momentum,
                    });
                    self.affine(y, gamma, beta)
                }
            },
            Op::LayerNorm { weight, bias, eps } => {
                let axes = normalised_axes(node.shape);
                let (centred, _, variance) = self.moments(x, axes);
                let y = self.normalise(centred, variance, eps);
                let (gamma, beta) = (self.elements(weight, &shape), self.elements(bias, &shape));
                self.affine(y, gamma, beta)
            }
            Op::GroupNorm {
                groups,
                weight,
                bias,
                eps,
            } => {
                let inner = shape[1..].iter().product::<usize>() / groups;
                let grouped = self.t.reshape(x, &[self.batch, groups, inner]);
                let (centred, _, variance) = self.moments(grouped, &[2]);
                let y = self.normalise(centred, variance, eps);
                let y = self.t.reshape(y, &shape);
                let (gamma, beta) = (self.channels(weight, &shape), self.channels(bias, &shape));
                self.affine(y, gamma, beta)
            }
            Op::RmsNorm { weight, eps } => {
                let square = self.t.mul(x, x);
                let mean_square = self.mean(square, normalised_axes(node.shape));
                let y = self.normalise(x, mean_square, eps);
                let gamma = self.elements(weight, &shape);
                let gamma = self.t.expand(gamma, &shape);
                self.t.mul(y, gamma)
            }
            Op::ToTokens => {
                let flat = self.t.reshape(x, &[self.batch, shape[2], shape[1]]);
                self.t.permute(flat, &[0, 2, 1])
            }
            Op::ToImage => {
                let rows = self.t.permute(x, &[0, 2, 1]);
                self.t.reshape(rows, &shape)
            }
            Op::ClassToken { token } => {
                let token = self
                    .t
                    .expand(self.params[token.0], &[self.batch, 1, shape[2]]);
                self.t.concat(&[token, x], 1)
            }
            Op::Position { embedding } => {
                let embedding = self.t.expand(self.params[embedding.0], &shape);
                self.t.add(x, embedding)
            }
            Op::TakeToken { index } => {
                let token = self.t.slice(x, 1, index, 1);
                self.t.reshape(token, &shape)
            }
            Op::Attention {
                heads,
                in_weight,
                in_bias,
                out_weight,
                out_bias,
                scale,
                bias_scale,
            } => {
                let (n, count, width) = (self.batch, shape[1], shape[2]);
                let qkv = self.projection(x, in_weight, in_bias, scale, bias_scale);
                let qkv = self.t.reshape(qkv, &[n, count, 3, heads, width / heads]);
                let qkv = self.t.permute(qkv, &[2, 0, 3, 1, 4]);
                let [q, k, v] = [0, 1, 2].map(|i| {
                    let part = self.t.slice(qkv, 0, i, 1);
                    self.t.reshape(part, &[n * heads, count, width / heads])
                });
                // softmax(q kᵀ/√d) v
                let scores = self.t.matmul(q, k, false, true);
                let scores = self.t.scale(scores, 1.0 / ((width / heads) as f64).sqrt());
                let attention = self.t.softmax(scores);
                let mixed = self.t.matmul(attention, v, false, false);
                let mixed = self.t.reshape(mixed, &[n, heads, count, width / heads]);
                let mixed = self.t.permute(mixed, &[0, 2, 1, 3]);
                let mixed = self.t.reshape(mixed, &shape);
                self.projection(mixed, out_weight, out_bias, scale, bias_scale)
            }
        }
    }

    /// 1 − (1 − (x/6 + ½)₊)₊, which is exactly 1 for large x, as a difference of two relus of x would not be.
    fn hard_sigmoid(&mut self, x: Id) -> Id {
        let rising = self.t.scale(x, 1.0 / 6.0);
        let rising = self.t.shift(rising, 0.5);
        let rising = self.t.map(Function::Relu, rising);
        let rest = self.t.scale(rising, -1.0);
        let rest = self.t.shift(rest, 1.0);
        let rest = self.t.map(Function::Relu, rest);
        let below = self.t.scale(rest, -1.0);
        self.t.shift(below, 1.0)
    }

    /// x Wᵀ over the last axis, as 1 × rows × features.
    fn dense(&mut self, x: Id, weight: ParamId) -> Id {
        let s = self.graph.param(weight).shape.clone();
        let rows = self.t.shape(x).iter().product::<usize>() / s[1];
        let x = self.t.reshape(x, &[1, rows, s[1]]);
        let w = self.t.reshape(self.params[weight.0], &[1, s[0], s[1]]);
        self.t.matmul(x, w, false, true)
    }

    /// scale·W x + bias_scale·b on every token.
    fn projection(
        &mut self,
        x: Id,
        weight: ParamId,
        bias: Option<ParamId>,
        scale: f64,
        bias_scale: f64,
    ) -> Id {
        let y = self.dense(x, weight);
        let y = self.t.scale(y, scale);
        let features = self.graph.param(weight).shape[0];
        let count = self.t.shape(x)[1];
        let shape = [self.batch, count, features];
        let y = self.t.reshape(y, &shape);
        let Some(bias) = bias else { return y };
        let b = self.t.reshape(self.params[bias.0], &[1, 1, features]);
        let b = self.t.scale(b, bias_scale);
        let b = self.t.expand(b, &shape);
        self.t.add(y, b)
    }

    /// y[n,o,p] = Σ_q w[o,q,p] patch[n,q,p]: a product for every position.
    fn local(&mut self, x: Id, weight: ParamId, window: Window, shape: &[usize]) -> Id {
        let patches = self.t.unfold(x, window);
        let patches = self.t.permute(patches, &[2, 0, 1]);
        let w = self.t.permute(self.params[weight.0], &[2, 1, 0]);
        let y = self.t.matmul(patches, w, false, false);
        let y = self.t.permute(y, &[1, 2, 0]);
        self.t.reshape(y, shape)
    }

    /// A weight as O×C×kh×kw; those of signals have no height.
    pub fn kernel(&mut self, weight: ParamId) -> Id {
        let s = self.graph.param(weight).shape.clone();
        let w = self.params[weight.0];
        match s[..] {
            [o, c, k] => self.t.reshape(w, &[o, c, 1, k]),
            _ => w,
        }
    }

    /// Padding in numbers; a circular border is made before the window slides.
    pub fn window(&mut self, x: Id, window: graph::Window, shape: Shape) -> (Id, Window) {
        let s = self.t.shape(x).to_vec();
        let amounts = [0, 1].map(|axis| {
            let extent = (window.kernel[axis] - 1) * window.dilation[axis] + 1;
            // A signal has no rows of its own: nothing to pad.
            if axis == 0 && matches!(shape, Shape::Signal { .. }) {
                (0, 0)
            } else {
                window
                    .padding
                    .amounts(s[2 + axis], extent, window.stride[axis])
            }
        });
        let graph::Window {
            kernel,
            stride,
            dilation,
            padding,
        } = window;
        match padding {
            Padding::Circular => (
                self.t.wrap(x, amounts),
                Window {
                    kernel,
                    stride,
                    dilation,
                    pad: [(0, 0); 2],
                },
            ),
            _ => (
                x,
                Window {
                    kernel,
                    stride,
                    dilation,
                    pad: amounts,
                },
            ),
        }
    }

    /// A parameter with one number a channel (image, signal), feature (vector) or coordinate (tokens), ready to expand.
    fn channels(&mut self, param: ParamId, shape: &[usize]) -> Id {
        let n = self.graph.param(param).len();
        let wide: Vec<usize> = match shape.len() {
            4 => vec![1, n, 1, 1],
            3 => vec![1, 1, n],
            _ => vec![1, n],
        };
        self.t.reshape(self.params[param.0], &wide)
    }

    /// One number a channel of every sample, or one for every number, ready to expand.
    fn wide(&mut self, x: Id, shape: &[usize]) -> Id {
        let n = self.t.shape(x).iter().product::<usize>() / self.batch;
        let wide: Vec<usize> = match shape[1..] {
            _ if n == shape[1..].iter().product::<usize>() => shape.to_vec(),
            [_, _, _] => vec![self.batch, n, 1, 1],
            _ => vec![self.batch, 1, n],
        };
        self.t.reshape(x, &wide)
    }

    /// A parameter of the shape that layer-norm normalises over, ready to expand.
    fn elements(&mut self, param: ParamId, shape: &[usize]) -> Id {
        let n = self.graph.param(param).len();
        let wide: Vec<usize> = match shape.len() {
            3 => vec![1, 1, n],
            _ => std::iter::once(1)
                .chain(shape[1..].iter().copied())
                .collect(),
        };
        self.t.reshape(self.params[param.0], &wide)
    }

    /// Mean along axes, which stay with length 1.
    fn mean(&mut self, x: Id, axes: &[usize]) -> Id {
        let count: usize = axes.iter().map(|&a| self.t.shape(x)[a]).product();
        let sum = self.t.sum(x, axes);
        self.t.scale(sum, 1.0 / count as f64)
    }

    /// (x − mean, mean, biased variance) along axes.
    fn moments(&mut self, x: Id, axes: &[usize]) -> (Id, Id, Id) {
        let shape = self.t.shape(x).to_vec();
        let mean = self.mean(x, axes);
        let wide = self.t.expand(mean, &shape);
        let centred = self.t.sub(x, wide);
        let square = self.t.mul(centred, centred);
        let variance = self.mean(square, axes);
        (centred, mean, variance)
    }

    /// x/√(v + ε), v with axes of length 1.
    fn normalise(&mut self, x: Id, v: Id, eps: f64) -> Id {
        let shape = self.t.shape(x).to_vec();
        let v = self.t.shift(v, eps);
        let inverse = self.t.map(Function::Pow((-0.5).into()), v);
        let inverse = self.t.expand(inverse, &shape);
        self.t.mul(x, inverse)
    }

    /// x·s + t, both with axes of length 1.
    fn affine(&mut self, x: Id, s: Id, t: Id) -> Id {
        let shape = self.t.shape(x).to_vec();
        let s = self.t.expand(s, &shape);
        let t = self.t.expand(t, &shape);
        let y = self.t.mul(x, s);
        self.t.add(y, t)
    }
}

/// The axes of a batch that layer-norm and rms-norm normalise over.
fn normalised_axes(shape: Shape) -> &'static [usize] {
    match shape {
        Shape::Vector { .. } => &[1],
        Shape::Signal { .. } | Shape::Image { .. } => &[1, 2, 3],
        Shape::Tokens { .. } => &[2],
    }
}
