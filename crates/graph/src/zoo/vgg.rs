//! VGG-11 for small images: `features.N`, then `classifier.{0,3,6}` with dropout ½ between.
//!
//! Under `pytorch` the convolutions start at N(0, 2/(9·out)) with zero bias; dense layers keep the default.

use super::Settings;
use crate::{Activation, Builder, ConvSpec, GraphError, HasBias, Law, NodeId, Padding, PoolSpec};

/// Channels of each convolution; `None` is a max-pool.
#[rustfmt::skip]
const FEATURES: [Option<usize>; 13] = [
    Some(64), None, Some(128), None, Some(256), Some(256), None,
    Some(512), Some(512), None, Some(512), Some(512), None,
];

/// Batch norm's constant in PyTorch.
const EPS: f64 = 1e-5;

pub(super) fn plain(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    build(b, s, |_, x, _| Ok((x, 0)))
}

pub(super) fn batch_norm(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    build(b, s, |b, x, layer| Ok((b.batch_norm(x, layer, EPS)?, 1)))
}

/// What stands between convolution and activation, and how many indices it takes.
type Norm = fn(&mut Builder, NodeId, &str) -> Result<(NodeId, usize), GraphError>;

fn build(b: &mut Builder, s: &Settings, norm: Norm) -> Result<(), GraphError> {
    let activation = s.activation(Activation::Relu);
    let mut x = Builder::INPUT;
    let mut index = 0;
    for feature in FEATURES {
        let Some(channels) = feature else {
            x = b.max_pool(x, &format!("features.{index}"), PoolSpec::new([2, 2]))?;
            index += 1;
            continue;
        };
        let std = (2.0 / (9 * channels) as f64).sqrt();
        let conv = ConvSpec::new(channels, [3, 3])
            .padding(Padding::Zeros(1))
            .pytorch_laws(Law::Normal { std }, Law::Constant(0.0));
        x = b.conv(x, &format!("features.{index}"), conv)?;
        let (normed, taken) = norm(b, x, &format!("features.{}", index + 1))?;
        index += 1 + taken;
        x = b.activation(normed, &format!("features.{index}"), activation)?;
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
