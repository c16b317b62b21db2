//! Products with the Hessian of a loss in the trainable parameters: H v = d/dε ∇L(w + εv) at ε = 0, a forward
//! derivative of the gradient. Batch-norm uses its running statistics and dropout is off, so samples do not see
//! each other and the sum over chunks is exact.

use std::sync::Arc;

use polariscope_diff::{Id, Number, Program, Session, jvp, vjp};
use polariscope_graph::Graph;
use polariscope_network::{Lowered, Mode, Weights, lower, samples_a_task};
use rayon::prelude::*;

use crate::{Loss, TrainError};

/// Most lanes: each holds a product.
const LANES: usize = 8;

/// The Hessian of the loss of fixed samples.
///
/// ```
/// use polariscope_graph::{ZooOptions, zoo};
/// use polariscope_network::Weights;
/// use polariscope_train::{Loss, LossHessian};
///
/// // f = w·x with x = (3, 4) and ½(f − y)²: H = x xᵀ, whatever w and y.
/// let options = ZooOptions { input: Some("2".parse()?), outputs: Some(1), ..ZooOptions::default() };
/// let graph = zoo("logreg", &options)?;
/// let hessian = LossHessian::<f64>::new(&graph, Loss::Sse, &[3.0, 4.0], &[1.0])?;
/// let weights = Weights::draw(&graph, 0, 0);
/// let mut v = Weights::zeros(&graph);
/// v.values[0] = vec![1.0, 0.0];
/// assert_eq!(hessian.product(&weights, &v)?.values[0], [9.0, 12.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LossHessian<T> {
    graph: Graph,
    chunk: usize,
    /// Plans for whole chunks and for the last one.
    plans: [Arc<Program>; 2],
    x: Vec<T>,
    y: Vec<T>,
}

impl<T: Number> LossHessian<T> {
    /// For inputs N × sample and targets N × outputs.
    pub fn new(graph: &Graph, loss: Loss, x: &[T], y: &[T]) -> Result<Self, TrainError> {
        loss.check()?;
        let (sample, outputs) = (graph.input().len(), graph.output().len());
        let samples = x.len() / sample;
        if samples == 0 {
            return Err(TrainError::Empty { part: "training" });
        }
        if x.len() != samples * sample || y.len() != samples * outputs {
            return Err(TrainError::Unfit {
                what: format!("{} inputs and {} targets", x.len(), y.len()),
                wanted: "give a whole number of samples, with one target an output",
            });
        }
        let chunk = samples_a_task(graph).min(samples);
        let last = (samples - 1) % chunk + 1;
        let plan = |n| Arc::new(compile(graph, loss, n, samples));
        let (x, y) = (x.to_vec(), y.to_vec());
        Ok(LossHessian {
            graph: graph.clone(),
            chunk,
            plans: [plan(chunk), plan(last)],
            x,
            y,
        })
    }

    /// H v. Buffers are constants and get zero.
    pub fn product(&self, weights: &Weights<T>, v: &Weights<T>) -> Result<Weights<T>, TrainError> {
        for given in [weights, v] {
            let fits = given.values.len() == self.graph.params.len();
            if !fits
                || given
                    .values
                    .iter()
                    .zip(&self.graph.params)
                    .any(|(v, p)| v.len() != p.len())
            {
                return Err(TrainError::Unfit {
                    what: format!("these weights do not belong to {}", self.graph.name),
                    wanted: "draw or load them with its graph",
                });
            }
        }
        let trainable: Vec<usize> = self.graph.trainable().collect();
        let (sample, outputs) = (self.graph.input().len(), self.graph.output().len());
        let chunks: Vec<(&[T], &[T])> = self
            .x
            .chunks(self.chunk * sample)
            .zip(self.y.chunks(self.chunk * outputs))
            .collect();
        let lane = |chunks: &[(&[T], &[T])]| {
            let mut sum = Weights::zeros(&self.graph);
            let mut session: Option<(usize, Session<T>)> = None;
            for &(x, y) in chunks {
                let n = x.len() / sample;
                let (_, session) = match &mut session {
                    Some(open) if open.0 == n => open,
                    other => {
                        let plan = &self.plans[usize::from(n != self.chunk)];
                        other.insert((n, Session::new(plan.clone())))
                    }
                };
                let tangent = trainable.iter().map(|&i| v.values[i].as_slice());
                let weights = weights.values.iter().map(Vec::as_slice);
                let leaves: Vec<&[T]> = std::iter::once(x)
                    .chain(weights)
                    .chain([y])
                    .chain(tangent)
                    .collect();
                session.run(&leaves);
                for (k, &i) in trainable.iter().enumerate() {
                    sum.values[i]
                        .iter_mut()
                        .zip(session.output(k))
                        .for_each(|(s, &h)| *s += h);
                }
            }
            sum
        };
        // Lanes by the number of chunks, added in their order: shapes decide, not threads.
        let lanes: Vec<Weights<T>> = chunks
            .par_chunks(chunks.len().div_ceil(LANES))
            .map(lane)
            .collect();
        let mut total = Weights::zeros(&self.graph);
        for part in lanes {
            for (total, part) in total.values.iter_mut().zip(part.values) {
                total.iter_mut().zip(part).for_each(|(t, p)| *t += p);
            }
        }
        Ok(total)
    }
}

/// Inputs: x, parameters, y, then the direction in the trainable parameters.
fn compile(graph: &Graph, loss: Loss, n: usize, samples: usize) -> Program {
    let Lowered {
        trace: mut t,
        params,
        output,
        ..
    } = lower(graph, n, Mode::Evaluate);
    let trainable: Vec<Id> = graph.trainable().map(|i| params[i]).collect();
    let y = t.leaf(&[n, graph.output().len()]);
    let value = loss.expression(&mut t, output, y, samples);
    let mut direction = Vec::with_capacity(trainable.len());
    for &p in &trainable {
        let shape = t.shape(p).to_vec();
        direction.push((p, t.leaf(&shape)));
    }
    let one = t.constant(1.0, &[1]);
    let gradient = vjp(&mut t, &[(value, one)], &trainable);
    let product = jvp(&mut t, &gradient, &direction);
    Program::new(&t, &product)
}
