//! Training by gradient flow.

use polariscope_empirical::Float;
use polariscope_lens::{Observer, Work};
use polariscope_network::Weights;
use polariscope_report::{counted, grouped, pretty};
use polariscope_train::{Control, Flow, FlowState, StopReason};
use serde::{Deserialize, Serialize};

use super::answer::Point;
use super::descent::STATE;
use super::tangent::{Look, Tangent};
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
    /// What became of the tangent kernel, where it was followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ntk: Vec<Look>,
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
pub(super) fn run<T: Float>(
    job: &Job,
    asked: &FlowRun,
    observer: &mut dyn Observer,
) -> Result<Answer, LearningError> {
    let (problem, device) = (job.problem, job.question.setup.device);
    let (graph, config) = (&problem.graph, &asked.config);
    let (train, test) = (problem.train(), problem.test());
    let start = Weights::draw(graph, asked.init_seed, 0);
    let mut flow = match observer.state()? {
        Some(bytes) => {
            let state = FlowState::<T>::from_bytes(&bytes)?;
            Flow::resume(device, graph, config, train, test, state)?
        }
        None => Flow::new(device, graph, config, train, test, start.clone())?,
    };
    let mut tangent = match job.question.ntk {
        None => None,
        Some(points) => {
            let kept = observer.kept(Tangent::<T>::KEPT)?;
            let kept = (kept.unwrap_or_default(), flow.state().accepted);
            let from = (&start, Some(0.0));
            Some(Tangent::new((problem, device), from, points, kept)?)
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
    let stopped = flow.run(|flow| match look(observer, &mut tangent, flow) {
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
    let tangent = tangent.map(|t| t.followed(None));
    let summary = Flowed {
        time: state.time,
        steps: state.accepted,
        rejected: state.rejected,
        stopped,
        scores: Scores::new(problem, &Point::from(last)),
        ntk: tangent.as_ref().map_or(Vec::new(), |t| t.seen.clone()),
    };
    Ok(Answer {
        network: graph.name.clone(),
        data: problem.data.name.clone(),
        summary: Summary::Flow(summary),
        loss: match config.alpha {
            1.0 => config.loss.to_string(),
            _ => format!("{} / α²", config.loss),
        },
        tangent,
        weights: state.weights.to_bytes(graph),
        history: History::Flow(state.history),
    })
}

/// After every accepted step.
fn look<T: Float>(
    observer: &mut dyn Observer,
    tangent: &mut Option<Tangent<T>>,
    flow: &Flow<T>,
) -> Result<(), LearningError> {
    let state = flow.state();
    let row = state.history.last();
    if let Some(tangent) = tangent
        && row.is_some_and(|row| row.step == state.accepted)
    {
        tangent.look(&state.weights, state.accepted, Some(state.time))?;
        observer.keep(Tangent::<T>::KEPT, tangent.csv().as_bytes())?;
    }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use polariscope_data::Dataset;
    use polariscope_graph::{ZooOptions, zoo};
    use polariscope_lens::{Dtype, Quiet, Stopped};
    use polariscope_train::{FlowConfig, Origin, Problem};

    use super::super::{Method, Question, answer};
    use super::*;

    fn problem(name: &str, activation: &str) -> Problem {
        let data = Dataset::load("stripe?shape=3&train=30&test=10").unwrap();
        let options = ZooOptions {
            input: Some(data.shape),
            outputs: Some(1),
            activation: Some(activation.parse().unwrap()),
            ..ZooOptions::default()
        };
        Problem {
            graph: zoo(name, &options).unwrap(),
            data,
        }
    }

    fn question(alpha: f64) -> Question {
        let config = FlowConfig {
            alpha,
            origin: Origin::Initial,
            max_steps: 95,
            ..FlowConfig::default()
        };
        let mut question = Question {
            ntk: Some(7),
            method: Method::Flow(FlowRun::new(config, 1)),
            ..Question::default()
        };
        question.setup.dtype = Dtype::F64;
        question
    }

    /// The kernel is seen at every row of the history, at its time, and moves as 1/α where training is lazy.
    #[test]
    fn the_kernel_is_seen_at_every_row() {
        let problem = problem("mlp-2x20", "softplus:5");
        let seen = |alpha: f64| {
            let answer = answer(&problem, &question(alpha), &mut Quiet).unwrap();
            let History::Flow(rows) = &answer.history else {
                panic!()
            };
            let looks = answer.tangent.as_ref().unwrap();
            assert_eq!((looks.samples, looks.steps_an_epoch), (7, None));
            let at: Vec<_> = looks.seen.iter().map(|l| (l.kernel.step, l.time)).collect();
            let wanted: Vec<_> = rows.iter().map(|r| (r.step, Some(r.time))).collect();
            assert_eq!(at, wanted);
            assert_eq!(looks.seen[0].kernel.change, 0.0);
            assert!(rows.len() > 8);
            let Summary::Flow(summary) = &answer.summary else {
                panic!()
            };
            assert_eq!(summary.ntk, looks.seen);
            let table = looks.csv();
            let mut lines = table.lines();
            assert_eq!(
                lines.next(),
                Some("step,time,change,alignment,mean_diagonal")
            );
            assert_eq!(lines.count(), rows.len());
            (rows[8].time, looks.seen[8].kernel.change)
        };
        let ((time, slow), (later, slower)) = (seen(1e4), seen(1e5));
        // The same steps, since F does not depend on α here.
        assert!((time / later - 1.0).abs() < 1e-2, "{time} {later}");
        assert!((slow / slower - 10.0).abs() < 0.2, "{slow} {slower}");
    }

    /// Linear in its weights: the kernel stands still.
    #[test]
    fn a_linear_model_keeps_its_kernel() {
        let answer = answer(&problem("logreg", "relu"), &question(1.0), &mut Quiet).unwrap();
        let looks = answer.tangent.unwrap().seen;
        assert!(looks.len() > 3 && looks.iter().all(|l| l.kernel.change < 1e-15));
    }

    /// Stops a run at a step and knows what it had kept.
    struct Interrupter {
        stop: u64,
        state: Option<Vec<u8>>,
        kept: BTreeMap<String, Vec<u8>>,
    }

    impl Observer for Interrupter {
        fn advance(
            &mut self,
            done: u64,
            state: &dyn Fn() -> Option<Vec<u8>>,
        ) -> Result<(), Stopped> {
            if done == self.stop - 4 {
                self.state = state();
            }
            if done == self.stop {
                return Err(Stopped);
            }
            Ok(())
        }
        fn state(&mut self) -> Result<Option<Vec<u8>>, Stopped> {
            Ok(self.state.clone())
        }
        fn keep(&mut self, name: &str, content: &[u8]) -> Result<(), Stopped> {
            self.kept.insert(name.into(), content.into());
            Ok(())
        }
        fn kept(&mut self, name: &str) -> Result<Option<Vec<u8>>, Stopped> {
            Ok(self.kept.get(name).cloned())
        }
    }

    /// The checkpoint is of step 48, before the row of step 50 that had been seen when the process ended: it is seen again.
    #[test]
    fn an_interrupted_flow_ends_as_if_it_had_not_been() {
        let problem = problem("mlp-2x20", "softplus:5");
        let whole = answer(&problem, &question(1.0), &mut Quiet).unwrap();
        let mut interrupter = Interrupter {
            stop: 52,
            state: None,
            kept: BTreeMap::new(),
        };
        assert!(answer(&problem, &question(1.0), &mut interrupter).is_err());
        interrupter.stop = 1000;
        let resumed = answer(&problem, &question(1.0), &mut interrupter).unwrap();
        assert_eq!(resumed.tangent, whole.tangent);
        assert_eq!(resumed.files(), whole.files());
    }
}
