//! Whether covariances between different positions reach the output of an infinitely wide network.
//!
//! A convolution's output at α depends on its input at α + β, tap by tap: covariances of equal positions make those of
//! equal positions. A flattened read-out adds equal positions only. A pool or attention adds pairs of different ones.

use polariscope_graph::{Graph, NodeId, Pairs, Shape, Support};

/// What becomes of covariances between different positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mixing {
    /// They never reach the output.
    Never,
    /// This layer uses them.
    At(String),
    /// There is no kernel to ask: the layer, and why.
    NoKernel(String, &'static str),
}

/// What becomes of covariances between positions of the output of `node`.
pub(super) fn mixing(graph: &Graph, node: NodeId) -> Mixing {
    // The layer, if any, that uses off-diagonal covariances of each node's output; filled from the end.
    let mut used: Vec<Option<String>> = vec![None; graph.nodes.len()];
    for (index, reader) in graph.nodes.iter().enumerate().rev() {
        let positions = |id: &NodeId| match graph.nodes[id.0].shape {
            Shape::Vector { .. } => 1,
            Shape::Signal { length, .. } => length,
            Shape::Image { height, width, .. } => height * width,
            Shape::Tokens { count, .. } => count,
        };
        let several = reader.inputs.iter().any(|id| positions(id) > 1);
        let own = || several.then(|| reader.layer.clone());
        let passed = used[index].clone();
        let facts = reader.op.facts();
        let tokens = matches!(reader.shape, Shape::Tokens { .. });
        let needed = match facts.pairs {
            Pairs::Unknown(why) => return Mixing::NoKernel(reader.layer.clone(), why),
            Pairs::Token if tokens => passed,
            Pairs::Equal | Pairs::Token => None,
            // A window of one position pools nothing.
            Pairs::All if matches!(facts.support, Support::Window(w) if w.kernel == [1, 1]) => {
                passed
            }
            Pairs::All => own(),
            Pairs::Asked => passed,
        };
        let Some(needed) = needed else { continue };
        for id in &reader.inputs {
            used[id.0].get_or_insert_with(|| needed.clone());
        }
    }
    match used[node.0].take() {
        None => Mixing::Never,
        Some(layer) => Mixing::At(layer),
    }
}
