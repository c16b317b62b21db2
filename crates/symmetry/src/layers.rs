//! Which nodes of a network are looked at.

use polariscope_graph::{Graph, Op, Passage};

/// A node whose values are looked at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layer {
    /// Index among the nodes.
    pub node: usize,
    /// The layer's name.
    pub name: String,
    /// Part of the weighted layers that lie on the longest way to it.
    pub depth: f64,
}

/// Activations, pools, sums, and the output, which is last.
pub(crate) fn layers(graph: &Graph) -> Vec<Layer> {
    let depths = depths(graph);
    let last = graph.nodes.len() - 1;
    let whole = depths[last].max(1) as f64;
    let shown = |op: &Op| {
        let facts = op.facts();
        let sum = matches!(facts.passage, Passage::Add);
        let pool = facts.name.contains("pool");
        sum || pool || matches!(op, Op::Activation(a) if !a.is_identity())
    };
    // A sum that an activation follows at once is seen after it.
    let activated = |i: usize| {
        let reads = |n: &&polariscope_graph::Node| n.inputs.iter().any(|id| id.0 == i);
        let mut readers = graph.nodes.iter().filter(reads).peekable();
        readers.peek().is_some() && readers.all(|n| matches!(n.op, Op::Activation(_)))
    };
    let seen = |(i, node): &(usize, &polariscope_graph::Node)| {
        *i == last
            || (shown(&node.op)
                && !(matches!(node.op.facts().passage, Passage::Add) && activated(*i)))
    };
    let layer = |(node, n): (usize, &polariscope_graph::Node)| Layer {
        node,
        name: match node == last {
            true => "output".into(),
            false => n.layer.clone(),
        },
        depth: depths[node] as f64 / whole,
    };
    graph
        .nodes
        .iter()
        .enumerate()
        .filter(seen)
        .map(layer)
        .collect()
}

/// Weighted layers on the longest way to every node.
fn depths(graph: &Graph) -> Vec<usize> {
    let mut depths: Vec<usize> = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        let before = node.inputs.iter().map(|id| depths[id.0]).max().unwrap_or(0);
        depths.push(before + usize::from(node.op.is_weighted()));
    }
    depths
}

#[cfg(test)]
mod tests {
    use polariscope_graph::{ZooOptions, zoo};

    use super::*;

    #[test]
    fn lenet_has_its_activations_pools_and_output() {
        let layers = layers(&zoo("lenet", &ZooOptions::default()).unwrap());
        let depths: Vec<f64> = layers.iter().map(|l| (5.0 * l.depth).round()).collect();
        // relu and pool after each convolution, a relu after each dense layer, the output.
        assert_eq!(depths, [1.0, 1.0, 2.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(layers.last().map(|l| l.name.as_str()), Some("output"));
    }

    /// Two activations a block, the second after the sum; the stem's, the pool, the output.
    #[test]
    fn sums_are_seen_after_their_activation() {
        let layers = layers(&zoo("resnet18", &ZooOptions::default()).unwrap());
        assert_eq!(layers.len(), 1 + 2 * 8 + 2);
        assert!(layers.windows(2).all(|w| w[0].depth <= w[1].depth));
    }
}
