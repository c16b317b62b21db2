//! Layers with several inputs.

use super::{Builder, setting_error, shape_error};
use crate::{GraphError, NodeId, Op, Shape};

impl Builder {
    /// Sum of two or more equal shapes.
    pub fn add(&mut self, inputs: &[NodeId], layer: &str) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        let (first, rest) = several(inputs, layer, "residual")?;
        let shape = self.shape(first);
        for &other in rest {
            if self.shape(other) != shape {
                let problem = format!("is added to {shape}");
                let wanted = format!("{shape} on every path");
                let given = self.shape(other);
                return Err(shape_error(layer, "residual", given, problem, wanted));
            }
        }
        self.push(layer, Op::Add, inputs, shape)
    }

    /// Concatenation of channels, features or token widths.
    pub fn concat(&mut self, inputs: &[NodeId], layer: &str) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        let (first, rest) = several(inputs, layer, "concat")?;
        let mut shape = self.shape(first);
        for &other in rest {
            let given = self.shape(other);
            shape = joined(shape, given).ok_or_else(|| {
                let problem = format!("is joined to {shape}");
                let wanted = "the same kind and positions on every path";
                shape_error(layer, "concat", given, problem, wanted)
            })?;
        }
        self.push(layer, Op::Concat, inputs, shape)
    }
}

fn several<'a>(
    inputs: &'a [NodeId],
    layer: &str,
    op: &'static str,
) -> Result<(NodeId, &'a [NodeId]), GraphError> {
    match inputs {
        [first, rest @ ..] if !rest.is_empty() => Ok((*first, rest)),
        _ => Err(setting_error(
            layer,
            op,
            "number of paths",
            inputs.len(),
            "at least 2",
        )),
    }
}

/// Two shapes side by side; sizes are below [`super::MAX_ACTIVATION`] and paths few, so sums cannot overflow.
fn joined(a: Shape, b: Shape) -> Option<Shape> {
    match (a, b) {
        (Shape::Vector { features: n }, Shape::Vector { features: m }) => {
            Some(Shape::Vector { features: n + m })
        }
        (
            Shape::Signal {
                channels: n,
                length,
            },
            Shape::Signal {
                channels: m,
                length: other,
            },
        ) if length == other => Some(Shape::Signal {
            channels: n + m,
            length,
        }),
        (
            Shape::Image {
                channels: n,
                height,
                width,
            },
            Shape::Image {
                channels: m,
                height: h,
                width: w,
            },
        ) if [height, width] == [h, w] => Some(Shape::Image {
            channels: n + m,
            height,
            width,
        }),
        (
            Shape::Tokens { count, width: n },
            Shape::Tokens {
                count: other,
                width: m,
            },
        ) if count == other => Some(Shape::Tokens {
            count,
            width: n + m,
        }),
        _ => None,
    }
}
