//! Gradient flow dw/dt = −∇L by Euler steps of adapted length.
//!
//! L(w) = (1/α²) ℓ(F, y) on the whole training set, F = α (f(w) − f₀). A step w′ = w − dt ∇L(w) is accepted if
//!
//! α max_x |f(w′,x) − f(w,x)| < `max_output_change` and
//! ‖g′ − g‖² / (‖g‖ ‖g′‖) < `max_gradient_change`
//!
//! (0 for the second if either gradient vanishes). dt is divided by 10 when a step is refused, and multiplied
//! by 1.1 when both numbers of an accepted one are below half their bounds. The flow stops when
//! y F > `margin` for every sample and output, when the gradient is 0, or at the end of its budget.
//!
//! Where the gradient jumps, as at a kink of relu, (by more than its bound) no step is short enough: the flow stalls.
//! Batch-norm layers use the statistics of the training set in the gradient, and running ones on the test set.

mod config;
mod halving;
mod history;
mod many;
mod state;

use polariscope_diff::{Device, Dtype, Number};
use polariscope_graph::Graph;
use polariscope_network::Weights;
use serde::{Deserialize, Serialize};

use crate::optimiser::square_sum;
use crate::samples::{correct, widen};
use crate::step::has_batch_norm;
use crate::{
    Batch, BatchGradient, Control, Evaluator, Labels, Objective, Origin, Samples, TrainError,
};

pub use config::{FlowConfig, Tried};
pub use halving::Halving;
pub use history::{FlowRow, flow_csv};
pub use many::{FlowEnd, flows};
pub use state::FlowState;

/// Why a flow ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// Every sample is beyond the margin.
    Margin,
    /// The gradient is 0.
    Stationary,
    /// `max_time`.
    Time,
    /// `max_steps`.
    Steps,
    /// The observer.
    Observer,
}

/// A network that follows its gradient.
pub struct Flow<'a, T> {
    config: &'a FlowConfig,
    objective: Objective,
    classes: Option<&'a [u32]>,
    test: Option<Samples<'a>>,
    evaluator: Evaluator<T>,
    trainable: Vec<usize>,
    gradient: BatchGradient<T>,
    x: Vec<T>,
    y: Vec<T>,
    state: FlowState<T>,
    /// Weights of the step being tried.
    trial: Weights<T>,
    here: Point<T>,
    there: Point<T>,
}

/// Loss, outputs and gradient at one place.
#[derive(Clone)]
struct Point<T> {
    loss: f64,
    f: Vec<T>,
    g: Vec<Vec<T>>,
    norm: f64,
}

impl<'a, T: Number> Flow<'a, T> {
    /// Starts from `weights`.
    pub fn new(
        device: Device,
        graph: &Graph,
        config: &'a FlowConfig,
        train: Samples<'a>,
        test: Option<Samples<'a>>,
        weights: Weights<T>,
    ) -> Result<Self, TrainError> {
        train.check(graph, "training")?;
        test.map_or(Ok(()), |test| test.check(graph, "test"))?;
        let evaluator = Evaluator::on(device, graph, config.loss);
        let origin = |samples: &Samples| match config.origin {
            Origin::Zero => Ok(Vec::new()),
            Origin::Initial => evaluator.outputs(&weights, samples.x),
        };
        let state = FlowState {
            origin: origin(&train)?,
            test_origin: test.as_ref().map_or(Ok(Vec::new()), origin)?,
            weights,
            time: 0.0,
            dt: config.first_dt,
            accepted: 0,
            rejected: 0,
            history: Vec::new(),
        };
        Flow::resume(device, graph, config, train, test, state)
    }

    /// Goes on from a state.
    pub fn resume(
        device: Device,
        graph: &Graph,
        config: &'a FlowConfig,
        train: Samples<'a>,
        test: Option<Samples<'a>>,
        state: FlowState<T>,
    ) -> Result<Self, TrainError> {
        config.check()?;
        train.check(graph, "training")?;
        test.map_or(Ok(()), |test| test.check(graph, "test"))?;
        let (n, outputs) = (train.len(), graph.output().len());
        let sizes = graph.params.iter().map(|p| p.len());
        if !state.weights.values.iter().map(Vec::len).eq(sizes) {
            return Err(TrainError::shapes(graph));
        }
        let (origin, test_origin) = match config.origin {
            Origin::Zero => (0, 0),
            Origin::Initial => (n * outputs, test.map_or(0, |t| t.len()) * outputs),
        };
        if (state.origin.len(), state.test_origin.len()) != (origin, test_origin) {
            let problem = "its initial outputs are of other samples";
            return Err(TrainError::foreign(graph, problem));
        }
        let objective = Objective {
            loss: config.loss,
            alpha: config.alpha,
            origin: config.origin,
        };
        let gradient = BatchGradient::on(device, graph, objective, n)?;
        refuse(graph, config, gradient.is_random())?;
        let trainable: Vec<usize> = graph.trainable().collect();
        let zeros = trainable
            .iter()
            .map(|&i| vec![T::ZERO; graph.params[i].len()]);
        let empty = Point {
            loss: 0.0,
            f: Vec::with_capacity(n * outputs),
            g: zeros.collect(),
            norm: 0.0,
        };
        let mut flow = Flow {
            config,
            objective,
            classes: match train.y {
                Labels::Classes(classes) => Some(classes),
                Labels::Targets { .. } => None,
            },
            test,
            evaluator: Evaluator::on(device, graph, objective),
            trainable,
            gradient,
            x: train.x.iter().map(|&x| widen(x)).collect(),
            y: train.targets(config.loss, outputs),
            trial: state.weights.clone(),
            state,
            here: empty.clone(),
            there: empty,
        };
        flow.look()?;
        std::mem::swap(&mut flow.here, &mut flow.there);
        if !(flow.here.loss.is_finite() && flow.here.norm.is_finite()) {
            return Err(unfit(flow.here.loss, flow.here.norm));
        }
        if flow.state.history.is_empty() {
            flow.close_row()?;
        }
        Ok(flow)
    }

    /// Where the flow stands.
    pub fn state(&self) -> &FlowState<T> {
        &self.state
    }

    /// Ends the flow.
    pub fn into_state(self) -> FlowState<T> {
        self.state
    }

    /// L on the training set.
    pub fn loss(&self) -> f64 {
        self.here.loss
    }

    /// Outputs f on the training set, N × outputs.
    pub fn outputs(&self) -> &[T] {
        &self.here.f
    }

    /// F on the training set.
    fn predictor(&self) -> impl Iterator<Item = T> {
        self.objective.predictor(&self.here.f, &self.state.origin)
    }

    fn close_row(&mut self) -> Result<(), TrainError> {
        let FlowState {
            weights,
            test_origin,
            ..
        } = &self.state;
        let test = match &self.test {
            Some(test) => Some(self.evaluator.evaluate(weights, test, test_origin)?),
            None => None,
        };
        let train_accuracy = self.classes.map(|classes| {
            let predictor: Vec<T> = self.predictor().collect();
            let (n, outputs) = (classes.len(), predictor.len() / classes.len());
            correct(&predictor, outputs, classes.iter().copied()) as f64 / n as f64
        });
        self.state.history.push(FlowRow {
            step: self.state.accepted,
            rejected: self.state.rejected,
            time: self.state.time,
            dt: self.state.dt,
            train_loss: self.here.loss,
            train_accuracy,
            test_loss: test.map(|t| t.loss),
            test_accuracy: test.and_then(|t| t.accuracy),
        });
        Ok(())
    }

    /// Flows until something stops it; `watch` sees every accepted step.
    pub fn run(
        &mut self,
        mut watch: impl FnMut(&Flow<'a, T>) -> Control,
    ) -> Result<StopReason, TrainError> {
        loop {
            if let Some(reason) = self.stops() {
                return Ok(reason);
            }
            self.step()?;
            if watch(self) == Control::Stop {
                return Ok(self.stops().unwrap_or(StopReason::Observer));
            }
        }
    }

    /// The rule that ends the flow here, if any does.
    pub fn stops(&self) -> Option<StopReason> {
        let margin = self.config.margin;
        if self
            .predictor()
            .zip(&self.y)
            .all(|(f, &y)| (f * y).to_f64() > margin)
        {
            Some(StopReason::Margin)
        } else if self.here.norm == 0.0 {
            Some(StopReason::Stationary)
        } else if self.state.time >= self.config.max_time {
            Some(StopReason::Time)
        } else if self.state.accepted >= self.config.max_steps {
            Some(StopReason::Steps)
        } else {
            None
        }
    }

    /// Tries steps until one is accepted; adds a row to the history if one is due.
    fn step(&mut self) -> Result<(), TrainError> {
        loop {
            let left = self.config.max_time - self.state.time;
            let dt = self.state.dt.min(left);
            self.propose(dt);
            self.look()?;
            let tried = match self.there.loss.is_finite() {
                true => self
                    .config
                    .judge(self.output_change(), self.gradient_change()),
                false => Tried::Refused,
            };
            if tried != Tried::Refused {
                std::mem::swap(&mut self.state.weights, &mut self.trial);
                self.gradient.follow_statistics(&mut self.state.weights);
                std::mem::swap(&mut self.here, &mut self.there);
                self.state.time = if dt < left {
                    self.state.time + dt
                } else {
                    self.config.max_time
                };
                self.state.accepted += 1;
                if dt < left {
                    self.state.dt *= tried.factor();
                }
                let due = self.state.accepted.is_multiple_of(self.config.row_every);
                return if due || self.stops().is_some() {
                    self.close_row()
                } else {
                    Ok(())
                };
            }
            // Below the rounding of the weights no shorter step will fare better.
            if dt * self.here.norm <= epsilon(T::DTYPE) * norm(&self.state.weights.values) {
                return Err(TrainError::Stalled {
                    time: self.state.time,
                    dt,
                });
            }
            self.state.rejected += 1;
            self.state.dt = dt * tried.factor();
        }
    }

    /// trial = w − dt g
    fn propose(&mut self, dt: f64) {
        let dt = T::from_f64(dt);
        // Buffers of the network come along.
        for (to, from) in self.trial.values.iter_mut().zip(&self.state.weights.values) {
            to.copy_from_slice(from);
        }
        for (&i, g) in self.trainable.iter().zip(&self.here.g) {
            let weights = self.trial.values[i].iter_mut();
            weights.zip(g).for_each(|(w, &g)| *w -= dt * g);
        }
    }

    /// Fills `there` from the weights in `trial`.
    fn look(&mut self) -> Result<(), TrainError> {
        let batch = Batch {
            x: &self.x,
            y: &self.y,
            origin: &self.state.origin,
            seed: 0,
            step: 0,
        };
        self.gradient.run(&self.trial, batch)?;
        let there = &mut self.there;
        there.loss = self.gradient.loss();
        there.f.clear();
        self.gradient
            .outputs()
            .for_each(|f| there.f.extend_from_slice(f));
        for (i, g) in there.g.iter_mut().enumerate() {
            g.copy_from_slice(self.gradient.gradient(i));
        }
        there.norm = norm(&there.g);
        Ok(())
    }

    /// α max |f′ − f|; NaN if any is.
    fn output_change(&self) -> f64 {
        let pairs = self.here.f.iter().zip(&self.there.f);
        let largest = pairs.fold(0.0_f64, |most, (&a, &b)| {
            let change = (b - a).abs().to_f64();
            if change <= most || most.is_nan() {
                most
            } else {
                change
            }
        });
        self.config.alpha * largest
    }

    /// ‖g′ − g‖²/(‖g‖ ‖g′‖).
    fn gradient_change(&self) -> f64 {
        let norms = self.here.norm * self.there.norm;
        if norms == 0.0 {
            return 0.0;
        }
        let tensor = |(a, b): (&Vec<T>, &Vec<T>)| {
            let squares = a.iter().zip(b).map(|(&a, &b)| ((b - a) * (b - a)).to_f64());
            squares.sum::<f64>()
        };
        self.here
            .g
            .iter()
            .zip(&self.there.g)
            .map(tensor)
            .sum::<f64>()
            / norms
    }
}

/// Refuses networks whose gradient depends on chance, or whose outputs at initialisation are those of a batch.
pub(crate) fn refuse(graph: &Graph, config: &FlowConfig, random: bool) -> Result<(), TrainError> {
    if random {
        return Err(TrainError::Unfit {
            what: format!(
                "gradient flow needs a gradient without chance, and {} has dropout",
                graph.name
            ),
            wanted: "set its rate to 0 or train with sgd",
        });
    }
    if config.origin == Origin::Initial && has_batch_norm(graph) {
        return Err(TrainError::Unfit {
            what: format!(
                "{} has batch-norm, whose outputs at initialisation depend on the batch",
                graph.name
            ),
            wanted: "measure its outputs from origin zero",
        });
    }
    Ok(())
}

/// A start that is no number.
pub(crate) fn unfit(loss: f64, norm: f64) -> TrainError {
    TrainError::Unfit {
        what: format!(
            "gradient flow cannot start from a loss of {loss} and a gradient of norm {norm}"
        ),
        wanted: "scale the data or the weights down, or use f64",
    }
}

/// Euclidean norm over all tensors.
fn norm<T: Number>(tensors: &[Vec<T>]) -> f64 {
    tensors.iter().map(|x| square_sum(x)).sum::<f64>().sqrt()
}

/// Spacing of the numbers after 1.
pub(crate) fn epsilon(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F32 => f64::from(f32::EPSILON),
        Dtype::F64 => f64::EPSILON,
    }
}
