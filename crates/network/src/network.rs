//! A network to ask: outputs, gradients, tangents, products with Jacobians and Hessians.
//!
//! Outside training samples do not see each other, so a batch is cut into tasks of a fixed number
//! of samples ([`crate::samples_a_task`], on a GPU [`crate::samples_on_a_gpu`]); each runs a plan of its own size.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use polariscope_diff::{Device, Id, Loaded, Number, Program, Trace, jvp, vjp};
use polariscope_graph::Graph;
use rayon::prelude::*;

use crate::cost::{samples_a_task, samples_on_a_gpu};
use crate::lower::{Lowered, Mode, lower};
use crate::products::gradient_products;
use crate::{NetworkError, Weights};

/// The scalar of a sample that is differentiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// Output number k.
    Logit(usize),
    /// Mean of the outputs.
    Mean,
}

/// A question to a network; the plan for it is made once for each batch size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Query {
    Output,
    InputGradient(Scalar),
    InputGradientTangent(Scalar),
    /// Jᵀu in the input, sample by sample.
    InputVjp,
    /// Jᵀu in the parameters, summed over samples.
    ParameterVjp,
    /// J v in the parameters.
    ParameterJvp,
    /// Jᵀ(D J v) with a diagonal D over outputs.
    GaussNewton,
    /// Σ over samples of (Σ_k u_k ∇²f_k) v.
    Curvature,
    /// Products of the gradients of the first rows with those of the others, or among them.
    GradientProducts {
        left: usize,
    },
}

/// A plan and its idle sessions.
pub(crate) struct QueryPlan<T> {
    program: Arc<Program>,
    device: Device,
    idle: Mutex<Vec<Loaded<T>>>,
}

impl<T: Number> QueryPlan<T> {
    /// Runs once in a session of the pool; `read` sees its outputs.
    pub(crate) fn run<R>(
        &self,
        leaves: &[&[T]],
        read: impl FnOnce(&Loaded<T>) -> R,
    ) -> Result<R, NetworkError> {
        let mut idle = self.idle();
        let next = idle.pop();
        // A GPU does one thing after the other, and a session holds some of its memory: there who comes second waits.
        let waiting = match self.device {
            Device::Cpu => {
                drop(idle);
                None
            }
            Device::Cuda(_) => Some(idle),
        };
        let mut session = match next {
            Some(session) => session,
            None => Loaded::new(self.program.clone(), self.device)?,
        };
        session.run(leaves)?;
        let result = read(&session);
        let mut idle = waiting.unwrap_or_else(|| self.idle());
        idle.push(session);
        Ok(result)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Loaded<T>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Plans by question and batch size.
type Plans<T> = HashMap<(Query, usize), Arc<QueryPlan<T>>>;

/// A graph that answers questions about itself for given weights.
///
/// ```
/// use polariscope_graph::{ZooOptions, zoo};
/// use polariscope_network::{Network, Scalar, Weights};
/// let graph = zoo("mlp-2x8", &ZooOptions::default()).unwrap();
/// let network = Network::<f64>::new(graph);
/// let weights = Weights::draw(network.graph(), 0, 0);
/// let x = vec![0.1; 3 * 32 * 32];
/// let gradient = network.input_gradient(&weights, &x, Scalar::Logit(0)).unwrap();
/// assert_eq!(gradient.len(), x.len());
/// ```
pub struct Network<T> {
    graph: Graph,
    device: Device,
    plans: Mutex<Plans<T>>,
}

impl<T: Number> Network<T> {
    /// A network on the CPU.
    pub fn new(graph: Graph) -> Self {
        Network::on(graph, Device::Cpu)
    }

    /// A network on a device.
    pub fn on(graph: Graph, device: Device) -> Self {
        Network {
            graph,
            device,
            plans: Mutex::default(),
        }
    }

    /// Where it runs.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The architecture.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// f(x) for N samples: N × outputs.
    pub fn output(&self, weights: &Weights<T>, x: &[T]) -> Result<Vec<T>, NetworkError> {
        self.by_sample(Query::Output, weights, None, x, None)
    }

    /// ∇ₓ of a scalar of each sample: N × sample.
    pub fn input_gradient(
        &self,
        weights: &Weights<T>,
        x: &[T],
        scalar: Scalar,
    ) -> Result<Vec<T>, NetworkError> {
        self.check_scalar(scalar)?;
        self.by_sample(Query::InputGradient(scalar), weights, None, x, None)
    }

    /// d/dε ∇ₓ f at weights + εv: a tangent in the parameters of the input gradient. Buffers are constants.
    pub fn input_gradient_tangent(
        &self,
        weights: &Weights<T>,
        v: &Weights<T>,
        x: &[T],
        scalar: Scalar,
    ) -> Result<Vec<T>, NetworkError> {
        self.check_scalar(scalar)?;
        self.by_sample(
            Query::InputGradientTangent(scalar),
            weights,
            Some(v),
            x,
            None,
        )
    }

    /// Jᵀ u in the input: Σ over outputs of u ∇ₓf for each sample, N × sample, with u N × outputs.
    pub fn input_vjp(
        &self,
        weights: &Weights<T>,
        x: &[T],
        u: &[T],
    ) -> Result<Vec<T>, NetworkError> {
        self.check_cotangent(self.samples(x)?, u)?;
        self.by_sample(Query::InputVjp, weights, None, x, Some(u))
    }

    /// J v: the change of the outputs along v in the parameters, N × outputs.
    pub fn parameter_jvp(
        &self,
        weights: &Weights<T>,
        v: &Weights<T>,
        x: &[T],
    ) -> Result<Vec<T>, NetworkError> {
        self.by_sample(Query::ParameterJvp, weights, Some(v), x, None)
    }

    /// Jᵀ u: Σ over samples and outputs of u ∇_θ f, with u N × outputs. Buffers get zero.
    pub fn parameter_vjp(
        &self,
        weights: &Weights<T>,
        x: &[T],
        u: &[T],
    ) -> Result<Weights<T>, NetworkError> {
        self.summed(Query::ParameterVjp, weights, None, x, u)
    }

    /// J Jᵀ u: the neural tangent kernel applied to u, N × outputs.
    pub fn ntk_product(
        &self,
        weights: &Weights<T>,
        x: &[T],
        u: &[T],
    ) -> Result<Vec<T>, NetworkError> {
        let gradient = self.parameter_vjp(weights, x, u)?;
        self.parameter_jvp(weights, &gradient, x)
    }

    /// Jᵀ D J v with D diagonal over samples and outputs (`d`, N × outputs): the Gauss–Newton product of a
    /// loss whose second derivative in the outputs is D.
    pub fn gauss_newton_product(
        &self,
        weights: &Weights<T>,
        v: &Weights<T>,
        x: &[T],
        d: &[T],
    ) -> Result<Weights<T>, NetworkError> {
        self.summed(Query::GaussNewton, weights, Some(v), x, d)
    }

    /// Σ u ∇²_θ f v over samples and outputs: with the Gauss–Newton product, the Hessian of any loss of the outputs.
    pub fn curvature_product(
        &self,
        weights: &Weights<T>,
        v: &Weights<T>,
        x: &[T],
        u: &[T],
    ) -> Result<Weights<T>, NetworkError> {
        self.summed(Query::Curvature, weights, Some(v), x, u)
    }

    /// ∇_θ of a scalar for each sample: rows of the Jacobian, trainable parameters in order.
    pub fn sample_gradients(
        &self,
        weights: &Weights<T>,
        x: &[T],
        scalar: Scalar,
    ) -> Result<Vec<Vec<T>>, NetworkError> {
        self.check_scalar(scalar)?;
        let outputs = self.graph.output().len();
        let mut u = vec![T::ZERO; outputs];
        match scalar {
            Scalar::Logit(k) => u[k] = T::ONE,
            Scalar::Mean => u.fill(T::from_f64(1.0 / outputs as f64)),
        }
        self.samples(x)?;
        let row = |x: &[T]| {
            let gradient = self.parameter_vjp(weights, x, &u)?;
            let trainable = self
                .graph
                .trainable()
                .map(|i| gradient.values[i].as_slice());
            Ok(trainable.collect::<Vec<_>>().concat())
        };
        x.par_chunks(self.graph.input().len()).map(row).collect()
    }

    /// Samples a task, for a query and batch that so many samples need.
    pub(crate) fn together(&self, plan: impl Fn(usize) -> (Query, usize)) -> usize {
        match self.device {
            Device::Cpu => samples_a_task(&self.graph),
            Device::Cuda(_) => samples_on_a_gpu(|samples| {
                let (query, batch) = plan(samples);
                self.plan(query, batch).program.numbers() * size_of::<T>()
            }),
        }
    }

    fn check_scalar(&self, scalar: Scalar) -> Result<(), NetworkError> {
        let outputs = self.graph.output().len();
        match scalar {
            Scalar::Logit(k) if k >= outputs => Err(NetworkError::Logit { k, outputs }),
            _ => Ok(()),
        }
    }

    pub(crate) fn check_cotangent(&self, samples: usize, u: &[T]) -> Result<(), NetworkError> {
        let outputs = self.graph.output().len();
        if u.len() == samples * outputs {
            return Ok(());
        }
        Err(NetworkError::Cotangent {
            length: u.len(),
            samples,
            outputs,
        })
    }

    /// Number of samples in x.
    pub(crate) fn samples(&self, x: &[T]) -> Result<usize, NetworkError> {
        let sample = self.graph.input().len();
        if x.is_empty() || !x.len().is_multiple_of(sample) {
            return Err(NetworkError::Input {
                length: x.len(),
                shape: self.graph.input(),
            });
        }
        Ok(x.len() / sample)
    }

    pub(crate) fn check(&self, weights: &Weights<T>) -> Result<(), NetworkError> {
        let fits = weights.values.len() == self.graph.params.len()
            && weights
                .values
                .iter()
                .zip(&self.graph.params)
                .all(|(v, p)| v.len() == p.len());
        fits.then_some(()).ok_or(NetworkError::Weights {
            network: self.graph.name.clone(),
        })
    }

    pub(crate) fn plan(&self, query: Query, batch: usize) -> Arc<QueryPlan<T>> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let program = Arc::new(compile(&self.graph, query, batch));
            Arc::new(QueryPlan {
                program,
                device: self.device,
                idle: Mutex::default(),
            })
        };
        plans.entry((query, batch)).or_insert_with(make).clone()
    }

    /// Leaves of a plan: x, weights, then what the query adds.
    pub(crate) fn leaves<'a>(
        &self,
        weights: &'a Weights<T>,
        v: Option<&'a Weights<T>>,
        x: &'a [T],
        u: Option<&'a [T]>,
    ) -> Vec<&'a [T]> {
        let tangent = v.map(|v| {
            self.graph
                .trainable()
                .map(|i| v.values[i].as_slice())
                .collect::<Vec<_>>()
        });
        let weights = weights.values.iter().map(Vec::as_slice);
        std::iter::once(x)
            .chain(weights)
            .chain(tangent.into_iter().flatten())
            .chain(u)
            .collect()
    }

    /// A query whose answer is a row for each sample.
    fn by_sample(
        &self,
        query: Query,
        weights: &Weights<T>,
        v: Option<&Weights<T>>,
        x: &[T],
        u: Option<&[T]>,
    ) -> Result<Vec<T>, NetworkError> {
        let n = self.samples(x)?;
        self.check(weights)?;
        v.map_or(Ok(()), |v| self.check(v))?;
        let (sample, outputs) = (self.graph.input().len(), self.graph.output().len());
        let row = match query {
            Query::InputGradient(_) | Query::InputGradientTangent(_) | Query::InputVjp => sample,
            _ => outputs,
        };
        let task = self.together(|samples| (query, samples));
        let mut result = vec![T::ZERO; n * row];
        let parts = result
            .par_chunks_mut(task * row)
            .zip(x.par_chunks(task * sample))
            .enumerate();
        parts.try_for_each(|(i, (out, x))| {
            let samples = x.len() / sample;
            let u = u.map(|u| &u[i * task * outputs..][..samples * outputs]);
            let leaves = self.leaves(weights, v, x, u);
            self.plan(query, samples)
                .run(&leaves, |session| out.copy_from_slice(session.output(0)))
        })?;
        Ok(result)
    }

    /// A query whose answer is a sum over samples, shaped like the weights.
    fn summed(
        &self,
        query: Query,
        weights: &Weights<T>,
        v: Option<&Weights<T>>,
        x: &[T],
        u: &[T],
    ) -> Result<Weights<T>, NetworkError> {
        let n = self.samples(x)?;
        self.check(weights)?;
        v.map_or(Ok(()), |v| self.check(v))?;
        let (sample, outputs) = (self.graph.input().len(), self.graph.output().len());
        self.check_cotangent(n, u)?;
        let task = self.together(|samples| (query, samples));
        let part = |(x, u): (&[T], &[T])| {
            let leaves = self.leaves(weights, v, x, Some(u));
            let count = self.graph.trainable().count();
            self.plan(query, x.len() / sample).run(&leaves, |session| {
                let values = (0..count).map(|i| session.output(i).to_vec());
                values.collect::<Vec<_>>()
            })
        };
        let mut total = Weights::zeros(&self.graph);
        let mut add = |part: Vec<Vec<T>>| {
            for (i, values) in self.graph.trainable().zip(part) {
                total.values[i]
                    .iter_mut()
                    .zip(values)
                    .for_each(|(t, v)| *t += v);
            }
        };
        match self.device {
            Device::Cpu => {
                // At most 8 parts are alive together: each is as large as the weights.
                let task = task.max(n.div_ceil(8));
                let parts = x
                    .par_chunks(task * sample)
                    .zip(u.par_chunks(task * outputs))
                    .map(part)
                    .collect::<Result<Vec<_>, _>>()?;
                parts.into_iter().for_each(add);
            }
            Device::Cuda(_) => {
                let mut parts = x.chunks(task * sample).zip(u.chunks(task * outputs));
                parts.try_for_each(|chunk| part(chunk).map(&mut add))?;
            }
        }
        Ok(total)
    }
}

/// The plan of a query for a batch.
fn compile(graph: &Graph, query: Query, batch: usize) -> Program {
    let (trace, wanted) = expressions(graph, query, batch);
    Program::new(&trace, &wanted)
}

/// What a query computes for a batch.
pub(crate) fn expressions(graph: &Graph, query: Query, batch: usize) -> (Trace, Vec<Id>) {
    let Lowered {
        trace: mut t,
        x,
        params,
        output,
        ..
    } = lower(graph, batch, Mode::Evaluate);
    let outputs = graph.output().len();
    let trainable: Vec<Id> = graph.trainable().map(|i| params[i]).collect();
    let tangents = |t: &mut Trace| -> Vec<(Id, Id)> {
        let pairs = trainable.iter().map(|&p| {
            let shape = t.shape(p).to_vec();
            (p, t.leaf(&shape))
        });
        pairs.collect()
    };
    let gradient = |t: &mut Trace, scalar| {
        let (row, bar) = match scalar {
            Scalar::Logit(k) => (t.slice(output, 1, k, 1), 1.0),
            Scalar::Mean => (output, 1.0 / outputs as f64),
        };
        let bar = t.constant_like(bar, row);
        vjp(t, &[(row, bar)], &[x])[0]
    };
    let wanted = match query {
        Query::Output => vec![output],
        Query::InputGradient(scalar) => vec![gradient(&mut t, scalar)],
        Query::InputGradientTangent(scalar) => {
            let v = tangents(&mut t);
            let g = gradient(&mut t, scalar);
            jvp(&mut t, &[g], &v)
        }
        Query::InputVjp => {
            let u = t.leaf(&[batch, outputs]);
            vjp(&mut t, &[(output, u)], &[x])
        }
        Query::ParameterJvp => {
            let v = tangents(&mut t);
            jvp(&mut t, &[output], &v)
        }
        Query::ParameterVjp => {
            let u = t.leaf(&[batch, outputs]);
            vjp(&mut t, &[(output, u)], &trainable)
        }
        Query::GaussNewton => {
            let v = tangents(&mut t);
            let d = t.leaf(&[batch, outputs]);
            let moved = jvp(&mut t, &[output], &v)[0];
            let weighted = t.mul(d, moved);
            vjp(&mut t, &[(output, weighted)], &trainable)
        }
        Query::Curvature => {
            let v = tangents(&mut t);
            let u = t.leaf(&[batch, outputs]);
            let gradients = vjp(&mut t, &[(output, u)], &trainable);
            jvp(&mut t, &gradients, &v)
        }
        // These lower single samples.
        Query::GradientProducts { left } => return gradient_products(graph, batch, left),
    };
    (t, wanted)
}
