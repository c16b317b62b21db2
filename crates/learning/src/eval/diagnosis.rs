//! Why a network answered with something that is not a number.

use polariscope_diff::{Dtype, Number};
use polariscope_graph::Graph;
use polariscope_network::{Network, Weights};
use polariscope_report::pretty;

use crate::LearningError;

/// Names the layer where sample `x` stops being finite, the largest weight, and what to try.
pub fn overflow<T: Number>(
    place: &str,
    network: &Network<T>,
    weights: &Weights<T>,
    x: &[T],
) -> LearningError {
    let graph = network.graph();
    let tensors = weights.values.iter().zip(&graph.params);
    let largest = tensors.map(|(values, param)| {
        let size = values.iter().fold(0.0_f64, |m, v| m.max(v.to_f64().abs()));
        (size, param.name.as_str())
    });
    let largest = largest.max_by(|a, b| a.0.total_cmp(&b.0));
    let mut message = place.to_string();
    if let Some(layer) = first_overflow(graph, weights, x) {
        message += &format!(", overflowing in layer {layer}");
    }
    if let Some((size, name)) = largest {
        message += &format!("; the largest weight is {} in {name}", pretty(size));
    }
    let input = x.iter().fold(0.0_f64, |m, v| m.max(v.to_f64().abs()));
    message += &format!(", the largest input {}", pretty(input));
    message += match T::DTYPE {
        Dtype::F32 => "; try ‹dtype f64›, or smaller weights or inputs",
        Dtype::F64 => "; try smaller weights or inputs",
    };
    LearningError::Overflow(message)
}

/// The layer at which values stop being finite, by bisection: the graph cut off after node k computes
/// that node.
fn first_overflow<T: Number>(graph: &Graph, weights: &Weights<T>, x: &[T]) -> Option<String> {
    let finite = |k: usize| {
        let mut part = graph.clone();
        part.nodes.truncate(k + 1);
        let output = Network::new(part).output(weights, x);
        output.is_ok_and(|y| y.iter().all(|v| v.is_finite()))
    };
    let (mut good, mut bad) = (0, graph.nodes.len() - 1);
    if finite(bad) {
        return None;
    }
    while bad - good > 1 {
        let middle = (good + bad) / 2;
        if finite(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Some(graph.nodes[bad].layer.clone())
}
