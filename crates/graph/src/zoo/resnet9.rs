//! ResNet-9 as the average-geometry experiments built it: eight blocks of convolution (3×3, with bias), batch
//! norm and activation, global average pool, dense. Despite the name it has no skip connection.

use super::Settings;
use crate::{Activation, Builder, ConvSpec, GraphError, HasBias, Padding, PoolSpec};

/// Batch norm's constant in PyTorch.
const EPS: f64 = 1e-5;

/// Path, channels, and the average pool that follows.
const BLOCKS: [(&str, usize, Option<&str>); 8] = [
    ("conv1", 64, None),
    ("conv2", 128, Some("conv2.3")),
    ("res1.0", 128, None),
    ("res1.1", 128, None),
    ("conv3", 256, Some("conv3.3")),
    ("conv4", 512, Some("conv4.3")),
    ("res2.0", 512, None),
    ("res2.1", 512, None),
];

pub(super) fn build(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    let activation = s.activation(Activation::Relu);
    let mut x = Builder::INPUT;
    for (path, channels, pool) in BLOCKS {
        let conv = ConvSpec::new(channels, [3, 3]).padding(Padding::Zeros(1));
        x = b.conv(x, &format!("{path}.0"), conv)?;
        x = b.batch_norm(x, &format!("{path}.1"), EPS)?;
        x = b.activation(x, &format!("{path}.2"), activation)?;
        if let Some(pool) = pool {
            x = b.avg_pool(x, pool, PoolSpec::new([2, 2]))?;
        }
    }
    x = b.global_avg_pool(x, "gap")?;
    b.dense(x, "linear", s.outputs, HasBias::Yes)?;
    Ok(())
}
