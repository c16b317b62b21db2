//! The expressions of a training step: loss, outputs, gradient, batch statistics.

use polariscope_diff::{Id, Trace, vjp};
use polariscope_graph::Graph;
use polariscope_network::{Lowered, Mode, lower};

use crate::{Objective, TrainError};

/// Positions among the outputs: loss, f, gradients, then batch statistics.
pub(crate) const LOSS: usize = 0;
pub(crate) const OUTPUT: usize = 1;
pub(crate) const GRADIENT: usize = 2;

/// A batch-norm layer's buffers: indices of running mean and variance, weight of the new batch.
#[derive(Clone, Copy)]
pub(crate) struct Running {
    pub mean: usize,
    pub variance: usize,
    pub momentum: f64,
}

/// What a step computes. Leaves are inputs, parameters, masks, targets and, where the objective has one, the origin.
pub(crate) struct Expressions {
    pub trace: Trace,
    pub outputs: Vec<Id>,
    pub params: Vec<Id>,
    /// Numbers a sample and rate of each dropout mask.
    pub masks: Vec<(usize, f64)>,
    pub running: Vec<Running>,
}

/// The names of the streams of dropout masks.
pub(crate) fn mask_name(i: usize) -> String {
    format!("dropout.{i}")
}

impl Expressions {
    /// Of `samples` samples out of a batch of `batch`.
    pub fn new(
        graph: &Graph,
        objective: Objective,
        samples: usize,
        batch: usize,
    ) -> Result<Self, TrainError> {
        let Lowered {
            mut trace,
            params,
            output,
            statistics,
            masks,
            ..
        } = lower(graph, samples, Mode::Train);
        let t = &mut trace;
        let trainable: Vec<Id> = graph.trainable().map(|i| params[i]).collect();
        let value = objective.expression(t, output, batch);
        let one = t.constant(1.0, &[1]);
        let mut outputs = vec![value, output];
        let gradients = vjp(t, &[(value, one)], &trainable);
        let vanishes = |&g: &Id| t.constant_value(g) == Some(0.0);
        if gradients.iter().all(vanishes) {
            return Err(TrainError::NothingToTrain {
                network: graph.name.clone(),
            });
        }
        outputs.extend(gradients);
        outputs.extend(statistics.iter().flat_map(|s| [s.mean, s.variance]));
        let numbers = |leaf: Id| t.shape(leaf).iter().product::<usize>() / samples;
        let masks = masks.iter().map(|m| (numbers(m.leaf), m.rate)).collect();
        let running = statistics.iter().map(|s| Running {
            mean: s.running_mean.0,
            variance: s.running_var.0,
            momentum: s.momentum,
        });
        Ok(Expressions {
            outputs,
            params,
            masks,
            running: running.collect(),
            trace,
        })
    }
}
