//! A network trained by gradient flow, and what is asked of it afterwards.

use polariscope_diff::{Device, Number};
use polariscope_graph::Graph;
use polariscope_network::Weights;
use polariscope_train::{
    Control, Evaluator, Flow, FlowConfig, FlowEnd, Objective, Samples, StopReason,
};

use crate::LandscapeError;

/// A network at the end of its flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Flowed<T> {
    /// Where it ended.
    pub weights: Weights<T>,
    /// F on the training set.
    pub train: Vec<T>,
    /// F on the test set.
    pub test: Vec<T>,
    /// α² L at the end.
    pub loss: f64,
    /// Flow time.
    pub time: f64,
    /// Flow time at which L was half of what it was at first.
    pub half: Option<f64>,
    /// Steps accepted.
    pub steps: u64,
    /// Steps refused.
    pub rejected: u64,
    /// Why it ended.
    pub stop: StopReason,
}

/// Flows from `weights`; `watch` sees every accepted step.
pub fn flow<T: Number>(
    device: Device,
    graph: &Graph,
    config: &FlowConfig,
    (train, test): (Samples<'_>, Samples<'_>),
    weights: Weights<T>,
    watch: impl FnMut(&Flow<'_, T>) -> Control,
) -> Result<Flowed<T>, LandscapeError> {
    let objective = Objective {
        loss: config.loss,
        alpha: config.alpha,
        origin: config.origin,
    };
    let config = FlowConfig {
        // Rows of a history are not asked for.
        row_every: u64::MAX,
        ..config.clone()
    };
    let flow = Flow::new(device, graph, &config, train, Some(test), weights)?;
    let test_origin = flow.state().test_origin.clone();
    let end = FlowEnd::of(flow, watch)?;
    let evaluator = Evaluator::on(device, graph, objective);
    let unseen = evaluator.outputs(&end.weights, test.x)?;
    Ok(Flowed {
        train: objective.predictor(&end.outputs, &end.origin).collect(),
        test: objective.predictor(&unseen, &test_origin).collect(),
        weights: end.weights,
        loss: end.loss * config.alpha.powi(2),
        time: end.time,
        half: end.half,
        steps: end.accepted,
        rejected: end.rejected,
        stop: end.stop,
    })
}
