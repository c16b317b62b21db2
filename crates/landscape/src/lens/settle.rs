//! Batch norm with the statistics of the training samples: the function of one sample that full-batch training moves.

use polariscope_diff::Device;
use polariscope_graph::{Graph, Op};
use polariscope_network::Weights;
use polariscope_train::{Batch, BatchGradient, Objective, Origin, Samples};

use crate::LandscapeError;

/// Whether samples of a batch see each other.
pub(super) fn batch_norm(graph: &Graph) -> bool {
    let norm = |op: &Op| matches!(op, Op::BatchNorm { .. });
    graph.nodes.iter().any(|n| norm(&n.op))
}

/// The same weights, running statistics replaced by those of the training samples.
pub(super) fn settled(
    device: Device,
    graph: &Graph,
    objective: Objective,
    train: Samples,
    mut weights: Weights<f64>,
) -> Result<Weights<f64>, LandscapeError> {
    if !batch_norm(graph) {
        return Ok(weights);
    }
    let mut graph = graph.clone();
    for node in &mut graph.nodes {
        if let Op::BatchNorm { momentum, .. } = &mut node.op {
            // Nothing of the old ones stays.
            *momentum = 1.0;
        }
    }
    let objective = Objective {
        origin: Origin::Zero,
        ..objective
    };
    let mut gradient = BatchGradient::on(device, &graph, objective, train.len())?;
    let x: Vec<f64> = train.x.iter().map(|&x| f64::from(x)).collect();
    let y: Vec<f64> = train.targets(objective.loss, graph.output().len());
    let batch = Batch {
        x: &x,
        y: &y,
        origin: &[],
        seed: 0,
        step: 0,
    };
    gradient.run(&weights, batch)?;
    gradient.follow_statistics(&mut weights);
    Ok(weights)
}

#[cfg(test)]
mod tests {
    use polariscope_graph::{ZooOptions, parse_file};
    use polariscope_train::{Labels, Loss};

    use super::*;

    /// Batch norm of the inputs (1, 3, 8, 0): mean 3, variance (4 + 0 + 25 + 9)/3. Without batch norm nothing changes.
    #[test]
    fn statistics_are_those_of_all_samples() {
        let train = Samples {
            x: &[1.0, 3.0, 8.0, 0.0],
            y: Labels::Classes(&[0, 1, 0, 1]),
        };
        let objective = Objective {
            loss: Loss::Mse,
            alpha: 1.0,
            origin: Origin::Initial,
        };
        let of = |layers: &str| {
            let text =
                format!("input = [1]\nlayers = [{layers} {{ op = \"dense\", features = 1 }}]");
            let graph = parse_file(&text, "test.toml", &ZooOptions::default()).unwrap();
            let weights = Weights::draw(&graph, 0, 0);
            let after = settled(Device::Cpu, &graph, objective, train, weights.clone()).unwrap();
            (graph, weights, after)
        };
        let (graph, _, after) = of("{ op = \"batch-norm\" },");
        let buffer = |end: &str| {
            let at = graph
                .params
                .iter()
                .position(|p| p.name.ends_with(end))
                .unwrap();
            after.values[at][0]
        };
        assert!((buffer("running_mean") - 3.0).abs() < 1e-12);
        assert!((buffer("running_var") - 38.0 / 3.0).abs() < 1e-12);
        let (_, before, after) = of("");
        assert_eq!(before, after);
    }
}
