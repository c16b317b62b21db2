//! `train`: a network, a data set, a table of losses and accuracies, the weights at the end.

mod options;
mod problem;
mod report;
mod watch;

use std::path::Path;
use std::time::Instant;

use clap::Args;
use polariscope_diff::Number;
use polariscope_graph::Graph;
use polariscope_report::{Align, Table};
use polariscope_train::{Config, Outcome, Row, State, Trainer, csv};
use serde::{Deserialize, Serialize};

use crate::args::{ArchitectureArgs, Common, Dtype};
use crate::error::CliError;
use crate::output;
use crate::run::{self, Opened, Record, Request, RunDirectory};
use options::TrainingArgs;
use problem::Problem;
use watch::Watch;

/// Name of the checkpoint.
const STATE: &str = "state";

/// What `train` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "`polariscope list data` names the data sets and their parameters.")]
pub struct TrainArgs {
    /// The network.
    #[command(flatten)]
    pub architecture: ArchitectureArgs,
    /// mnist:DIR, cifar10:DIR, cifar2:DIR, npy:X,Y or NAME?param=value
    #[arg(long, value_name = "SPEC", help_heading = "Training")]
    pub data: String,
    /// How to train.
    #[command(flatten)]
    pub training: TrainingArgs,
}

/// The `[result]` of `run.toml`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Trained {
    epochs: u64,
    steps: u64,
    train_samples: usize,
    test_samples: usize,
    parameters: usize,
    train_loss: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    train_accuracy: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    test_loss: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    test_accuracy: Option<f64>,
    /// As the last process measured it.
    seconds_an_epoch: f64,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    directory: String,
    files: &'a [String],
    #[serde(flatten)]
    trained: &'a Trained,
}

/// Trains in the precision asked for.
pub fn run(args: &TrainArgs, common: &Common) -> Result<(), CliError> {
    let config = args.training.config(common)?;
    let problem = Problem::load(args)?;
    let mut configuration = args.architecture.configuration(&problem.graph)?;
    configuration.insert("data".into(), problem.data.name.clone().into());
    configuration.insert("data_fingerprint".into(), problem.fingerprint().into());
    let training = toml::Table::try_from(&config)
        .map_err(|e| CliError::Failed(format!("cannot express the settings as TOML: {e}")))?;
    configuration.insert("training".into(), toml::Value::Table(training));
    let request = Request::new("train", &problem.graph.name, configuration, common);
    match run::open(&request, common)? {
        Opened::Finished(path, record) => show(&path, &record, common),
        Opened::Work(directory) => match common.dtype {
            Dtype::F32 => train::<f32>(&problem, &config, directory, &request, common),
            Dtype::F64 => train::<f64>(&problem, &config, directory, &request, common),
        },
    }
}

fn train<T: Number>(
    problem: &Problem,
    config: &Config,
    mut directory: RunDirectory,
    request: &Request,
    common: &Common,
) -> Result<(), CliError> {
    let graph = &problem.graph;
    let state = match directory.restore(STATE)? {
        Some(bytes) => State::<T>::from_bytes(graph, config, &bytes)?,
        None => State::new(graph, config, 0),
    };
    let first = state.step;
    let (samples, test) = (problem.train(), problem.test());
    let mut trainer = Trainer::new(graph, config, samples, test, state)?;
    let started = Instant::now();
    let memory = problem.memory::<T>(config);
    let mut watch = Watch::new(&mut directory, &trainer, samples.len(), memory, common);
    let outcome = trainer.run(&mut watch)?;
    watch.finish()?;
    if outcome == Outcome::Stopped {
        return Err(CliError::Failed("training stopped before its end".into()));
    }
    let state = trainer.into_state();
    let here = (state.step - first).max(1) as f64 / config.steps_an_epoch(samples.len()) as f64;
    let seconds = started.elapsed().as_secs_f64() / here;
    let Some(last) = state.history.last() else {
        return Err(CliError::Failed("training left no history".into()));
    };
    let trained = Trained::new(problem, graph, last, state.step, seconds);
    directory.write("history.csv", csv(&state.history).as_bytes())?;
    directory.write("weights.safetensors", &state.weights.to_bytes(graph))?;
    for (name, content) in report::page(problem, config, &state.history, &trained, request).files()
    {
        directory.write(&name, content.as_bytes())?;
    }
    let path = directory.path().to_path_buf();
    let record = directory.finish(&trained)?;
    show(&path, &record, common)
}

/// Prints the result of this or an earlier run.
fn show(path: &Path, record: &Record, common: &Common) -> Result<(), CliError> {
    let result = toml::Value::Table(record.result.clone());
    let trained: Trained = result.try_into().map_err(|e: toml::de::Error| {
        CliError::Usage(format!(
            "{}: the [result] of run.toml is not one of train ({}); --force runs it again",
            path.display(),
            e.message()
        ))
    })?;
    if common.json {
        return output::print_json(&Shown {
            directory: path.display().to_string(),
            files: &record.files,
            trained: &trained,
        });
    }
    output::print(&format!(
        "{}\n{} epochs, {} steps; history.csv, weights.safetensors and report.html in {}\n",
        trained.table().to_text(output::WIDTH),
        trained.epochs,
        trained.steps,
        path.display()
    ))
}

impl Trained {
    fn new(problem: &Problem, graph: &Graph, last: &Row, steps: u64, seconds: f64) -> Self {
        Self {
            epochs: last.epoch,
            steps,
            train_samples: problem.data.train.len(),
            test_samples: problem.data.test.len(),
            parameters: graph.parameter_count(),
            train_loss: last.train_loss,
            train_accuracy: last.train_accuracy,
            test_loss: last.test_loss,
            test_accuracy: last.test_accuracy,
            seconds_an_epoch: seconds,
        }
    }

    fn table(&self) -> Table {
        use Align::{Left, Right};
        let columns = [
            ("set", Left),
            ("samples", Right),
            ("loss", Right),
            ("accuracy", Right),
        ];
        let mut table = Table::new(columns);
        let train = (
            self.train_samples,
            Some(self.train_loss),
            self.train_accuracy,
        );
        let test = (self.test_samples, self.test_loss, self.test_accuracy);
        for (name, (samples, loss, accuracy)) in [("train", train), ("test", test)] {
            if samples > 0 {
                table.push([name.into(), samples.into(), loss.into(), accuracy.into()]);
            }
        }
        table
    }
}
