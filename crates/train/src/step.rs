//! One gradient of the loss of a batch.
//!
//! Without batch-norm samples do not see each other: a batch is cut into tasks of a fixed number of samples
//! ([`samples_a_task`], at most eight), each with a plan and a workspace of its own, and their gradients are
//! added in the order of the tasks. With batch-norm, or when the batch is little work, there is one task.
//!
//! The predictor is F = α (f − f₀), the loss L = (1/α²) ℓ(F, y): with f₀ = 0 and α = 1 the network itself,
//! with f₀ the outputs at initialisation the α-model of lazy training.

use polariscope_diff::program::Value;
use polariscope_diff::{Id, Number, Program, Workspace, vjp};
use polariscope_graph::{Graph, Node, Op, Role};
use polariscope_network::{Lowered, Mode, Weights, lower, multiplications, samples_a_task};
use polariscope_random::Stream;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{Loss, TrainError};

/// Most tasks a batch is cut into: each holds a gradient.
const TASKS: usize = 8;
/// Multiplications of a forward pass under which a batch is one task.
const SMALL: usize = 1_000_000;
/// Numbers of the gradient added by one task.
const BLOCK: usize = 1 << 13;

/// Where the outputs are measured from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// f₀ = 0.
    Zero,
    /// f₀ = f(w₀): outputs at initialisation.
    Initial,
}

/// What is differentiated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objective {
    /// ℓ.
    pub loss: Loss,
    /// α.
    pub alpha: f64,
    /// f₀.
    pub origin: Origin,
}

impl From<Loss> for Objective {
    /// The network itself.
    fn from(loss: Loss) -> Self {
        Objective {
            loss,
            alpha: 1.0,
            origin: Origin::Zero,
        }
    }
}

/// What a gradient is evaluated on.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a, T> {
    /// Inputs, N × sample.
    pub x: &'a [T],
    /// Targets, N × outputs.
    pub y: &'a [T],
    /// f₀, N × outputs, for [`Origin::Initial`]; otherwise not read.
    pub origin: &'a [T],
    /// Seed of the dropout masks.
    pub seed: u64,
    /// Step of the dropout masks.
    pub step: u64,
}

/// Positions in the outputs of a plan: loss, f, gradients, then batch statistics.
const LOSS: usize = 0;
const OUTPUT: usize = 1;
const GRADIENT: usize = 2;

struct Compiled {
    program: Program,
    /// Numbers a sample and rate of each dropout mask.
    masks: Vec<(usize, f64)>,
}

struct Task<T> {
    plan: usize,
    first: usize,
    samples: usize,
    workspace: Workspace<T>,
    masks: Vec<Vec<T>>,
}

/// A batch-norm layer's buffers: indices of running mean and variance, weight of the new batch.
struct Running {
    mean: usize,
    variance: usize,
    momentum: f64,
}

/// The gradient of a batch of a fixed size, planned once.
pub struct BatchGradient<T> {
    sample: usize,
    outputs: usize,
    objective: Objective,
    plans: Vec<Compiled>,
    tasks: Vec<Task<T>>,
    /// The gradient, where there is more than one task.
    sum: Vec<Vec<T>>,
    running: Vec<Running>,
    mask_names: Vec<String>,
}

impl<T: Number> BatchGradient<T> {
    /// Plans the gradient of `objective` for batches of `batch` samples.
    pub fn new(graph: &Graph, objective: Objective, batch: usize) -> Result<Self, TrainError> {
        let mut norms = graph
            .nodes
            .iter()
            .filter(|n| matches!(n.op, Op::BatchNorm { .. }))
            .peekable();
        let one = norms.peek().is_some() || multiplications(graph).saturating_mul(batch) < SMALL;
        let size = if one {
            batch
        } else {
            samples_a_task(graph).max(batch.div_ceil(TASKS))
        };
        let alone = |n: &&Node| match n.op {
            Op::BatchNorm { weight, .. } => {
                batch == 1 && graph.param(weight).len() == n.shape.len()
            }
            _ => false,
        };
        if let Some(node) = norms.find(alone) {
            return Err(TrainError::Unfit {
                what: format!(
                    "a batch of 1 sample leaves batch-norm layer {} nothing to average",
                    node.layer
                ),
                wanted: "choose a batch size that leaves no batch of 1",
            });
        }
        let mut gradient = BatchGradient {
            sample: graph.input().len(),
            outputs: graph.output().len(),
            objective,
            plans: Vec::new(),
            tasks: Vec::new(),
            sum: Vec::new(),
            running: Vec::new(),
            mask_names: Vec::new(),
        };
        for first in (0..batch).step_by(size.max(1)) {
            let samples = size.min(batch - first);
            let known = gradient
                .tasks
                .iter()
                .find(|t| t.samples == samples)
                .map(|t| t.plan);
            let plan = match known {
                Some(plan) => plan,
                None => gradient.compile(graph, samples, batch)?,
            };
            let compiled = &gradient.plans[plan];
            gradient.tasks.push(Task {
                plan,
                first,
                samples,
                workspace: Workspace::new(&compiled.program),
                masks: compiled
                    .masks
                    .iter()
                    .map(|m| vec![T::ZERO; m.0 * samples])
                    .collect(),
            });
        }
        if gradient.tasks.len() > 1 {
            let trainable = graph.params.iter().filter(|p| p.role == Role::Trainable);
            gradient.sum = trainable.map(|p| vec![T::ZERO; p.len()]).collect();
        }
        Ok(gradient)
    }

    /// Adds the plan of a task of `samples` out of `batch`.
    fn compile(
        &mut self,
        graph: &Graph,
        samples: usize,
        batch: usize,
    ) -> Result<usize, TrainError> {
        let Lowered {
            trace: mut t,
            params,
            output,
            statistics,
            masks,
            ..
        } = lower(graph, samples, Mode::Train);
        let trainable: Vec<Id> = params
            .iter()
            .zip(&graph.params)
            .filter(|(_, p)| p.role == Role::Trainable)
            .map(|(&id, _)| id)
            .collect();
        let Objective {
            loss,
            alpha,
            origin,
        } = self.objective;
        let y = t.leaf(&[samples, self.outputs]);
        let centred = match origin {
            Origin::Zero => output,
            Origin::Initial => {
                let f0 = t.leaf(&[samples, self.outputs]);
                t.sub(output, f0)
            }
        };
        let predictor = t.scale(centred, alpha);
        let value = loss.expression(&mut t, predictor, y, batch);
        let value = t.scale(value, 1.0 / (alpha * alpha));
        let one = t.constant(1.0, &[1]);
        let mut wanted = vec![value, output];
        wanted.extend(vjp(&mut t, &[(value, one)], &trainable));
        wanted.extend(statistics.iter().flat_map(|s| [s.mean, s.variance]));
        let program = Program::new(&t, &wanted);
        // An output that is an input was not computed from the parameters.
        let computed = program
            .outputs
            .iter()
            .all(|(value, _)| matches!(value, Value::Buffer(_)));
        if trainable.is_empty() || !computed {
            return Err(TrainError::NothingToTrain {
                network: graph.name.clone(),
            });
        }
        let mask = |m: &polariscope_network::Mask| {
            (t.shape(m.leaf).iter().product::<usize>() / samples, m.rate)
        };
        self.mask_names = (0..masks.len()).map(|i| format!("dropout.{i}")).collect();
        self.running = statistics
            .iter()
            .map(|s| Running {
                mean: s.running_mean.0,
                variance: s.running_var.0,
                momentum: s.momentum,
            })
            .collect();
        let masks = masks.iter().map(mask).collect();
        self.plans.push(Compiled { program, masks });
        Ok(self.plans.len() - 1)
    }

    /// Whether the gradient depends on [`Batch::seed`] and [`Batch::step`].
    pub fn is_random(&self) -> bool {
        !self.mask_names.is_empty()
    }

    /// Evaluates loss, outputs, gradient and batch statistics.
    pub fn run(&mut self, weights: &Weights<T>, batch: Batch<T>) {
        let names = &self.mask_names;
        let (sample, outputs, plans) = (self.sample, self.outputs, &self.plans);
        let initial = self.objective.origin == Origin::Initial;
        let run = |task: &mut Task<T>| {
            let plan = &plans[task.plan];
            for ((mask, name), &(length, rate)) in task.masks.iter_mut().zip(names).zip(&plan.masks)
            {
                let stream = Stream::new(batch.seed, batch.step, name);
                draw_mask(&stream, task.first * length, rate, mask);
            }
            let rows = |values: &'_ [T], width: usize| -> std::ops::Range<usize> {
                let first = (task.first * width).min(values.len());
                first..((task.first + task.samples) * width).min(values.len())
            };
            let mut leaves: Vec<&[T]> = Vec::with_capacity(plan.program.leaves.len());
            leaves.push(&batch.x[rows(batch.x, sample)]);
            leaves.extend(weights.values.iter().map(Vec::as_slice));
            leaves.extend(task.masks.iter().map(Vec::as_slice));
            leaves.push(&batch.y[rows(batch.y, outputs)]);
            if initial {
                leaves.push(&batch.origin[rows(batch.origin, outputs)]);
            }
            plan.program.run(&leaves, &mut task.workspace);
        };
        match self.tasks.as_mut_slice() {
            [task] => run(task),
            tasks => {
                tasks.par_iter_mut().for_each(run);
                self.add();
            }
        }
    }

    /// The gradients of the tasks, added in their order.
    fn add(&mut self) {
        let (tasks, plans) = (&self.tasks, &self.plans);
        self.sum.par_iter_mut().enumerate().for_each(|(i, sum)| {
            let parts: Vec<&[T]> = tasks
                .iter()
                .map(|task| output(plans, task, GRADIENT + i))
                .collect();
            sum.par_chunks_mut(BLOCK)
                .enumerate()
                .for_each(|(block, sum)| {
                    let range = block * BLOCK..block * BLOCK + sum.len();
                    sum.copy_from_slice(&parts[0][range.clone()]);
                    for part in &parts[1..] {
                        sum.iter_mut()
                            .zip(&part[range.clone()])
                            .for_each(|(s, &g)| *s += g);
                    }
                });
        });
    }

    /// Loss of the batch.
    pub fn loss(&self) -> f64 {
        let parts = self
            .tasks
            .iter()
            .map(|task| output(&self.plans, task, LOSS));
        parts.flatten().map(|loss| loss.to_f64()).sum()
    }

    /// Outputs f of the network, rows of one task after the other: together N × outputs.
    pub fn outputs(&self) -> impl Iterator<Item = &[T]> {
        self.tasks
            .iter()
            .map(|task| output(&self.plans, task, OUTPUT))
    }

    /// Gradient in trainable parameter `i`.
    pub fn gradient(&self, i: usize) -> &[T] {
        match self.tasks.as_slice() {
            [task] => output(&self.plans, task, GRADIENT + i),
            _ => &self.sum[i],
        }
    }

    /// Moves the running statistics of batch-norm layers towards those of the batch.
    pub fn follow_statistics(&self, weights: &mut Weights<T>) {
        // With batch-norm there is one task; its gradients end where the statistics begin.
        let [task] = self.tasks.as_slice() else {
            return;
        };
        let first = self.plans[task.plan].program.outputs.len() - 2 * self.running.len();
        for (i, layer) in self.running.iter().enumerate() {
            let keep = T::from_f64(1.0 - layer.momentum);
            let take = T::from_f64(layer.momentum);
            for (k, buffer) in [layer.mean, layer.variance].into_iter().enumerate() {
                let new = output(&self.plans, task, first + 2 * i + k);
                let values = weights.values[buffer].iter_mut().zip(new);
                values.for_each(|(old, &new)| *old = keep * *old + take * new);
            }
        }
    }
}

fn output<'a, T: Number>(plans: &[Compiled], task: &'a Task<T>, i: usize) -> &'a [T] {
    // No output is an input: `compile` refuses such plans.
    plans[task.plan].program.output(i, &[], &task.workspace)
}

/// Elements first, … of a mask: 0 with probability `rate`, otherwise 1/(1−rate).
fn draw_mask<T: Number>(stream: &Stream, first: usize, rate: f64, mask: &mut [T]) {
    let keep = T::from_f64(1.0 / (1.0 - rate));
    let threshold = (2.0 * rate - 1.0) as f32;
    let mut draws = [0.0_f32; 1024];
    for (i, mask) in mask.chunks_mut(draws.len()).enumerate() {
        let draws = &mut draws[..mask.len()];
        stream.uniform_from((first + i * 1024) as u64, 1.0, draws);
        for (m, &u) in mask.iter_mut().zip(draws.iter()) {
            *m = if u < threshold { T::ZERO } else { keep };
        }
    }
}
