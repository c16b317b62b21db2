//! Layers with several inputs.

use super::{Builder, setting_error, shape_error};
use crate::{GraphError, NodeId, Op, Shape};

impl Builder {
    /// Sum of two or more equal shapes.
    pub fn add(&mut self, inputs: &[NodeId], layer: &str) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        let (first, rest) = several(inputs, layer, "residual")?;
        self.same_group(inputs, layer, "residual")?;
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

    /// Product of `x` with a gate of the same shape, or with one number a channel (feature, token coordinate).
    pub fn gate(&mut self, x: NodeId, gate: NodeId, layer: &str) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        let (shape, given) = (self.shape(x), self.shape(gate));
        if given != shape && !is_one_a_channel(given, shape) {
            let problem = format!("multiplies {shape}");
            let wanted = "the same shape, or one number a channel";
            return Err(shape_error(layer, "gate", given, problem, wanted));
        }
        if given == shape {
            self.same_group(&[x, gate], layer, "gate")?;
        }
        self.push(layer, Op::Gate, &[x, gate], shape)
    }

    /// Concatenation of channels, features or token widths.
    pub fn concat(&mut self, inputs: &[NodeId], layer: &str) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        let (first, rest) = several(inputs, layer, "concat")?;
        self.same_group(inputs, layer, "concat")?;
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

/// Whether a shape has one number for every channel of another.
fn is_one_a_channel(given: Shape, of: Shape) -> bool {
    let (channels, alone) = match of {
        Shape::Vector { .. } => return false,
        Shape::Signal { channels, .. } => (
            channels,
            Shape::Signal {
                channels,
                length: 1,
            },
        ),
        Shape::Image { channels, .. } => (
            channels,
            Shape::Image {
                channels,
                height: 1,
                width: 1,
            },
        ),
        Shape::Tokens { width, .. } => (width, Shape::Tokens { count: 1, width }),
    };
    given == alone || given == Shape::Vector { features: channels }
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
