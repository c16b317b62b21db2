//! What has a kernel.
//!
//! Covariances close under the ops because weights between layers are independent with mean 0: a sum adds
//! covariances if no two weightless paths lead to it from one node, and what an activation reads is Gaussian if a
//! weight made it.

use polariscope_graph::{Divisor, Graph, Node, Op, Pairs, Passage, Shape};

use crate::NngpError;

/// Refuses graphs without a kernel.
pub(super) fn check(graph: &Graph) -> Result<(), NngpError> {
    if !matches!(graph.output(), Shape::Vector { .. }) {
        let problem = format!("is {}", graph.output());
        return Err(NngpError::Output { problem });
    }
    let live = graph.live();
    let mut read: Vec<Carried> = Vec::with_capacity(graph.nodes.len());
    for (i, node) in graph.nodes.iter().enumerate() {
        let mut own = Carried {
            nodes: vec![i],
            bare: matches!(node.op, Op::Input),
            shaped: false,
            uncentred: false,
        };
        if live[i] && !node.op.is_weighted() {
            for input in &node.inputs {
                let above = &read[input.0];
                let common = above.nodes.iter().rev().find(|n| own.nodes.contains(n));
                if let Some(&common) = common.filter(|_| node.op == Op::Add) {
                    return Err(NngpError::Correlated {
                        layer: node.layer.clone(),
                        source_layer: graph.nodes[common].layer.clone(),
                    });
                }
                own.nodes.extend(&above.nodes);
                own.bare |= above.bare;
                own.shaped |= above.shaped;
                own.uncentred |= above.uncentred;
            }
            supported(node, &own)?;
            own.shaped |= is_nonlinear(&node.op);
            own.uncentred |= is_uncentred(&node.op);
        }
        read.push(own);
    }
    Ok(())
}

/// What reaches a node with no weight between.
struct Carried {
    nodes: Vec<usize>,
    /// The input.
    bare: bool,
    /// What an activation made.
    shaped: bool,
    /// Something whose mean over channels is not 0.
    uncentred: bool,
}

fn is_nonlinear(op: &Op) -> bool {
    matches!(op, Op::Activation(a) if !a.is_identity())
}

/// Whether it makes a mean of what has none: every activation that is not odd.
fn is_uncentred(op: &Op) -> bool {
    matches!(op, Op::Activation(a) if !a.is_odd())
}

fn supported(node: &Node, carried: &Carried) -> Result<(), NngpError> {
    let unsupported = |reason, instead| {
        Err(NngpError::Unsupported {
            op: node.op.name(),
            layer: node.layer.clone(),
            reason,
            instead,
        })
    };
    let not_gaussian = |reads| {
        Err(NngpError::NotGaussian {
            op: node.op.name(),
            layer: node.layer.clone(),
            reads,
        })
    };
    let nonlinear = is_nonlinear(&node.op);
    let facts = node.op.facts();
    match (facts.passage, facts.pairs) {
        (Passage::MaxPool(_), _) => unsupported(
            "the largest of correlated Gaussians has no closed covariance",
            "use avg-pool",
        ),
        (Passage::BatchNorm { .. }, _) => unsupported(
            "its statistics depend on the whole batch, not on a pair of samples",
            "drop the norm (w_std sets the scale at infinite width) or use layer-norm",
        ),
        (_, Pairs::Unknown(reason)) => unsupported(reason, "remove it"),
        _ if nonlinear && carried.bare => not_gaussian("the input"),
        _ if nonlinear && carried.shaped => not_gaussian("what another activation made"),
        (Passage::Norm(_), _) if carried.bare => unsupported(
            "the input's channels are not exchangeable",
            "normalise the data, or put a dense or conv layer before it",
        ),
        (Passage::Norm(norm), _) if norm.by == Divisor::Deviation && carried.uncentred => {
            unsupported(
                "it subtracts the mean over channels, which is not 0 after an activation",
                "put it before the activation, or use rms-norm",
            )
        }
        (_, Pairs::Asked | Pairs::Equal | Pairs::Token | Pairs::All) => Ok(()),
    }
}
