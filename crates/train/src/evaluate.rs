//! Outputs, loss and accuracy on a set, in evaluation mode.

use polariscope_diff::{Device, Number, Program, Trace};
use polariscope_graph::Graph;
use polariscope_network::{Network, NetworkError, Weights};
use rayon::prelude::*;

use crate::samples::{correct, widen};
use crate::{Labels, Objective, Samples, TrainError};

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
    objective: Objective,
}

impl<T: Number> Evaluator<T> {
    /// For a network and a loss, on the processor.
    pub fn new(graph: &Graph, objective: impl Into<Objective>) -> Self {
        Self::on(Device::Cpu, graph, objective)
    }

    /// On any device.
    pub fn on(device: Device, graph: &Graph, objective: impl Into<Objective>) -> Self {
        Evaluator {
            network: Network::on(graph.clone(), device),
            objective: objective.into(),
        }
    }

    /// Outputs f of `weights` on inputs `x`, N × outputs.
    pub fn outputs(&self, weights: &Weights<T>, x: &[f32]) -> Result<Vec<T>, TrainError> {
        let graph = self.network.graph();
        let mut f = Vec::new();
        for x in x.chunks(CHUNK * graph.input().len()) {
            let x: Vec<T> = x.par_iter().map(|&x| widen(x)).collect();
            let part = self.network.output(weights, &x);
            f.extend(part.map_err(|e| match e {
                NetworkError::Device(e) => e.into(),
                _ => TrainError::shapes(graph),
            })?);
        }
        Ok(f)
    }

    /// Loss and accuracy of `weights` on `samples`; `origin` is f₀ on them, empty for 0.
    pub fn evaluate(
        &self,
        weights: &Weights<T>,
        samples: &Samples,
        origin: &[T],
    ) -> Result<Metrics, TrainError> {
        let graph = self.network.graph();
        samples.check(graph, "test")?;
        let f = self.outputs(weights, samples.x)?;
        let predictor: Vec<T> = self.objective.predictor(&f, origin).collect();
        let (n, outputs) = (samples.len(), graph.output().len());
        let y = samples.targets::<T>(self.objective.loss, outputs);
        let parts = predictor.chunks(CHUNK * outputs);
        let parts = parts.zip(y.chunks(CHUNK * outputs));
        let loss: f64 = parts.map(|(f, y)| self.part(f, y, n)).sum();
        let accuracy = match samples.y {
            Labels::Targets { .. } => None,
            Labels::Classes(classes) => {
                let right = correct(&predictor, outputs, classes.iter().copied());
                Some(right as f64 / n as f64)
            }
        };
        Ok(Metrics {
            loss: loss / self.objective.alpha.powi(2),
            accuracy,
        })
    }

    /// What some rows of the predictor add to the loss of `samples`.
    fn part(&self, f: &[T], y: &[T], samples: usize) -> f64 {
        let outputs = self.network.graph().output().len();
        let mut t = Trace::new();
        let shape = [f.len() / outputs, outputs];
        let (a, b) = (t.leaf(&shape), t.leaf(&shape));
        let loss = self.objective.loss.expression(&mut t, a, b, samples);
        Program::new(&t, &[loss]).evaluate(&[f, y])[0][0].to_f64()
    }
}
