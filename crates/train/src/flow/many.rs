//! Gradient flows of many networks of one architecture.

use std::ops::Range;

use polariscope_diff::{Device, Number};
use polariscope_graph::Graph;
use polariscope_network::Weights;
use rayon::prelude::*;

use super::{Flow, FlowConfig, Halving, StopReason};
use crate::cuda::Flows;
use crate::ensemble::keeps_threads_busy;
use crate::{Control, Samples, TrainError};

/// Networks that a GPU flows at the same time, at most.
const TOGETHER: usize = 1024;

/// A network at the end of its flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowEnd<T> {
    /// Its weights.
    pub weights: Weights<T>,
    /// f₀ on the training set; empty for [`crate::Origin::Zero`].
    pub origin: Vec<T>,
    /// f on the training set, N × outputs.
    pub outputs: Vec<T>,
    /// L on the training set.
    pub loss: f64,
    /// Flow time.
    pub time: f64,
    /// Flow time at which L was half of what it was at first.
    pub half: Option<f64>,
    /// Steps accepted.
    pub accepted: u64,
    /// Steps refused.
    pub rejected: u64,
    /// Why it ended.
    pub stop: StopReason,
}

impl<T: Number> FlowEnd<T> {
    /// Follows a flow to its end; `watch` sees every accepted step.
    pub fn of<'a>(
        mut flow: Flow<'a, T>,
        mut watch: impl FnMut(&Flow<'a, T>) -> Control,
    ) -> Result<Self, TrainError> {
        let mut halving = Halving::new(flow.loss());
        let stop = flow.run(|flow| {
            halving.look(flow.state().time, flow.loss());
            watch(flow)
        })?;
        let (loss, outputs) = (flow.loss(), flow.outputs().to_vec());
        let state = flow.into_state();
        Ok(FlowEnd {
            weights: state.weights,
            origin: state.origin,
            outputs,
            loss,
            time: state.time,
            half: halving.time,
            accepted: state.accepted,
            rejected: state.rejected,
            stop,
        })
    }
}

/// Flows networks `indices`, which start from the weights that `start` gives them, and hands each end to `read`; results in
/// the order of the indices.
///
/// Each has its own steps. On the processor small networks run side by side, one on each thread, large ones one after the
/// other with all threads inside; either way the numbers are those of [`Flow`]. A GPU takes as many at a time as it can hold.
pub fn flows<T: Number, R: Send>(
    device: Device,
    graph: &Graph,
    config: &FlowConfig,
    train: Samples,
    start: impl Fn(u64) -> Weights<T> + Sync,
    indices: Range<u64>,
    read: impl Fn(u64, FlowEnd<T>) -> R + Sync,
) -> Vec<Result<R, TrainError>> {
    let config = FlowConfig {
        // Rows of a history are not asked for.
        row_every: u64::MAX,
        ..config.clone()
    };
    let one = |index: u64| {
        let flow = Flow::new(Device::Cpu, graph, &config, train, None, start(index))?;
        Ok(read(index, FlowEnd::of(flow, |_| Control::Continue)?))
    };
    match device {
        Device::Cuda(ordinal) => {
            let ends = together(ordinal, graph, &config, train, start, indices.clone());
            let read = |(index, end): (u64, Result<_, _>)| end.map(|end| read(index, end));
            indices.zip(ends).map(read).collect()
        }
        Device::Cpu if keeps_threads_busy(graph, train.len()) => indices.map(one).collect(),
        Device::Cpu => indices.into_par_iter().map(one).collect(),
    }
}

/// All of them on a GPU, in groups that fit.
fn together<T: Number>(
    ordinal: usize,
    graph: &Graph,
    config: &FlowConfig,
    train: Samples,
    start: impl Fn(u64) -> Weights<T>,
    indices: Range<u64>,
) -> Vec<Result<FlowEnd<T>, TrainError>> {
    let several = match Flows::<T>::fitting(ordinal, graph, config, &train) {
        Ok(networks) => networks.min(TOGETHER),
        Err(e) => return indices.map(|_| Err(e.clone())).collect(),
    };
    let mut ends = Vec::new();
    for first in indices.clone().step_by(several) {
        let group = first..indices.end.min(first + several as u64);
        let starts: Vec<Weights<T>> = group.clone().map(&start).collect();
        let flown = || {
            let flows = Flows::new(ordinal, graph, config, &train, &starts)?;
            flows.run()?;
            Ok(flows.ends()?)
        };
        match flown() {
            Ok(group) => ends.extend(group),
            Err(e) => {
                let e: TrainError = e;
                ends.extend(group.map(|_| Err(e.clone())));
            }
        }
    }
    ends
}
