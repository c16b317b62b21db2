//! The numbers, batch after batch.

use polariscope_report::counted;
use std::time::Instant;

use polariscope_diff::{Number, Real};
use polariscope_graph::Graph;
use polariscope_network::{Network, Scalar, Weights, samples_a_task};

use super::diagnosis;
use super::{Evaluation, Spread};
use crate::args::Common;
use crate::error::CliError;
use crate::estimate::announce;
use crate::progress::Progress;
use crate::samples::Inputs;

/// Tasks of the network between two looks at the progress. Fixed, and a whole number of tasks, so that
/// no result depends on it.
const TASKS: usize = 16;

/// What is asked beside the output.
pub struct Question<T> {
    /// ∇ₓ of logit 0.
    pub gradient: bool,
    /// Direction of its tangent.
    pub tangent: Option<Weights<T>>,
}

impl<T: Number> Question<T> {
    /// Bytes of the arrays, the weights, and the activations of the tasks under way: once for an output,
    /// forth and back for a gradient, both doubled by a tangent.
    pub fn memory(&self, graph: &Graph, inputs: &Inputs<T>) -> f64 {
        let gradient = f64::from(self.gradient);
        let tangent = f64::from(self.tangent.is_some());
        let rows =
            graph.output().len() as f64 + inputs.shape.len() as f64 * (1.0 + gradient + tangent);
        let weights: usize = graph.params.iter().map(|p| p.len()).sum();
        let activations: usize = graph.nodes.iter().map(|n| n.shape.len()).sum();
        let passes = 1.0 + gradient.max(tangent) + 2.0 * tangent;
        let task = samples_a_task(graph) * activations * rayon::current_num_threads();
        let numbers =
            inputs.count() as f64 * rows + weights as f64 * (1.0 + tangent) + task as f64 * passes;
        numbers * size_of::<T>() as f64
    }
}

/// What was found, sample by sample.
pub struct Answers<T> {
    /// N × outputs.
    pub output: Vec<T>,
    /// N × sample.
    pub gradient: Option<Vec<T>>,
    /// N × sample.
    pub tangent: Option<Vec<T>>,
}

impl<T: Number> Answers<T> {
    /// Evaluates all samples.
    pub fn compute(
        network: &Network<T>,
        weights: &Weights<T>,
        inputs: &Inputs<T>,
        question: &Question<T>,
        common: &Common,
    ) -> Result<Self, CliError> {
        let logit = Scalar::Logit(0);
        let sample = inputs.shape.len();
        let batch = TASKS * samples_a_task(network.graph());
        let bytes = question.memory(network.graph(), inputs);
        let mut answers = Answers {
            output: Vec::with_capacity(inputs.count() * network.graph().output().len()),
            gradient: question.gradient.then(Vec::new),
            tangent: question.tangent.as_ref().map(|_| Vec::new()),
        };
        let progress = Progress::new("samples", inputs.count() as u64, 0, common);
        let started = Instant::now();
        for (i, x) in inputs.numbers.chunks(batch * sample).enumerate() {
            answers.output.extend(network.output(weights, x)?);
            if let Some(gradient) = &mut answers.gradient {
                gradient.extend(network.input_gradient(weights, x, logit)?);
            }
            if let (Some(tangent), Some(v)) = (&mut answers.tangent, &question.tangent) {
                tangent.extend(network.input_gradient_tangent(weights, v, x, logit)?);
            }
            progress.advance((x.len() / sample) as u64);
            if i == 0 {
                let done = (x.len() / sample) as f64;
                let left = inputs.count() as f64 - done;
                let work = counted(inputs.count() as u64, "sample");
                announce(common, &work, started.elapsed(), done, left, bytes);
            }
        }
        drop(progress);
        answers.check(network, weights, inputs)?;
        Ok(answers)
    }

    /// Refuses to pass on what is not a number.
    fn check(
        &self,
        network: &Network<T>,
        weights: &Weights<T>,
        inputs: &Inputs<T>,
    ) -> Result<(), CliError> {
        let bad = |values: &[T]| values.iter().position(|x| !x.is_finite());
        let sample = inputs.shape.len();
        let outputs = network.graph().output().len();
        if let Some(i) = bad(&self.output) {
            let x = &inputs.numbers[i / outputs * sample..][..sample];
            let place = format!(
                "output {} of sample {} is {}",
                i % outputs,
                i / outputs,
                self.output[i]
            );
            return Err(diagnosis::overflow(&place, network, weights, x));
        }
        let derivatives = [
            ("gradient", &self.gradient),
            ("gradient tangent", &self.tangent),
        ];
        for (name, values) in derivatives {
            if let Some(values) = values
                && let Some(i) = bad(values)
            {
                let x = &inputs.numbers[i / sample * sample..][..sample];
                let place = format!("the {name} of sample {} is {}", i / sample, values[i]);
                return Err(diagnosis::overflow(&place, network, weights, x));
            }
        }
        Ok(())
    }

    /// The numbers for `run.toml` and the terminal.
    pub(super) fn summary(&self, samples: usize, sample: usize) -> Evaluation {
        let norm = |values: &Option<Vec<T>>| values.as_ref().map(|v| Spread::of(&norms(v, sample)));
        let output: Vec<f64> = self.output.iter().map(|x| x.to_f64()).collect();
        Evaluation {
            samples,
            outputs: self.output.len() / samples.max(1),
            output: Spread::of(&output),
            gradient_norm: norm(&self.gradient),
            gradient_tangent_norm: norm(&self.tangent),
        }
    }
}

/// Euclidean norm of every row of `width` numbers.
pub fn norms<T: Real>(values: &[T], width: usize) -> Vec<f64> {
    let square = |row: &[T]| row.iter().map(|x| x.to_f64().powi(2)).sum::<f64>();
    values
        .chunks(width.max(1))
        .map(|row| square(row).sqrt())
        .collect()
}
