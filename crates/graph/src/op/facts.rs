//! What an op is to interpreters: one description an op, all of it here.
//!
//! Interpreters ask for what they need and match on [`Op`] itself only where they compute something of their own for
//! every op. An op that has a new description needs nothing from those that only ask.

use std::borrow::Cow;

use super::{Op, Projection};
use crate::text::Short;
use crate::{Activation, ParamId, Window};

/// The description of an op.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// The kind of layer, as architecture files spell it where they can name it.
    pub name: &'static str,
    /// The name and the settings that are the op's own, in words; sizes of weights and windows are found elsewhere.
    pub words: Cow<'static, str>,
    /// Trainable parameters with the factors on them, in `state_dict` order.
    pub parameters: Vec<(ParamId, f64)>,
    /// Weights that mix channels.
    pub weights: ChannelWeights,
    /// What a position of the output sees of the input.
    pub support: Support<'a>,
    /// Which covariances between positions of the input it uses.
    pub pairs: Pairs,
    /// What becomes of a rotation of the channels that is the same at every position.
    pub rotation: Rotation,
    /// How changes and covariances go through it.
    pub passage: Passage<'a>,
}

/// Independent weights of mean 0 that mix channels. Paths that pass different ones are uncorrelated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelWeights {
    /// None.
    None,
    /// One matrix that every position is multiplied by.
    Shared(ParamId),
    /// Weights of its own for every position.
    Own(ParamId),
    /// Matrices that every token is multiplied by before and after tokens are multiplied with each other.
    Attention([ParamId; 2]),
}

/// What a position of the output sees of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support<'a> {
    /// The same position.
    Same,
    /// The positions of a window.
    Window(&'a Window),
    /// Everything.
    All,
    /// Its own token; everything where there are no tokens.
    Token,
}

/// Which covariances between positions of its input an op uses, of all that networks of random weights have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Those at the positions that its output is asked for.
    Asked,
    /// Those of equal positions.
    Equal,
    /// Those of equal positions; those it is asked for where there are tokens.
    Token,
    /// All of them.
    All,
    /// It has no covariance of its own, and why.
    Unknown(&'static str),
}

/// What becomes of a rotation of the channels that is the same at every position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// It goes through: numbers are renamed or multiplied by one constant.
    Kept,
    /// It goes through while positions are chosen, ordered or averaged.
    Positions,
    /// Weights follow it.
    Weights,
    /// It goes through where it comes on every path.
    Paths,
    /// It ends here. Why, to be read after the name of a layer that reads the bare input.
    Ends(Cow<'static, str>),
}

/// How changes and covariances go through an op: what interpreters that work map by map match on.
///
/// Ops that none of them follows are one kind, so that a new one is refused (or computed as a whole) by all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Passage<'a> {
    /// They start here.
    Input,
    /// A matrix.
    Dense {
        /// W.
        weight: ParamId,
        /// Factor on W.
        scale: f64,
    },
    /// A convolution.
    Conv {
        /// W.
        weight: ParamId,
        /// Factor on W.
        scale: f64,
        /// Kernel, stride, dilation, padding.
        window: &'a Window,
        /// Channel groups.
        groups: usize,
    },
    /// A convolution with weights of its own at every position.
    Local {
        /// W.
        weight: ParamId,
        /// Factor on W.
        scale: f64,
        /// Kernel, stride, dilation, padding.
        window: &'a Window,
    },
    /// A sum with a parameter, one number a channel.
    Bias {
        /// b.
        bias: ParamId,
        /// Factor on b.
        scale: f64,
    },
    /// A constant factor.
    Scale {
        /// The constant.
        by: f64,
    },
    /// The same numbers, but for noise in training.
    Same,
    /// The same numbers as a vector.
    Flatten,
    /// φ, number by number.
    Activation(Activation),
    /// Outside training γ(x − μ)/√(σ² + ε) + β with constants of each channel.
    BatchNorm {
        /// γ.
        weight: ParamId,
        /// β.
        bias: ParamId,
        /// μ.
        running_mean: ParamId,
        /// σ².
        running_var: ParamId,
        /// ε.
        eps: f64,
    },
    /// The largest of each window.
    MaxPool(&'a Window),
    /// The mean of each window.
    AvgPool(&'a Window),
    /// The mean over positions.
    GlobalAvgPool,
    /// The sum of its inputs.
    Add,
    /// Channels of its inputs one after the other.
    Concat,
    /// Division by a statistic of the sample.
    Norm(Norm),
    /// Something else. Why it has no closed form, to be read after the name of the layer.
    Other(&'static str),
}

/// A norm whose statistics are those of the sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Norm {
    /// γ.
    pub weight: ParamId,
    /// β.
    pub bias: Option<ParamId>,
    /// Added to what is divided by.
    pub eps: f64,
    /// What is divided by.
    pub by: Divisor,
    /// What has a γ and a β of its own.
    pub affine: Affine,
}

/// What a norm divides by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divisor {
    /// The standard deviation, after the mean was subtracted.
    Deviation,
    /// The root of the mean square.
    MeanSquare,
}

/// What has a γ and a β of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affine {
    /// Every channel.
    Channels,
    /// Every number that is normalised together: coordinates of tokens, all numbers of a sample elsewhere.
    Numbers,
}

impl Passage<'_> {
    /// Why closed forms of finite and mean-field networks end here, to be read after the name of the layer.
    pub fn not_closed(&self) -> Option<&'static str> {
        match self {
            Passage::Norm(_) => Some("which divides by a random number"),
            Passage::Other(reason) => Some(reason),
            Passage::Input
            | Passage::Dense { .. }
            | Passage::Conv { .. }
            | Passage::Local { .. }
            | Passage::Bias { .. }
            | Passage::Scale { .. }
            | Passage::Same
            | Passage::Flatten
            | Passage::Activation(_)
            | Passage::BatchNorm { .. }
            | Passage::MaxPool(_)
            | Passage::AvgPool(_)
            | Passage::GlobalAvgPool
            | Passage::Add
            | Passage::Concat => None,
        }
    }
}

const PRODUCT: &str = "a product of two random numbers is not Gaussian";
const TURNED: &str = "turned copies of one weight are correlated, which has no rule here";
const TOKENS: &str = "which attention reads";
const WEIGHS_EACH: &str = "normalises the bare input and weighs its numbers one by one";
const ADDS_EACH: &str = "adds parameters to the bare input, number by number";

impl Op {
    /// What interpreters may assume of the op.
    pub fn facts(&self) -> Facts<'_> {
        match self {
            Op::Input => Facts {
                name: "input",
                words: "input".into(),
                parameters: Vec::new(),
                weights: ChannelWeights::None,
                support: Support::Same,
                pairs: Pairs::Equal,
                rotation: Rotation::Kept,
                passage: Passage::Input,
            },
            &Op::Dense { weight, scale } => Facts {
                name: "dense",
                words: "dense".into(),
                parameters: vec![(weight, scale)],
                weights: ChannelWeights::Shared(weight),
                support: Support::Token,
                pairs: Pairs::Token,
                rotation: Rotation::Weights,
                passage: Passage::Dense { weight, scale },
            },
            Op::Conv {
                weight,
                scale,
                window,
                groups,
            } => Facts {
                name: "conv",
                words: "conv".into(),
                parameters: vec![(*weight, *scale)],
                weights: ChannelWeights::Shared(*weight),
                support: Support::Window(window),
                pairs: Pairs::Asked,
                rotation: Rotation::Weights,
                passage: Passage::Conv {
                    weight: *weight,
                    scale: *scale,
                    window,
                    groups: *groups,
                },
            },
            Op::Local {
                weight,
                scale,
                window,
            } => Facts {
                name: "local",
                words: "local".into(),
                parameters: vec![(*weight, *scale)],
                weights: ChannelWeights::Own(*weight),
                support: Support::Window(window),
                pairs: Pairs::Equal,
                rotation: Rotation::Weights,
                passage: Passage::Local {
                    weight: *weight,
                    scale: *scale,
                    window,
                },
            },
            Op::GroupConv {
                weight,
                scale,
                window,
                group,
            } => Facts {
                name: group.conv(),
                words: group.conv().into(),
                parameters: vec![(*weight, *scale)],
                weights: ChannelWeights::Shared(*weight),
                support: Support::Window(window),
                pairs: Pairs::Unknown(TURNED),
                rotation: Rotation::Weights,
                passage: Passage::Other("whose weights come in turned copies that are correlated"),
            },
            Op::GroupPool { by, .. } => Facts {
                name: "group-pool",
                words: match by {
                    Projection::Max => "group-pool max".into(),
                    Projection::Mean => "group-pool mean".into(),
                },
                parameters: Vec::new(),
                weights: ChannelWeights::None,
                support: Support::Same,
                pairs: Pairs::Unknown(TURNED),
                rotation: Rotation::Ends("joins maps over a group".into()),
                passage: Passage::Other(
                    "which joins turned copies of one weight that are correlated",
                ),
            },
            &Op::Bias { bias, scale } => Facts {
                name: "bias",
                words: "bias".into(),
                parameters: vec![(bias, scale)],
                weights: ChannelWeights::None,
                support: Support::Same,
                pairs: Pairs::Asked,
                rotation: Rotation::Ends(ADDS_EACH.into()),
                passage: Passage::Bias { bias, scale },
            },
            &Op::Scale { by } => Facts {
                name: "scale",
                words: format!("scale {}", Short(by)).into(),
                parameters: Vec::new(),
                weights: ChannelWeights::None,
                support: Support::Same,
                pairs: Pairs::Asked,
                rotation: Rotation::Kept,
                passage: Passage::Scale { by },
            },
            &Op::LayerScale { weight } => Facts {
                name: "layer-scale",
                words: "layer-scale".into(),
                parameters: vec![(weight, 1.0)],
                weights: ChannelWeights::None,
                support: Support::Same,
                pairs: Pairs::Unknown(
                    "it weighs each channel by a number that does not start at random",
                ),
                rotation: Rotation::Ends("weighs the channels of the bare input one by one".into()),
                passage: Passage::Other("which weighs each channel by a number of its own"),
            },
            Op::Dropout { rate } => Facts {
                name: "dropout",
                words: format!("dropout {rate}").into(),
                parameters: Vec::new(),
                weights: ChannelWeights::None,
                support: Support::Same,
                pairs: Pairs::Asked,
                rotation: Rotation::Ends("drops numbers of the bare input one by one".into()),
                passage: Passage::Same,
            },
            Op::Activation(activation) => Facts {
                name: activation.name(),
                words: activation.to_string().into(),
                parameters: Vec::new(),
                weights: ChannelWeights::None,
                support: Support::Same,
                pairs: Pairs::Asked,
                rotation: match activation {
                    Activation::Identity => Rotation::Kept,
                    other => Rotation::Ends(
                        format!("applies {other} to the bare input, number by number").into(),
                    ),
                },
                passage: Passage::Activation(*activation),
            },
            Op::MaxPool(window) => Facts {
                name: "max-pool",
                words: "max-pool".into(),
                parameters: Vec::new(),
                weights: ChannelWeights::None,
                support: Support::Window(window),
                pairs: Pairs::Unknown("a maximum of correlated Gaussians has no closed covariance"),
                rotation: Rotation::Ends("takes maxima of the bare input, number by number".into()),
                passage: Passage::MaxPool(window),
            },
            Op::AvgPool(window) => Facts {
                name: "avg-pool",
                words: "avg-pool".into(),
                parameters: Vec::new(),
                weights: ChannelWeights::None,
                support: Support::Window(window),
                pairs: Pairs::All,
                rotation: Rotation::Positions,
                passage: Passage::AvgPool(window),
            },
            Op::GlobalAvgPool => Facts {
                name: "global-avg-pool",
                words: "global-avg-pool".into(),
                parameters: Vec::new(),
                weights: ChannelWeights::None,
                support: Support::All,
                pairs: Pairs::All,
                rotation: Rotation::Positions,
                passage: Passage::GlobalAvgPool,
            },
            Op::Flatten => Facts {
                name: "flatten",
                words: "flatten".into(),
                parameters: Vec::new(),
                weights: ChannelWeights::None,
                support: Support::Same,
                pairs: Pairs::Equal,
                rotation: Rotation::Kept,
                passage: Passage::Flatten,
            },
            Op::Add => Facts {
                name: "add",
                words: "add".into(),
                parameters: Vec::new(),
                weights: ChannelWeights::None,
                support: Support::Same,
                pairs: Pairs::Asked,
                rotation: Rotation::Paths,
                passage: Passage::Add,
            },
            Op::Gate => Facts {
                name: "gate",
                words: "gate".into(),
                parameters: Vec::new(),
                weights: ChannelWeights::None,
                support: Support::Same,
                pairs: Pairs::Unknown(PRODUCT),
                rotation: Rotation::Ends(
                    "multiplies the bare input, number by number, with what it makes of it".into(),
                ),
                passage: Passage::Other("in which a product of two random numbers is not Gaussian"),
            },
            Op::Concat => Facts {
                name: "concat",
                words: "concat".into(),
                parameters: Vec::new(),
                weights: ChannelWeights::None,
                support: Support::Same,
                pairs: Pairs::Asked,
                rotation: Rotation::Ends("puts the bare input beside other numbers".into()),
                passage: Passage::Concat,
            },
            &Op::BatchNorm {
                weight,
                bias,
                running_mean,
                running_var,
                eps,
                momentum: _,
            } => Facts {
                name: "batch-norm",
                words: "batch-norm".into(),
                parameters: vec![(weight, 1.0), (bias, 1.0)],
                weights: ChannelWeights::None,
                support: Support::Same,
                pairs: Pairs::Unknown("batch statistics tie the samples together"),
                rotation: Rotation::Ends(
                    "normalises every channel of the bare input by itself".into(),
                ),
                passage: Passage::BatchNorm {
                    weight,
                    bias,
                    running_mean,
                    running_var,
                    eps,
                },
            },
            &Op::LayerNorm { weight, bias, eps } => Facts {
                name: "layer-norm",
                words: "layer-norm".into(),
                parameters: vec![(weight, 1.0), (bias, 1.0)],
                weights: ChannelWeights::None,
                support: Support::Token,
                pairs: Pairs::Asked,
                rotation: Rotation::Ends(WEIGHS_EACH.into()),
                passage: Passage::Norm(Norm {
                    weight,
                    bias: Some(bias),
                    eps,
                    by: Divisor::Deviation,
                    affine: Affine::Numbers,
                }),
            },
            &Op::GroupNorm {
                groups,
                weight,
                bias,
                eps,
            } => Facts {
                name: "group-norm",
                words: format!("group-norm, {groups} groups").into(),
                parameters: vec![(weight, 1.0), (bias, 1.0)],
                weights: ChannelWeights::None,
                support: Support::All,
                pairs: Pairs::Asked,
                rotation: Rotation::Ends(WEIGHS_EACH.into()),
                passage: Passage::Norm(Norm {
                    weight,
                    bias: Some(bias),
                    eps,
                    by: Divisor::Deviation,
                    affine: Affine::Channels,
                }),
            },
            &Op::RmsNorm { weight, eps } => Facts {
                name: "rms-norm",
                words: "rms-norm".into(),
                parameters: vec![(weight, 1.0)],
                weights: ChannelWeights::None,
                support: Support::Token,
                pairs: Pairs::Asked,
                rotation: Rotation::Ends(WEIGHS_EACH.into()),
                passage: Passage::Norm(Norm {
                    weight,
                    bias: None,
                    eps,
                    by: Divisor::MeanSquare,
                    affine: Affine::Numbers,
                }),
            },
            Op::ToTokens => Facts {
                name: "tokens",
                words: "tokens".into(),
                parameters: Vec::new(),
                weights: ChannelWeights::None,
                support: Support::Same,
                pairs: Pairs::Asked,
                rotation: Rotation::Positions,
                passage: Passage::Other("which makes tokens of positions"),
            },
            Op::ToImage => Facts {
                name: "image",
                words: "image".into(),
                parameters: Vec::new(),
                weights: ChannelWeights::None,
                support: Support::Same,
                pairs: Pairs::Unknown("tokens are not followed back to positions of an image"),
                rotation: Rotation::Positions,
                passage: Passage::Other("which makes an image of tokens"),
            },
            &Op::ClassToken { token } => Facts {
                name: "class-token",
                words: "class-token".into(),
                parameters: vec![(token, 1.0)],
                weights: ChannelWeights::None,
                support: Support::Same,
                pairs: Pairs::Asked,
                rotation: Rotation::Ends(ADDS_EACH.into()),
                passage: Passage::Other(TOKENS),
            },
            &Op::Position { embedding } => Facts {
                name: "position",
                words: "position".into(),
                parameters: vec![(embedding, 1.0)],
                weights: ChannelWeights::None,
                support: Support::Same,
                pairs: Pairs::Asked,
                rotation: Rotation::Ends(ADDS_EACH.into()),
                passage: Passage::Other(TOKENS),
            },
            Op::TakeToken { index } => Facts {
                name: "take-token",
                words: format!("take-token {index}").into(),
                parameters: Vec::new(),
                weights: ChannelWeights::None,
                support: Support::Same,
                pairs: Pairs::Equal,
                rotation: Rotation::Positions,
                passage: Passage::Other(TOKENS),
            },
            &Op::Attention {
                heads,
                in_weight,
                in_bias,
                out_weight,
                out_bias,
                scale,
                bias_scale,
            } => {
                let bias = |id: Option<ParamId>| id.map(|id| (id, bias_scale));
                let parts = [
                    Some((in_weight, scale)),
                    bias(in_bias),
                    Some((out_weight, scale)),
                    bias(out_bias),
                ];
                Facts {
                    name: "attention",
                    words: format!("attention, {heads} heads").into(),
                    parameters: parts.into_iter().flatten().collect(),
                    weights: ChannelWeights::Attention([in_weight, out_weight]),
                    support: Support::All,
                    pairs: Pairs::All,
                    rotation: Rotation::Ends(
                        "reads the input with an attention layer, whose weights come in pairs"
                            .into(),
                    ),
                    passage: Passage::Other("which is not Gaussian"),
                }
            }
        }
    }

    /// Whether it multiplies by independent weights of mean 0 that mix channels.
    pub fn is_weighted(&self) -> bool {
        self.facts().weights != ChannelWeights::None
    }
}
