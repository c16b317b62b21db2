//! What weights and biases start as, in a few words for the whole network.

use crate::{ChannelWeights, Graph, Law, Op, Param, Passage, Role};

/// `pytorch (uniform)`, or by kind of layer where they differ: `pytorch (conv normal with biases 0, dense uniform)`. The
/// rule is a name; reference implementations set distributions of their own under it.
pub(super) fn initialisation(graph: &Graph) -> String {
    // Kinds of layers in order, each with the distributions of its weights and of its biases.
    let mut kinds: Vec<(&str, [Vec<&str>; 2])> = Vec::new();
    let mut add = |kind, which: usize, param: &Param| {
        if param.role != Role::Trainable {
            return;
        }
        let at = kinds.iter().position(|(name, _)| *name == kind);
        let at = at.unwrap_or_else(|| {
            kinds.push((kind, Default::default()));
            kinds.len() - 1
        });
        let family = family(param.law);
        let own = &mut kinds[at].1[which];
        if !own.contains(&family) {
            own.push(family);
        }
    };
    for node in &graph.nodes {
        let facts = node.op.facts();
        let weights = match facts.weights {
            ChannelWeights::None => Vec::new(),
            ChannelWeights::Shared(weight) | ChannelWeights::Own(weight) => vec![weight],
            ChannelWeights::Attention(weights) => weights.to_vec(),
        };
        for weight in &weights {
            add(facts.name, 0, graph.param(*weight));
        }
        // Norms and tokens start alike under every rule.
        let is_bias = matches!(facts.passage, Passage::Bias { .. });
        if is_bias || !weights.is_empty() {
            let read = node.inputs.first().map(|id| &graph.nodes[id.0].op);
            let weighted = read.filter(|op| is_bias && op.is_weighted());
            let kind = weighted.map_or(facts.name, Op::name);
            let biases = facts
                .parameters
                .iter()
                .filter(|(id, _)| !weights.contains(id));
            biases.for_each(|(bias, _)| add(kind, 1, graph.param(*bias)));
        }
    }
    let rule = graph.parametrisation.to_string();
    let said: Vec<String> = kinds.iter().map(|(_, [w, b])| words(w, b)).collect();
    match said.first() {
        None => rule,
        Some(first) if said.iter().all(|one| one == first) => format!("{rule} ({first})"),
        Some(_) => {
            let named = kinds.iter().zip(&said);
            let named: Vec<String> = named.map(|((kind, _), s)| format!("{kind} {s}")).collect();
            format!("{rule} ({})", named.join(", "))
        }
    }
}

/// `normal with biases 0`; what both share is said once.
fn words(weights: &[&str], biases: &[&str]) -> String {
    let (w, b) = (weights.join(" or "), biases.join(" or "));
    match (weights.is_empty(), biases.is_empty() || weights == biases) {
        (false, true) => w,
        (false, false) => format!("{w} with biases {b}"),
        (true, _) => b,
    }
}

fn family(law: Law) -> &'static str {
    match law {
        Law::Constant(0.0) => "0",
        Law::Constant(_) => "constant",
        Law::Uniform { .. } => "uniform",
        Law::Normal { .. } => "normal",
        Law::Orthogonal { .. } => "orthogonal",
    }
}
