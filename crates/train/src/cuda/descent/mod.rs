//! Full-batch Adam on a GPU until every margin is met.
//!
//! A step is loss, outputs and gradient, the count of what is not learnt, and the update: one recording. The processor
//! replays many steps and looks; the GPU stops by itself at the first step that finds nothing left.

mod kernels;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use polariscope_diff::cuda::{Argument, Array, CudaError, Gpu, Kernel, Recording, Workspace};
use polariscope_diff::{Number, Precision, Program};
use polariscope_graph::Graph;
use polariscope_network::Weights;

use super::kernels::{GROUP, Rule, Tensor, blocks, span};
use crate::expressions::{Expressions, GRADIENT, LOSS, OUTPUT};
use crate::samples::widen;
use crate::step::check_norms;
use crate::{Objective, Origin, Samples, TrainError};
use kernels::{COUNTS, End, STATUS, Status};

/// Steps of a recording.
const STEPS: u64 = 8;
/// Blocks that count.
const COUNTING: usize = 64;

/// When a descent ends, and its rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin {
    /// α of the predictor F = α (f − f₀).
    pub alpha: f64,
    /// Stop when every y F is at least this.
    pub margin: f64,
    /// Learning rate of the first step.
    pub rate: f64,
    /// Divide it by 10 every so many steps.
    pub decay_every: Option<u64>,
    /// But not below this.
    pub floor: f64,
    /// Stop after this many steps.
    pub max_steps: u64,
}

/// Why a descent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceStop {
    /// Every margin is met.
    Margin,
    /// `max_steps`.
    Steps,
    /// Loss or outputs are no numbers.
    Diverged,
}

/// Where a descent stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Updates made.
    pub step: u64,
    /// L.
    pub loss: f64,
    /// Constraints with D = margin − y F > 0.
    pub unsatisfied: usize,
    /// Patterns in the wrong class.
    pub misclassified: usize,
    /// Why it ended, if it has.
    pub stop: Option<DeviceStop>,
}

/// A network that descends on a GPU.
pub struct DeviceDescent<T> {
    gpu: Arc<Gpu>,
    weights: Vec<Arc<Array<T>>>,
    lengths: Vec<usize>,
    status: Array<f64>,
    /// [`STEPS`] steps, one, and a look that makes none.
    recordings: [Recording; 3],
    /// What the recordings work on.
    workspace: Workspace<T>,
    outputs: usize,
    f0: Arc<Array<T>>,
    _kept: Kept<T>,
}

/// Arrays that the recordings use.
struct Kept<T> {
    _moments: Vec<[Array<T>; 2]>,
    _signs: Array<T>,
    _counts: Array<f64>,
}

/// The kernels of a step after its program.
struct Calls<'a, T> {
    gpu: &'a Gpu,
    workspace: &'a Workspace<T>,
    /// w, g, m, v; or what follows and what it follows.
    tensors: Vec<(Tensor, Vec<&'a Array<T>>)>,
    status: &'a Array<f64>,
    counts: &'a Array<f64>,
    f0: &'a Array<T>,
    signs: &'a Array<T>,
    numbers: usize,
    span: usize,
    count: Kernel,
    decide: Kernel,
    updates: Vec<Kernel>,
}

impl<T: Number> Calls<'_, T> {
    fn start(&self, makes: bool) -> Result<(), CudaError> {
        self.workspace.start()?;
        let counts = Argument::F64(self.counts, COUNTING * COUNTS);
        let status = Argument::F64(self.status, STATUS);
        let read = [self.workspace.result(OUTPUT), self.f0, self.signs];
        let [f, f0, signs] = read.map(|array| T::argument(array, self.numbers));
        self.gpu
            .start(&self.count, [COUNTING, 1, 1], &[counts, f, f0, signs])?;
        let arguments = [
            status,
            counts,
            T::argument(self.workspace.result(LOSS), 1),
            Argument::Int(i32::from(makes)),
        ];
        self.gpu.start(&self.decide, [1, 1, 1], &arguments)?;
        if !makes {
            return Ok(());
        }
        for (kernel, group) in self.updates.iter().zip(self.tensors.chunks(GROUP)) {
            let mut arguments = vec![status];
            for (tensor, arrays) in group {
                let own = arrays.iter().map(|a| T::argument(a, tensor.numbers));
                arguments.extend(own);
            }
            let tensors: Vec<Tensor> = group.iter().map(|(tensor, _)| *tensor).collect();
            let blocks = blocks(&tensors, self.span);
            self.gpu.start(kernel, [blocks, 1, 1], &arguments)?;
        }
        Ok(())
    }
}

impl<T: Number> DeviceDescent<T> {
    /// Loads a network with its whole training set; `signs` are y of every pattern and output for the margin.
    pub fn new(
        ordinal: usize,
        graph: &Graph,
        objective: Objective,
        margin: Margin,
        train: &Samples,
        signs: &[T],
        start: &Weights<T>,
    ) -> Result<Self, TrainError> {
        train.check(graph, "training")?;
        let (samples, outputs) = (train.len(), graph.output().len());
        check_norms(graph, samples)?;
        if !start
            .values
            .iter()
            .map(Vec::len)
            .eq(graph.params.iter().map(|p| p.len()))
        {
            return Err(TrainError::shapes(graph));
        }
        let gpu = Gpu::open(ordinal)?;
        let numbers = samples * outputs;
        let e = Expressions::new(graph, objective, samples, samples)?;
        if !e.masks.is_empty() {
            return Err(TrainError::Unfit {
                what: format!(
                    "a descent needs a gradient without chance, and {} has dropout",
                    graph.name
                ),
                wanted: "set its rate to 0",
            });
        }
        let program = Program::new(&e.trace, &e.outputs);
        let weights = start.values.iter().map(|tensor| {
            let array = gpu.zeros(tensor.len())?;
            gpu.upload(tensor, 0, &array)?;
            Ok(Arc::new(array))
        });
        let weights: Vec<Arc<Array<T>>> = weights.collect::<Result<_, CudaError>>()?;
        let x = Arc::new(gpu.zeros(train.x.len())?);
        let inputs: Vec<T> = train.x.iter().map(|&x| widen(x)).collect();
        gpu.upload(&inputs, 0, &x)?;
        let [y, f0] = [gpu.zeros(numbers)?, gpu.zeros(numbers)?].map(Arc::new);
        gpu.upload(&train.targets::<T>(objective.loss, outputs), 0, &y)?;
        // Leaves: inputs, parameters, targets, f₀.
        let targets = 1 + weights.len();
        let given = |leaf: usize| match leaf {
            0 => Some(x.clone()),
            leaf if leaf == targets => Some(y.clone()),
            leaf if leaf > targets => Some(f0.clone()),
            leaf => weights.get(leaf - 1).cloned(),
        };
        let workspace = Workspace::with(gpu.clone(), &program, Precision::Full, given)?;
        // Kernels of libraries are loaded by their first call, which a recording forbids.
        workspace.start()?;
        if objective.origin == Origin::Initial {
            let mut initial = vec![T::ZERO; numbers];
            gpu.download(workspace.result(OUTPUT), &mut initial)?;
            gpu.upload(&initial, 0, &f0)?;
        }
        let trainable: Vec<usize> = graph.trainable().collect();
        let zeros = |&i: &usize| {
            let n = graph.params[i].len();
            Ok([gpu.zeros(n)?, gpu.zeros(n)?])
        };
        let moments: Vec<[Array<T>; 2]> = trainable
            .iter()
            .map(zeros)
            .collect::<Result<_, CudaError>>()?;
        let status = gpu.zeros(STATUS)?;
        let counts = gpu.zeros(COUNTING * COUNTS)?;
        let right: Array<T> = gpu.zeros(numbers)?;
        gpu.upload(signs, 0, &right)?;
        let mut tensors = Vec::new();
        for (i, &param) in trainable.iter().enumerate() {
            let tensor = Tensor {
                numbers: graph.params[param].len(),
                rule: Rule::Descend,
            };
            let [m, v] = &moments[i];
            let g = workspace.result(GRADIENT + i);
            tensors.push((tensor, vec![weights[param].as_ref(), g, m, v]));
        }
        for (i, layer) in e.running.iter().enumerate() {
            for (k, param) in [layer.mean, layer.variance].into_iter().enumerate() {
                let tensor = Tensor {
                    numbers: graph.params[param].len(),
                    rule: Rule::Follow(layer.momentum),
                };
                let made = workspace.result(GRADIENT + trainable.len() + 2 * i + k);
                tensors.push((tensor, vec![weights[param].as_ref(), made]));
            }
        }
        let all: Vec<Tensor> = tensors.iter().map(|(tensor, _)| *tensor).collect();
        let span = span(&all);
        let initial = objective.origin == Origin::Initial;
        let mut sources = vec![
            kernels::count(T::DTYPE, [samples, outputs], initial, margin),
            kernels::decide(T::DTYPE, COUNTING, margin),
        ];
        let groups = all.chunks(GROUP);
        sources.extend(groups.map(|group| kernels::update(T::DTYPE, group, span)));
        let mut compiled = gpu.compile(&sources)?;
        let updates = compiled.split_off(2);
        let (Some(decide), Some(count)) = (compiled.pop(), compiled.pop()) else {
            unreachable!("every source was compiled");
        };
        let calls = Calls {
            gpu: &gpu,
            workspace: &workspace,
            tensors,
            status: &status,
            counts: &counts,
            f0: &f0,
            signs: &right,
            numbers,
            span,
            count,
            decide,
            updates,
        };
        let several = || (0..STEPS).try_for_each(|_| calls.start(true));
        let recordings = [
            gpu.record(several)?,
            gpu.record(|| calls.start(true))?,
            gpu.record(|| calls.start(false))?,
        ];
        Ok(DeviceDescent {
            lengths: start.values.iter().map(Vec::len).collect(),
            weights,
            status,
            recordings,
            outputs: numbers,
            _kept: Kept {
                _moments: moments,
                _signs: right,
                _counts: counts,
            },
            f0,
            workspace,
            gpu,
        })
    }

    /// Makes so many more steps, fewer where the descent ends, and looks.
    pub fn advance(&self, steps: u64) -> Result<Standing, CudaError> {
        let [several, one, look] = &self.recordings;
        for _ in 0..steps / STEPS {
            self.gpu.replay(several)?;
        }
        for _ in 0..steps % STEPS {
            self.gpu.replay(one)?;
        }
        self.gpu.replay(look)?;
        let mut status = [0.0; STATUS];
        self.gpu.download(&self.status, &mut status)?;
        Ok(standing(&status))
    }

    /// Weights as they are.
    pub fn weights(&self) -> Result<Weights<T>, CudaError> {
        let tensors = self.weights.iter().zip(&self.lengths);
        let values = tensors.map(|(array, &n)| self.read(array, n));
        Ok(Weights {
            values: values.collect::<Result<_, _>>()?,
        })
    }

    /// f on the training set as of the last look, N × outputs.
    pub fn outputs(&self) -> Result<Vec<T>, CudaError> {
        self.read(self.workspace.result(OUTPUT), self.outputs)
    }

    /// f₀ on the training set; zeros for [`Origin::Zero`].
    pub fn origin(&self) -> Result<Vec<T>, CudaError> {
        self.read(&self.f0, self.outputs)
    }

    fn read(&self, array: &Array<T>, n: usize) -> Result<Vec<T>, CudaError> {
        let mut numbers = vec![T::ZERO; n];
        self.gpu.download(array, &mut numbers)?;
        Ok(numbers)
    }
}

fn standing(status: &[f64]) -> Standing {
    let of = |what: Status| status[what as usize];
    let ended = |end: End| of(Status::End) == f64::from(end as u8);
    let stops = [
        (End::Margin, DeviceStop::Margin),
        (End::Steps, DeviceStop::Steps),
        (End::Diverged, DeviceStop::Diverged),
    ];
    Standing {
        step: of(Status::Step) as u64,
        loss: of(Status::Loss),
        unsatisfied: of(Status::Unsatisfied) as usize,
        misclassified: of(Status::Misclassified) as usize,
        stop: stops
            .into_iter()
            .find(|&(end, _)| ended(end))
            .map(|(_, stop)| stop),
    }
}
