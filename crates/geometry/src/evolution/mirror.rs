//! Networks with opposite read-outs.
//!
//! Where the last layer is dense and its law symmetric about 0, θ' with ω' = −ω (and its bias) is as likely as θ.
//! It has f' = −f, g' = −g, and d' is the tangent that −∂L/∂f at −f would give at θ. So the mean of Δ over the pair is
//! that of one network with
//!
//! ```text
//! u = −½ (∂L/∂f (f) − ∂L/∂f (−f))        (SSE: u = −f, without the labels, as Prop. A.1 has it)
//! ```
//!
//! in place of −∂L/∂f: the same expectation without the part of the noise that the labels make, at no cost.

use polariscope_graph::{Graph, Law, NodeId, Op, ParamId};

/// Whether the outputs are odd in a last layer whose law is symmetric.
pub(super) fn mirrors(graph: &Graph) -> bool {
    let Some(last) = graph.nodes.len().checked_sub(1) else {
        return false;
    };
    let dense = match graph.nodes[last].op {
        Op::Bias { bias, .. } if symmetric(graph, bias) => graph.nodes[last].inputs[0],
        _ => NodeId(last),
    };
    // A parameter belongs to one layer, so the weight occurs nowhere else.
    match graph.nodes[dense.0].op {
        Op::Dense { weight, .. } => symmetric(graph, weight),
        _ => false,
    }
}

fn symmetric(graph: &Graph, param: ParamId) -> bool {
    match graph.param(param).law {
        Law::Constant(c) => c == 0.0,
        Law::Uniform { .. } | Law::Normal { .. } | Law::Orthogonal { .. } => true,
    }
}
