//! What a walk over a graph costs.

use polariscope_graph::{Graph, Passage};

use crate::window::grid;

/// E[φφ'] of a pair of positions, in operations of a sum.
const DUAL: f64 = 60.0;

/// Arithmetic operations of one walk forth and back over a graph, roughly: covariances between all positions are
/// carried through every node.
pub fn operations(graph: &Graph) -> f64 {
    let nodes = graph.nodes.iter().zip(graph.live());
    let costs = nodes.filter(|(_, live)| *live).map(|(node, _)| {
        let positions = |shape| grid(shape).map_or(1.0, |[h, w]| (h * w) as f64);
        let read = node
            .inputs
            .iter()
            .map(|i| positions(graph.nodes[i.0].shape));
        let pairs = read.fold(positions(node.shape), f64::max).powi(2);
        pairs
            * match node.op.facts().passage {
                Passage::Conv { window, .. }
                | Passage::MaxPool(window)
                | Passage::AvgPool(window) => 2.0 * (window.kernel[0] + window.kernel[1]) as f64,
                Passage::Activation(activation) if !activation.is_identity() => DUAL,
                _ => 1.0,
            }
    });
    costs.sum()
}

#[cfg(test)]
mod tests {
    use polariscope_graph::{ZooOptions, parse_file};

    use super::*;

    #[test]
    fn twice_the_side_is_sixteen_times_the_work() {
        let of = |side: usize| {
            let text = format!(
                "input = [1, {side}, {side}]\nlayers = [ {{ op = \"conv\", channels = 3, kernel = 3, padding = 1 }}, \
                 {{ op = \"relu\" }} ]\n"
            );
            operations(&parse_file(&text, "net.toml", &ZooOptions::default()).unwrap())
        };
        assert_eq!(of(16), 16.0 * of(8));
        // 64² pairs: input 1, convolution 2·(3 + 3), its bias 1, activation 60.
        assert_eq!(of(8), 4096.0 * (1.0 + 12.0 + 1.0 + 60.0));
    }
}
