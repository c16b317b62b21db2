//! Training on a GPU: networks that differ in their initial weights alone, on the same batches at the same time.
//!
//! Samples, weights and what the optimiser remembers stay on the GPU, and a step is one recording that is replayed: the
//! processor sends the order of the samples and how they are changed once per epoch and looks at the networks when somebody asks.

mod descent;
#[cfg(test)]
mod emulation;
mod flow;
mod judge;
mod kernels;
mod set;
mod step;

use std::sync::Arc;

use polariscope_diff::cuda::{Array, CudaError, Gpu};
use polariscope_diff::{Id, Number, Program, Trace, vmap};
use polariscope_graph::Graph;
use polariscope_network::{Card, Weights};
use polariscope_random::Stream;

use crate::augment::View;
use crate::local::largest;
use crate::step::check_norms;
use crate::train::{Problem, parts};
use crate::{Config, Diverged, Loss, Moments, Running, State, TrainError};
pub use descent::{DeviceDescent, DeviceStop, Margin, Standing};
pub(crate) use flow::Flows;
use judge::Test;
use kernels::{RATES, SUMS, Sizes};
use set::Set;
use step::Step;

/// Networks on a GPU.
pub(crate) struct Fleet<'a, T> {
    gpu: Arc<Gpu>,
    graph: &'a Graph,
    config: &'a Config,
    batch: usize,
    /// As of the last look.
    pub states: Vec<State<T>>,
    /// Updates asked for.
    pub step: u64,
    /// Epoch whose order and views lie on the GPU, and the first step of the rates there.
    order: Option<u64>,
    rates: Option<u64>,
    tensors: Tensors<T>,
    train: Set<T>,
    /// Of whole batches and, where it is smaller, of the last one.
    steps: Vec<Step<T>>,
    test: Option<Test<T>>,
}

/// What a run changes, network after network.
pub(crate) struct Tensors<T> {
    weights: Vec<Arc<Array<T>>>,
    first: Vec<Arc<Array<T>>>,
    second: Vec<Arc<Array<T>>>,
    sums: Array<f64>,
    /// Updates begun.
    clock: Array<i64>,
    /// Learning rate and what Adam divides by, step by step.
    rates: Array<f64>,
}

/// A program for many networks: `params` are each one's own, other leaves are the same for all.
fn many(trace: &Trace, outputs: &[Id], params: &[Id], networks: usize) -> Program {
    match networks {
        1 => Program::new(trace, outputs),
        _ => {
            let (trace, outputs) = vmap(trace, outputs, params, networks);
            Program::new(&trace, &outputs)
        }
    }
}

impl<'a, T: Number> Fleet<'a, T> {
    /// Loads networks that stand at the same step.
    pub fn new(
        graph: &'a Graph,
        config: &'a Config,
        problem: &Problem<T>,
        states: Vec<State<T>>,
        card: Card,
    ) -> Result<Self, TrainError> {
        let gpu = Gpu::open(card.ordinal)?;
        let batch = config.batch_size.on(problem.train.len());
        let networks = states.len();
        let arrays =
            |tensors: fn(&State<T>) -> &[Vec<T>]| -> Result<Vec<Arc<Array<T>>>, CudaError> {
                let lengths = tensors(&states[0]).iter().map(|t| networks * t.len());
                lengths.map(|n| Ok(Arc::new(gpu.zeros(n)?))).collect()
            };
        let tensors = Tensors {
            weights: arrays(|s| &s.weights.values)?,
            first: arrays(|s| &s.moments.first)?,
            second: arrays(|s| &s.moments.second)?,
            sums: gpu.zeros(networks * SUMS)?,
            clock: gpu.zeros(1)?,
            rates: gpu.zeros(2 * RATES)?,
        };
        let classes = problem.classes.as_deref();
        let mut train = Set::new(
            &gpu,
            problem.train.x,
            classes,
            &problem.targets,
            problem.train.len(),
        )?;
        if problem.frame.is_some() {
            train.views = Some(gpu.zeros(3 * train.samples)?);
        }
        let mut steps = Vec::new();
        for size in parts(train.samples, batch) {
            check_norms(graph, size)?;
            let sizes = Sizes {
                samples: size,
                batch,
                passes: config.steps_an_epoch(train.samples),
                input: graph.input().len(),
                outputs: graph.output().len(),
                classes: train.labelled,
                weight: match config.loss {
                    Loss::Sse => 1.0,
                    _ => size as f64,
                },
                frame: problem.frame,
            };
            steps.push(Step::new(
                (&gpu, card.precision),
                graph,
                config,
                &tensors,
                &train,
                (sizes, networks),
            )?);
        }
        let test = match problem.test {
            Some(test) => {
                let precision = card.precision;
                let weights = &tensors.weights;
                Some(Test::new(
                    &gpu,
                    precision,
                    graph,
                    config.loss,
                    &test,
                    weights,
                    networks,
                )?)
            }
            None => None,
        };
        let step = states[0].step;
        let fleet = Fleet {
            gpu,
            graph,
            config,
            batch,
            states,
            step,
            order: None,
            rates: None,
            tensors,
            train,
            steps,
            test,
        };
        fleet.push()?;
        Ok(fleet)
    }

    /// Networks that fit into the memory that is free, at least one.
    pub fn fitting(
        graph: &Graph,
        config: &Config,
        samples: usize,
        card: Card,
    ) -> Result<usize, TrainError> {
        let gpu = Gpu::open(card.ordinal)?;
        let batch = config.batch_size.on(samples);
        let e = crate::expressions::Expressions::new(graph, config.loss.into(), batch, batch)?;
        let program = Program::new(&e.trace, &e.outputs);
        let kept = 1 + config.optimiser.moments();
        let weights: usize = graph.params.iter().map(|p| kept * p.len()).sum();
        // Evaluation, scratch and the recording take some more.
        let one = (program.numbers() + weights) * size_of::<T>() * 3 / 2;
        Ok((gpu.free()? / one.max(1)).max(1))
    }

    /// Copies the states to the GPU.
    fn push(&self) -> Result<(), CudaError> {
        let Tensors {
            weights,
            first,
            second,
            sums,
            clock,
            ..
        } = &self.tensors;
        for (network, state) in self.states.iter().enumerate() {
            let pairs = [
                (weights, &state.weights.values),
                (first, &state.moments.first),
                (second, &state.moments.second),
            ];
            for (arrays, tensors) in pairs {
                for (array, tensor) in arrays.iter().zip(tensors) {
                    self.gpu.upload(tensor, network * tensor.len(), array)?;
                }
            }
            let Running { loss, correct, .. } = state.running;
            self.gpu
                .upload(&[loss, correct as f64, 0.0], network * SUMS, sums)?;
        }
        self.gpu.upload(&[self.step as i64], 0, clock)
    }

    /// Makes up to `several` updates, none beyond the end of a row, and looks; for each network that diverged, tells why.
    pub fn advance(&mut self, several: u64) -> Result<Vec<Option<TrainError>>, TrainError> {
        let n = self.train.samples;
        let (an_epoch, total) = (self.config.steps_an_epoch(n), self.config.total_steps(n));
        let a_row = an_epoch.saturating_mul(self.config.row_every);
        let row_end = (self.step / a_row + 1).saturating_mul(a_row).min(total);
        let until = self.step.saturating_add(several).min(row_end);
        while self.step < until {
            let plan = self.prepare(self.step)?;
            self.gpu.replay(&self.steps[plan].recording)?;
            self.step += 1;
        }
        let errors = self.look()?;
        if until == row_end {
            self.close_row(until.div_ceil(an_epoch))?;
        }
        Ok(errors)
    }

    /// Sends what a step needs of the processor; tells which plan is its.
    fn prepare(&mut self, step: u64) -> Result<usize, CudaError> {
        let n = self.train.samples;
        let an_epoch = self.config.steps_an_epoch(n);
        let epoch = step / an_epoch;
        if self.order != Some(epoch) {
            let seed = self.config.batch_seed;
            if self.batch < n {
                let mut rows: Vec<u32> = (0..n as u32).collect();
                Stream::new(seed, epoch, "order")
                    .cursor()
                    .shuffle(&mut rows);
                self.gpu.upload(&rows, 0, &self.train.order)?;
            }
            if let Some(to) = &self.train.views {
                let views = self.config.augment.views(n, seed, epoch);
                let numbers = views.iter().flat_map(View::numbers);
                self.gpu.upload(&numbers.collect::<Vec<u32>>(), 0, to)?;
            }
            self.order = Some(epoch);
        }
        let block = step / RATES as u64 * RATES as u64;
        if self.rates != Some(block) {
            let total = self.config.total_steps(n);
            let rates: Vec<f64> = (block..block + RATES as u64)
                .flat_map(|step| {
                    self.config
                        .optimiser
                        .rates(step + 1, self.config.rate(step, total))
                })
                .collect();
            self.gpu.upload(&rates, 0, &self.tensors.rates)?;
            self.rates = Some(block);
        }
        let first = (step % an_epoch) as usize * self.batch;
        Ok(usize::from(n - first < self.batch))
    }

    /// Brings the states up to date; for each network that diverged, why.
    fn look(&mut self) -> Result<Vec<Option<TrainError>>, TrainError> {
        let networks = self.states.len();
        let mut sums = vec![0.0; networks * SUMS];
        self.gpu.download(&self.tensors.sums, &mut sums)?;
        let State {
            weights: Weights { values },
            moments: Moments { first, second },
            ..
        } = &mut self.states[0];
        // Room for all networks, in turn.
        let mut all = Vec::new();
        let lengths: [Vec<usize>; 3] =
            [values, first, second].map(|tensors| tensors.iter().map(Vec::len).collect());
        let arrays = [
            &self.tensors.weights,
            &self.tensors.first,
            &self.tensors.second,
        ];
        for (kind, (arrays, lengths)) in arrays.into_iter().zip(&lengths).enumerate() {
            for (i, (array, &n)) in arrays.iter().zip(lengths).enumerate() {
                all.resize(networks * n, T::ZERO);
                self.gpu.download(array, &mut all)?;
                for (state, own) in self.states.iter_mut().zip(all.chunks_exact(n.max(1))) {
                    let moments = &mut state.moments;
                    let tensors = [
                        &mut state.weights.values,
                        &mut moments.first,
                        &mut moments.second,
                    ];
                    tensors[kind][i].copy_from_slice(own);
                }
            }
        }
        let mut errors = Vec::with_capacity(networks);
        for (network, own) in sums.chunks_exact(SUMS).enumerate() {
            let bad = own[2] as u64;
            let done = if bad > 0 { bad - 1 } else { self.step };
            let seen = self.seen(self.states[network].step..done);
            let state = &mut self.states[network];
            state.step = done;
            state.running.loss = own[0];
            state.running.correct = own[1] as u64;
            state.running.samples += seen;
            errors.push(match bad {
                0 => None,
                _ => Some(self.diverged(network, bad - 1)?),
            });
        }
        Ok(errors)
    }

    /// Samples met in some steps.
    fn seen(&self, steps: std::ops::Range<u64>) -> u64 {
        let (n, batch) = (self.train.samples as u64, self.batch as u64);
        let an_epoch = self.config.steps_an_epoch(self.train.samples);
        let before = |step: u64| step / an_epoch * n + step % an_epoch * batch;
        before(steps.end) - before(steps.start)
    }

    /// Takes the gradient that went wrong again, to say what is wrong with it.
    fn diverged(&mut self, network: usize, step: u64) -> Result<TrainError, TrainError> {
        let plan = self.prepare(step)?;
        self.gpu.upload(&[step as i64], 0, &self.tensors.clock)?;
        let (loss, gradients) =
            self.steps[plan].gradient(&self.gpu, &self.train, &self.tensors.clock, network)?;
        self.gpu
            .upload(&[self.step as i64], 0, &self.tensors.clock)?;
        let (param, gradient) = largest(gradients.iter().map(|(i, g)| (*i, g.as_slice())));
        let n = self.train.samples;
        Ok(Box::new(Diverged {
            step: step + 1,
            epoch: step / self.config.steps_an_epoch(n) + 1,
            loss,
            parameter: self.graph.params[param].name.clone(),
            gradient,
            learning_rate: self.config.rate(step, self.config.total_steps(n)),
        })
        .into())
    }

    /// Ends a row of the history of every network, which [`Fleet::look`] has brought up to date.
    fn close_row(&mut self, epoch: u64) -> Result<(), CudaError> {
        let networks = self.states.len();
        let metrics = match &self.test {
            Some(test) => test.evaluate(&self.gpu, networks)?.map(Some).collect(),
            None => vec![None; networks],
        };
        for (network, (state, test)) in self.states.iter_mut().zip(metrics).enumerate() {
            let set = (self.config.loss, self.train.samples);
            state.close_row(epoch, set, self.train.labelled, test);
            self.gpu
                .upload(&[0.0, 0.0], network * SUMS, &self.tensors.sums)?;
        }
        Ok(())
    }
}
