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

mod config;
mod state;

use polariscope_diff::Number;
use polariscope_graph::{Graph, Role};
use polariscope_network::{Network, Weights};

use crate::optimiser::square_sum;
use crate::samples::{correct, widen};
use crate::{Batch, BatchGradient, Control, Labels, Objective, Origin, Samples, TrainError};

pub use config::FlowConfig;
pub use state::FlowState;

/// Factor on dt after a refused step.
const SHRINK: f64 = 0.1;
/// Factor on dt after a step well inside the bounds.
const GROW: f64 = 1.1;

/// Why a flow ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// Where a flow stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowRow {
    /// Flow time.
    pub time: f64,
    /// Next step to try.
    pub dt: f64,
    /// Steps accepted.
    pub accepted: u64,
    /// Steps refused.
    pub rejected: u64,
    /// L.
    pub loss: f64,
    /// Fraction of training samples that F puts into their class; nothing for real targets.
    pub accuracy: Option<f64>,
}

/// A network that follows its gradient.
pub struct Flow<'a, T> {
    config: &'a FlowConfig,
    classes: Option<&'a [u32]>,
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
        graph: &Graph,
        config: &'a FlowConfig,
        train: Samples<'a>,
        weights: Weights<T>,
    ) -> Result<Self, TrainError> {
        config.check()?;
        train.check(graph, "training")?;
        let x: Vec<T> = train.x.iter().map(|&x| widen(x)).collect();
        let origin = match config.origin {
            Origin::Zero => Vec::new(),
            Origin::Initial => Network::new(graph.clone())
                .output(&weights, &x)
                .map_err(|_| foreign(graph, "its weights have other shapes"))?,
        };
        let dt = config.first_dt;
        let state = FlowState {
            weights,
            origin,
            time: 0.0,
            dt,
            accepted: 0,
            rejected: 0,
        };
        Flow::resume(graph, config, train, state)
    }

    /// Goes on from a state.
    pub fn resume(
        graph: &Graph,
        config: &'a FlowConfig,
        train: Samples<'a>,
        state: FlowState<T>,
    ) -> Result<Self, TrainError> {
        config.check()?;
        train.check(graph, "training")?;
        let (n, outputs) = (train.len(), graph.output().len());
        if !state
            .weights
            .values
            .iter()
            .map(Vec::len)
            .eq(graph.params.iter().map(|p| p.len()))
        {
            return Err(foreign(graph, "its weights have other shapes"));
        }
        let origin = if config.origin == Origin::Initial {
            n * outputs
        } else {
            0
        };
        if state.origin.len() != origin {
            return Err(foreign(
                graph,
                "its initial outputs are of another training set",
            ));
        }
        let objective = Objective {
            loss: config.loss,
            alpha: config.alpha,
            origin: config.origin,
        };
        let gradient = BatchGradient::new(graph, objective, n)?;
        if gradient.is_random() {
            return Err(TrainError::Unfit {
                what: format!(
                    "gradient flow needs a gradient without chance, and {} has dropout",
                    graph.name
                ),
                wanted: "set its rate to 0 or train with sgd",
            });
        }
        let params = graph.params.iter().enumerate();
        let trainable: Vec<usize> = params
            .filter(|(_, p)| p.role == Role::Trainable)
            .map(|(i, _)| i)
            .collect();
        let empty = Point {
            loss: 0.0,
            f: Vec::with_capacity(n * outputs),
            g: trainable
                .iter()
                .map(|&i| vec![T::ZERO; graph.params[i].len()])
                .collect(),
            norm: 0.0,
        };
        let mut flow = Flow {
            config,
            classes: match train.y {
                Labels::Classes(classes) => Some(classes),
                Labels::Targets { .. } => None,
            },
            trainable,
            gradient,
            x: train.x.iter().map(|&x| widen(x)).collect(),
            y: train.targets(config.loss, outputs),
            trial: state.weights.clone(),
            state,
            here: empty.clone(),
            there: empty,
        };
        flow.look();
        std::mem::swap(&mut flow.here, &mut flow.there);
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

    /// Outputs f on the training set, N × outputs.
    pub fn outputs(&self) -> &[T] {
        &self.here.f
    }

    /// Time, steps, loss and accuracy.
    pub fn row(&self) -> FlowRow {
        let FlowState {
            time,
            dt,
            accepted,
            rejected,
            ..
        } = self.state;
        let n = self.classes.map_or(1, <[u32]>::len);
        let outputs = self.here.f.len() / n;
        let accuracy = self.classes.map(|classes| {
            let predictor: Vec<T> = self.predictor().collect();
            correct(&predictor, outputs, classes.iter().copied()) as f64 / n as f64
        });
        FlowRow {
            time,
            dt,
            accepted,
            rejected,
            loss: self.here.loss,
            accuracy,
        }
    }

    /// F on the training set.
    fn predictor(&self) -> impl Iterator<Item = T> {
        let alpha = T::from_f64(self.config.alpha);
        let origin = self
            .state
            .origin
            .iter()
            .copied()
            .chain(std::iter::repeat(T::ZERO));
        self.here
            .f
            .iter()
            .zip(origin)
            .map(move |(&f, f0)| alpha * (f - f0))
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

    /// Tries steps until one is accepted.
    pub fn step(&mut self) -> Result<(), TrainError> {
        loop {
            let left = self.config.max_time - self.state.time;
            let dt = self.state.dt.min(left);
            let moved = self.propose(dt);
            self.look();
            let output = self.output_change() / self.config.max_output_change;
            let gradient = self.gradient_change() / self.config.max_gradient_change;
            // Written so that NaN is refused.
            if output < 1.0 && gradient < 1.0 && self.there.loss.is_finite() {
                std::mem::swap(&mut self.state.weights, &mut self.trial);
                self.gradient.follow_statistics(&mut self.state.weights);
                std::mem::swap(&mut self.here, &mut self.there);
                self.state.time = if dt < left {
                    self.state.time + dt
                } else {
                    self.config.max_time
                };
                self.state.accepted += 1;
                if dt < left && output < 0.5 && gradient < 0.5 {
                    self.state.dt *= GROW;
                }
                return Ok(());
            }
            if !moved || self.state.dt < f64::MIN_POSITIVE {
                return Err(TrainError::Stalled {
                    time: self.state.time,
                    dt,
                });
            }
            self.state.rejected += 1;
            self.state.dt = dt * SHRINK;
        }
    }

    /// trial = w − dt g; whether that differs from w.
    fn propose(&mut self, dt: f64) -> bool {
        let dt = T::from_f64(dt);
        // Buffers of the network come along.
        for (to, from) in self.trial.values.iter_mut().zip(&self.state.weights.values) {
            to.copy_from_slice(from);
        }
        let mut moved = false;
        for (&i, g) in self.trainable.iter().zip(&self.here.g) {
            for (w, &g) in self.trial.values[i].iter_mut().zip(g) {
                let to = *w - dt * g;
                moved |= to != *w;
                *w = to;
            }
        }
        moved
    }

    /// Fills `there` from the weights in `trial`.
    fn look(&mut self) {
        let batch = Batch {
            x: &self.x,
            y: &self.y,
            origin: &self.state.origin,
            seed: 0,
            step: 0,
        };
        self.gradient.run(&self.trial, batch);
        let there = &mut self.there;
        there.loss = self.gradient.loss();
        there.f.clear();
        self.gradient
            .outputs()
            .for_each(|f| there.f.extend_from_slice(f));
        let mut squares = 0.0;
        for (i, g) in there.g.iter_mut().enumerate() {
            g.copy_from_slice(self.gradient.gradient(i));
            squares += square_sum(g);
        }
        there.norm = squares.sqrt();
    }

    /// α max |f′ − f|; NaN if any is.
    fn output_change(&self) -> f64 {
        let pairs = self.here.f.iter().zip(&self.there.f);
        let largest = pairs.fold(0.0_f64, |most, (&a, &b)| {
            let change = (b - a).abs().to_f64();
            if change <= most { most } else { change }
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

fn foreign(graph: &Graph, problem: &str) -> TrainError {
    TrainError::Foreign {
        what: "state",
        network: graph.name.clone(),
        problem: problem.to_owned(),
    }
}
