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
