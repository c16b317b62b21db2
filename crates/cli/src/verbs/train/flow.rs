//! Training by gradient flow.

use polariscope_diff::Number;
use polariscope_network::Weights;
use polariscope_report::{Axis, counted, grouped, pretty};
use polariscope_train::{Control, Flow, FlowConfig, FlowRow, FlowState, StopReason, flow_csv};
use serde::{Deserialize, Serialize};

use super::Job;
use super::report::{Curves, Point};
use super::scores::Scores;
use crate::error::CliError;
use crate::output;
use crate::run::{self, Shown};
use crate::watch::{STATE, Watch, Work};

/// The `[result]` of `run.toml`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trained {
    time: f64,
    steps: u64,
    rejected: u64,
    stopped: StopReason,
    #[serde(flatten)]
    scores: Scores,
}

impl Shown for Trained {
    fn text(&self, directory: &str) -> String {
        format!(
            "{}\nflow time {}, {} ({} refused), {}; history.csv, weights.safetensors and report.html in {directory}\n",
            self.scores.table().to_text(output::WIDTH),
            pretty(self.time),
            counted(self.steps, "step"),
            grouped(self.rejected),
            why(self.stopped)
        )
    }
}

/// Why it ended.
fn why(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Margin => "stopped with every training sample beyond the margin",
        StopReason::Stationary => "stopped with a gradient of 0",
        StopReason::Time => "stopped at --max-time",
        StopReason::Steps => "stopped after --steps",
        StopReason::Observer => "interrupted",
    }
}

/// Flows to the end and writes everything.
pub(super) fn run<T: Number>(
    job: Job,
    config: &FlowConfig,
    init_seed: u64,
) -> Result<(), CliError> {
    let Job {
        problem,
        mut directory,
        request,
        common,
        bytes,
    } = job;
    let graph = &problem.graph;
    let (train, test) = (problem.train(), problem.test());
    let mut flow = match directory.restore(STATE)? {
        Some(bytes) => {
            let state = FlowState::<T>::from_bytes(&bytes)?;
            Flow::resume(common.device, graph, config, train, test, state)?
        }
        None => {
            let weights = Weights::draw(graph, init_seed, 0);
            Flow::new(common.device, graph, config, train, test, weights)?
        }
    };
    let work = Work {
        unit: "steps",
        first: flow.state().accepted,
        total: config.max_steps,
        words: format!(
            "at most {} on {}",
            counted(config.max_steps, "step"),
            counted(train.len() as u64, "sample")
        ),
        bytes,
    };
    let mut watch = Watch::new(&mut directory, work, common);
    let stopped = flow.run(|flow| look(&mut watch, flow))?;
    watch.finish()?;
    let state = flow.into_state();
    let points: Vec<Point> = state.history.iter().map(Point::from).collect();
    let (
        StopReason::Margin | StopReason::Stationary | StopReason::Time | StopReason::Steps,
        Some(last),
    ) = (stopped, points.last())
    else {
        return Err(CliError::Failed("the flow stopped before its end".into()));
    };
    let trained = Trained {
        time: state.time,
        steps: state.accepted,
        rejected: state.rejected,
        stopped,
        scores: Scores::new(problem, last),
    };
    directory.write("history.csv", flow_csv(&state.history).as_bytes())?;
    directory.write("weights.safetensors", &state.weights.to_bytes(graph))?;
    let answer = format!(
        "At flow time {} it {}; its training loss is {}. The flow {} ({}, {} refused). One run.",
        pretty(trained.time),
        trained.scores.judgement(),
        pretty(trained.scores.train_loss),
        why(stopped),
        counted(trained.steps, "step"),
        grouped(trained.rejected)
    );
    let curves = Curves {
        x: Axis::log("flow time"),
        loss: match config.alpha {
            1.0 => config.loss.to_string(),
            _ => format!("{} / α²", config.loss),
        },
        caption: "Both sets at the same weights. One run.",
        points,
    };
    directory.write_page(&curves.page(problem, answer, request))?;
    run::finish(directory, &trained, common)
}

/// After every accepted step.
fn look<T: Number>(watch: &mut Watch, flow: &Flow<T>) -> Control {
    let state = flow.state();
    watch.progress.draw(|| {
        format!(
            "flow time {}  {} steps, {} refused  loss {}",
            pretty(state.time),
            grouped(state.accepted),
            grouped(state.rejected),
            pretty(flow.loss())
        )
    });
    match state.accepted {
        // The first step is always kept: from then on an interruption costs little.
        1 => watch.save(&state.to_bytes()),
        step => watch.tick(step, || state.to_bytes()),
    }
}

impl From<&FlowRow> for Point {
    fn from(row: &FlowRow) -> Self {
        Self {
            x: row.time,
            train_loss: row.train_loss,
            train_accuracy: row.train_accuracy,
            test_loss: row.test_loss,
            test_accuracy: row.test_accuracy,
        }
    }
}
