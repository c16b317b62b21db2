//! Updates on the processor.

use polariscope_diff::Number;
use polariscope_graph::Graph;
use polariscope_random::Stream;
use rayon::prelude::*;

use crate::augment::View;
use crate::optimiser::{clip_factor, square_sum};
use crate::samples::{correct, widen};
use crate::train::{Problem, parts};
use crate::{Batch, BatchGradient, Config, Diverged, Evaluator, Loss, State, TrainError};

/// Numbers of a batch under which one thread gathers them.
const GATHER: usize = 1 << 16;

/// One network, its gradients and the order of its samples.
pub(crate) struct Local<'a, T> {
    graph: &'a Graph,
    config: &'a Config,
    problem: Problem<'a, T>,
    pub state: State<T>,
    /// Indices of the trainable parameters.
    trainable: Vec<usize>,
    batch: usize,
    /// Gradients of whole batches and, where it is smaller, of the last one.
    plans: Vec<BatchGradient<T>>,
    evaluator: Evaluator<T>,
    order: Order,
    x: Vec<T>,
    y: Vec<T>,
}

/// The order of the samples in an epoch, and how each is changed.
struct Order {
    epoch: Option<u64>,
    rows: Vec<usize>,
    views: Vec<View>,
}

impl<'a, T: Number> Local<'a, T> {
    /// Plans the gradients.
    pub fn new(
        graph: &'a Graph,
        config: &'a Config,
        problem: Problem<'a, T>,
        state: State<T>,
    ) -> Result<Self, TrainError> {
        let n = problem.train.len();
        let batch = config.batch_size.on(n);
        let plans = parts(n, batch).map(|size| BatchGradient::new(graph, config.loss.into(), size));
        let plans = plans.collect::<Result<_, _>>()?;
        Ok(Local {
            graph,
            config,
            problem,
            state,
            trainable: graph.trainable().collect(),
            batch,
            plans,
            evaluator: Evaluator::new(graph, config.loss),
            order: Order {
                epoch: None,
                rows: (0..n).collect(),
                views: Vec::new(),
            },
            x: Vec::new(),
            y: Vec::new(),
        })
    }

    /// One update.
    pub fn step(&mut self) -> Result<(), TrainError> {
        let (n, step) = (self.problem.train.len(), self.state.step);
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
        self.plans[plan].run(&self.state.weights, batch)?;
        let gradient = &self.plans[plan];
        let loss = gradient.loss();
        let total = self.config.total_steps(n);
        let rate = self.config.rate(step, total);
        let tensors = 0..self.trainable.len();
        if !loss.is_finite() || !tensors.clone().all(|i| finite(gradient.gradient(i))) {
            return Err(self.diverged(epoch, loss, rate, plan).into());
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
        Ok(())
    }

    /// Brings the samples of a batch together; the whole set, in its own order, only once if it is not changed.
    fn gather(&mut self, epoch: u64, range: std::ops::Range<usize>) {
        let n = self.problem.train.len();
        let frame = self.problem.frame;
        if self.batch == n && frame.is_none() {
            if self.order.epoch.is_none() {
                self.x = self.problem.train.x.iter().map(|&x| widen(x)).collect();
                self.y = self.problem.targets.clone();
                self.order.epoch = Some(0);
            }
            return;
        }
        if self.order.epoch != Some(epoch) {
            let seed = self.config.batch_seed;
            if self.batch < n {
                self.order.rows.clear();
                self.order.rows.extend(0..n);
                Stream::new(seed, epoch, "order")
                    .cursor()
                    .shuffle(&mut self.order.rows);
            }
            if frame.is_some() {
                self.order.views = self.config.augment.views(n, seed, epoch);
            }
            self.order.epoch = Some(epoch);
        }
        let (sample, outputs) = (self.graph.input().len(), self.graph.output().len());
        let rows = &self.order.rows[range];
        self.x.resize(rows.len() * sample, T::ZERO);
        self.y.resize(rows.len() * outputs, T::ZERO);
        let (source, targets) = (self.problem.train.x, &self.problem.targets);
        let views = &self.order.views;
        let copy = |(to, &row): (&mut [T], &usize)| {
            let from = &source[row * sample..(row + 1) * sample];
            match frame {
                Some(frame) => frame.look(views[row], from, to),
                None => to
                    .iter_mut()
                    .zip(from)
                    .for_each(|(to, &from)| *to = widen(from)),
            }
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
        let Some(classes) = &self.problem.classes else {
            return;
        };
        let gradient = &self.plans[usize::from(samples < self.batch)];
        let outputs = self.graph.output().len();
        let mut rows = self.order.rows[range].iter().map(|&row| classes[row]);
        for f in gradient.outputs() {
            running.correct += correct(f, outputs, rows.by_ref().take(f.len() / outputs));
        }
    }

    fn close_row(&mut self, epoch: u64) -> Result<(), TrainError> {
        let test = match &self.problem.test {
            Some(test) => Some(self.evaluator.evaluate(&self.state.weights, test, &[])?),
            None => None,
        };
        let set = (self.config.loss, self.problem.train.len());
        self.state
            .close_row(epoch, set, self.problem.classes.is_some(), test);
        Ok(())
    }

    fn diverged(&self, epoch: u64, loss: f64, learning_rate: f64, plan: usize) -> Box<Diverged> {
        let tensors = self.trainable.iter().enumerate();
        let gradients = tensors.map(|(i, &param)| (param, self.plans[plan].gradient(i)));
        let (param, gradient) = largest(gradients);
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

/// The largest number of tensors, and whose it is; one that is not a number counts as the largest.
pub(crate) fn largest<'g, T: Number>(
    tensors: impl Iterator<Item = (usize, &'g [T])>,
) -> (usize, f64) {
    let mut found = (0, 0.0_f64);
    for (i, values) in tensors {
        for x in values.iter().map(|x| x.to_f64()) {
            if !found.1.is_nan() && (x.is_nan() || x.abs() > found.1.abs()) {
                found = (i, x);
            }
        }
    }
    found
}

/// Whether every number is finite. No early exit: the loop vectorises.
fn finite<T: Number>(x: &[T]) -> bool {
    x.iter().fold(true, |all, x| all & x.is_finite())
}
