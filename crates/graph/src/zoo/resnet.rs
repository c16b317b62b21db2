//! ResNets for small images: a 3×3 stem, four stages of 64, 128, 256, 512 planes with strides 1, 2, 2, 2.
//!
//! Block: act(branch(x) + shortcut(x)), the shortcut a 1×1 convolution where the shape changes. The reference
//! ends in an average pool of 4, which on its 32×32 images is the mean over all positions; so it is here.

use super::Settings;
use crate::{Activation, Builder, ConvSpec, GraphError, HasBias, NodeId, Nonlinearity, Padding};

/// Batch norm's constant in PyTorch.
const EPS: f64 = 1e-5;

/// Shape of a residual branch.
#[derive(Clone, Copy, PartialEq)]
enum Block {
    /// 3×3, 3×3.
    Basic,
    /// 1×1, 3×3, 1×1 to four times the planes.
    Bottleneck,
}

/// Whether convolutions are followed by batch norm.
#[derive(Clone, Copy, PartialEq)]
enum Norm {
    Batch,
    None,
}

pub(super) fn resnet18(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    build(b, s, Block::Basic, Norm::Batch, [2, 2, 2, 2])
}

pub(super) fn resnet18_nobn(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    build(b, s, Block::Basic, Norm::None, [2, 2, 2, 2])
}

pub(super) fn resnet34(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    build(b, s, Block::Basic, Norm::Batch, [3, 4, 6, 3])
}

pub(super) fn resnet50(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    build(b, s, Block::Bottleneck, Norm::Batch, [3, 4, 6, 3])
}

fn build(
    b: &mut Builder,
    s: &Settings,
    block: Block,
    norm: Norm,
    stages: [usize; 4],
) -> Result<(), GraphError> {
    let mut net = ResNet {
        b,
        activation: s.activation(Activation::Relu),
        norm,
        channels: 64,
    };
    let mut x = net.conv(Builder::INPUT, "conv1", "bn1", net.channels, 3, 1)?;
    x = net.b.activation(x, "act1", net.activation)?;
    for (i, blocks) in stages.into_iter().enumerate() {
        for j in 0..blocks {
            let stride = if i > 0 && j == 0 { 2 } else { 1 };
            x = net.block(x, &format!("layer{}.{j}", i + 1), block, 64 << i, stride)?;
        }
    }
    x = b.global_avg_pool(x, "avgpool")?;
    b.dense(x, "linear", s.outputs, HasBias::Yes)?;
    Ok(())
}

struct ResNet<'b> {
    b: &'b mut Builder,
    activation: Nonlinearity,
    norm: Norm,
    /// Channels that the next block reads.
    channels: usize,
}

impl ResNet<'_> {
    /// Convolution without bias that keeps the size up to its stride, then the norm.
    fn conv(
        &mut self,
        x: NodeId,
        conv: &str,
        norm: &str,
        channels: usize,
        kernel: usize,
        stride: usize,
    ) -> Result<NodeId, GraphError> {
        let spec = ConvSpec::new(channels, [kernel, kernel])
            .stride([stride, stride])
            .padding(Padding::Zeros(kernel / 2))
            .bias(HasBias::No);
        let x = self.b.conv(x, conv, spec)?;
        match self.norm {
            Norm::Batch => self.b.batch_norm(x, norm, EPS),
            Norm::None => Ok(x),
        }
    }

    fn block(
        &mut self,
        x: NodeId,
        path: &str,
        block: Block,
        planes: usize,
        stride: usize,
    ) -> Result<NodeId, GraphError> {
        let out = match block {
            Block::Basic => planes,
            Block::Bottleneck => 4 * planes,
        };
        // (channels, kernel, stride) of the branch's convolutions.
        let convs: &[(usize, usize, usize)] = match block {
            Block::Basic => &[(planes, 3, stride), (out, 3, 1)],
            Block::Bottleneck => &[(planes, 1, 1), (planes, 3, stride), (out, 1, 1)],
        };
        let mut y = x;
        for (i, &(channels, kernel, stride)) in convs.iter().enumerate() {
            let i = i + 1;
            let (conv, norm) = (format!("{path}.conv{i}"), format!("{path}.bn{i}"));
            y = self.conv(y, &conv, &norm, channels, kernel, stride)?;
            if i < convs.len() {
                y = self
                    .b
                    .activation(y, &format!("{path}.act{i}"), self.activation)?;
            }
        }
        let skip = if stride != 1 || self.channels != out {
            let (conv, norm) = (format!("{path}.shortcut.0"), format!("{path}.shortcut.1"));
            self.conv(x, &conv, &norm, out, 1, stride)?
        } else {
            x
        };
        self.channels = out;
        let sum = self.b.add(&[y, skip], &format!("{path}.add"))?;
        self.b
            .activation(sum, &format!("{path}.act{}", convs.len()), self.activation)
    }
}
