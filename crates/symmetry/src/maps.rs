//! The values in the middle of a network, for many samples.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use polariscope_diff::{Device, Loaded, Number, Program};
use polariscope_graph::Graph;
use polariscope_network::{Mode, NetworkError, Weights, lower, samples_a_task, samples_on_a_gpu};
use rayon::prelude::*;

/// A network in evaluation mode that shows what some of its nodes compute.
pub(crate) struct Maps<'a, T> {
    graph: &'a Graph,
    weights: &'a Weights<T>,
    nodes: &'a [usize],
    device: Device,
    /// Plans by the number of samples, with idle sessions.
    plans: Mutex<HashMap<usize, Plan<T>>>,
}

struct Plan<T> {
    program: Arc<Program>,
    idle: Vec<Loaded<T>>,
}

impl<'a, T: Number> Maps<'a, T> {
    pub fn new(
        device: Device,
        graph: &'a Graph,
        weights: &'a Weights<T>,
        nodes: &'a [usize],
    ) -> Self {
        Maps {
            graph,
            weights,
            nodes,
            device,
            plans: Mutex::default(),
        }
    }

    /// Groups of samples that are seen together, where a group has so many samples: a function of the graph alone on the processor.
    pub fn groups_at_once(&self, group: usize) -> usize {
        let samples = match self.device {
            Device::Cpu => samples_a_task(self.graph),
            Device::Cuda(_) => samples_on_a_gpu(|n| self.program(n).numbers() * size_of::<T>()),
        };
        (samples / group).max(1)
    }

    /// What the nodes compute for the samples `x`: `read` is given the rows of each node.
    fn see<R>(&self, x: &[T], read: impl FnOnce(&[&[T]]) -> R) -> Result<R, NetworkError> {
        let samples = x.len() / self.graph.input().len();
        let mut session = self.session(samples)?;
        let leaves: Vec<&[T]> = std::iter::once(x)
            .chain(self.weights.values.iter().map(Vec::as_slice))
            .collect();
        session.run(&leaves)?;
        let rows: Vec<&[T]> = (0..self.nodes.len()).map(|i| session.output(i)).collect();
        let found = read(&rows);
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = plans.get_mut(&samples) {
            plan.idle.push(session);
        }
        Ok(found)
    }

    /// [`Maps::see`] for what `make` makes of each item, in order; a GPU takes one after the other.
    pub fn see_each<I: Copy + Send + Sync, R: Send>(
        &self,
        items: &[I],
        make: impl Fn(I) -> Vec<T> + Sync,
        read: impl Fn(I, &[&[T]]) -> R + Sync,
    ) -> Result<Vec<R>, NetworkError> {
        let one = |&item: &I| self.see(&make(item), |rows| read(item, rows));
        match self.device {
            Device::Cpu => items.par_iter().map(one).collect(),
            Device::Cuda(_) => items.iter().map(one).collect(),
        }
    }

    fn session(&self, samples: usize) -> Result<Loaded<T>, NetworkError> {
        let program = {
            let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
            let plan = plans.entry(samples).or_insert_with(|| Plan {
                program: Arc::new(self.program(samples)),
                idle: Vec::new(),
            });
            if let Some(session) = plan.idle.pop() {
                return Ok(session);
            }
            plan.program.clone()
        };
        Ok(Loaded::new(program, self.device)?)
    }

    fn program(&self, samples: usize) -> Program {
        let lowered = lower(self.graph, samples, Mode::Evaluate);
        let nodes: Vec<_> = self.nodes.iter().map(|&i| lowered.nodes[i]).collect();
        Program::new(&lowered.trace, &nodes)
    }
}

/// The weights with the running statistics of every batch norm set to what the samples `x` have there, layer after layer: at its first
/// weights a network knows no statistics of its own.
pub(crate) fn with_statistics<T: Number>(
    device: Device,
    graph: &Graph,
    weights: &Weights<T>,
    x: &[T],
) -> Result<Weights<T>, NetworkError> {
    let samples = x.len() / graph.input().len();
    let lowered = lower(graph, samples, Mode::Train);
    let mut settled = weights.clone();
    if lowered.statistics.is_empty() {
        return Ok(settled);
    }
    let wanted: Vec<_> = lowered
        .statistics
        .iter()
        .flat_map(|s| [s.mean, s.variance])
        .collect();
    let program = Program::new(&lowered.trace, &wanted);
    // Dropout lets everything through.
    let masks: Vec<Vec<T>> = program.leaves[1 + graph.params.len()..]
        .iter()
        .map(|&n| vec![T::from_f64(1.0); n])
        .collect();
    let leaves: Vec<&[T]> = std::iter::once(x)
        .chain(weights.values.iter().map(Vec::as_slice))
        .chain(masks.iter().map(Vec::as_slice))
        .collect();
    let mut session = Loaded::new(Arc::new(program), device)?;
    session.run(&leaves)?;
    for (i, statistics) in lowered.statistics.iter().enumerate() {
        for (buffer, output) in [
            (statistics.running_mean, 2 * i),
            (statistics.running_var, 2 * i + 1),
        ] {
            settled.values[buffer.0].copy_from_slice(session.output(output));
        }
    }
    Ok(settled)
}
