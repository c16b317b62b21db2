//! Loss and accuracy on a set, in evaluation mode.

use polariscope_diff::{Number, Program, Trace};
use polariscope_graph::Graph;
use polariscope_network::{Network, Weights};
use rayon::prelude::*;

use crate::samples::{correct, widen};
use crate::{Labels, Loss, Samples, TrainError};

/// Samples converted and evaluated together.
const CHUNK: usize = 1024;

/// Loss and accuracy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metrics {
    /// Mean over samples (sum for `sse`).
    pub loss: f64,
    /// Fraction put into its class; nothing for real targets.
    pub accuracy: Option<f64>,
}

/// Judges weights of one network.
pub struct Evaluator<T> {
    network: Network<T>,
    loss: Loss,
    x: Vec<T>,
}

impl<T: Number> Evaluator<T> {
    /// For a network and a loss.
    pub fn new(graph: &Graph, loss: Loss) -> Self {
        Evaluator {
            network: Network::new(graph.clone()),
            loss,
            x: Vec::new(),
        }
    }

    /// Loss and accuracy of `weights` on `samples`.
    pub fn evaluate(
        &mut self,
        weights: &Weights<T>,
        samples: &Samples,
    ) -> Result<Metrics, TrainError> {
        let graph = self.network.graph();
        samples.check(graph, "test")?;
        let (sample, outputs, n) = (graph.input().len(), graph.output().len(), samples.len());
        let targets = samples.targets::<T>(self.loss, outputs);
        let (mut loss, mut right) = (0.0, 0);
        for (i, x) in samples.x.chunks(CHUNK * sample).enumerate() {
            self.x.clear();
            self.x.par_extend(x.par_iter().map(|&x| widen::<T>(x)));
            let f = self
                .network
                .output(weights, &self.x)
                .map_err(|_| TrainError::Foreign {
                    what: "state",
                    network: graph.name.clone(),
                    problem: "its tensors have other shapes".to_owned(),
                })?;
            let rows = x.len() / sample;
            let y = &targets[i * CHUNK * outputs..][..rows * outputs];
            loss += self.total(&f, y, rows, outputs, n);
            if let Labels::Classes(y) = samples.y {
                right += correct(&f, outputs, y[i * CHUNK..][..rows].iter().copied());
            }
        }
        let accuracy = matches!(samples.y, Labels::Classes(_)).then(|| right as f64 / n as f64);
        Ok(Metrics { loss, accuracy })
    }

    /// The part of the loss of `samples` that these rows carry.
    fn total(&self, f: &[T], y: &[T], rows: usize, outputs: usize, samples: usize) -> f64 {
        let mut t = Trace::new();
        let (a, b) = (t.leaf(&[rows, outputs]), t.leaf(&[rows, outputs]));
        let loss = self.loss.expression(&mut t, a, b, samples);
        Program::new(&t, &[loss]).evaluate(&[f, y])[0][0].to_f64()
    }
}
