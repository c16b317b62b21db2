//! AlexNet for small images: torchvision's layers and names with 3×3 kernels, a stem of stride 2 and pools of 2,
//! so that 2×2 positions reach the two dense layers of 4096.

use super::Settings;
use crate::{Activation, Builder, ConvSpec, GraphError, HasBias, Padding, PoolSpec};

/// Index, channels and stride of the convolutions, and the index of the max-pool that follows.
const CONVOLUTIONS: [(usize, usize, usize, Option<usize>); 5] = [
    (0, 64, 2, Some(2)),
    (3, 192, 1, Some(5)),
    (6, 384, 1, None),
    (8, 256, 1, None),
    (10, 256, 1, Some(12)),
];

pub(super) fn build(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    let activation = s.activation(Activation::Relu);
    let mut x = Builder::INPUT;
    for (index, channels, stride, pool) in CONVOLUTIONS {
        let conv = ConvSpec::new(channels, [3, 3])
            .stride([stride, stride])
            .padding(Padding::Zeros(1));
        x = b.conv(x, &format!("features.{index}"), conv)?;
        x = b.activation(x, &format!("features.{}", index + 1), activation)?;
        if let Some(pool) = pool {
            x = b.max_pool(x, &format!("features.{pool}"), PoolSpec::new([2, 2]))?;
        }
    }
    x = b.flatten(x, "flatten")?;
    for index in [0, 3] {
        x = b.dropout(x, &format!("classifier.{index}"), 0.5)?;
        x = b.dense(x, &format!("classifier.{}", index + 1), 4096, HasBias::Yes)?;
        x = b.activation(x, &format!("classifier.{}", index + 2), activation)?;
    }
    b.dense(x, "classifier.6", s.outputs, HasBias::Yes)?;
    Ok(())
}
