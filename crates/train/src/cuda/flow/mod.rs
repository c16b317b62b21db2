//! Gradient flows on a GPU: networks of one architecture, each with steps of its own length.
//!
//! An attempt is loss, outputs and gradient of all networks at their trial weights, then for each of them the decision of
//! [`crate::Flow`]. All of it is recorded: the processor replays many attempts and looks who has ended. A network that has
//! ended stays as it is.

mod attempt;
mod kernels;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use polariscope_diff::cuda::{Array, CudaError, Gpu, Recording, Workspace};
use polariscope_diff::{Number, Precision, Program, Trace};
use polariscope_graph::Graph;
use polariscope_network::Weights;

use super::kernels::{Rule, Tensor};
use super::many;
use crate::expressions::{Expressions, GRADIENT, LOSS, OUTPUT};
use crate::flow::{refuse, unfit};
use crate::samples::widen;
use crate::step::check_norms;
use crate::{FlowConfig, FlowEnd, Objective, Origin, Samples, StopReason, TrainError};
use attempt::{Attempt, Changed, Read};
use kernels::{End, STATUS, Status};

/// Attempts of a recording.
const ATTEMPTS: usize = 8;
/// Recordings between two looks.
const REPLAYS: usize = 16;

/// Networks that flow at the same time.
pub(crate) struct Flows<'a, T> {
    gpu: Arc<Gpu>,
    graph: &'a Graph,
    networks: usize,
    /// Outputs on the training set.
    numbers: usize,
    here: Here<T>,
    /// f₀ of all networks.
    origin: Vec<T>,
    recording: Recording,
    /// What the recording works on.
    _workspace: Workspace<T>,
    _partial: Array<f64>,
    _origin: Arc<Array<T>>,
    _targets: Arc<Array<T>>,
}

/// Where the networks are, network after network.
struct Here<T> {
    weights: Vec<Array<T>>,
    /// In the trainable parameters.
    gradient: Vec<Array<T>>,
    f: Array<T>,
    /// [`STATUS`] numbers of each.
    status: Array<f64>,
}

/// The expressions of the objective on the whole training set.
fn expressions(
    graph: &Graph,
    config: &FlowConfig,
    samples: usize,
) -> Result<(Expressions, Objective), TrainError> {
    let objective = Objective {
        loss: config.loss,
        alpha: config.alpha,
        origin: config.origin,
    };
    let e = Expressions::new(graph, objective, samples, samples)?;
    refuse(graph, config, !e.masks.is_empty())?;
    Ok((e, objective))
}

/// The last leaf is f₀ where there is one; before it come the targets.
fn last_leaves(trace: &Trace, origin: Origin) -> (usize, Option<usize>) {
    let last = trace.leaves().count() - 1;
    match origin {
        Origin::Zero => (last, None),
        Origin::Initial => (last - 1, Some(last)),
    }
}

impl<'a, T: Number> Flows<'a, T> {
    /// Loads networks; what [`Flows::fitting`] checks has been checked.
    pub fn new(
        ordinal: usize,
        graph: &'a Graph,
        config: &FlowConfig,
        train: &Samples,
        starts: &[Weights<T>],
    ) -> Result<Self, TrainError> {
        let gpu = Gpu::open(ordinal)?;
        let (networks, samples) = (starts.len(), train.len());
        let numbers = samples * graph.output().len();
        let (e, objective) = expressions(graph, config, samples)?;
        let (targets, origin) = last_leaves(&e.trace, objective.origin);
        let mut own = e.params.clone();
        own.extend(origin.and_then(|leaf| e.trace.leaves().nth(leaf)));
        let program = many(&e.trace, &e.outputs, &own, networks);
        let zeros = |n: usize| gpu.zeros(networks * n);
        let tensors = || graph.params.iter().map(|p| p.len());
        let trials = tensors().map(|n| Ok(Arc::new(zeros(n)?)));
        let trials: Vec<Arc<Array<T>>> = trials.collect::<Result<_, CudaError>>()?;
        let x = Arc::new(gpu.zeros(train.x.len())?);
        let y = Arc::new(gpu.zeros(numbers)?);
        let f0 = Arc::new(zeros(numbers)?);
        let given = |leaf: usize| match leaf {
            0 => Some(x.clone()),
            leaf if leaf == targets => Some(y.clone()),
            leaf if Some(leaf) == origin => Some(f0.clone()),
            leaf => trials.get(leaf - 1).cloned(),
        };
        let workspace = Workspace::with(gpu.clone(), &program, Precision::Full, given)?;
        let trainable: Vec<usize> = graph.trainable().collect();
        let gradient = trainable.iter().map(|&i| zeros(graph.params[i].len()));
        let here = Here {
            weights: tensors().map(zeros).collect::<Result<_, _>>()?,
            gradient: gradient.collect::<Result<_, _>>()?,
            f: zeros(numbers)?,
            status: gpu.zeros(networks * STATUS)?,
        };
        let inputs: Vec<T> = train.x.iter().map(|&x| widen(x)).collect();
        gpu.upload(&inputs, 0, &x)?;
        gpu.upload(
            &train.targets::<T>(config.loss, graph.output().len()),
            0,
            &y,
        )?;
        for (network, start) in starts.iter().enumerate() {
            if !start.values.iter().map(Vec::len).eq(tensors()) {
                return Err(TrainError::shapes(graph));
            }
            for (i, tensor) in start.values.iter().enumerate() {
                gpu.upload(tensor, network * tensor.len(), &trials[i])?;
                gpu.upload(tensor, network * tensor.len(), &here.weights[i])?;
            }
            gpu.upload(&first(config), network * STATUS, &here.status)?;
        }
        // Kernels of libraries are loaded by their first call, which a recording forbids.
        workspace.start()?;
        let mut initial = Vec::new();
        if origin.is_some() {
            initial.resize(networks * numbers, T::ZERO);
            gpu.download(workspace.result(OUTPUT), &mut initial)?;
            gpu.upload(&initial, 0, &f0)?;
        }
        let mut changed: Vec<Changed<T>> = Vec::new();
        for (i, &param) in trainable.iter().enumerate() {
            changed.push(Changed {
                tensor: Tensor {
                    numbers: graph.params[param].len(),
                    rule: Rule::Descend,
                },
                here: &here.weights[param],
                there: workspace.result(GRADIENT + i),
                descends: Some([&here.gradient[i], &trials[param]]),
            });
        }
        for (i, layer) in e.running.iter().enumerate() {
            for (k, param) in [layer.mean, layer.variance].into_iter().enumerate() {
                changed.push(Changed {
                    tensor: Tensor {
                        numbers: graph.params[param].len(),
                        rule: Rule::Follow(layer.momentum),
                    },
                    here: &here.weights[param],
                    there: workspace.result(GRADIENT + trainable.len() + 2 * i + k),
                    descends: None,
                });
            }
        }
        changed.push(Changed {
            tensor: Tensor {
                numbers,
                // They are where the network is.
                rule: Rule::Follow(1.0),
            },
            here: &here.f,
            there: workspace.result(OUTPUT),
            descends: None,
        });
        let attempt = Attempt::new(&gpu, config.origin, &changed, networks)?;
        let partial = gpu.zeros(attempt.sums())?;
        let read = Read {
            partial: &partial,
            loss: workspace.result(LOSS),
            f: [&here.f, workspace.result(OUTPUT), &f0],
            y: &y,
        };
        let recording = gpu.record(|| {
            for _ in 0..ATTEMPTS {
                workspace.start()?;
                attempt.start(&gpu, config, &changed, &here.status, &read)?;
            }
            Ok(())
        })?;
        Ok(Flows {
            networks,
            numbers,
            origin: initial,
            recording,
            _workspace: workspace,
            _partial: partial,
            _origin: f0,
            _targets: y,
            here,
            gpu,
            graph,
        })
    }

    /// Networks that fit into the memory that is free, at least one; checks samples and settings.
    pub fn fitting(
        ordinal: usize,
        graph: &Graph,
        config: &FlowConfig,
        train: &Samples,
    ) -> Result<usize, TrainError> {
        config.check()?;
        train.check(graph, "training")?;
        let samples = train.len();
        check_norms(graph, samples)?;
        let gpu = Gpu::open(ordinal)?;
        let (e, _) = expressions(graph, config, samples)?;
        let program = Program::new(&e.trace, &e.outputs);
        let kept: usize = graph.params.iter().map(|p| 3 * p.len()).sum();
        let outputs = 2 * samples * graph.output().len();
        // The recording takes some more.
        let one = (program.numbers() + kept + outputs) * size_of::<T>() * 3 / 2;
        Ok((gpu.free()? / one.max(1)).max(1))
    }

    /// Flows until all networks have ended.
    pub fn run(&self) -> Result<(), CudaError> {
        let mut status = vec![0.0; self.networks * STATUS];
        loop {
            for _ in 0..REPLAYS {
                self.gpu.replay(&self.recording)?;
            }
            self.gpu.download(&self.here.status, &mut status)?;
            let mut ends = status.chunks_exact(STATUS).map(ended);
            if ends.all(|end| end != End::Running) {
                return Ok(());
            }
        }
    }

    /// Every network where it ended.
    pub fn ends(self) -> Result<Vec<Result<FlowEnd<T>, TrainError>>, CudaError> {
        let all = |array: &Array<T>, n: usize| {
            let mut numbers = vec![T::ZERO; self.networks * n];
            self.gpu.download(array, &mut numbers)?;
            Ok::<_, CudaError>(numbers)
        };
        let tensors = self.here.weights.iter().zip(&self.graph.params);
        let tensors = tensors.map(|(array, param)| all(array, param.len()));
        let tensors: Vec<Vec<T>> = tensors.collect::<Result<_, _>>()?;
        let f = all(&self.here.f, self.numbers)?;
        let mut status = vec![0.0; self.networks * STATUS];
        self.gpu.download(&self.here.status, &mut status)?;
        let own = |numbers: &[T], network: usize| {
            let n = numbers.len() / self.networks;
            numbers[network * n..][..n].to_vec()
        };
        let end = |(network, status): (usize, &[f64])| {
            let values = tensors.iter().map(|tensor| own(tensor, network));
            let end = FlowEnd {
                weights: Weights {
                    values: values.collect(),
                },
                origin: own(&self.origin, network),
                outputs: own(&f, network),
                ..of_status(status)?
            };
            Ok(end)
        };
        let ends = status.chunks_exact(STATUS).enumerate().map(end);
        Ok(ends.collect())
    }
}

/// The status of a network at its start.
fn first(config: &FlowConfig) -> [f64; STATUS] {
    let mut status = [0.0; STATUS];
    status[Status::Dt as usize] = config.first_dt;
    status[Status::Half as usize] = -1.0;
    status[Status::Accepted as usize] = -1.0;
    status
}

fn ended(status: &[f64]) -> End {
    End::of(status[Status::End as usize])
}

/// What the numbers of a network that has ended say, without its arrays.
fn of_status<T>(status: &[f64]) -> Result<FlowEnd<T>, TrainError> {
    let of = |what: Status| status[what as usize];
    let stop = match ended(status) {
        End::Margin => StopReason::Margin,
        End::Stationary => StopReason::Stationary,
        End::Time => StopReason::Time,
        // Nobody asks while one is running.
        End::Steps | End::Running => StopReason::Steps,
        End::Stalled => {
            return Err(TrainError::Stalled {
                time: of(Status::Time),
                dt: of(Status::Tried),
            });
        }
        End::Unfit => return Err(unfit(of(Status::Loss), of(Status::Norm))),
    };
    Ok(FlowEnd {
        weights: Weights { values: Vec::new() },
        origin: Vec::new(),
        outputs: Vec::new(),
        loss: of(Status::Loss),
        time: of(Status::Time),
        half: Some(of(Status::Half)).filter(|&half| half >= 0.0),
        accepted: of(Status::Accepted) as u64,
        rejected: of(Status::Rejected) as u64,
        stop,
    })
}
