//! VGGs for small images: `features.N`, then `classifier.{0,3,6}` with dropout ½ between.
//!
//! Under `pytorch` the convolutions start at N(0, 2/(9·out)) with zero bias; dense layers keep the default.

use super::Settings;
use crate::{Activation, Builder, ConvSpec, GraphError, HasBias, Law, NodeId, Padding, PoolSpec};

/// Channels of the stages, each of which ends in a max-pool.
const CHANNELS: [usize; 5] = [64, 128, 256, 512, 512];

/// Convolutions of each stage.
type Stages = [usize; 5];
const VGG11: Stages = [1, 1, 2, 2, 2];
const VGG13: Stages = [2, 2, 2, 2, 2];
const VGG16: Stages = [2, 2, 3, 3, 3];
const VGG19: Stages = [2, 2, 4, 4, 4];

/// Batch norm's constant in PyTorch.
const EPS: f64 = 1e-5;

pub(super) fn vgg11(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    build(b, s, VGG11, plain)
}

pub(super) fn vgg11_bn(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    build(b, s, VGG11, batch_norm)
}

pub(super) fn vgg13(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    build(b, s, VGG13, plain)
}

pub(super) fn vgg13_bn(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    build(b, s, VGG13, batch_norm)
}

pub(super) fn vgg16(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    build(b, s, VGG16, plain)
}

pub(super) fn vgg16_bn(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    build(b, s, VGG16, batch_norm)
}

pub(super) fn vgg19(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    build(b, s, VGG19, plain)
}

pub(super) fn vgg19_bn(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    build(b, s, VGG19, batch_norm)
}

/// What stands between convolution and activation, and how many indices it takes.
type Norm = fn(&mut Builder, NodeId, &str) -> Result<(NodeId, usize), GraphError>;

fn plain(_: &mut Builder, x: NodeId, _: &str) -> Result<(NodeId, usize), GraphError> {
    Ok((x, 0))
}

fn batch_norm(b: &mut Builder, x: NodeId, layer: &str) -> Result<(NodeId, usize), GraphError> {
    Ok((b.batch_norm(x, layer, EPS)?, 1))
}

fn build(b: &mut Builder, s: &Settings, stages: Stages, norm: Norm) -> Result<(), GraphError> {
    let activation = s.activation(Activation::Relu);
    let mut x = Builder::INPUT;
    let mut index = 0;
    for (channels, convolutions) in CHANNELS.into_iter().zip(stages) {
        let std = (2.0 / (9 * channels) as f64).sqrt();
        let conv = ConvSpec::new(channels, [3, 3])
            .padding(Padding::Zeros(1))
            .pytorch_laws(Law::Normal { std }, Law::Constant(0.0));
        for _ in 0..convolutions {
            x = b.conv(x, &format!("features.{index}"), conv)?;
            let (normed, taken) = norm(b, x, &format!("features.{}", index + 1))?;
            index += 1 + taken;
            x = b.activation(normed, &format!("features.{index}"), activation)?;
            index += 1;
        }
        x = b.max_pool(x, &format!("features.{index}"), PoolSpec::new([2, 2]))?;
        index += 1;
    }
    x = b.flatten(x, "flatten")?;
    for index in [0, 3] {
        x = b.dense(x, &format!("classifier.{index}"), 512, HasBias::Yes)?;
        x = b.activation(x, &format!("classifier.{}", index + 1), activation)?;
        x = b.dropout(x, &format!("classifier.{}", index + 2), 0.5)?;
    }
    b.dense(x, "classifier.6", s.outputs, HasBias::Yes)?;
    Ok(())
}
