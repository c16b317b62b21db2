//! Many networks of one architecture.

use std::ops::Range;

use polariscope_diff::{Device, Number, Place};
use polariscope_graph::Graph;
use polariscope_network::{Card, multiplications};
use rayon::prelude::*;

use crate::cuda::Fleet;
use crate::train::Problem;
use crate::{Config, Quiet, Samples, State, TrainError, Trainer};

/// Multiplications of a batch's forward pass from which a network keeps all threads busy by itself.
const LARGE: usize = 20_000_000;
/// Networks that a GPU trains at the same time, at most.
const TOGETHER: usize = 128;

/// Trains networks `indices` and hands each final state to `read`; results in the order of the indices.
///
/// They differ in their initial weights alone. On the processor small networks run side by side, large ones one after
/// the other with all threads inside; either way the numbers are the same. A GPU takes as many at a time as it can hold.
pub fn ensemble<T: Number, R: Send>(
    place: Place,
    graph: &Graph,
    config: &Config,
    (train, test): (Samples, Option<Samples>),
    indices: Range<u64>,
    read: impl Fn(u64, State<T>) -> R + Sync,
) -> Vec<Result<R, TrainError>> {
    let one = |index: u64| {
        let state = State::new(graph, config, index);
        let mut trainer = Trainer::new(graph, config, train, test, state)?;
        trainer.run(&mut Quiet)?;
        Ok(read(index, trainer.into_state()))
    };
    let batch = config.batch_size.on(train.len());
    match place.device {
        Device::Cuda(ordinal) => {
            let precision = place.precision;
            let card = Card { ordinal, precision };
            let states = together(card, graph, config, (train, test), indices.clone());
            let read = |(index, state): (u64, Result<_, _>)| state.map(|s| read(index, s));
            indices.zip(states).map(read).collect()
        }
        Device::Cpu if keeps_threads_busy(graph, batch) => indices.map(one).collect(),
        Device::Cpu => indices.into_par_iter().map(one).collect(),
    }
}

/// Whether one network does, on so many samples at a time.
pub(crate) fn keeps_threads_busy(graph: &Graph, samples: usize) -> bool {
    multiplications(graph).saturating_mul(samples) >= LARGE
}

/// Trains on a GPU.
fn together<T: Number>(
    card: Card,
    graph: &Graph,
    config: &Config,
    (train, test): (Samples, Option<Samples>),
    indices: Range<u64>,
) -> Vec<Result<State<T>, TrainError>> {
    let fitting = Fleet::<T>::fitting(graph, config, train.len(), card);
    let several = match fitting {
        Ok(networks) => networks.min(TOGETHER),
        Err(e) => return indices.map(|_| Err(e.clone())).collect(),
    };
    let mut states = Vec::new();
    for first in indices.clone().step_by(several) {
        let group = first..indices.end.min(first + several as u64);
        match group_of(card, graph, config, (train, test), group.clone()) {
            Ok(group) => states.extend(group),
            Err(e) => states.extend(group.map(|_| Err(e.clone()))),
        }
    }
    states
}

fn group_of<T: Number>(
    card: Card,
    graph: &Graph,
    config: &Config,
    (train, test): (Samples, Option<Samples>),
    indices: Range<u64>,
) -> Result<Vec<Result<State<T>, TrainError>>, TrainError> {
    let problem = Problem::new(graph, config, train, test)?;
    let states: Vec<State<T>> = indices
        .map(|index| State::new(graph, config, index))
        .collect();
    let mut errors = vec![None; states.len()];
    let mut fleet = Fleet::new(graph, config, &problem, states, card)?;
    while fleet.step < config.total_steps(train.len()) {
        errors = fleet.advance(u64::MAX)?;
    }
    let ends = fleet.states.into_iter().zip(errors);
    Ok(ends
        .map(|(state, error)| error.map_or(Ok(state), Err))
        .collect())
}
