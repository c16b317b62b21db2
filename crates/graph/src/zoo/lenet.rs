//! LeNet-5: two 5×5 convolutions, each followed by activation and a pool of 2, then dense 120, 84, outputs.

use super::Settings;
use crate::{Activation, Builder, ConvSpec, GraphError, HasBias, NodeId, PoolSpec};

type Pool = fn(&mut Builder, NodeId, &str, PoolSpec) -> Result<NodeId, GraphError>;

fn trunk(b: &mut Builder, s: &Settings, pool: Pool) -> Result<NodeId, GraphError> {
    let activation = s.activation(Activation::Relu);
    let mut x = Builder::INPUT;
    for (i, channels) in [(1, 6), (2, 16)] {
        x = b.conv(x, &format!("conv{i}"), ConvSpec::new(channels, [5, 5]))?;
        x = b.activation(x, &format!("act{i}"), activation)?;
        x = pool(b, x, &format!("pool{i}"), PoolSpec::new([2, 2]))?;
    }
    Ok(x)
}

fn dense(b: &mut Builder, s: &Settings, x: NodeId) -> Result<(), GraphError> {
    let activation = s.activation(Activation::Relu);
    let x = b.flatten(x, "flatten")?;
    let x = b.dense(x, "fc1", 120, HasBias::Yes)?;
    let x = b.activation(x, "act3", activation)?;
    let x = b.dense(x, "fc2", 84, HasBias::Yes)?;
    let x = b.activation(x, "act4", activation)?;
    b.dense(x, "fc3", s.outputs, HasBias::Yes)?;
    Ok(())
}

pub(super) fn max(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    let x = trunk(b, s, Builder::max_pool)?;
    dense(b, s, x)
}

pub(super) fn avg(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    let x = trunk(b, s, Builder::avg_pool)?;
    dense(b, s, x)
}

pub(super) fn bare(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    let x = trunk(b, s, |_, x, _, _| Ok(x))?;
    dense(b, s, x)
}

pub(super) fn gap(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    let x = trunk(b, s, Builder::avg_pool)?;
    let x = b.global_avg_pool(x, "gap")?;
    b.dense(x, "linear", s.outputs, HasBias::Yes)?;
    Ok(())
}
