//! Everything that a run carries from one step to the next.

use polariscope_diff::Real;
use polariscope_graph::{Graph, Role};
use polariscope_network::Weights;

use crate::codec::{Reader, Writer};
use crate::{Config, Loss, Metrics, Moments, Row, TrainError};

const KIND: &[u8; 8] = b"PLRTRAIN";

/// Sums over the batches since the last row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Running {
    /// Losses times samples (losses alone for `sse`).
    pub loss: f64,
    /// Samples put into their class.
    pub correct: u64,
    /// Samples met.
    pub samples: u64,
}

/// Weights, optimiser, position and history. A run that goes on from a state, saved or not, ends with the
/// same bits as one that never stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct State<T> {
    /// Parameters and buffers.
    pub weights: Weights<T>,
    /// What the optimiser remembers.
    pub moments: Moments<T>,
    /// Updates made.
    pub step: u64,
    /// Rows so far.
    pub history: Vec<Row>,
    /// The row in the making.
    pub running: Running,
}

impl<T: Real> State<T> {
    /// Network `index` at initialisation.
    pub fn new(graph: &Graph, config: &Config, index: u64) -> Self {
        State::from_weights(graph, config, Weights::draw(graph, config.init_seed, index))
    }

    /// A start from given weights.
    pub fn from_weights(graph: &Graph, config: &Config, weights: Weights<T>) -> Self {
        State {
            weights,
            moments: Moments::new(graph, config.optimiser),
            step: 0,
            history: Vec::new(),
            running: Running::default(),
        }
    }

    /// Ends a row of the history, of a run with `loss` on `samples` samples.
    pub(crate) fn close_row(
        &mut self,
        epoch: u64,
        (loss, samples): (Loss, usize),
        classes: bool,
        test: Option<Metrics>,
    ) {
        let running = std::mem::take(&mut self.running);
        let count = running.samples.max(1) as f64;
        let train_loss = match loss {
            // The sum over the set, averaged over the epochs of the row.
            Loss::Sse => running.loss * samples as f64 / count,
            _ => running.loss / count,
        };
        self.history.push(Row {
            epoch,
            train_loss,
            train_accuracy: classes.then(|| running.correct as f64 / count),
            test_loss: test.map(|t| t.loss),
            test_accuracy: test.and_then(|t| t.accuracy),
        });
    }

    /// Checks that every tensor has the graph's shape and the optimiser its buffers.
    pub fn check(&self, graph: &Graph, config: &Config) -> Result<(), TrainError> {
        let all = graph.params.iter().map(|p| p.len());
        if !self.weights.values.iter().map(Vec::len).eq(all) {
            return Err(TrainError::shapes(graph));
        }
        let trainable = graph.params.iter().filter(|p| p.role == Role::Trainable);
        let sizes: Vec<usize> = trainable.map(|p| p.len()).collect();
        let fits = |tensors: &[Vec<T>], kept: bool| {
            let wanted = if kept { sizes.as_slice() } else { &[] };
            tensors.iter().map(Vec::len).eq(wanted.iter().copied())
        };
        let kept = config.optimiser.moments();
        let right = fits(&self.moments.first, kept >= 1) && fits(&self.moments.second, kept >= 2);
        right
            .then_some(())
            .ok_or_else(|| TrainError::foreign(graph, "it comes from another optimiser"))
    }

    /// The state as a checkpoint.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::new::<T>(KIND);
        w.u64(self.step);
        w.f64(self.running.loss);
        w.u64(self.running.correct);
        w.u64(self.running.samples);
        w.u64(self.history.len() as u64);
        for row in &self.history {
            w.u64(row.epoch);
            w.f64(row.train_loss);
            w.option(row.train_accuracy);
            w.option(row.test_loss);
            w.option(row.test_accuracy);
        }
        w.tensors(&self.weights.values);
        w.tensors(&self.moments.first);
        w.tensors(&self.moments.second);
        w.finish()
    }

    /// Reads a checkpoint of a run of this network and configuration.
    pub fn from_bytes(graph: &Graph, config: &Config, bytes: &[u8]) -> Result<Self, TrainError> {
        let mut r = Reader::new::<T>(KIND, bytes)?;
        let step = r.u64()?;
        let running = Running {
            loss: r.f64()?,
            correct: r.u64()?,
            samples: r.u64()?,
        };
        let rows = r.u64()?;
        let row = |r: &mut Reader| {
            Ok(Row {
                epoch: r.u64()?,
                train_loss: r.f64()?,
                train_accuracy: r.option()?,
                test_loss: r.option()?,
                test_accuracy: r.option()?,
            })
        };
        let history = (0..rows)
            .map(|_| row(&mut r))
            .collect::<Result<_, TrainError>>()?;
        let weights = Weights {
            values: r.tensors()?,
        };
        let moments = Moments {
            first: r.tensors()?,
            second: r.tensors()?,
        };
        r.finish()?;
        let state = State {
            weights,
            moments,
            step,
            history,
            running,
        };
        state.check(graph, config)?;
        Ok(state)
    }
}
