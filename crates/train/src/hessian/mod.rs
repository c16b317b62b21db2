//! The Hessian of the loss of fixed samples, and what it is made of, without their matrices.
//!
//! With outputs f(w), their Jacobian J and L = Σ ℓ(f) over samples, whose weights in the mean are inside of ℓ,
//!
//! H = H₀ + H_p,   H₀ = Jᵀ ℓ″ J,   H_p = Σ ℓ′ ∇²f.
//!
//! H₀ is the Gauss–Newton part, H_p what the curvature of the outputs adds. Beside them stands the empirical Fisher
//! matrix, (1/n) Σ_s g_s g_sᵀ with the gradients g_s of the losses of single samples. Products are forward derivatives of
//! reverse ones, never differences. relu and max-pool are differentiated inside their linear pieces, batch-norm uses its
//! running statistics and dropout is off: samples do not see each other, and sums over chunks of them are exact.

mod expressions;
mod local;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use polariscope_diff::cuda::CudaError;
use polariscope_diff::{Device, Loaded, Number, Program};
use polariscope_graph::Graph;
use polariscope_network::{Weights, samples_a_task, samples_on_a_gpu};
use rayon::prelude::*;

use crate::samples::widen;
use crate::{Objective, Origin, Samples, TrainError};

pub use local::Local;

/// Most lanes: each holds a product.
const LANES: usize = 8;

/// A symmetric matrix over the trainable parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Matrix {
    /// H = H₀ + H_p.
    Hessian,
    /// H₀ = Jᵀ ℓ″ J.
    GaussNewton,
    /// H_p = Σ ℓ′ ∇²f.
    Curvature,
    /// (1/n) Σ_s g_s g_sᵀ.
    Fisher,
}

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
    objective: Objective,
    device: Device,
    x: Vec<T>,
    y: Vec<T>,
    origin: Vec<T>,
    /// Plans for a matrix and a number of samples, with their idle sessions.
    plans: Mutex<Plans<T>>,
}

type Plans<T> = HashMap<(Matrix, usize), Plan<T>>;

struct Plan<T> {
    program: Arc<Program>,
    idle: Vec<Loaded<T>>,
}

impl<T: Number> LossHessian<T> {
    /// For inputs N × sample and targets N × outputs, of an objective without an origin, on the processor.
    pub fn new(
        graph: &Graph,
        objective: impl Into<Objective>,
        x: &[T],
        y: &[T],
    ) -> Result<Self, TrainError> {
        Self::on(Device::Cpu, graph, objective, [x, y, &[]])
    }

    /// For samples as they are trained on; `origin` is f₀ on them, empty where the objective has none.
    pub fn of(
        device: Device,
        graph: &Graph,
        objective: impl Into<Objective>,
        samples: Samples,
        origin: &[T],
    ) -> Result<Self, TrainError> {
        let objective = objective.into();
        samples.check(graph, "training")?;
        let x: Vec<T> = samples.x.iter().map(|&x| widen(x)).collect();
        let y = samples.targets::<T>(objective.loss, graph.output().len());
        Self::on(device, graph, objective, [&x, &y, origin])
    }

    /// For inputs, targets and f₀, on any device.
    pub fn on(
        device: Device,
        graph: &Graph,
        objective: impl Into<Objective>,
        [x, y, origin]: [&[T]; 3],
    ) -> Result<Self, TrainError> {
        let objective = objective.into();
        objective.loss.check()?;
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
        let wanted = match objective.origin {
            Origin::Zero => 0,
            Origin::Initial => y.len(),
        };
        if origin.len() != wanted {
            return Err(TrainError::Unfit {
                what: format!("{} outputs f₀ of the origin, not {wanted}", origin.len()),
                wanted: "give one for every output of every sample, or none where the origin is zero",
            });
        }
        Ok(LossHessian {
            graph: graph.clone(),
            objective,
            device,
            x: x.to_vec(),
            y: y.to_vec(),
            origin: origin.to_vec(),
            plans: Mutex::default(),
        })
    }

    /// The network.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Where it computes.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Inputs, N × sample.
    pub fn inputs(&self) -> &[T] {
        &self.x
    }

    /// Number of samples.
    pub fn samples(&self) -> usize {
        self.x.len() / self.graph.input().len()
    }

    /// H v. Buffers are constants and get zero.
    pub fn product(&self, weights: &Weights<T>, v: &Weights<T>) -> Result<Weights<T>, TrainError> {
        self.apply(Matrix::Hessian, weights, v)
    }

    /// A matrix times v. Buffers are constants and get zero.
    pub fn apply(
        &self,
        matrix: Matrix,
        weights: &Weights<T>,
        v: &Weights<T>,
    ) -> Result<Weights<T>, TrainError> {
        self.check(weights)?;
        self.check(v)?;
        let starts: Vec<usize> = (0..self.samples()).step_by(self.chunk(matrix)).collect();
        // Lanes by the number of chunks, added in their order: shapes decide, not threads.
        let lanes = match self.device {
            Device::Cpu => LANES,
            Device::Cuda(_) => 1,
        };
        let lanes: Vec<Weights<T>> = starts
            .par_chunks(starts.len().div_ceil(lanes))
            .map(|starts| self.lane(matrix, starts, weights, v))
            .collect::<Result<_, _>>()?;
        let mut total = Weights::zeros(&self.graph);
        for part in lanes {
            for (total, part) in total.values.iter_mut().zip(part.values) {
                total.iter_mut().zip(part).for_each(|(t, p)| *t += p);
            }
        }
        Ok(total)
    }

    /// Samples a chunk.
    fn chunk(&self, matrix: Matrix) -> usize {
        let chunk = match self.device {
            Device::Cpu => samples_a_task(&self.graph),
            Device::Cuda(_) => {
                samples_on_a_gpu(|n| self.compile(matrix, n).numbers() * size_of::<T>())
            }
        };
        chunk.min(self.samples())
    }

    /// The products of chunks that begin at these samples, one after the other.
    fn lane(
        &self,
        matrix: Matrix,
        starts: &[usize],
        weights: &Weights<T>,
        v: &Weights<T>,
    ) -> Result<Weights<T>, TrainError> {
        let (sample, outputs) = (self.graph.input().len(), self.graph.output().len());
        let chunk = self.chunk(matrix);
        let zeros = vec![T::ZERO; chunk * outputs];
        let mut sum = Weights::zeros(&self.graph);
        for &first in starts {
            let n = chunk.min(self.samples() - first);
            let rows = |width: usize| first * width..(first + n) * width;
            let mut leaves: Vec<&[T]> = vec![&self.x[rows(sample)]];
            leaves.extend(weights.values.iter().map(Vec::as_slice));
            leaves.push(&zeros[..n * outputs]);
            leaves.push(&self.y[rows(outputs)]);
            if self.objective.origin == Origin::Initial {
                leaves.push(&self.origin[rows(outputs)]);
            }
            leaves.extend(self.graph.trainable().map(|i| v.values[i].as_slice()));
            let mut session = self.take(matrix, n)?;
            session.run(&leaves)?;
            for (k, i) in self.graph.trainable().enumerate() {
                let values = sum.values[i].iter_mut().zip(session.output(k));
                values.for_each(|(s, &h)| *s += h);
            }
            self.give(matrix, n, session);
        }
        Ok(sum)
    }

    /// An idle session, or another one.
    fn take(&self, matrix: Matrix, samples: usize) -> Result<Loaded<T>, CudaError> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = plans.entry((matrix, samples)).or_insert_with(|| Plan {
            program: Arc::new(self.compile(matrix, samples)),
            idle: Vec::new(),
        });
        match plan.idle.pop() {
            Some(session) => Ok(session),
            None => Loaded::new(plan.program.clone(), self.device),
        }
    }

    fn give(&self, matrix: Matrix, samples: usize, session: Loaded<T>) {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = plans.get_mut(&(matrix, samples)) {
            plan.idle.push(session);
        }
    }

    fn compile(&self, matrix: Matrix, samples: usize) -> Program {
        expressions::compile(
            &self.graph,
            self.objective,
            matrix,
            [samples, self.samples()],
        )
    }

    /// Refuses weights of another network.
    fn check(&self, given: &Weights<T>) -> Result<(), TrainError> {
        let params = &self.graph.params;
        let fits = given.values.len() == params.len()
            && given
                .values
                .iter()
                .zip(params)
                .all(|(v, p)| v.len() == p.len());
        match fits {
            true => Ok(()),
            false => Err(TrainError::Unfit {
                what: format!("these weights do not belong to {}", self.graph.name),
                wanted: "draw or load them with its graph",
            }),
        }
    }
}
