//! Normalisations. γ starts at 1 and β at 0, running means at 0 and running variances at 1.

use super::linear::at_least_one;
use super::{Builder, is_a, setting_error, shape_error};
use crate::{GraphError, Law, NodeId, Op, ParamId, Role, Shape};

const ONE: Law = Law::Constant(1.0);
const ZERO: Law = Law::Constant(0.0);

impl Builder {
    /// Batch normalisation over channels (features), with PyTorch's momentum 0.1.
    pub fn batch_norm(&mut self, x: NodeId, layer: &str, eps: f64) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        check_eps(layer, "batch-norm", eps)?;
        let shape = self.shape(x);
        let count = match shape {
            Shape::Vector { features } => features,
            Shape::Image { channels, .. } | Shape::Signal { channels, .. } => channels,
            Shape::Tokens { .. } => {
                let wanted = "an image, a signal or a vector (layer-norm reads tokens)";
                return Err(shape_error(layer, "batch-norm", shape, is_a(shape), wanted));
            }
        };
        let mut part = |name: &str, law, role| {
            let name = format!("{layer}.{name}");
            self.param(layer, name, &[count], law, role)
        };
        let op = Op::BatchNorm {
            weight: part("weight", ONE, Role::Trainable)?,
            bias: part("bias", ZERO, Role::Trainable)?,
            running_mean: part("running_mean", ZERO, Role::Buffer)?,
            running_var: part("running_var", ONE, Role::Buffer)?,
            eps,
            momentum: 0.1,
        };
        self.push(layer, op, &[x], shape)
    }

    /// Layer normalisation: over the width of each token, over everything otherwise.
    pub fn layer_norm(&mut self, x: NodeId, layer: &str, eps: f64) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        check_eps(layer, "layer-norm", eps)?;
        let shape = self.shape(x);
        let over = normalised_over(shape);
        let weight = self.norm_param(layer, "weight", &over, ONE)?;
        let bias = self.norm_param(layer, "bias", &over, ZERO)?;
        self.push(layer, Op::LayerNorm { weight, bias, eps }, &[x], shape)
    }

    /// Group normalisation over channels.
    pub fn group_norm(
        &mut self,
        x: NodeId,
        layer: &str,
        groups: usize,
        eps: f64,
    ) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        check_eps(layer, "group-norm", eps)?;
        let shape = self.shape(x);
        let channels = match shape {
            Shape::Image { channels, .. } | Shape::Signal { channels, .. } => channels,
            Shape::Vector { .. } | Shape::Tokens { .. } => {
                let wanted = "an image or a signal";
                return Err(shape_error(layer, "group-norm", shape, is_a(shape), wanted));
            }
        };
        at_least_one(layer, "group-norm", "groups", groups)?;
        if !channels.is_multiple_of(groups) {
            let wanted = format!("a divisor of the {channels} channels");
            return Err(setting_error(layer, "group-norm", "groups", groups, wanted));
        }
        let weight = self.norm_param(layer, "weight", &[channels], ONE)?;
        let bias = self.norm_param(layer, "bias", &[channels], ZERO)?;
        let op = Op::GroupNorm {
            groups,
            weight,
            bias,
            eps,
        };
        self.push(layer, op, &[x], shape)
    }

    /// Root-mean-square normalisation over what layer-norm normalises over.
    pub fn rms_norm(&mut self, x: NodeId, layer: &str, eps: f64) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        check_eps(layer, "rms-norm", eps)?;
        let shape = self.shape(x);
        let weight = self.norm_param(layer, "weight", &normalised_over(shape), ONE)?;
        self.push(layer, Op::RmsNorm { weight, eps }, &[x], shape)
    }

    fn norm_param(
        &mut self,
        layer: &str,
        name: &str,
        shape: &[usize],
        law: Law,
    ) -> Result<ParamId, GraphError> {
        self.param(
            layer,
            format!("{layer}.{name}"),
            shape,
            law,
            Role::Trainable,
        )
    }
}

fn normalised_over(shape: Shape) -> Vec<usize> {
    match shape {
        Shape::Tokens { width, .. } => vec![width],
        Shape::Vector { .. } | Shape::Signal { .. } | Shape::Image { .. } => shape.dims(),
    }
}

fn check_eps(layer: &str, op: &'static str, eps: f64) -> Result<(), GraphError> {
    match eps.is_finite() && eps >= 0.0 {
        true => Ok(()),
        false => Err(setting_error(
            layer,
            op,
            "eps",
            eps,
            "a finite number not below 0",
        )),
    }
}
