//! The graph: nodes in topological order, each with its op, inputs and output shape.
//!
//! Pure data. Whatever runs, differentiates, propagates covariances or reasons about symmetry
//! matches on [`Op`] exhaustively, so a new op fails to compile in every interpreter that lacks it.

use serde::{Deserialize, Serialize};

use crate::{Activation, Law, Parametrisation};

/// Index of a node in [`Graph::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NodeId(pub usize);

/// Index of a parameter or buffer in [`Graph::params`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ParamId(pub usize);

/// Shape of one sample at a node (the batch dimension is implicit).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Shape {
    /// A plain vector.
    Vector {
        /// Length.
        features: usize,
    },
    /// A 1-D signal, channels first.
    Signal {
        /// Number of channels.
        channels: usize,
        /// Number of positions.
        length: usize,
    },
    /// A 2-D image, channels first.
    Image {
        /// Number of channels.
        channels: usize,
        /// Rows.
        height: usize,
        /// Columns.
        width: usize,
    },
    /// A sequence of tokens, each a vector of `width` numbers.
    Tokens {
        /// Number of tokens.
        count: usize,
        /// Length of a token.
        width: usize,
    },
}

impl Shape {
    /// Dimensions in memory order (C,H,W for images).
    pub fn dims(&self) -> Vec<usize> {
        match *self {
            Shape::Vector { features } => vec![features],
            Shape::Signal { channels, length } => vec![channels, length],
            Shape::Image {
                channels,
                height,
                width,
            } => vec![channels, height, width],
            Shape::Tokens { count, width } => vec![count, width],
        }
    }

    /// Numbers in one sample.
    pub fn len(&self) -> usize {
        self.dims().iter().product()
    }

    /// Whether a sample holds no number at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl std::fmt::Display for Shape {
    /// `3x32x32`, `48`; tokens read `17x192 tokens`, signals `3x100`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let dims: Vec<String> = self.dims().iter().map(usize::to_string).collect();
        f.write_str(&dims.join("x"))?;
        if matches!(self, Shape::Tokens { .. }) {
            f.write_str(" tokens")?;
        }
        Ok(())
    }
}

/// How a window leaves the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Padding {
    /// XLA's SAME: out = ⌈n/s⌉, total = max((out−1)s+k−n, 0), ⌊total/2⌋ before.
    Same,
    /// No padding.
    Valid,
    /// Periodic boundary with the amounts of `Same`.
    Circular,
    /// This many zeros on both sides.
    Zeros(usize),
}

impl Padding {
    /// (before, after) on an axis of `n` positions; `k` is the dilated kernel extent (k−1)·d+1.
    pub fn amounts(&self, n: usize, k: usize, stride: usize) -> (usize, usize) {
        match *self {
            Padding::Valid => (0, 0),
            Padding::Zeros(p) => (p, p),
            Padding::Same | Padding::Circular => {
                let out = n.div_ceil(stride);
                let total = ((out.max(1) - 1) * stride + k).saturating_sub(n);
                (total / 2, total - total / 2)
            }
        }
    }
}

/// Geometry of a sliding window. A 1-D signal uses the second axis: `kernel = [1, k]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Taps along height and width.
    pub kernel: [usize; 2],
    /// Steps along height and width.
    pub stride: [usize; 2],
    /// Distance between taps along height and width.
    pub dilation: [usize; 2],
    /// Border rule.
    pub padding: Padding,
}

/// One operation. Weights enter the forward pass multiplied by `scale` (1 outside `ntk` and `mean-field`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Op {
    /// The network's input; always node 0.
    Input,
    /// y = scale · W x, W: features × inputs; on tokens, applied to every token.
    Dense {
        /// W.
        weight: ParamId,
        /// Factor on W.
        scale: f64,
    },
    /// y = scale · (W * x), W: out × in/groups × kh × kw (out × in/groups × k on signals).
    Conv {
        /// W.
        weight: ParamId,
        /// Factor on W.
        scale: f64,
        /// Kernel, stride, dilation, padding.
        window: Window,
        /// Channel groups; equal to the input channels for depthwise.
        groups: usize,
    },
    /// Convolution without weight sharing, W: out × in·kh·kw × positions (positions in row order, taps in c,kh,kw order).
    Local {
        /// W.
        weight: ParamId,
        /// Factor on W.
        scale: f64,
        /// Kernel, stride, dilation, padding.
        window: Window,
    },
    /// y = x + scale · b, b one number a channel (image, signal), feature (vector) or token coordinate (tokens).
    Bias {
        /// b.
        bias: ParamId,
        /// Factor on b.
        scale: f64,
    },
    /// y = by · x.
    Scale {
        /// The constant.
        by: f64,
    },
    /// Zeroes each number with probability `rate` and scales the rest by 1/(1−rate) in training; identity otherwise.
    Dropout {
        /// Probability of zero.
        rate: f64,
    },
    /// Elementwise nonlinearity.
    Activation(Activation),
    /// Largest value of each window (zero padding counts as −∞).
    MaxPool(Window),
    /// Mean of each window (zeros of the padding counted).
    AvgPool(Window),
    /// Mean over positions: an image or signal becomes a vector of channels, tokens a vector of width.
    GlobalAvgPool,
    /// Any shape to a vector, in memory order.
    Flatten,
    /// Sum of two or more equal shapes.
    Add,
    /// Concatenation of channels (images, signals), features (vectors) or widths (tokens).
    Concat,
    /// Batch normalisation over channels (features): batch statistics in training, running ones otherwise.
    BatchNorm {
        /// γ.
        weight: ParamId,
        /// β.
        bias: ParamId,
        /// Buffer.
        running_mean: ParamId,
        /// Buffer.
        running_var: ParamId,
        /// Added to the variance.
        eps: f64,
        /// Weight of the new batch in the running statistics.
        momentum: f64,
    },
    /// Layer normalisation: over the width of each token, over all numbers of a vector, image or signal.
    LayerNorm {
        /// γ, of the shape normalised over.
        weight: ParamId,
        /// β, of the shape normalised over.
        bias: ParamId,
        /// Added to the variance.
        eps: f64,
    },
    /// Group normalisation over channels.
    GroupNorm {
        /// Number of groups.
        groups: usize,
        /// γ, one a channel.
        weight: ParamId,
        /// β, one a channel.
        bias: ParamId,
        /// Added to the variance.
        eps: f64,
    },
    /// x / √(mean x² + eps) · γ over what layer-norm normalises over.
    RmsNorm {
        /// γ.
        weight: ParamId,
        /// Added to the mean square.
        eps: f64,
    },
    /// Image or signal to tokens: one token a position in row order, its channels as coordinates.
    ToTokens,
    /// Prepends a learned token, parameter 1 × 1 × width.
    ClassToken {
        /// The token.
        token: ParamId,
    },
    /// Adds a learned position embedding, parameter 1 × count × width.
    Position {
        /// The embedding.
        embedding: ParamId,
    },
    /// Keeps one token as a vector.
    TakeToken {
        /// Which one.
        index: usize,
    },
    /// Multi-head self-attention as torch.nn.MultiheadAttention with batch_first computes it:
    /// [q k v] = scale · in_weight x + bias_scale · in_bias, then a = softmax(q kᵀ/√(width/heads)) v in every head,
    /// then scale · out_weight a + bias_scale · out_bias.
    Attention {
        /// Number of heads; divides the width.
        heads: usize,
        /// 3·width × width.
        in_weight: ParamId,
        /// 3·width.
        in_bias: Option<ParamId>,
        /// width × width.
        out_weight: ParamId,
        /// width.
        out_bias: Option<ParamId>,
        /// Factor on both weights.
        scale: f64,
        /// Factor on both biases.
        bias_scale: f64,
    },
}

/// What a parameter is to training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Trained.
    Trainable,
    /// Carried along (running statistics); a constant to every derivative.
    Buffer,
}

/// A named tensor of the network, in the layout of PyTorch's `state_dict`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Param {
    /// `state_dict` name, such as `layer1.0.conv1.weight`.
    pub name: String,
    /// Dimensions.
    pub shape: Vec<usize>,
    /// Distribution of the initial value.
    pub law: Law,
    /// Trained or carried along.
    pub role: Role,
}

impl Param {
    /// Numbers in the tensor.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether the tensor holds no number.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Layer path, such as `layer1.0.conv1`; a layer's bias node carries the layer's name.
    pub layer: String,
    /// What it computes.
    pub op: Op,
    /// What it reads; earlier nodes only.
    pub inputs: Vec<NodeId>,
    /// Shape of its output.
    pub shape: Shape,
}

/// A network without numbers. The last node is the output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    /// Zoo name or file stem.
    pub name: String,
    /// Topological order; node 0 is [`Op::Input`].
    pub nodes: Vec<Node>,
    /// Parameters and buffers, in `state_dict` order.
    pub params: Vec<Param>,
    /// The rule that set laws and scales.
    pub parametrisation: Parametrisation,
}

impl Op {
    /// What kind of layer it is, as architecture files spell it where they can name it.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Input => "input",
            Op::Dense { .. } => "dense",
            Op::Conv { .. } => "conv",
            Op::Local { .. } => "local",
            Op::Bias { .. } => "bias",
            Op::Scale { .. } => "scale",
            Op::Dropout { .. } => "dropout",
            Op::Activation(activation) => activation.name(),
            Op::MaxPool(_) => "max-pool",
            Op::AvgPool(_) => "avg-pool",
            Op::GlobalAvgPool => "global-avg-pool",
            Op::Flatten => "flatten",
            Op::Add => "add",
            Op::Concat => "concat",
            Op::BatchNorm { .. } => "batch-norm",
            Op::LayerNorm { .. } => "layer-norm",
            Op::GroupNorm { .. } => "group-norm",
            Op::RmsNorm { .. } => "rms-norm",
            Op::ToTokens => "tokens",
            Op::ClassToken { .. } => "class-token",
            Op::Position { .. } => "position",
            Op::TakeToken { .. } => "take-token",
            Op::Attention { .. } => "attention",
        }
    }
}

impl Graph {
    /// Shape of one input sample.
    pub fn input(&self) -> Shape {
        self.nodes[0].shape
    }

    /// Shape of one output sample.
    pub fn output(&self) -> Shape {
        self.nodes[self.nodes.len() - 1].shape
    }

    /// Whether each node leads to the output.
    pub fn live(&self) -> Vec<bool> {
        let mut live = vec![false; self.nodes.len()];
        if let Some(last) = live.last_mut() {
            *last = true;
        }
        for (i, node) in self.nodes.iter().enumerate().rev() {
            if live[i] {
                node.inputs.iter().for_each(|input| live[input.0] = true);
            }
        }
        live
    }

    /// Indices of the trainable parameters in [`Graph::params`].
    pub fn trainable(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.params.len()).filter(|&i| self.params[i].role == Role::Trainable)
    }

    /// Number of trainable numbers.
    pub fn parameter_count(&self) -> usize {
        self.trainable().map(|i| self.params[i].len()).sum()
    }

    /// The parameter behind an id.
    pub fn param(&self, id: ParamId) -> &Param {
        &self.params[id.0]
    }
}
