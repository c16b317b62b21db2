//! Layers that reduce positions: pools, global average, flatten.

use super::linear::resized;
use super::window::slide;
use super::{Builder, is_a, setting_error, shape_error};
use crate::{GraphError, NodeId, Op, Padding, Shape, Window};

/// A pooling window to be: stride equal to the size and no padding unless changed.
#[derive(Clone, Copy, Debug)]
pub struct PoolSpec(Window);

impl PoolSpec {
    /// A window of `size` positions; signals use `[1, k]`.
    pub fn new(size: [usize; 2]) -> Self {
        PoolSpec(Window {
            kernel: size,
            stride: size,
            dilation: [1, 1],
            padding: Padding::Valid,
        })
    }

    /// Steps along height and width.
    pub fn stride(mut self, stride: [usize; 2]) -> Self {
        self.0.stride = stride;
        self
    }

    /// Border rule; pools take all but `circular`.
    pub fn padding(mut self, padding: Padding) -> Self {
        self.0.padding = padding;
        self
    }
}

impl Builder {
    /// Largest value of each window.
    pub fn max_pool(&mut self, x: NodeId, layer: &str, s: PoolSpec) -> Result<NodeId, GraphError> {
        self.pool(x, layer, "max-pool", s, Op::MaxPool)
    }

    /// Mean of each window.
    pub fn avg_pool(&mut self, x: NodeId, layer: &str, s: PoolSpec) -> Result<NodeId, GraphError> {
        self.pool(x, layer, "avg-pool", s, Op::AvgPool)
    }

    fn pool(
        &mut self,
        x: NodeId,
        layer: &str,
        name: &'static str,
        PoolSpec(window): PoolSpec,
        op: fn(Window) -> Op,
    ) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        let input = self.shape(x);
        let slid = slide(layer, name, input, &window)?;
        self.tiles(x, layer, name, &window)?;
        match window.padding {
            Padding::Valid | Padding::Same => {}
            Padding::Circular => {
                let wanted = "`same`, `valid` or a number";
                return Err(setting_error(layer, name, "padding", "circular", wanted));
            }
            // A larger padding would make windows that hold no pixel at all.
            Padding::Zeros(p) => {
                let sizes = match input {
                    Shape::Signal { .. } => &window.kernel[1..],
                    _ => &window.kernel[..],
                };
                if sizes.iter().any(|&k| p > k / 2) {
                    let wanted = "at most half the size";
                    return Err(setting_error(layer, name, "padding", p, wanted));
                }
            }
        }
        let output = resized(input, slid.channels, slid.positions);
        self.push(layer, op(window), &[x], output)
    }

    /// Mean over all positions (over all tokens).
    pub fn global_avg_pool(&mut self, x: NodeId, layer: &str) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        let input = self.shape(x);
        let features = match input {
            Shape::Image { channels, .. } | Shape::Signal { channels, .. } => channels,
            Shape::Tokens { width, .. } => width,
            Shape::Vector { .. } => {
                let wanted = "an image, a signal or tokens";
                return Err(shape_error(
                    layer,
                    "global-avg-pool",
                    input,
                    is_a(input),
                    wanted,
                ));
            }
        };
        self.push(layer, Op::GlobalAvgPool, &[x], Shape::Vector { features })
    }

    /// Any shape to a vector, in memory order.
    pub fn flatten(&mut self, x: NodeId, layer: &str) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        let features = self.shape(x).len();
        self.push(layer, Op::Flatten, &[x], Shape::Vector { features })
    }
}
