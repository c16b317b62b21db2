//! The numbers, batch after batch.

use polariscope_diff::Real;
use polariscope_graph::Graph;
use polariscope_lens::{Observer, Work, afford};
use polariscope_network::{Network, Scalar, samples_a_task};
use polariscope_report::counted;

use super::{Answer, Number, Question, Subject, Summary, diagnosis};
use crate::{Inputs, LearningError};

/// Tasks of the network between two looks at the progress. Fixed, and a whole number of tasks, so that
/// no result depends on it.
const TASKS: usize = 16;

/// What a network answers to samples.
pub fn answer<T: Number>(
    subject: Subject<T>,
    inputs: &Inputs<T>,
    question: &Question,
    observer: &mut dyn Observer,
) -> Result<Answer<T>, LearningError> {
    Job::new(subject, inputs, question)?.answer(observer)
}

/// A question whose every refusal is behind it.
pub struct Job<'a, T> {
    subject: Subject<T>,
    inputs: &'a Inputs<T>,
    question: &'a Question,
    /// Memory that it needs.
    bytes: f64,
}

impl<'a, T: Number> Job<'a, T> {
    /// Checks the question.
    pub fn new(
        subject: Subject<T>,
        inputs: &'a Inputs<T>,
        question: &'a Question,
    ) -> Result<Self, LearningError> {
        let bytes = memory(&subject, inputs, question);
        afford(bytes, "evaluate fewer samples or a smaller network")?;
        Ok(Job {
            subject,
            inputs,
            question,
            bytes,
        })
    }

    /// The network.
    pub fn graph(&self) -> &Graph {
        &self.subject.graph
    }

    /// Evaluates all samples.
    pub fn answer(self, observer: &mut dyn Observer) -> Result<Answer<T>, LearningError> {
        let Job {
            subject,
            inputs,
            question,
            bytes,
        } = self;
        let Subject {
            graph,
            weights,
            tangent: direction,
        } = subject;
        let network = Network::on(graph, question.setup.device);
        let logit = Scalar::Logit(0);
        let sample = inputs.shape.len();
        let batch = TASKS * samples_a_task(network.graph());
        let mut output = Vec::with_capacity(inputs.count() * network.graph().output().len());
        let mut gradient = question.gradient.then(Vec::new);
        let mut tangent = direction.as_ref().map(|_| Vec::new());
        observer.begin(Work {
            unit: "samples".into(),
            first: 0,
            total: inputs.count() as u64,
            words: counted(inputs.count() as u64, "sample"),
            bytes,
        });
        let mut done = 0;
        for x in inputs.numbers.chunks(batch * sample) {
            output.extend(network.output(&weights, x)?);
            if let Some(gradient) = &mut gradient {
                gradient.extend(network.input_gradient(&weights, x, logit)?);
            }
            if let (Some(tangent), Some(v)) = (&mut tangent, &direction) {
                tangent.extend(network.input_gradient_tangent(&weights, v, x, logit)?);
            }
            done += (x.len() / sample) as u64;
            observer.advance(done, &|| None)?;
        }
        observer.end();
        let found = [
            ("output", network.graph().output().len(), Some(&output)),
            ("gradient", sample, gradient.as_ref()),
            ("gradient tangent", sample, tangent.as_ref()),
        ];
        for (name, width, values) in found {
            if let Some(values) = values
                && let Some(i) = values.iter().position(|v| !v.is_finite())
            {
                let row = i / width;
                let place = match name {
                    "output" => format!("output {} of sample {row} is {}", i % width, values[i]),
                    _ => format!("the {name} of sample {row} is {}", values[i]),
                };
                let x = &inputs.numbers[row * sample..][..sample];
                return Err(diagnosis::overflow(&place, &network, &weights, x));
            }
        }
        let summary = Summary::new(inputs, &output, gradient.as_ref(), tangent.as_ref());
        Ok(Answer {
            network: network.graph().name.clone(),
            shape: inputs.shape,
            dims: inputs.dims.clone(),
            summary,
            output,
            gradient,
            tangent,
        })
    }
}

/// Bytes of the arrays, the weights, and the activations of the tasks under way: once for an output,
/// forth and back for a gradient, both doubled by a tangent.
fn memory<T: Number>(subject: &Subject<T>, inputs: &Inputs<T>, question: &Question) -> f64 {
    let graph = &subject.graph;
    let gradient = f64::from(question.gradient);
    let tangent = f64::from(subject.tangent.is_some());
    let rows = graph.output().len() as f64 + inputs.shape.len() as f64 * (1.0 + gradient + tangent);
    let weights: usize = graph.params.iter().map(|p| p.len()).sum();
    let activations: usize = graph.nodes.iter().map(|n| n.shape.len()).sum();
    let passes = 1.0 + gradient.max(tangent) + 2.0 * tangent;
    let task = samples_a_task(graph) * activations * rayon::current_num_threads();
    let numbers =
        inputs.count() as f64 * rows + weights as f64 * (1.0 + tangent) + task as f64 * passes;
    numbers * size_of::<T>() as f64
}

/// Euclidean norm of every row of `width` numbers.
pub(super) fn norms<T: Real>(values: &[T], width: usize) -> Vec<f64> {
    let square = |row: &[T]| row.iter().map(|x| x.to_f64().powi(2)).sum::<f64>();
    values
        .chunks(width.max(1))
        .map(|row| square(row).sqrt())
        .collect()
}
