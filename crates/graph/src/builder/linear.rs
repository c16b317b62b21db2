//! Layers with weights: dense, convolution, locally connected, biases and layer scales.

use super::laws::PytorchLaws;
use super::window::slide;
use super::{Builder, is_a, product, setting_error, shape_error};
use crate::{GraphError, Law, NodeId, Op, Padding, ParamId, Role, Shape, Window};

/// Whether a layer adds a bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HasBias {
    /// It does.
    Yes,
    /// It does not.
    No,
}

/// A convolution to be: stride, dilation and groups 1, no padding and a bias unless changed.
#[derive(Clone, Copy, Debug)]
pub struct ConvSpec {
    pub(super) channels: usize,
    pub(super) window: Window,
    pub(super) groups: usize,
    pub(super) bias: HasBias,
    pub(super) pytorch: Option<PytorchLaws>,
}

impl ConvSpec {
    /// A convolution to `channels` channels; signals use `[1, k]`.
    pub fn new(channels: usize, kernel: [usize; 2]) -> Self {
        ConvSpec {
            channels,
            window: Window {
                kernel,
                stride: [1, 1],
                dilation: [1, 1],
                padding: Padding::Valid,
            },
            groups: 1,
            bias: HasBias::Yes,
            pytorch: None,
        }
    }

    /// Steps along height and width.
    pub fn stride(mut self, stride: [usize; 2]) -> Self {
        self.window.stride = stride;
        self
    }

    /// Distance between taps along height and width.
    pub fn dilation(mut self, dilation: [usize; 2]) -> Self {
        self.window.dilation = dilation;
        self
    }

    /// Border rule.
    pub fn padding(mut self, padding: Padding) -> Self {
        self.window.padding = padding;
        self
    }

    /// Channel groups; the input channels for depthwise.
    pub fn groups(mut self, groups: usize) -> Self {
        self.groups = groups;
        self
    }

    /// Whether a bias follows.
    pub fn bias(mut self, bias: HasBias) -> Self {
        self.bias = bias;
        self
    }

    /// Laws of weight and bias under the `pytorch` parametrisation, where a reference implementation sets its own.
    pub fn pytorch_laws(mut self, weight: Law, bias: Law) -> Self {
        self.pytorch = Some(PytorchLaws { weight, bias });
        self
    }
}

impl Builder {
    /// y = W x (+ b) on a vector, or on every token.
    pub fn dense(
        &mut self,
        x: NodeId,
        layer: &str,
        features: usize,
        bias: HasBias,
    ) -> Result<NodeId, GraphError> {
        self.dense_from(x, layer, features, bias, None)
    }

    /// [`Builder::dense`] with a bias, and laws of weight and bias under the `pytorch` parametrisation, where a
    /// reference implementation sets its own.
    pub(crate) fn dense_with_laws(
        &mut self,
        x: NodeId,
        layer: &str,
        features: usize,
        [weight, bias]: [Law; 2],
    ) -> Result<NodeId, GraphError> {
        let laws = PytorchLaws { weight, bias };
        self.dense_from(x, layer, features, HasBias::Yes, Some(laws))
    }

    fn dense_from(
        &mut self,
        x: NodeId,
        layer: &str,
        features: usize,
        bias: HasBias,
        pytorch: Option<PytorchLaws>,
    ) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        let input = self.shape(x);
        let (fan_in, output) = match input {
            Shape::Vector { features: n } => (n, Shape::Vector { features }),
            Shape::Tokens { count, width } => {
                let width_out = features;
                (
                    width,
                    Shape::Tokens {
                        count,
                        width: width_out,
                    },
                )
            }
            Shape::Image { .. } | Shape::Signal { .. } => {
                let wanted = "a vector or tokens, so put a flatten before it";
                return Err(shape_error(layer, "dense", input, is_a(input), wanted));
            }
        };
        at_least_one(layer, "dense", "features", features)?;
        let pytorch = pytorch.unwrap_or(PytorchLaws::default_for(fan_in));
        let (law, scale) = self.weight_rule(fan_in, features, pytorch);
        let name = format!("{layer}.weight");
        let weight = self.param(layer, name, &[features, fan_in], law, Role::Trainable)?;
        let y = self.push(layer, Op::Dense { weight, scale }, &[x], output)?;
        self.with_bias(y, layer, bias, pytorch)
    }

    /// y = W * x (+ b) on an image or a signal.
    pub fn conv(&mut self, x: NodeId, layer: &str, spec: ConvSpec) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        self.conv_claimed(x, layer, "conv", spec)
    }

    /// [`Builder::conv`] for a layer whose path is claimed already.
    pub(super) fn conv_claimed(
        &mut self,
        x: NodeId,
        layer: &str,
        op: &'static str,
        spec: ConvSpec,
    ) -> Result<NodeId, GraphError> {
        let ConvSpec {
            channels,
            window,
            groups,
            ..
        } = spec;
        let input = self.shape(x);
        self.plane(x, layer, op)?;
        let slid = slide(layer, op, input, &window)?;
        at_least_one(layer, op, "channels", channels)?;
        at_least_one(layer, op, "groups", groups)?;
        if !slid.channels.is_multiple_of(groups) || !channels.is_multiple_of(groups) {
            let wanted = format!(
                "a divisor of the {} input channels and of the {channels} output channels",
                slid.channels
            );
            return Err(setting_error(layer, op, "groups", groups, wanted));
        }
        let [kh, kw] = window.kernel;
        let per_group = slid.channels / groups;
        let fan_in = product(&[per_group, kh, kw]);
        let fan_out = product(&[channels, kh, kw]);
        let (Some(fan_in), Some(fan_out)) = (fan_in, fan_out) else {
            return Err(weights_too_large(layer));
        };
        let pytorch = spec.pytorch.unwrap_or(PytorchLaws::default_for(fan_in));
        let (law, scale) = self.weight_rule(fan_in, fan_out, pytorch);
        let shape = match input {
            Shape::Signal { .. } => vec![channels, per_group, kw],
            _ => vec![channels, per_group, kh, kw],
        };
        let name = format!("{layer}.weight");
        let weight = self.param(layer, name, &shape, law, Role::Trainable)?;
        let op = Op::Conv {
            weight,
            scale,
            window,
            groups,
        };
        let y = self.push(layer, op, &[x], resized(input, channels, slid.positions))?;
        self.with_bias(y, layer, spec.bias, pytorch)
    }

    /// Convolution without weight sharing (+ b, one a channel).
    pub fn local(&mut self, x: NodeId, layer: &str, spec: ConvSpec) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        let ConvSpec {
            channels, window, ..
        } = spec;
        let input = self.shape(x);
        self.plane(x, layer, "local")?;
        let slid = slide(layer, "local", input, &window)?;
        at_least_one(layer, "local", "channels", channels)?;
        if spec.groups != 1 {
            return Err(setting_error(layer, "local", "groups", spec.groups, "1"));
        }
        let [kh, kw] = window.kernel;
        let fan_in = product(&[slid.channels, kh, kw]);
        let fan_out = product(&[channels, kh, kw]);
        let positions = product(&slid.positions);
        let (Some(fan_in), Some(fan_out), Some(positions)) = (fan_in, fan_out, positions) else {
            return Err(weights_too_large(layer));
        };
        let pytorch = spec.pytorch.unwrap_or(PytorchLaws::default_for(fan_in));
        let (mut law, scale) = self.weight_rule(fan_in, fan_out, pytorch);
        if let Law::Orthogonal { gain } = &mut law {
            // The rows run over all positions; this gain gives each position the scale of an orthogonal map.
            *gain = (positions as f64).sqrt();
        }
        let name = format!("{layer}.weight");
        let shape = [channels, fan_in, positions];
        let weight = self.param(layer, name, &shape, law, Role::Trainable)?;
        let op = Op::Local {
            weight,
            scale,
            window,
        };
        let y = self.push(layer, op, &[x], resized(input, channels, slid.positions))?;
        self.with_bias(y, layer, spec.bias, pytorch)
    }

    /// A layer that only adds a bias; it has no fan-in, so it starts at 0 where the law would need one.
    pub fn bias(&mut self, x: NodeId, layer: &str) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        let zero = Law::Constant(0.0);
        let pytorch = PytorchLaws {
            weight: zero,
            bias: zero,
        };
        self.with_bias(x, layer, HasBias::Yes, pytorch)
    }

    /// Multiplies every channel (feature, token coordinate) by a learnt number that starts at `initial`; the parameter
    /// carries the layer's name.
    pub fn layer_scale(
        &mut self,
        x: NodeId,
        layer: &str,
        initial: f64,
    ) -> Result<NodeId, GraphError> {
        let gamma = self.layer_scale_param(x, layer, initial)?;
        self.layer_scale_of(x, layer, gamma)
    }

    /// The parameter of a layer scale for the shape of `x`, for networks whose `state_dict` lists it before the layers
    /// ahead of it.
    pub(crate) fn layer_scale_param(
        &mut self,
        x: NodeId,
        layer: &str,
        initial: f64,
    ) -> Result<ParamId, GraphError> {
        if !initial.is_finite() {
            let wanted = "a finite number";
            return Err(setting_error(
                layer,
                "layer-scale",
                "initial",
                initial,
                wanted,
            ));
        }
        let shape = match self.shape(x) {
            Shape::Vector { features } => vec![features],
            Shape::Tokens { width, .. } => vec![width],
            Shape::Signal { channels, .. } => vec![channels, 1],
            Shape::Image { channels, .. } => vec![channels, 1, 1],
        };
        let law = Law::Constant(initial);
        self.param(layer, layer.to_owned(), &shape, law, Role::Trainable)
    }

    /// Multiplies by the parameter of [`Builder::layer_scale_param`].
    pub(crate) fn layer_scale_of(
        &mut self,
        x: NodeId,
        layer: &str,
        weight: ParamId,
    ) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        self.push(layer, Op::LayerScale { weight }, &[x], self.shape(x))
    }

    pub(super) fn with_bias(
        &mut self,
        y: NodeId,
        layer: &str,
        bias: HasBias,
        pytorch: PytorchLaws,
    ) -> Result<NodeId, GraphError> {
        if bias == HasBias::No {
            return Ok(y);
        }
        let shape = self.shape(y);
        let count = match shape {
            Shape::Vector { features } => features,
            Shape::Signal { channels, .. } | Shape::Image { channels, .. } => channels,
            Shape::Tokens { width, .. } => width,
        };
        let (law, scale) = self.bias_rule(pytorch);
        let name = format!("{layer}.bias");
        let bias = self.param(layer, name, &[count], law, Role::Trainable)?;
        self.push(layer, Op::Bias { bias, scale }, &[y], shape)
    }
}

/// The kind of shape that `input` is, with other channels and positions.
pub(super) fn resized(input: Shape, channels: usize, [height, width]: [usize; 2]) -> Shape {
    match input {
        Shape::Signal { .. } => Shape::Signal {
            channels,
            length: width,
        },
        _ => Shape::Image {
            channels,
            height,
            width,
        },
    }
}

pub(super) fn at_least_one(
    layer: &str,
    op: &'static str,
    setting: &'static str,
    value: usize,
) -> Result<(), GraphError> {
    match value {
        0 => Err(setting_error(layer, op, setting, value, "at least 1")),
        _ => Ok(()),
    }
}

pub(super) fn weights_too_large(layer: &str) -> GraphError {
    GraphError::TooLarge {
        layer: layer.to_owned(),
        what: "the number of parameters",
        limit: super::MAX_PARAMETERS,
    }
}
