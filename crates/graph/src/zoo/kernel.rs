//! The networks of the infinite-width kernels, finite: `depth` hidden layers of `width` channels, then a read-out.
//!
//! FCN: h^{l+1} = ω φ(h^l)/√n_l on the flattened input. CNN: circular convolutions of stride 1, scaled by
//! 1/√(k²n); LCN: the same without weight sharing. Read-outs: VEC and LCN flatten, GAP averages over all
//! positions, LAP^w over squares of w×w and then flattens. Biases are there unless b_std = 0.
//!
//! `fc-L` is the FCN of L layers of 64 whose read-out is divided by its fan-in, as networks that leave the kernel
//! regime have it.

use super::Settings;
use crate::{
    Activation, Builder, ConvSpec, GraphError, HasBias, NodeId, Padding, Parametrisation, PoolSpec,
    Shape,
};

/// N(0,1) weights scaled by 1/√fan_in, no biases.
pub(super) const PARAMETRISATION: Parametrisation = Parametrisation::Ntk {
    w_std: 1.0,
    b_std: 0.0,
};

/// N(0,1) weights scaled by 1/√fan_in, in the read-out by 1/fan_in, no biases.
pub(super) const MEAN_FIELD: Parametrisation = Parametrisation::MeanField {
    w_std: 1.0,
    b_std: 0.0,
};

/// Width of the `fc` networks.
const FC_WIDTH: usize = 64;

const DEPTH: usize = 2;
const FCN_WIDTH: usize = 512;
const CNN_WIDTH: usize = 64;
const KERNEL: usize = 3;

type Hidden = fn(&mut Builder, NodeId, &str, ConvSpec) -> Result<NodeId, GraphError>;

pub(super) fn fcn(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    let (depth, width) = (s.depth.unwrap_or(DEPTH), s.width.unwrap_or(FCN_WIDTH));
    dense_layers(b, s, depth, width)
}

pub(super) fn fc2(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    dense_layers(b, s, 2, FC_WIDTH)
}

pub(super) fn fc4(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    dense_layers(b, s, 4, FC_WIDTH)
}

pub(super) fn fc6(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    dense_layers(b, s, 6, FC_WIDTH)
}

fn dense_layers(
    b: &mut Builder,
    s: &Settings,
    depth: usize,
    width: usize,
) -> Result<(), GraphError> {
    let activation = s.activation(Activation::Relu);
    let mut x = Builder::INPUT;
    if !matches!(b.shape(x), Shape::Vector { .. }) {
        x = b.flatten(x, "flatten")?;
    }
    for l in 1..=depth {
        x = b.dense(x, &format!("layer_{l}"), width, biases(b))?;
        x = b.activation(x, &format!("act_{l}"), activation)?;
    }
    b.dense(x, "classification", s.outputs, biases(b))?;
    Ok(())
}

pub(super) fn lcn(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    let x = trunk(b, s, Builder::local)?;
    flat_read_out(b, s, x)
}

pub(super) fn vec(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    let x = trunk(b, s, Builder::conv)?;
    flat_read_out(b, s, x)
}

pub(super) fn gap(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    let x = trunk(b, s, Builder::conv)?;
    let x = b.global_avg_pool(x, "gap")?;
    b.dense(x, "classification", s.outputs, biases(b))?;
    Ok(())
}

pub(super) fn lap4(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    lap(b, s, 4)
}

pub(super) fn lap8(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    lap(b, s, 8)
}

fn lap(b: &mut Builder, s: &Settings, size: usize) -> Result<(), GraphError> {
    let x = trunk(b, s, Builder::conv)?;
    let size = window(b.shape(x), size);
    let x = b.avg_pool(x, "lap", PoolSpec::new(size))?;
    flat_read_out(b, s, x)
}

fn trunk(b: &mut Builder, s: &Settings, hidden: Hidden) -> Result<NodeId, GraphError> {
    let activation = s.activation(Activation::Relu);
    let mut x = Builder::INPUT;
    let kernel = window(b.shape(x), s.kernel.unwrap_or(KERNEL));
    for l in 1..=s.depth.unwrap_or(DEPTH) {
        let spec = ConvSpec::new(s.width.unwrap_or(CNN_WIDTH), kernel)
            .padding(Padding::Circular)
            .bias(biases(b));
        x = hidden(b, x, &format!("layer_{l}"), spec)?;
        x = b.activation(x, &format!("act_{l}"), activation)?;
    }
    Ok(x)
}

fn flat_read_out(b: &mut Builder, s: &Settings, x: NodeId) -> Result<(), GraphError> {
    let x = b.flatten(x, "flatten")?;
    b.dense(x, "classification", s.outputs, biases(b))?;
    Ok(())
}

/// A bias that the forward pass multiplies by 0 would only be counted, never seen.
fn biases(b: &Builder) -> HasBias {
    match b.parametrisation() {
        Parametrisation::Ntk { b_std: 0.0, .. } | Parametrisation::MeanField { b_std: 0.0, .. } => {
            HasBias::No
        }
        _ => HasBias::Yes,
    }
}

/// k×k on images, k on signals.
fn window(shape: Shape, k: usize) -> [usize; 2] {
    match shape {
        Shape::Signal { .. } => [1, k],
        _ => [k, k],
    }
}
