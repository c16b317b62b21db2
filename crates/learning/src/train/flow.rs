//! Training by gradient flow.

use polariscope_diff::Number;
use polariscope_lens::{Observer, Work};
use polariscope_network::Weights;
use polariscope_report::{counted, grouped, pretty};
use polariscope_train::{Control, Flow, FlowState, StopReason};
use serde::{Deserialize, Serialize};

use super::answer::Point;
use super::descent::STATE;
use super::{Answer, FlowRun, History, Job, Scores, Summary};
use crate::LearningError;

/// A flow, in a few numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flowed {
    /// Flow time at the end.
    pub time: f64,
    /// Steps accepted.
    pub steps: u64,
    /// Steps refused.
    pub rejected: u64,
    /// Why it ended.
    pub stopped: StopReason,
    /// How well it does at the end.
    #[serde(flatten)]
    pub scores: Scores,
}

impl Flowed {
    pub(super) fn effort(&self) -> String {
        format!(
            "flow time {}, {} ({} refused), {}",
            pretty(self.time),
            counted(self.steps, "step"),
            grouped(self.rejected),
            why(self.stopped)
        )
    }

    pub(super) fn sentence(&self) -> String {
        format!(
            "At flow time {} it {}; its training loss is {}.{} The flow {} ({}, {} refused). One run.",
            pretty(self.time),
            self.scores.judgement(),
            pretty(self.scores.train_loss),
            self.scores.warning(),
            why(self.stopped),
            counted(self.steps, "step"),
            grouped(self.rejected)
        )
    }
}

/// Why it ended.
fn why(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Margin => "stopped with every training sample beyond the margin",
        StopReason::Stationary => "stopped with a gradient of 0",
        StopReason::Time => "stopped at the largest time allowed (max-time)",
        StopReason::Steps => "stopped after the most steps allowed (max-steps)",
        StopReason::Observer => "interrupted",
    }
}

/// Flows to the end.
pub(super) fn run<T: Number>(
    job: &Job,
    asked: &FlowRun,
    observer: &mut dyn Observer,
) -> Result<Answer, LearningError> {
    let (problem, device) = (job.problem, job.question.setup.device);
    let (graph, config) = (&problem.graph, &asked.config);
    let (train, test) = (problem.train(), problem.test());
    let mut flow = match observer.state()? {
        Some(bytes) => {
            let state = FlowState::<T>::from_bytes(&bytes)?;
            Flow::resume(device, graph, config, train, test, state)?
        }
        None => {
            let weights = Weights::draw(graph, asked.init_seed, 0);
            Flow::new(device, graph, config, train, test, weights)?
        }
    };
    observer.begin(Work {
        unit: "steps".into(),
        first: flow.state().accepted,
        total: config.max_steps,
        words: format!(
            "at most {} on {}",
            counted(config.max_steps, "step"),
            counted(train.len() as u64, "sample")
        ),
        bytes: job.bytes,
    });
    let mut failure = None;
    let stopped = flow.run(|flow| match look(observer, flow) {
        Ok(()) => Control::Continue,
        Err(e) => {
            failure = Some(e);
            Control::Stop
        }
    })?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    observer.end();
    let state = flow.into_state();
    let last = state.history.last().ok_or(LearningError::NoHistory)?;
    let summary = Flowed {
        time: state.time,
        steps: state.accepted,
        rejected: state.rejected,
        stopped,
        scores: Scores::new(problem, &Point::from(last)),
    };
    Ok(Answer {
        network: graph.name.clone(),
        data: problem.data.name.clone(),
        summary: Summary::Flow(summary),
        loss: match config.alpha {
            1.0 => config.loss.to_string(),
            _ => format!("{} / α²", config.loss),
        },
        tangent: None,
        weights: state.weights.to_bytes(graph),
        history: History::Flow(state.history),
    })
}

/// After every accepted step.
fn look<T: Number>(observer: &mut dyn Observer, flow: &Flow<T>) -> Result<(), LearningError> {
    let state = flow.state();
    observer.stand(&|| {
        format!(
            "flow time {}  {} steps, {} refused  loss {}",
            pretty(state.time),
            grouped(state.accepted),
            grouped(state.rejected),
            pretty(flow.loss())
        )
    });
    // The first step is always kept: from then on an interruption costs little.
    if state.accepted == 1 {
        observer.keep(STATE, &state.to_bytes())?;
    }
    Ok(observer.advance(state.accepted, &|| Some(state.to_bytes()))?)
}
