//! Fully connected networks: `layer_1 … layer_L`, then `classification`.

use super::Settings;
use crate::{Activation, Builder, GraphError, HasBias, Shape};

/// Depth and width of `mlp-LxN`.
pub(super) fn sizes(name: &str) -> Option<(usize, usize)> {
    let (depth, width) = name.strip_prefix("mlp-")?.split_once('x')?;
    let whole = |text: &str| {
        let digits = text.bytes().all(|b| b.is_ascii_digit());
        text.parse().ok().filter(|&n: &usize| digits && n > 0)
    };
    Some((whole(depth)?, whole(width)?))
}

/// No depth is no hidden layer: logistic regression.
pub(super) fn build(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    let activation = s.activation(Activation::Relu);
    let mut x = Builder::INPUT;
    if !matches!(b.shape(x), Shape::Vector { .. }) {
        x = b.flatten(x, "flatten")?;
    }
    for l in 1..=s.depth.unwrap_or(0) {
        x = b.dense(x, &format!("layer_{l}"), s.width.unwrap_or(1), HasBias::Yes)?;
        x = b.activation(x, &format!("act_{l}"), activation)?;
    }
    b.dense(x, "classification", s.outputs, HasBias::Yes)?;
    Ok(())
}
