//! The training loop: batches, updates, history.

use polariscope_diff::Number;
use polariscope_graph::Graph;
use polariscope_random::Stream;
use rayon::prelude::*;

use crate::optimiser::{clip_factor, square_sum};
use crate::samples::{correct, widen};
use crate::{
    Batch, BatchGradient, Config, Diverged, Evaluator, Labels, Loss, Row, Running, Samples, State,
    TrainError, label_noise,
};

/// Numbers of a batch under which one thread gathers them.
const GATHER: usize = 1 << 16;

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Yes.
    Continue,
    /// No: the run returns after the step that it has done.
    Stop,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All steps are done.
    Finished,
    /// The observer stopped it.
    Stopped,
}

/// Watches a run; every state it sees can be saved and continued from.
pub trait Observer<T> {
    /// After every update; `state.step` of `total` are done.
    fn on_step(&mut self, _state: &State<T>, _total: u64) -> Control {
        Control::Continue
    }

    /// After every row of the history.
    fn on_epoch(&mut self, _row: &Row, _state: &State<T>) -> Control {
        Control::Continue
    }
}

/// Watches nothing.
pub struct Quiet;

impl<T> Observer<T> for Quiet {}

/// A run: a network, its data and its state.
pub struct Trainer<'a, T> {
    graph: &'a Graph,
    config: &'a Config,
    train: Samples<'a>,
    test: Option<Samples<'a>>,
    state: State<T>,
    /// Indices of the trainable parameters.
    trainable: Vec<usize>,
    /// Training classes, with label noise.
    classes: Option<Vec<u32>>,
    targets: Vec<T>,
    batch: usize,
    /// Gradients of whole batches and, where it is smaller, of the last one.
    plans: Vec<BatchGradient<T>>,
    evaluator: Evaluator<T>,
    order: Order,
    x: Vec<T>,
    y: Vec<T>,
}

/// The order of the samples in an epoch.
struct Order {
    epoch: Option<u64>,
    rows: Vec<usize>,
}

impl<'a, T: Number> Trainer<'a, T> {
    /// Checks everything and plans the gradients; `state` is fresh or a checkpoint's.
    pub fn new(
        graph: &'a Graph,
        config: &'a Config,
        train: Samples<'a>,
        test: Option<Samples<'a>>,
        state: State<T>,
    ) -> Result<Self, TrainError> {
        config.check()?;
        train.check(graph, "training")?;
        test.map_or(Ok(()), |test| test.check(graph, "test"))?;
        state.check(graph, config)?;
        let (n, outputs) = (train.len(), graph.output().len());
        let classes = match train.y {
            Labels::Classes(y) => Some(label_noise(
                y,
                outputs,
                config.label_noise,
                config.batch_seed,
            )),
            Labels::Targets { .. } if config.label_noise > 0.0 => {
                return Err(TrainError::Unfit {
                    what: "label noise needs classes, and the training set has real targets"
                        .to_owned(),
                    wanted: "set it to 0",
                });
            }
            Labels::Targets { .. } => None,
        };
        let noisy = Samples {
            y: classes.as_deref().map_or(train.y, Labels::Classes),
            ..train
        };
        let targets = noisy.targets(config.loss, outputs);
        let batch = config.batch_size.on(n);
        let sizes = [batch, n % batch].into_iter().filter(|&size| size > 0);
        let plans = sizes.map(|size| BatchGradient::new(graph, config.loss.into(), size));
        let plans = plans.collect::<Result<_, _>>()?;
        Ok(Trainer {
            graph,
            config,
            train,
            test,
            state,
            trainable: graph.trainable().collect(),
            classes,
            targets,
            batch,
            plans,
            evaluator: Evaluator::new(graph, config.loss),
            order: Order {
                epoch: None,
                rows: (0..n).collect(),
            },
            x: Vec::new(),
            y: Vec::new(),
        })
    }

    /// Where the run stands.
    pub fn state(&self) -> &State<T> {
        &self.state
    }

    /// Ends the run.
    pub fn into_state(self) -> State<T> {
        self.state
    }

    /// Updates of the whole run.
    pub fn total_steps(&self) -> u64 {
        self.config.total_steps(self.train.len())
    }

    /// Runs to the end, or until the observer stops it. After an error the state is the last good one.
    pub fn run(&mut self, observer: &mut dyn Observer<T>) -> Result<Outcome, TrainError> {
        let total = self.total_steps();
        while self.state.step < total {
            let rows = self.state.history.len();
            self.step()?;
            let mut control = observer.on_step(&self.state, total);
            if let Some(row) = self.state.history.get(rows)
                && observer.on_epoch(row, &self.state) == Control::Stop
            {
                control = Control::Stop;
            }
            if control == Control::Stop && self.state.step < total {
                return Ok(Outcome::Stopped);
            }
        }
        Ok(Outcome::Finished)
    }

    /// One update; returns the loss of its batch before it.
    pub fn step(&mut self) -> Result<f64, TrainError> {
        let (n, step) = (self.train.len(), self.state.step);
        let an_epoch = n.div_ceil(self.batch) as u64;
        let (epoch, first) = (step / an_epoch, (step % an_epoch) as usize * self.batch);
        let size = self.batch.min(n - first);
        self.gather(epoch, first..first + size);
        let batch = Batch {
            x: &self.x,
            y: &self.y,
            origin: &[],
            seed: self.config.batch_seed,
            step,
        };
        let plan = usize::from(size < self.batch);
        self.plans[plan].run(&self.state.weights, batch);
        let gradient = &self.plans[plan];
        let loss = gradient.loss();
        let total = self.total_steps();
        let rate = self.config.rate(step, total);
        let tensors = 0..self.trainable.len();
        if !loss.is_finite() || !tensors.clone().all(|i| finite(gradient.gradient(i))) {
            let tensors = tensors.map(|i| (self.trainable[i], gradient.gradient(i)));
            return Err(self.diverged(epoch, loss, rate, tensors).into());
        }
        let clip = self.config.clip.map_or(1.0, |most| {
            let squares = tensors.clone().map(|i| square_sum(gradient.gradient(i)));
            clip_factor(squares.sum::<f64>().sqrt(), most)
        });
        let State {
            weights, moments, ..
        } = &mut self.state;
        for i in tensors {
            let values = &mut weights.values[self.trainable[i]];
            let g = gradient.gradient(i);
            self.config
                .optimiser
                .update((step + 1, rate), moments, i, values, (g, clip));
        }
        gradient.follow_statistics(weights);
        self.state.step += 1;
        self.count(loss, first..first + size);
        let done = self.state.step;
        let row_due =
            done.is_multiple_of(an_epoch) && (epoch + 1).is_multiple_of(self.config.row_every);
        if row_due || done == total {
            self.close_row(epoch + 1)?;
        }
        Ok(loss)
    }

    /// Brings the samples of a batch together; the whole set, in its own order, only once.
    fn gather(&mut self, epoch: u64, range: std::ops::Range<usize>) {
        let n = self.train.len();
        if self.batch == n {
            if self.order.epoch.is_none() {
                self.x = self.train.x.iter().map(|&x| widen(x)).collect();
                self.y = self.targets.clone();
                self.order.epoch = Some(0);
            }
            return;
        }
        if self.order.epoch != Some(epoch) {
            self.order.rows.clear();
            self.order.rows.extend(0..n);
            Stream::new(self.config.batch_seed, epoch, "order")
                .cursor()
                .shuffle(&mut self.order.rows);
            self.order.epoch = Some(epoch);
        }
        let (sample, outputs) = (self.graph.input().len(), self.graph.output().len());
        let rows = &self.order.rows[range];
        self.x.resize(rows.len() * sample, T::ZERO);
        self.y.resize(rows.len() * outputs, T::ZERO);
        let (source, targets) = (self.train.x, &self.targets);
        let copy = |(to, &row): (&mut [T], &usize)| {
            let from = &source[row * sample..(row + 1) * sample];
            to.iter_mut()
                .zip(from)
                .for_each(|(to, &from)| *to = widen(from));
        };
        if self.x.len() < GATHER {
            self.x.chunks_mut(sample).zip(rows).for_each(copy);
        } else {
            self.x.par_chunks_mut(sample).zip(rows).for_each(copy);
        }
        for (to, &row) in self.y.chunks_mut(outputs).zip(rows) {
            to.copy_from_slice(&targets[row * outputs..(row + 1) * outputs]);
        }
    }

    /// Adds a batch to the row in the making.
    fn count(&mut self, loss: f64, range: std::ops::Range<usize>) {
        let samples = range.len();
        let running = &mut self.state.running;
        running.loss += match self.config.loss {
            Loss::Sse => loss,
            _ => loss * samples as f64,
        };
        running.samples += samples as u64;
        let Some(classes) = &self.classes else { return };
        let gradient = &self.plans[usize::from(samples < self.batch)];
        let outputs = self.graph.output().len();
        let mut rows = self.order.rows[range].iter().map(|&row| classes[row]);
        for f in gradient.outputs() {
            running.correct += correct(f, outputs, rows.by_ref().take(f.len() / outputs));
        }
    }

    fn close_row(&mut self, epoch: u64) -> Result<(), TrainError> {
        let test = match &self.test {
            Some(test) => Some(self.evaluator.evaluate(&self.state.weights, test, &[])?),
            None => None,
        };
        let Running {
            loss,
            correct,
            samples,
        } = std::mem::take(&mut self.state.running);
        let count = samples.max(1) as f64;
        let train_loss = match self.config.loss {
            // The sum over the set, averaged over the epochs of the row.
            Loss::Sse => loss * self.train.len() as f64 / count,
            _ => loss / count,
        };
        self.state.history.push(Row {
            epoch,
            train_loss,
            train_accuracy: self.classes.is_some().then(|| correct as f64 / count),
            test_loss: test.map(|t| t.loss),
            test_accuracy: test.and_then(|t| t.accuracy),
        });
        Ok(())
    }

    fn diverged<'g>(
        &self,
        epoch: u64,
        loss: f64,
        learning_rate: f64,
        gradients: impl Iterator<Item = (usize, &'g [T])>,
    ) -> Box<Diverged> {
        let (mut param, mut gradient) = (self.trainable[0], 0.0_f64);
        for (i, values) in gradients {
            for g in values.iter().map(|g| g.to_f64()) {
                if !gradient.is_nan() && (g.is_nan() || g.abs() > gradient.abs()) {
                    (param, gradient) = (i, g);
                }
            }
        }
        Box::new(Diverged {
            step: self.state.step + 1,
            epoch: epoch + 1,
            loss,
            parameter: self.graph.params[param].name.clone(),
            gradient,
            learning_rate,
        })
    }
}

/// Whether every number is finite. No early exit: the loop vectorises.
fn finite<T: Number>(x: &[T]) -> bool {
    x.iter().fold(true, |all, x| all & x.is_finite())
}
