//! Training by steps: SGD and Adam.

use std::time::Instant;

use polariscope_empirical::Float;
use polariscope_lens::{Observer, Work};
use polariscope_report::{counted, duration, pretty};
use polariscope_train::{self as train, Config, Control, Row, State, Trainer};
use serde::{Deserialize, Serialize};

use super::answer::Point;
use super::tangent::{Look, Tangent};
use super::{Answer, History, Job, Scores, Summary};
use crate::LearningError;

/// Name of the checkpoint, as observers know it.
pub(super) const STATE: &str = "state";

/// A run by steps, in a few numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Descended {
    /// Passes over the training set.
    pub epochs: u64,
    /// Updates.
    pub steps: u64,
    /// As the last process measured it.
    pub seconds_an_epoch: f64,
    /// How well it does at the end.
    #[serde(flatten)]
    pub scores: Scores,
    /// What became of the tangent kernel, where it was followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ntk: Vec<Look>,
}

impl Descended {
    pub(super) fn effort(&self) -> String {
        format!(
            "{}, {}",
            counted(self.epochs, "epoch"),
            counted(self.steps, "step")
        )
    }

    pub(super) fn sentence(&self) -> String {
        format!(
            "After {} ({}) it {}; its training loss is {}.{} One run, {} per epoch.",
            counted(self.epochs, "epoch"),
            counted(self.steps, "step"),
            self.scores.judgement(),
            pretty(self.scores.train_loss),
            self.scores.warning(),
            duration(self.seconds_an_epoch)
        )
    }
}

/// Trains to the end.
pub(super) fn run<T: Float>(
    job: &Job,
    config: &Config,
    observer: &mut dyn Observer,
) -> Result<Answer, LearningError> {
    let (problem, setup) = (job.problem, &job.question.setup);
    let (graph, samples) = (&problem.graph, problem.train());
    let state = match observer.state()? {
        Some(bytes) => State::<T>::from_bytes(graph, config, &bytes)?,
        None => State::new(graph, config, 0),
    };
    let first = state.step;
    let tangent = match job.question.ntk {
        None => None,
        Some(points) => {
            let kept = observer.kept(Tangent::<T>::KEPT)?;
            let kept = (kept.unwrap_or_default(), first);
            let start = State::<T>::new(graph, config, 0).weights;
            let followed = (problem, setup.device);
            Some(Tangent::new(followed, (&start, None), points, kept)?)
        }
    };
    let total = config.total_steps(samples.len());
    let sets = (samples, problem.test());
    let mut trainer = Trainer::on(setup.place(), graph, config, sets, state)?;
    observer.begin(Work {
        unit: "steps".into(),
        first,
        total,
        words: format!(
            "{} on {}",
            counted(total, "step"),
            counted(samples.len() as u64, "sample")
        ),
        bytes: job.bytes,
    });
    let started = Instant::now();
    let mut watch = Watch {
        observer,
        tangent,
        failure: None,
    };
    trainer.run(&mut watch)?;
    let Watch {
        tangent, failure, ..
    } = watch;
    if let Some(failure) = failure {
        return Err(failure);
    }
    observer.end();
    let state = trainer.into_state();
    let here = (state.step - first).max(1) as f64 / config.steps_an_epoch(samples.len()) as f64;
    let seconds_an_epoch = started.elapsed().as_secs_f64() / here;
    let last = state.history.last().ok_or(LearningError::NoHistory)?;
    let tangent = tangent.map(|t| t.followed(Some(config.steps_an_epoch(samples.len()))));
    let summary = Descended {
        epochs: last.epoch,
        steps: state.step,
        seconds_an_epoch,
        scores: Scores::new(problem, &Point::from(last)),
        ntk: tangent.as_ref().map_or(Vec::new(), |t| t.seen.clone()),
    };
    Ok(Answer {
        network: graph.name.clone(),
        data: problem.data.name.clone(),
        summary: Summary::Descent(summary),
        loss: config.loss.to_string(),
        tangent,
        weights: state.weights.to_bytes(graph),
        history: History::Descent(state.history),
    })
}

/// Passes on what the trainer shows, and follows the tangent kernel.
struct Watch<'a, T> {
    observer: &'a mut dyn Observer,
    tangent: Option<Tangent<T>>,
    failure: Option<LearningError>,
}

impl<T: Float> Watch<'_, T> {
    fn settle(&mut self, outcome: Result<(), LearningError>) -> Control {
        match outcome {
            Ok(()) => Control::Continue,
            Err(e) => {
                self.failure = Some(e);
                Control::Stop
            }
        }
    }

    fn epoch(&mut self, row: &Row, state: &State<T>) -> Result<(), LearningError> {
        if let Some(tangent) = &mut self.tangent {
            tangent.look(&state.weights, state.step, None)?;
            self.observer
                .keep(Tangent::<T>::KEPT, tangent.csv().as_bytes())?;
        }
        let number = |name: &str, x: Option<f64>| {
            x.map_or(String::new(), |x| format!(", {name} {}", pretty(x)))
        };
        self.observer.row(&format!(
            "epoch {}: train loss {}{}{}{}",
            row.epoch,
            pretty(row.train_loss),
            number("accuracy", row.train_accuracy),
            number("test loss", row.test_loss),
            number("accuracy", row.test_accuracy)
        ));
        // The first epoch is always kept: from then on an interruption costs little.
        match state.history.len() {
            1 => Ok(self.observer.keep(STATE, &state.to_bytes())?),
            _ => Ok(()),
        }
    }
}

impl<T: Float> train::Observer<T> for Watch<'_, T> {
    fn on_step(&mut self, state: &State<T>, _total: u64) -> Control {
        let outcome = self
            .observer
            .advance(state.step, &|| Some(state.to_bytes()));
        self.settle(outcome.map_err(Into::into))
    }

    fn on_epoch(&mut self, row: &Row, state: &State<T>) -> Control {
        let outcome = self.epoch(row, state);
        self.settle(outcome)
    }
}
