//! DenseNet-121 for small images: growth k = 32, bottleneck 4k, reduction ½.
//!
//! A dense layer maps x to [conv3×3(act(bn(conv1×1(act(bn x))))), x], new channels first. The reference ends
//! in an average pool of 4, which on its 32×32 images is the mean over all positions; so it is here.

use super::Settings;
use crate::{
    Activation, Builder, ConvSpec, GraphError, HasBias, NodeId, Nonlinearity, Padding, PoolSpec,
};

const GROWTH: usize = 32;
const BLOCKS: [usize; 4] = [6, 12, 24, 16];

/// Batch norm's constant in PyTorch.
const EPS: f64 = 1e-5;

pub(super) fn build(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    let activation = s.activation(Activation::Relu);
    let mut channels = 2 * GROWTH;
    let mut x = b.conv(Builder::INPUT, "conv1", conv(channels, 3))?;
    for (i, layers) in BLOCKS.into_iter().enumerate() {
        let i = i + 1;
        for j in 0..layers {
            x = dense_layer(b, x, &format!("dense{i}.{j}"), activation)?;
        }
        if i == BLOCKS.len() {
            break;
        }
        let path = format!("trans{i}");
        channels = (channels + layers * GROWTH) / 2;
        x = b.batch_norm(x, &format!("{path}.bn"), EPS)?;
        x = b.activation(x, &format!("{path}.act"), activation)?;
        x = b.conv(x, &format!("{path}.conv"), conv(channels, 1))?;
        x = b.avg_pool(x, &format!("{path}.pool"), PoolSpec::new([2, 2]))?;
    }
    x = b.batch_norm(x, "bn", EPS)?;
    x = b.activation(x, "act", activation)?;
    x = b.global_avg_pool(x, "avgpool")?;
    b.dense(x, "linear", s.outputs, HasBias::Yes)?;
    Ok(())
}

fn conv(channels: usize, kernel: usize) -> ConvSpec {
    ConvSpec::new(channels, [kernel, kernel])
        .padding(Padding::Zeros(kernel / 2))
        .bias(HasBias::No)
}

fn dense_layer(
    b: &mut Builder,
    x: NodeId,
    path: &str,
    activation: Nonlinearity,
) -> Result<NodeId, GraphError> {
    let y = b.batch_norm(x, &format!("{path}.bn1"), EPS)?;
    let y = b.activation(y, &format!("{path}.act1"), activation)?;
    let y = b.conv(y, &format!("{path}.conv1"), conv(4 * GROWTH, 1))?;
    let y = b.batch_norm(y, &format!("{path}.bn2"), EPS)?;
    let y = b.activation(y, &format!("{path}.act2"), activation)?;
    let y = b.conv(y, &format!("{path}.conv2"), conv(GROWTH, 3))?;
    b.concat(&[y, x], &format!("{path}.concat"))
}
