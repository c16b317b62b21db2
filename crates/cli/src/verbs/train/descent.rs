//! Training by steps: SGD and Adam.

use std::time::Instant;

use polariscope_kernels::empirical::{Float, Snapshot};
use polariscope_report::{Axis, counted, duration, pretty};
use polariscope_train::{Config, Outcome, Row, State, Trainer, csv};
use serde::{Deserialize, Serialize};

use super::Job;
use super::report::{Curves, Point};
use super::scores::Scores;
use super::tangent::{Following, Tangent};
use crate::error::CliError;
use crate::output;
use crate::run::{self, Shown};
use crate::watch::{STATE, Watch, Work};

/// The `[result]` of `run.toml`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trained {
    epochs: u64,
    steps: u64,
    /// As the last process measured it.
    seconds_an_epoch: f64,
    #[serde(flatten)]
    scores: Scores,
    /// What became of the tangent kernel, where it was followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ntk: Vec<Snapshot>,
}

impl Shown for Trained {
    fn text(&self, directory: &str) -> String {
        format!(
            "{}\n{}, {}; history.csv, weights.safetensors and report.html in {directory}\n",
            self.scores.table().to_text(output::WIDTH),
            counted(self.epochs, "epoch"),
            counted(self.steps, "step"),
        )
    }
}

/// Trains to the end and writes everything.
pub(super) fn run<T: Float>(job: Job, config: &Config, ntk: Option<usize>) -> Result<(), CliError> {
    let Job {
        problem,
        mut directory,
        request,
        common,
        bytes,
    } = job;
    let (graph, samples) = (&problem.graph, problem.train());
    let state = match directory.restore(STATE)? {
        Some(bytes) => State::<T>::from_bytes(graph, config, &bytes)?,
        None => State::new(graph, config, 0),
    };
    let first = state.step;
    let mut tangent = match ntk {
        Some(points) => {
            let place = (problem, common.device);
            Some(Tangent::new(place, config, points, &directory, first)?)
        }
        None => None,
    };
    let total = config.total_steps(samples.len());
    let sets = (samples, problem.test());
    let mut trainer = Trainer::on(common.place(), graph, config, sets, state)?;
    let work = Work {
        unit: "steps",
        first,
        total,
        words: format!(
            "{} on {}",
            counted(total, "step"),
            counted(samples.len() as u64, "sample")
        ),
        bytes,
    };
    let started = Instant::now();
    let mut watch = Watch::new(&mut directory, work, common);
    let outcome = trainer.run(&mut Following {
        watch: &mut watch,
        tangent: tangent.as_mut(),
    })?;
    watch.finish()?;
    if outcome == Outcome::Stopped {
        return Err(CliError::Failed("training stopped before its end".into()));
    }
    let state = trainer.into_state();
    let here = (state.step - first).max(1) as f64 / config.steps_an_epoch(samples.len()) as f64;
    let points: Vec<Point> = state.history.iter().map(Point::from).collect();
    let Some(last) = points.last() else {
        return Err(CliError::Failed("training left no history".into()));
    };
    let trained = Trained {
        epochs: last.x as u64,
        steps: state.step,
        seconds_an_epoch: started.elapsed().as_secs_f64() / here,
        scores: Scores::new(problem, last),
        ntk: tangent.as_ref().map_or(Vec::new(), |t| t.seen.clone()),
    };
    directory.write("history.csv", csv(&state.history).as_bytes())?;
    directory.write("weights.safetensors", &state.weights.to_bytes(graph))?;
    let answer = format!(
        "After {} ({}) it {}; its training loss is {}. One run, {} an epoch.",
        counted(trained.epochs, "epoch"),
        counted(trained.steps, "step"),
        trained.scores.judgement(),
        pretty(trained.scores.train_loss),
        duration(trained.seconds_an_epoch)
    );
    let curves = Curves {
        x: Axis::linear("epoch"),
        loss: config.loss.to_string(),
        caption: "Training numbers are means over the epoch as the run met its batches, before each update; \
                  test numbers are of the weights at the end of the epoch. One run.",
        points,
    };
    let mut page = curves.page(problem, answer, request);
    if let Some(tangent) = &tangent {
        directory.write("ntk.csv", tangent.csv().as_bytes())?;
        page.push(tangent.section(config.steps_an_epoch(samples.len())));
    }
    directory.write_page(&page)?;
    run::finish(directory, &trained, common)
}

impl From<&Row> for Point {
    fn from(row: &Row) -> Self {
        Self {
            x: row.epoch as f64,
            train_loss: row.train_loss,
            train_accuracy: row.train_accuracy,
            test_loss: row.test_loss,
            test_accuracy: row.test_accuracy,
        }
    }
}
