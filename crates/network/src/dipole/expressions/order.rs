//! Max-pools first.

use polariscope_graph::{Activation, Graph, Op};

/// The same function with max-pools before the biases and rising activations that they commute with: there is less to do
/// behind them.
pub fn pooled_first(graph: &Graph) -> Graph {
    let mut graph = graph.clone();
    let mut readers = vec![0; graph.nodes.len()];
    for input in graph.nodes.iter().flat_map(|node| &node.inputs) {
        readers[input.0] += 1;
    }
    for pool in 0..graph.nodes.len() {
        let mut at = pool;
        while let (Op::MaxPool(_), &[before]) = (&graph.nodes[at].op, &graph.nodes[at].inputs[..]) {
            let rises = match graph.nodes[before.0].op {
                Op::Bias { .. } => true,
                Op::Activation(a) => matches!(a, Activation::Relu | Activation::Tanh),
                _ => false,
            };
            if !rises || readers[before.0] != 1 {
                break;
            }
            // The two change places: the pool is now where its input was.
            let shape = graph.nodes[at].shape;
            let pool = graph.nodes[at].op.clone();
            graph.nodes[at].op = std::mem::replace(&mut graph.nodes[before.0].op, pool);
            graph.nodes[before.0].shape = shape;
            at = before.0;
        }
    }
    graph
}
