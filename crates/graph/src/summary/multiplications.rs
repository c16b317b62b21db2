//! What one forward pass of one sample costs.

use crate::{ChannelWeights, Graph, Node, Shape};

/// Products of numbers with weights, each with its sum, and those of attention between tokens. What works number by
/// number (norms, activations, pools, biases) is left out, as it is where costs of networks are published; taps in the
/// padding are counted.
pub fn multiplications(graph: &Graph) -> usize {
    graph.nodes.iter().map(|node| of_node(graph, node)).sum()
}

pub(super) fn of_node(graph: &Graph, node: &Node) -> usize {
    let positions = match node.shape {
        Shape::Vector { .. } => 1,
        Shape::Signal { length, .. } => length,
        Shape::Image { height, width, .. } => height * width,
        Shape::Tokens { count, .. } => count,
    };
    match node.op.facts().weights {
        ChannelWeights::None => 0,
        ChannelWeights::Shared(weight) => graph.param(weight).len() * positions,
        ChannelWeights::Own(weight) => graph.param(weight).len(),
        // q kᵀ and its product with v are count × count × width each.
        ChannelWeights::Attention(weights) => {
            let weights: usize = weights.map(|id| graph.param(id).len()).iter().sum();
            weights * positions + 2 * positions * node.shape.len()
        }
    }
}
