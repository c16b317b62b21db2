//! One network: trained, and what became of it.

use polariscope_lens::Observer;
use polariscope_network::Weights;
use polariscope_report::{counted, grouped};
use polariscope_train::{
    Control, Evaluator, FlowConfig, Labels, LossHessian, Objective, Origin, Problem, Samples,
    StopReason, TrainError,
};
use serde::{Deserialize, Serialize};

use super::curvature::{Curvature, curvature};
use super::few::Few;
use super::plan::Plan;
use super::settle::{batch_norm, settled};
use super::{Dynamics, Question};
use crate::dead::Dead;
use crate::descent::{Descent, Stop, descend};
use crate::effective::{Effective, effective};
use crate::gaps::{Gaps, signs};
use crate::spread::decision;
use crate::{Kernels, LandscapeError, flow, moved};

/// Rows that a history has about.
const ROWS: f64 = 200.0;

/// A network at the end of its training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// Which of those that the seed draws.
    pub index: u64,
    /// Steps made.
    pub steps: u64,
    /// Whether every margin is met.
    pub fitted: bool,
    /// What is not learnt.
    pub gaps: Gaps,
    /// Layers of ReLUs with units (of images: channels) that are off on every training sample, and which.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dead_units: Vec<(String, Vec<usize>)>,
    /// Training samples that do not reach the output.
    pub dead_patterns: usize,
    /// Share of test samples in a wrong class.
    pub test_error: f64,
    /// ‖Δw‖/‖w₀‖ of all that is trained.
    pub moved: f64,
    /// The same of every layer, by name.
    pub layers: Vec<(String, f64)>,
    /// How far its tangent kernel moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelMotion>,
    /// Its kernels, frozen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<FrozenPair>,
    /// The Hessian.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curvature: Option<Curvature>,
    /// The effective number of parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective: Option<Effective>,
    /// Steps, and constraints that were not met then.
    pub history: Vec<(u64, usize)>,
}

/// The tangent kernel before and after training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelMotion {
    /// ‖Θ − Θ₀‖/‖Θ₀‖ on the first test samples.
    pub change: f64,
    /// Alignment with the labels on the first training samples, before and after.
    pub alignment: [f64; 2],
}

/// Training with the tangent kernel of the start, and with that of the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrozenPair {
    /// Θ₀.
    pub start: FrozenEnd,
    /// Θ at the end of training.
    pub end: FrozenEnd,
}

/// Where training with a frozen kernel ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrozenEnd {
    /// Share of test samples in a wrong class.
    pub test_error: f64,
    /// These samples.
    pub wrong: Vec<usize>,
    /// Whether every margin is met.
    pub fitted: bool,
}

/// What all networks share.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub problem: &'a Problem,
    pub question: &'a Question,
    pub dynamics: &'a Dynamics,
    pub train: Samples<'a>,
    pub test: Samples<'a>,
    /// Of the training samples and of the test samples.
    pub classes: [&'a [u32]; 2],
    pub plan: Plan,
}

impl Task<'_> {
    /// F = α (f − f₀); batch norm has no f₀ of its own.
    pub fn objective(&self) -> Objective {
        Objective {
            loss: self.question.loss(),
            alpha: self.question.alpha,
            origin: origin(self.problem),
        }
    }

    fn flow_config(&self) -> FlowConfig {
        FlowConfig {
            loss: self.question.loss(),
            alpha: self.question.alpha,
            origin: origin(self.problem),
            margin: self.question.margin,
            max_steps: self.plan.steps,
            ..FlowConfig::default()
        }
    }

    fn descent(&self) -> Descent {
        Descent {
            loss: self.question.loss(),
            margin: self.question.margin,
            alpha: self.question.alpha,
            origin: origin(self.problem),
            rate: self.question.rate,
            decay_every: None,
            floor: 0.0,
            max_steps: self.plan.steps,
        }
    }

    /// Trains network `index` and measures.
    pub fn network(
        &self,
        index: u64,
        observer: &mut dyn Observer,
    ) -> Result<(Network, Weights<f64>), LandscapeError> {
        let (graph, device) = (&self.problem.graph, self.question.setup.device);
        let first = self.settled(Weights::draw(graph, self.question.setup.seed, index))?;
        let sets = (self.train, self.test);
        let few = |points| Few::new((device, graph), sets, self.classes[0], points);
        let few = self.plan.points.map(few);
        let before = few.as_ref().map(|few| few.kernels(&first)).transpose()?;
        let mut network = Network {
            index,
            steps: 0,
            fitted: false,
            gaps: Gaps::default(),
            dead_units: Vec::new(),
            dead_patterns: 0,
            test_error: 0.0,
            moved: 0.0,
            layers: Vec::new(),
            kernel: None,
            frozen: None,
            curvature: None,
            effective: None,
            history: Vec::new(),
        };
        let weights = match self.dynamics {
            Dynamics::Flow => self.flow(&mut network, first.clone(), observer)?,
            Dynamics::Adam { .. } => self.adam(&mut network, first.clone(), observer)?,
        };
        let weights = self.settled(weights)?;
        let dead = Dead::of(device, graph, &weights, self.train.x)?;
        network.dead_patterns = dead.patterns.len();
        network.dead_units = dead.units(graph);
        network.test_error = share(&self.wrong(&self.outputs(&weights, &first)?));
        (network.moved, network.layers) = moved(graph, &first, &weights);
        network.curvature = self.curvature(&weights, &first)?;
        if let (Some(few), Some(before)) = (few, before) {
            network.kernel = Some(few.motion(&before, &few.kernels(&weights)?));
        }
        let among_first = |networks: usize| (index as usize) < networks;
        if among_first(self.plan.frozen) {
            let ends = (self.frozen(&first)?, self.frozen(&weights)?);
            network.frozen = match ends {
                (Some(start), Some(end)) => Some(FrozenPair { start, end }),
                _ => None,
            };
        }
        if among_first(self.plan.ranks) {
            // What the parameters can do needs no labels.
            let x = self.train.x.iter().chain(self.test.x);
            let x: Vec<f64> = x.map(|&x| f64::from(x)).collect();
            let seed = self.question.setup.seed;
            network.effective = Some(effective(graph, &weights, &x, seed)?);
        }
        Ok((network, weights))
    }

    /// Batch norm with the statistics of all training samples.
    fn settled(&self, weights: Weights<f64>) -> Result<Weights<f64>, LandscapeError> {
        let (graph, device) = (&self.problem.graph, self.question.setup.device);
        settled(device, graph, self.objective(), self.train, weights)
    }

    /// By gradient flow.
    fn flow(
        &self,
        network: &mut Network,
        first: Weights<f64>,
        observer: &mut dyn Observer,
    ) -> Result<Weights<f64>, LandscapeError> {
        let (graph, device) = (&self.problem.graph, self.question.setup.device);
        let (objective, signs) = (self.objective(), signs(&self.train, graph.output().len()));
        let origin = Evaluator::on(device, graph, objective).outputs(&first, self.train.x)?;
        let gaps = |f: &[f64]| {
            let predictor: Vec<f64> = objective.predictor(f, &origin).collect();
            Gaps::of(
                self.question.margin,
                graph.output().len(),
                &predictor,
                &signs,
            )
        };
        let mut watch = Watch::new(network, observer);
        let config = self.flow_config();
        let sets = (self.train, self.test);
        let flowed = flow(device, graph, &config, sets, first, |flow| {
            watch.look(flow.state().accepted, || gaps(flow.outputs()).unsatisfied)
        })?;
        watch.settle()?;
        network.steps = flowed.steps;
        network.fitted = flowed.stop == StopReason::Margin;
        let outputs = graph.output().len();
        network.gaps = Gaps::of(self.question.margin, outputs, &flowed.train, &signs);
        network.close();
        Ok(flowed.weights)
    }

    /// By full-batch Adam.
    fn adam(
        &self,
        network: &mut Network,
        first: Weights<f64>,
        observer: &mut dyn Observer,
    ) -> Result<Weights<f64>, LandscapeError> {
        let (graph, device) = (&self.problem.graph, self.question.setup.device);
        let mut watch = Watch::new(network, observer);
        let fitted = descend(device, graph, &self.descent(), self.train, first, |seen| {
            watch.look(seen.step, || seen.gaps.unsatisfied)
        })?;
        watch.settle()?;
        network.steps = fitted.steps;
        network.fitted = fitted.stop == Stop::Margin;
        network.gaps = fitted.gaps;
        network.close();
        Ok(fitted.weights)
    }

    /// F on the test set.
    pub fn outputs(
        &self,
        weights: &Weights<f64>,
        first: &Weights<f64>,
    ) -> Result<Vec<f64>, LandscapeError> {
        let objective = self.objective();
        let device = self.question.setup.device;
        let evaluator = Evaluator::on(device, &self.problem.graph, objective);
        let f = evaluator.outputs(weights, self.test.x)?;
        let origin = match objective.origin {
            Origin::Zero => Vec::new(),
            Origin::Initial => evaluator.outputs(first, self.test.x)?,
        };
        Ok(objective.predictor(&f, &origin).collect())
    }

    /// The Hessian, where it does not take too long.
    fn curvature(
        &self,
        weights: &Weights<f64>,
        first: &Weights<f64>,
    ) -> Result<Option<Curvature>, LandscapeError> {
        let (graph, device) = (&self.problem.graph, self.question.setup.device);
        let Some(count) = self.plan.hessian else {
            return Ok(None);
        };
        let (objective, all) = (self.objective(), self.train);
        let some = Samples {
            x: &all.x[..count * graph.input().len()],
            y: match all.y {
                Labels::Classes(y) => Labels::Classes(&y[..count]),
                targets => targets,
            },
        };
        let origin = match objective.origin {
            Origin::Zero => Vec::new(),
            Origin::Initial => Evaluator::on(device, graph, objective).outputs(first, some.x)?,
        };
        let hessian = LossHessian::of(device, graph, objective, some, &origin)?;
        curvature(&hessian, weights, self.question.setup.seed).map(Some)
    }

    /// Which test samples are put into a wrong class.
    fn wrong(&self, outputs: &[f64]) -> Vec<bool> {
        let rows = outputs.chunks_exact(self.problem.graph.output().len());
        let rows = rows.zip(self.classes[1]);
        rows.map(|(row, class)| decision(row) != *class).collect()
    }

    /// Training with the kernel of some weights; none where it stalls, which says nothing of the network.
    fn frozen(&self, weights: &Weights<f64>) -> Result<Option<FrozenEnd>, LandscapeError> {
        let graph = &self.problem.graph;
        let device = self.question.setup.device;
        let kernels = Kernels::mean(device, graph, weights, (self.train, self.test))?;
        let config = FlowConfig {
            max_steps: FlowConfig::default().max_steps,
            ..self.flow_config()
        };
        let end = match kernels.train(self.train.y, graph.output().len(), &config) {
            Err(LandscapeError::Train(TrainError::Stalled { .. })) => return Ok(None),
            end => end?,
        };
        let wrong = self.wrong(&end.test);
        Ok(Some(FrozenEnd {
            test_error: share(&wrong),
            wrong: (0..wrong.len()).filter(|&i| wrong[i]).collect(),
            fitted: end.stop == StopReason::Margin,
        }))
    }
}

/// Batch norm has no outputs at initialisation of its own.
fn origin(problem: &Problem) -> Origin {
    match batch_norm(&problem.graph) {
        true => Origin::Zero,
        false => Origin::Initial,
    }
}

/// How much of it is true.
fn share(wrong: &[bool]) -> f64 {
    wrong.iter().filter(|wrong| **wrong).count() as f64 / wrong.len().max(1) as f64
}

impl Network {
    /// Ends the history where the training ended.
    fn close(&mut self) {
        let last = (self.steps, self.gaps.unsatisfied);
        if self.history.last() != Some(&last) {
            self.history.push(last);
        }
    }
}

/// Keeps a history, in steps that grow with it, and lets the observer look.
struct Watch<'a> {
    network: &'a mut Network,
    observer: &'a mut dyn Observer,
    outcome: Result<(), LandscapeError>,
    due: f64,
}

impl<'a> Watch<'a> {
    fn new(network: &'a mut Network, observer: &'a mut dyn Observer) -> Self {
        Watch {
            network,
            observer,
            outcome: Ok(()),
            due: 0.0,
        }
    }

    fn look(&mut self, step: u64, unsatisfied: impl Fn() -> usize) -> Control {
        let index = self.network.index;
        if step as f64 >= self.due {
            self.due = (step as f64 + 1.0).max(step as f64 * (1.0 + 10.0 / ROWS));
            self.network.history.push((step, unsatisfied()));
        }
        self.observer.stand(&|| {
            format!(
                "network {}: {}, {} not met",
                index + 1,
                counted(step, "step"),
                grouped(unsatisfied() as u64)
            )
        });
        match self.observer.advance(index, &|| None) {
            Ok(()) => Control::Continue,
            Err(stopped) => {
                self.outcome = Err(stopped.into());
                Control::Stop
            }
        }
    }

    fn settle(self) -> Result<(), LandscapeError> {
        self.outcome
    }
}
