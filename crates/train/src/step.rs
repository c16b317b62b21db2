//! One gradient of the loss of a batch.
//!
//! Without batch-norm samples do not see each other: a batch is cut into chunks of a fixed number of samples
//! (by [`samples_a_task`]), and these go to at most eight lanes that run in parallel, each with one workspace.
//! A lane adds the gradients of its chunks in their order, then the lanes' are added in theirs: shapes decide,
//! not threads. With batch-norm, or when the batch is little work, there is one chunk. A GPU has one lane, whose chunks
//! are as large as [`samples_on_a_gpu`] lets them be.

use std::sync::Arc;

use polariscope_diff::{Device, Loaded, Number, Program};
use polariscope_graph::{Graph, Node, Op, Role};
use polariscope_network::{Weights, multiplications, samples_a_task, samples_on_a_gpu};
use rayon::prelude::*;

use crate::expressions::{Expressions, Running, mask_name};
use crate::lane::{Chunk, Compiled, Lane, Shared};
use crate::{Objective, TrainError};

/// Most lanes: each holds a gradient.
const LANES: usize = 8;
/// A chunk may be this many times what suits the cache if that saves adding gradients.
const GROWTH: usize = 4;
/// Multiplications of a forward pass under which a batch is one chunk.
const SMALL: usize = 1_000_000;
/// Numbers of the gradient added by one task.
const BLOCK: usize = 1 << 13;

/// What a gradient is evaluated on.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a, T> {
    /// Inputs, N × sample.
    pub x: &'a [T],
    /// Targets, N × outputs.
    pub y: &'a [T],
    /// f₀, N × outputs, for [`crate::Origin::Initial`]; otherwise not read.
    pub origin: &'a [T],
    /// Seed of the dropout masks.
    pub seed: u64,
    /// Step of the dropout masks.
    pub step: u64,
}

/// The gradient of a batch of a fixed size, planned once.
pub struct BatchGradient<T> {
    sample: usize,
    outputs: usize,
    objective: Objective,
    plans: Vec<Compiled>,
    lanes: Vec<Lane<T>>,
    /// The gradient, where there is more than one lane.
    sum: Vec<Vec<T>>,
    running: Vec<Running>,
    mask_names: Vec<String>,
}

impl<T: Number> BatchGradient<T> {
    /// Plans the gradient of `objective` for batches of `batch` samples, on the processor.
    pub fn new(graph: &Graph, objective: Objective, batch: usize) -> Result<Self, TrainError> {
        Self::on(Device::Cpu, graph, objective, batch)
    }

    /// On any device.
    pub fn on(
        device: Device,
        graph: &Graph,
        objective: Objective,
        batch: usize,
    ) -> Result<Self, TrainError> {
        if batch == 0 {
            return Err(TrainError::Empty { part: "training" });
        }
        check_norms(graph, batch)?;
        let mut gradient = BatchGradient {
            sample: graph.input().len(),
            outputs: graph.output().len(),
            objective,
            plans: Vec::new(),
            lanes: Vec::new(),
            sum: Vec::new(),
            running: Vec::new(),
            mask_names: Vec::new(),
        };
        let size = match device {
            Device::Cpu => chunk_size(graph, batch),
            Device::Cuda(_) => gradient.chunk_on_a_gpu(graph, batch)?,
        };
        // All chunks but the last have one size: at most two plans.
        gradient.compile(graph, size, batch)?;
        if !batch.is_multiple_of(size) {
            gradient.compile(graph, batch % size, batch)?;
        }
        gradient.lay_out(device, graph, size, batch)?;
        Ok(gradient)
    }

    /// Samples a chunk on a GPU.
    fn chunk_on_a_gpu(&self, graph: &Graph, batch: usize) -> Result<usize, TrainError> {
        if has_batch_norm(graph) {
            return Ok(batch);
        }
        let plan = |samples| {
            let e = Expressions::new(graph, self.objective, samples, batch)?;
            Ok::<_, TrainError>(Program::new(&e.trace, &e.outputs).numbers() * size_of::<T>())
        };
        let bytes = [plan(1)?, plan(2)?];
        Ok(samples_on_a_gpu(|samples| bytes[samples - 1]).min(batch))
    }

    /// Deals the chunks out to lanes, neighbours together.
    fn lay_out(
        &mut self,
        device: Device,
        graph: &Graph,
        size: usize,
        batch: usize,
    ) -> Result<(), TrainError> {
        let trainable = graph.params.iter().filter(|p| p.role == Role::Trainable);
        let zeros = || trainable.clone().map(|p| vec![T::ZERO; p.len()]).collect();
        let chunk = |first: usize| Chunk {
            plan: usize::from(first + size > batch),
            first,
            samples: size.min(batch - first),
        };
        let starts: Vec<usize> = (0..batch).step_by(size).collect();
        let lanes = match device {
            Device::Cpu => starts.len().min(LANES),
            Device::Cuda(_) => 1,
        };
        for lane in 0..lanes {
            let range = lane * starts.len() / lanes..(lane + 1) * starts.len() / lanes;
            let chunks: Vec<Chunk> = starts[range].iter().map(|&first| chunk(first)).collect();
            let session = |(i, plan): (usize, &Compiled)| {
                let used = chunks.iter().any(|c| c.plan == i);
                used.then(|| Loaded::new(plan.program.clone(), device))
                    .transpose()
            };
            let sessions = self.plans.iter().enumerate().map(session);
            self.lanes.push(Lane {
                sessions: sessions.collect::<Result<_, _>>()?,
                masks: vec![Vec::new(); self.mask_names.len()],
                loss: 0.0,
                f: Vec::new(),
                sum: if chunks.len() > 1 {
                    zeros()
                } else {
                    Vec::new()
                },
                chunks,
            });
        }
        if lanes > 1 {
            self.sum = zeros();
        }
        Ok(())
    }

    /// Adds the plan of a chunk of `samples` out of `batch`.
    fn compile(&mut self, graph: &Graph, samples: usize, batch: usize) -> Result<(), TrainError> {
        let e = Expressions::new(graph, self.objective, samples, batch)?;
        self.mask_names = (0..e.masks.len()).map(mask_name).collect();
        self.running = e.running;
        let (program, masks) = (Arc::new(Program::new(&e.trace, &e.outputs)), e.masks);
        self.plans.push(Compiled { program, masks });
        Ok(())
    }

    /// Whether the gradient depends on [`Batch::seed`] and [`Batch::step`].
    pub fn is_random(&self) -> bool {
        !self.mask_names.is_empty()
    }

    /// Evaluates loss, outputs, gradient and batch statistics; on the processor nothing can fail.
    ///
    /// # Panics
    /// If weights or batch are not of the sizes planned for.
    pub fn run(&mut self, weights: &Weights<T>, batch: Batch<T>) -> Result<(), TrainError> {
        let shared = Shared {
            plans: &self.plans,
            mask_names: &self.mask_names,
            sample: self.sample,
            outputs: self.outputs,
            origin: self.objective.origin,
            weights,
            batch,
        };
        match self.lanes.as_mut_slice() {
            [lane] => lane.run(&shared)?,
            lanes => {
                lanes
                    .par_iter_mut()
                    .try_for_each(|lane| lane.run(&shared))?;
                self.add();
            }
        }
        Ok(())
    }

    /// The gradients of the lanes, added in their order.
    fn add(&mut self) {
        let lanes = &self.lanes;
        let block = |i: usize, at: usize, sum: &mut [T]| {
            let range = at * BLOCK..at * BLOCK + sum.len();
            sum.copy_from_slice(&lanes[0].gradient(i)[range.clone()]);
            for lane in &lanes[1..] {
                let part = &lane.gradient(i)[range.clone()];
                sum.iter_mut().zip(part).for_each(|(s, &g)| *s += g);
            }
        };
        // Waking a thread takes longer than a block.
        if self.sum.iter().map(Vec::len).sum::<usize>() <= BLOCK {
            let sums = self.sum.iter_mut().enumerate();
            return sums.for_each(|(i, sum)| block(i, 0, sum));
        }
        self.sum.par_iter_mut().enumerate().for_each(|(i, sum)| {
            let blocks = sum.par_chunks_mut(BLOCK).enumerate();
            blocks.for_each(|(at, sum)| block(i, at, sum));
        });
    }

    /// Loss of the batch.
    pub fn loss(&self) -> f64 {
        self.lanes.iter().map(|lane| lane.loss).sum()
    }

    /// Outputs f of the network, rows of one lane after the other: together N × outputs.
    pub fn outputs(&self) -> impl Iterator<Item = &[T]> {
        self.lanes.iter().map(|lane| lane.f.as_slice())
    }

    /// Gradient in trainable parameter `i`.
    pub fn gradient(&self, i: usize) -> &[T] {
        match self.lanes.as_slice() {
            [lane] => lane.gradient(i),
            _ => &self.sum[i],
        }
    }

    /// Moves the running statistics of batch-norm layers towards those of the batch.
    pub fn follow_statistics(&self, weights: &mut Weights<T>) {
        // With batch-norm there is one chunk; its gradients end where the statistics begin.
        let [lane] = self.lanes.as_slice() else {
            return;
        };
        let first = self.plans[0].program.outputs.len() - 2 * self.running.len();
        for (i, layer) in self.running.iter().enumerate() {
            let keep = T::from_f64(1.0 - layer.momentum);
            let take = T::from_f64(layer.momentum);
            for (k, buffer) in [layer.mean, layer.variance].into_iter().enumerate() {
                let new = lane.output(0, first + 2 * i + k);
                let values = weights.values[buffer].iter_mut().zip(new);
                values.for_each(|(old, &new)| *old = keep * *old + take * new);
            }
        }
    }
}

/// Whether samples of a batch see each other.
pub(crate) fn has_batch_norm(graph: &Graph) -> bool {
    graph
        .nodes
        .iter()
        .any(|n| matches!(n.op, Op::BatchNorm { .. }))
}

/// Samples a chunk.
fn chunk_size(graph: &Graph, batch: usize) -> usize {
    if has_batch_norm(graph) || multiplications(graph).saturating_mul(batch) < SMALL {
        return batch;
    }
    let cache = samples_a_task(graph);
    batch
        .div_ceil(LANES)
        .clamp(cache, GROWTH * cache)
        .min(batch)
}

/// Samples of a batch whose activations are held at the same time.
pub fn samples_at_once(graph: &Graph, batch: usize) -> usize {
    batch.min(LANES * chunk_size(graph, batch))
}

/// Refuses a batch in which some batch-norm layer would see one number a channel.
pub(crate) fn check_norms(graph: &Graph, batch: usize) -> Result<(), TrainError> {
    let alone = |n: &&Node| match n.op {
        Op::BatchNorm { weight, .. } => batch == 1 && graph.param(weight).len() == n.shape.len(),
        _ => false,
    };
    match graph.nodes.iter().find(alone) {
        None => Ok(()),
        Some(node) => Err(TrainError::Unfit {
            what: format!(
                "a batch of 1 sample leaves batch-norm layer {} nothing to average",
                node.layer
            ),
            wanted: "choose a batch size that leaves no batch of 1",
        }),
    }
}
