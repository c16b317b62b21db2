//! Training to the end: full-batch Adam until every margin is met.
//!
//! L = (1/α²) ℓ(F, y), F = α (f − f₀). The gaps are those of the outputs that the gradient needs anyway: a step that finds
//! none left makes no update.

mod gpu;

use polariscope_diff::{Device, Number};
use polariscope_graph::{Graph, Node, Op};
use polariscope_network::Weights;
use polariscope_train::{
    Batch, BatchGradient, Control, Evaluator, Loss, Moments, Objective, Optimiser, Origin, Samples,
};
use serde::{Deserialize, Serialize};

use crate::LandscapeError;
use crate::gaps::{Gaps, signs};

/// A descent. The default is that of Geiger et al. for the quadratic hinge at margin ½, with the rate and the budget of
/// networks of about 1,000 weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Descent {
    /// ℓ.
    pub loss: Loss,
    /// Stop when every y F is at least this.
    pub margin: f64,
    /// α.
    pub alpha: f64,
    /// f₀.
    pub origin: Origin,
    /// Learning rate of the first step.
    pub rate: f64,
    /// Divide the rate by 10 every so many steps.
    pub decay_every: Option<u64>,
    /// But not below this.
    pub floor: f64,
    /// Stop after this many steps.
    pub max_steps: u64,
}

impl Default for Descent {
    fn default() -> Self {
        Descent {
            loss: Loss::Hinge {
                power: 2.0,
                margin: 0.5,
            },
            margin: 0.5,
            alpha: 1.0,
            origin: Origin::Zero,
            rate: 1e-3,
            decay_every: Some(15_000),
            floor: 1e-7,
            max_steps: 60_000,
        }
    }
}

/// Why a descent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// Every margin is met.
    Margin,
    /// `max_steps`.
    Steps,
    /// The watcher.
    Watcher,
}

/// Where a descent stands.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a, T> {
    /// Updates so far.
    pub step: u64,
    /// L.
    pub loss: f64,
    /// What is not learnt.
    pub gaps: Gaps,
    /// The weights that these numbers are of.
    pub weights: &'a Weights<T>,
}

/// A network at the end of its descent.
#[derive(Clone, Debug)]
pub struct Fitted<T> {
    /// Its weights.
    pub weights: Weights<T>,
    /// f on the training set, N × outputs.
    pub outputs: Vec<T>,
    /// Updates made.
    pub steps: u64,
    /// L.
    pub loss: f64,
    /// What is not learnt.
    pub gaps: Gaps,
    /// Why it ended.
    pub stop: Stop,
}

impl Descent {
    /// Checks every number.
    pub fn check(&self) -> Result<(), LandscapeError> {
        self.loss.check()?;
        let wrong = |setting: &str, value: f64, wanted: &str| {
            Err(LandscapeError::Question(format!(
                "‹{setting} {value}› is out of range; it must be {wanted}"
            )))
        };
        let above = "a finite number above 0";
        for (setting, value) in [("alpha", self.alpha), ("rate", self.rate)] {
            if !(value.is_finite() && value > 0.0) {
                return wrong(setting, value, above);
            }
        }
        if !(self.floor.is_finite() && self.floor >= 0.0) {
            return wrong("floor", self.floor, "a finite number of at least 0");
        }
        if !self.margin.is_finite() {
            return wrong("margin", self.margin, "a finite number");
        }
        match self.decay_every {
            Some(0) => wrong("decay-every", 0.0, "at least 1"),
            _ => Ok(()),
        }
    }

    /// η of a step, from 0.
    pub fn rate(&self, step: u64) -> f64 {
        let decays = self.decay_every.map_or(0, |every| step / every.max(1));
        let rate = self.rate * 0.1_f64.powi(decays.min(400) as i32);
        rate.max(self.floor.min(self.rate))
    }

    fn objective(&self) -> Objective {
        Objective {
            loss: self.loss,
            alpha: self.alpha,
            origin: self.origin,
        }
    }
}

/// Descends from `weights`. `watch` sees every step before its update, on a GPU one in a thousand; the weights it sees last are
/// those that are kept.
pub fn descend<T: Number>(
    device: Device,
    graph: &Graph,
    descent: &Descent,
    train: Samples,
    weights: Weights<T>,
    mut watch: impl FnMut(Seen<T>) -> Control,
) -> Result<Fitted<T>, LandscapeError> {
    descent.check()?;
    train.check(graph, "training")?;
    let batch_norm = |n: &Node| matches!(n.op, Op::BatchNorm { .. });
    if descent.origin == Origin::Initial && graph.nodes.iter().any(batch_norm) {
        return Err(LandscapeError::Question(format!(
            "{} has batch-norm, whose outputs at initialisation depend on the batch: ‹origin zero›",
            graph.name
        )));
    }
    let outputs = graph.output().len();
    let signs: Vec<T> = signs(&train, outputs);
    if let Device::Cuda(ordinal) = device {
        return gpu::descend(ordinal, graph, descent, train, &signs, weights, watch);
    }
    let mut gradient = BatchGradient::on(device, graph, descent.objective(), train.len())?;
    if gradient.is_random() {
        return Err(LandscapeError::Question(format!(
            "{} has dropout, and a descent needs a gradient without chance: set its rate to 0",
            graph.name
        )));
    }
    let origin = match descent.origin {
        Origin::Zero => Vec::new(),
        Origin::Initial => Evaluator::on(device, graph, descent.loss).outputs(&weights, train.x)?,
    };
    let x: Vec<T> = train.x.iter().map(|&x| T::from_f64(f64::from(x))).collect();
    let y: Vec<T> = train.targets(descent.loss, outputs);
    let trainable: Vec<usize> = graph.trainable().collect();
    let mut moments = Moments::new(graph, Optimiser::ADAM);
    let mut fitted = Fitted {
        weights,
        outputs: Vec::with_capacity(signs.len()),
        steps: 0,
        loss: f64::NAN,
        gaps: Gaps::default(),
        stop: Stop::Steps,
    };
    loop {
        let batch = Batch {
            x: &x,
            y: &y,
            origin: &origin,
            seed: 0,
            step: 0,
        };
        gradient.run(&fitted.weights, batch)?;
        let f = gradient.outputs().flatten().copied();
        fitted.outputs.clear();
        fitted.outputs.extend(f);
        let predictor = descent.objective().predictor(&fitted.outputs, &origin);
        let predictor: Vec<T> = predictor.collect();
        fitted.gaps = Gaps::of(descent.margin, outputs, &predictor, &signs);
        fitted.loss = gradient.loss();
        let (step, rate) = (fitted.steps, descent.rate(fitted.steps));
        // A hinge is blind to an output that is infinitely right.
        let finite = fitted.outputs.iter().all(|f| f.to_f64().is_finite());
        if !(finite && fitted.loss.is_finite()) {
            let loss = fitted.loss;
            return Err(LandscapeError::Diverged { step, loss, rate });
        }
        let seen = Seen {
            step,
            loss: fitted.loss,
            gaps: fitted.gaps,
            weights: &fitted.weights,
        };
        let stop = match watch(seen) {
            Control::Stop => Some(Stop::Watcher),
            Control::Continue if fitted.gaps.unsatisfied == 0 => Some(Stop::Margin),
            Control::Continue if step == descent.max_steps => Some(Stop::Steps),
            Control::Continue => None,
        };
        if let Some(stop) = stop {
            return Ok(Fitted { stop, ..fitted });
        }
        for (i, &param) in trainable.iter().enumerate() {
            let values = &mut fitted.weights.values[param];
            let g = gradient.gradient(i);
            Optimiser::ADAM.update((step + 1, rate), &mut moments, i, values, (g, 1.0));
        }
        gradient.follow_statistics(&mut fitted.weights);
        fitted.steps += 1;
    }
}
