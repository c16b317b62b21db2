//! Four 3×3 convolutions over p4, over p4m or plain, with nearly as many parameters: convolution, batch norm, activation, with
//! max-pools of 2 after the second and the third, then the largest over the group, global average pool, dense.
//!
//! A kernel between maps over p4 has 4 numbers where a plain one has 1, so the plain network has √4 times the channels.
//! 28x28 and 32x32 are halved twice without a rest, so quarter turns commute with every layer.

use super::Settings;
use crate::{
    Activation, Builder, ConvSpec, GraphError, Group, HasBias, NodeId, Padding, PoolSpec,
    Projection,
};

/// Batch norm's constant in PyTorch.
const EPS: f64 = 1e-5;

pub(super) fn cnn(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    build(b, s, None, [16, 32, 32, 64])
}

pub(super) fn p4(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    build(b, s, Some(Group::P4), [8, 16, 16, 32])
}

pub(super) fn p4m(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    build(b, s, Some(Group::P4m), [6, 11, 12, 22])
}

fn build(
    b: &mut Builder,
    s: &Settings,
    group: Option<Group>,
    widths: [usize; 4],
) -> Result<(), GraphError> {
    let activation = s.activation(Activation::Relu);
    let mut x: NodeId = Builder::INPUT;
    for (i, width) in (1..).zip(widths) {
        let layer = format!("conv{i}");
        let spec = ConvSpec::new(width, [3, 3])
            .padding(Padding::Zeros(1))
            .bias(HasBias::No);
        x = match group {
            Some(group) => b.group_conv(x, &layer, group, spec)?,
            None => b.conv(x, &layer, spec)?,
        };
        x = b.batch_norm(x, &format!("bn{i}"), EPS)?;
        x = b.activation(x, &format!("act{i}"), activation)?;
        if i == 2 || i == 3 {
            x = b.max_pool(x, &format!("pool{i}"), PoolSpec::new([2, 2]))?;
        }
    }
    if group.is_some() {
        x = b.group_pool(x, "project", Projection::Max)?;
    }
    x = b.global_avg_pool(x, "gap")?;
    b.dense(x, "linear", s.outputs, HasBias::Yes)?;
    Ok(())
}
