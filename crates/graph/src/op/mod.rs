//! The op set. What interpreters may assume of an op is declared with it, in [`facts`].

mod facts;
mod group;

use serde::{Deserialize, Serialize};

use crate::{Activation, ParamId, Window};

pub use facts::{Affine, ChannelWeights, Divisor, Facts, Norm, Pairs, Passage, Rotation, Support};
pub use group::{Group, Projection};

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
    /// Convolution over a group: y(g, p) = scale · Σ_(h, q) W(g⁻¹h, g⁻¹(q − p)) x(h, q). Maps over the group are images with
    /// the maps of its elements one below the other; from an image without a group there is no h.
    GroupConv {
        /// W: out × in × |G| × k × k, from an image out × in × k × k.
        weight: ParamId,
        /// Factor on W.
        scale: f64,
        /// Kernel, stride, dilation, padding; all square.
        window: Window,
        /// Its turns and mirror images.
        group: Group,
    },
    /// Maps over a group to an image: the largest or the mean over its elements, at every position.
    GroupPool {
        /// The group.
        group: Group,
        /// Which of the two.
        by: Projection,
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
    /// y = γ · x, γ one number a channel (image, signal), feature (vector) or token coordinate (tokens).
    LayerScale {
        /// γ: C×1×1 for images, C×1 for signals.
        weight: ParamId,
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
    /// Product of its first input with its second, number by number; a second input with one number a channel (feature,
    /// token coordinate) multiplies all positions.
    Gate,
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
    /// Tokens to an image: the inverse of `ToTokens`, row by row.
    ToImage,
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

impl Op {
    /// What kind of layer it is, as architecture files spell it where they can name it.
    pub fn name(&self) -> &'static str {
        self.facts().name
    }
}
