//! ConvNeXt-T with torchvision's names: patches of 4, stages of 3, 3, 9, 3 blocks at 96, 192, 384, 768 channels.
//!
//! Block: x + γ · W₂ φ(W₁ ln(depthwise 7×7 of x)), the norm and both dense layers at each position by itself, γ one
//! number a channel. Under `pytorch` weights start at N(0, 0.02²) and biases at 0; γ starts at 10⁻⁶ under
//! all parametrisations.

use super::Settings;
use crate::{Activation, Builder, ConvSpec, GraphError, Law, NodeId, Nonlinearity, Padding, Shape};

const STAGES: [(usize, usize); 4] = [(96, 3), (192, 3), (384, 9), (768, 3)];
const EPS: f64 = 1e-6;
const LAYER_SCALE: f64 = 1e-6;
const LAWS: [Law; 2] = [Law::Normal { std: 0.02 }, Law::Constant(0.0)];

pub(super) fn tiny(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    let activation = s.activation(Activation::Gelu);
    let mut x = Builder::INPUT;
    for (i, (channels, blocks)) in STAGES.into_iter().enumerate() {
        // Patches of 4 ahead of the first stage, of 2 ahead of the others, which have the norm before them.
        if i == 0 {
            x = b.conv(x, "features.0.0", conv(channels, 4).stride([4, 4]))?;
            x = norm(b, x, "features.0.1")?;
        } else {
            x = norm(b, x, &format!("features.{}.0", 2 * i))?;
            let patches = conv(channels, 2).stride([2, 2]);
            x = b.conv(x, &format!("features.{}.1", 2 * i), patches)?;
        }
        for j in 0..blocks {
            x = block(
                b,
                x,
                &format!("features.{}.{j}", 2 * i + 1),
                channels,
                activation,
            )?;
        }
    }
    x = b.global_avg_pool(x, "avgpool")?;
    x = b.layer_norm(x, "classifier.0", EPS)?;
    b.dense_with_laws(x, "classifier.2", s.outputs, LAWS)?;
    Ok(())
}

fn conv(channels: usize, kernel: usize) -> ConvSpec {
    let [weight, bias] = LAWS;
    ConvSpec::new(channels, [kernel, kernel]).pytorch_laws(weight, bias)
}

/// Layer norm over the channels of each position.
fn norm(b: &mut Builder, x: NodeId, path: &str) -> Result<NodeId, GraphError> {
    let shape = b.shape(x);
    let x = b.to_tokens(x, &format!("{path}.tokens"))?;
    let x = b.layer_norm(x, path, EPS)?;
    image(b, x, path, shape)
}

/// Tokens back to the positions of an image.
fn image(b: &mut Builder, x: NodeId, path: &str, shape: Shape) -> Result<NodeId, GraphError> {
    match shape {
        Shape::Image { height, width, .. } => {
            b.to_image(x, &format!("{path}.image"), [height, width])
        }
        _ => Ok(x),
    }
}

fn block(
    b: &mut Builder,
    x: NodeId,
    path: &str,
    channels: usize,
    activation: Nonlinearity,
) -> Result<NodeId, GraphError> {
    let layer = |i: usize| format!("{path}.block.{i}");
    // A module's own parameters come before its children's in a state_dict.
    let scale = format!("{path}.layer_scale");
    let gamma = b.layer_scale_param(x, &scale, LAYER_SCALE)?;
    let depthwise = conv(channels, 7)
        .padding(Padding::Zeros(3))
        .groups(channels);
    let y = b.conv(x, &layer(0), depthwise)?;
    let y = b.to_tokens(y, &layer(1))?;
    let y = b.layer_norm(y, &layer(2), EPS)?;
    let y = b.dense_with_laws(y, &layer(3), 4 * channels, LAWS)?;
    let y = b.activation(y, &layer(4), activation)?;
    let y = b.dense_with_laws(y, &layer(5), channels, LAWS)?;
    let shape = b.shape(x);
    let y = image(b, y, &format!("{path}.block"), shape)?;
    let y = b.layer_scale_of(y, &scale, gamma)?;
    b.add(&[y, x], &format!("{path}.add"))
}
