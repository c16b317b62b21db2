//! Networks of inverted residuals for small images: MobileNetV2 and EfficientNet-B0, with torchvision's names.
//!
//! A block widens its channels by a 1×1 convolution, convolves each by itself, and projects back to few: batch norm
//! after each, an activation after the first two, and a skip where the shape stays. Under `pytorch` convolutions
//! start at N(0, 2/(k²·out)).

use super::Settings;
use crate::{
    Activation, Builder, ConvSpec, GraphError, HasBias, Law, NodeId, Nonlinearity, Padding,
    PoolSpec, Shape,
};

/// Batch norm's constant in PyTorch.
const EPS: f64 = 1e-5;
const ZERO: Law = Law::Constant(0.0);

/// Blocks in a row.
struct Stage {
    /// Width of a block over that of its input.
    expansion: usize,
    kernel: usize,
    /// Of its first block.
    stride: usize,
    channels: usize,
    blocks: usize,
}

const fn stage(
    expansion: usize,
    kernel: usize,
    stride: usize,
    channels: usize,
    blocks: usize,
) -> Stage {
    Stage {
        expansion,
        kernel,
        stride,
        channels,
        blocks,
    }
}

/// MobileNetV2's; the reference has stride 2 in the second.
const MOBILENET: [Stage; 7] = [
    stage(1, 3, 1, 16, 1),
    stage(6, 3, 1, 24, 2),
    stage(6, 3, 2, 32, 3),
    stage(6, 3, 2, 64, 4),
    stage(6, 3, 1, 96, 3),
    stage(6, 3, 2, 160, 3),
    stage(6, 3, 1, 320, 1),
];

const EFFICIENTNET_B0: [Stage; 7] = [
    stage(1, 3, 1, 16, 1),
    stage(6, 3, 2, 24, 2),
    stage(6, 5, 2, 40, 2),
    stage(6, 3, 2, 80, 3),
    stage(6, 5, 1, 112, 3),
    stage(6, 5, 2, 192, 4),
    stage(6, 3, 1, 320, 1),
];

pub(super) fn mobilenet(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    let mut net = Net {
        b,
        activation: s.activation(Activation::Relu),
        channels: 32,
    };
    let mut x = net.stem()?;
    let blocks = MOBILENET
        .iter()
        .flat_map(|stage| (0..stage.blocks).map(move |j| (stage, j)));
    for (i, (stage, j)) in blocks.enumerate() {
        x = net.mobile_block(x, &format!("features.{}", i + 1), stage, j)?;
    }
    x = net.head(x, "features.18")?;
    let laws = [Law::Normal { std: 0.01 }, ZERO];
    b.dense_with_laws(x, "classifier.1", s.outputs, laws)?;
    Ok(())
}

pub(super) fn efficientnet_b0(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    let mut net = Net {
        b,
        activation: s.activation(Activation::Silu),
        channels: 32,
    };
    let mut x = net.stem()?;
    for (i, stage) in EFFICIENTNET_B0.iter().enumerate() {
        for j in 0..stage.blocks {
            x = net.efficient_block(x, &format!("features.{}.{j}", i + 1), stage, j)?;
        }
    }
    x = net.head(x, "features.8")?;
    let bound = (s.outputs as f64).sqrt().recip();
    let laws = [Law::Uniform { bound }, ZERO];
    b.dense_with_laws(x, "classifier.1", s.outputs, laws)?;
    Ok(())
}

/// A convolution to be.
struct Conv {
    channels: usize,
    kernel: usize,
    stride: usize,
    groups: usize,
}

impl Conv {
    /// 1×1.
    fn point(channels: usize) -> Self {
        Conv {
            channels,
            kernel: 1,
            stride: 1,
            groups: 1,
        }
    }

    /// Of each channel by itself.
    fn depthwise(channels: usize, kernel: usize, stride: usize) -> Self {
        Conv {
            channels,
            kernel,
            stride,
            groups: channels,
        }
    }
}

struct Net<'b> {
    b: &'b mut Builder,
    activation: Nonlinearity,
    /// Channels that the next block reads.
    channels: usize,
}

impl Net<'_> {
    /// Convolution without bias that keeps the size up to its stride, then batch norm.
    fn normed(
        &mut self,
        x: NodeId,
        [conv, norm]: [&str; 2],
        c: Conv,
    ) -> Result<NodeId, GraphError> {
        let std = (2.0 / (c.kernel * c.kernel * c.channels) as f64).sqrt();
        let spec = ConvSpec::new(c.channels, [c.kernel, c.kernel])
            .stride([c.stride, c.stride])
            .padding(Padding::Zeros(c.kernel / 2))
            .groups(c.groups)
            .bias(HasBias::No)
            .pytorch_laws(Law::Normal { std }, ZERO);
        let x = self.b.conv(x, conv, spec)?;
        self.b.batch_norm(x, norm, EPS)
    }

    /// The same with an activation behind it: layers 0, 1 and 2 of `path`.
    fn activated(&mut self, x: NodeId, path: &str, c: Conv) -> Result<NodeId, GraphError> {
        let names = [format!("{path}.0"), format!("{path}.1")];
        let x = self.normed(x, [&names[0], &names[1]], c)?;
        self.b.activation(x, &format!("{path}.2"), self.activation)
    }

    /// 3×3 to 32 channels; the reference has stride 2.
    fn stem(&mut self) -> Result<NodeId, GraphError> {
        let conv = Conv {
            kernel: 3,
            ..Conv::point(self.channels)
        };
        self.activated(Builder::INPUT, "features.0", conv)
    }

    /// 1×1 to 1280 channels, mean over positions, dropout.
    fn head(&mut self, x: NodeId, path: &str) -> Result<NodeId, GraphError> {
        let x = self.activated(x, path, Conv::point(1280))?;
        let x = self.b.global_avg_pool(x, "avgpool")?;
        self.b.dropout(x, "classifier.0", 0.2)
    }

    fn mobile_block(
        &mut self,
        x: NodeId,
        path: &str,
        stage: &Stage,
        j: usize,
    ) -> Result<NodeId, GraphError> {
        let (y, stride, next) = self.inside(x, &format!("{path}.conv"), stage, j)?;
        let names = [next, next + 1].map(|i| format!("{path}.conv.{i}"));
        let y = self.normed(y, [&names[0], &names[1]], Conv::point(stage.channels))?;
        self.skip(x, y, path, stage, stride)
    }

    fn efficient_block(
        &mut self,
        x: NodeId,
        path: &str,
        stage: &Stage,
        j: usize,
    ) -> Result<NodeId, GraphError> {
        let squeezed = self.channels / 4;
        let (y, stride, next) = self.inside(x, &format!("{path}.block"), stage, j)?;
        let y = self.excite(y, &format!("{path}.block.{next}"), squeezed)?;
        let names = [0, 1].map(|i| format!("{path}.block.{}.{i}", next + 1));
        let y = self.normed(y, [&names[0], &names[1]], Conv::point(stage.channels))?;
        self.skip(x, y, path, stage, stride)
    }

    /// Widens, then convolves each channel; gives the stride and the index of the next layer too.
    fn inside(
        &mut self,
        x: NodeId,
        path: &str,
        stage: &Stage,
        j: usize,
    ) -> Result<(NodeId, usize, usize), GraphError> {
        let stride = if j == 0 { stage.stride } else { 1 };
        let wide = stage.expansion * self.channels;
        let (y, next) = match stage.expansion {
            1 => (x, 0),
            _ => (
                self.activated(x, &format!("{path}.0"), Conv::point(wide))?,
                1,
            ),
        };
        let conv = Conv::depthwise(wide, stage.kernel, stride);
        let y = self.activated(y, &format!("{path}.{next}"), conv)?;
        Ok((y, stride, next + 1))
    }

    /// Squeeze-and-excite: x · sigmoid(W₂ φ(W₁ mean x)), one factor a channel. The sigmoid is the gate's own.
    fn excite(&mut self, x: NodeId, path: &str, squeezed: usize) -> Result<NodeId, GraphError> {
        let Shape::Image {
            channels,
            height,
            width,
        } = self.b.shape(x)
        else {
            return Ok(x);
        };
        let conv = |channels: usize| {
            let std = (2.0 / channels as f64).sqrt();
            ConvSpec::new(channels, [1, 1]).pytorch_laws(Law::Normal { std }, ZERO)
        };
        let b = &mut *self.b;
        let mean = PoolSpec::new([height, width]);
        let y = b.avg_pool(x, &format!("{path}.avgpool"), mean)?;
        let y = b.conv(y, &format!("{path}.fc1"), conv(squeezed))?;
        let y = b.activation(y, &format!("{path}.activation"), self.activation)?;
        let y = b.conv(y, &format!("{path}.fc2"), conv(channels))?;
        let scale = format!("{path}.scale_activation");
        let y = b.activation(y, &scale, Activation::Sigmoid)?;
        b.gate(x, y, path)
    }

    /// x + y where the shape stays, else y.
    fn skip(
        &mut self,
        x: NodeId,
        y: NodeId,
        path: &str,
        stage: &Stage,
        stride: usize,
    ) -> Result<NodeId, GraphError> {
        let same = stride == 1 && self.channels == stage.channels;
        self.channels = stage.channels;
        match same {
            true => self.b.add(&[y, x], &format!("{path}.add")),
            false => Ok(y),
        }
    }
}
