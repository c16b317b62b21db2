//! How many pre-activations lie at 0, and how gaps are distributed near it.

use polariscope_diff::{Id, Program};
use polariscope_graph::{Graph, Op};
use polariscope_network::{Mode, Weights, lower};

/// Part of the gaps, the smallest ones, that the exponent is fitted to.
const TAIL: f64 = 0.2;

/// Pairs of a sample and a unit whose pre-activation is smaller than each of the bounds.
pub(super) fn cusps(
    graph: &Graph,
    weights: &Weights<f64>,
    x: &[f64],
    bounds: &[f64],
) -> Vec<usize> {
    let samples = x.len() / graph.input().len();
    let lowered = lower(graph, samples, Mode::Evaluate);
    let activations = graph
        .nodes
        .iter()
        .filter(|n| matches!(n.op, Op::Activation(_)));
    let before: Vec<Id> = activations.map(|n| lowered.nodes[n.inputs[0].0]).collect();
    let program = Program::new(&lowered.trace, &before);
    let leaves: Vec<&[f64]> = std::iter::once(x)
        .chain(weights.values.iter().map(Vec::as_slice))
        .collect();
    let values = program.evaluate(&leaves);
    let near = |bound: &f64| values.iter().flatten().filter(|a| a.abs() < *bound).count();
    bounds.iter().map(near).collect()
}

/// a of a density that grows as gᵃ from 0, by maximum likelihood on the smallest gaps: with g₀ the largest of them,
/// a + 1 = 1/mean ln(g₀/g).
pub(super) fn exponent(gaps: impl Iterator<Item = f64>) -> f64 {
    let mut gaps: Vec<f64> = gaps.collect();
    gaps.sort_by(f64::total_cmp);
    gaps.truncate((TAIL * gaps.len() as f64) as usize);
    let Some((last, rest)) = gaps.split_last().filter(|(_, rest)| rest.len() > 9) else {
        return f64::NAN;
    };
    let mean = rest.iter().map(|g| (last / g).ln()).sum::<f64>() / rest.len() as f64;
    1.0 / mean - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use polariscope_graph::{ZooOptions, zoo};
    use polariscope_random::Stream;

    /// u^{1/(1+a)} of uniform u has the density (1+a) gᵃ; 2,000 of 10,000 give a + 1 to 1/√2000.
    #[test]
    fn exponents_of_powers() {
        let mut u = vec![0.0f32; 10_000];
        Stream::new(0, 0, "gaps").uniform(0.5, &mut u);
        for a in [-0.2, 0.0, 0.3] {
            let gaps = u.iter().map(|&u| f64::from(u + 0.5).powf(1.0 / (1.0 + a)));
            let found = exponent(gaps);
            assert!(
                (found - a).abs() < 4.0 * (1.0 + a) / 2000f64.sqrt(),
                "{found} for {a}"
            );
        }
        assert!(exponent([1.0, 2.0].into_iter()).is_nan());
    }

    /// z = x in both units, and the second layer sees relu(x).
    #[test]
    fn pre_activations_by_hand() {
        let options = ZooOptions {
            input: Some("1".parse().unwrap()),
            outputs: Some(1),
            ..ZooOptions::default()
        };
        let graph = zoo("mlp-2x1", &options).unwrap();
        let mut weights = Weights::<f64>::zeros(&graph);
        weights.values[0] = vec![1.0];
        weights.values[2] = vec![1.0];
        // Second layer: 0, 0.05, 2.
        let found = cusps(&graph, &weights, &[-0.5, 0.05, 2.0], &[0.01, 0.1]);
        assert_eq!(found, [1, 3]);
    }
}
