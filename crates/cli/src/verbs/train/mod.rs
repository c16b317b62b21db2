//! `train`: a network, a data set, a table of losses and accuracies, the weights at the end.

mod descent;
mod flow;
mod options;
mod report;
mod scores;
mod tangent;

use clap::Args;
use polariscope_data::Dataset;
use polariscope_diff::Precision;
use polariscope_kernels::empirical::Float;
use polariscope_lens::afford;
use polariscope_train::Problem;

use super::subject::Subject;

use crate::args::{ArchitectureArgs, Common, Dtype, count};
use crate::error::CliError;
use crate::run::{self, Opened, Request, RunDirectory};
use options::{Method, TrainingArgs};

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
    /// Follow the tangent kernel on the first N training samples
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Training", allow_negative_numbers = true)]
    pub ntk: Option<usize>,
}

/// Trains, or shows what an earlier run of the same command found.
pub fn run(args: &TrainArgs, common: &Common) -> Result<(), CliError> {
    let method = args.training.method(common)?;
    if let (Method::Flow { .. }, Precision::Fast) = (&method, common.precision) {
        return Err(CliError::Usage(
            "--precision fast: gradient flow goes by small differences of gradients; leave it out"
                .into(),
        ));
    }
    let problem = Subject::new(&args.architecture, Dataset::load(&args.data)?)?.problem;
    let mut configuration = args.architecture.configuration(&problem.graph)?;
    configuration.insert("data".into(), problem.data.name.clone().into());
    configuration.insert("data_fingerprint".into(), problem.fingerprint().into());
    configuration.insert("training".into(), toml::Value::Table(method.table()?));
    if let Some(points) = args.ntk {
        if let Method::Flow { .. } = method {
            return Err(CliError::Usage(
                "--ntk follows sgd and adam; leave it out of --optimiser flow".into(),
            ));
        }
        configuration.insert("ntk".into(), toml::Value::Integer(points as i64));
    }
    let request = run::request("train", &problem.graph.name, configuration, common);
    let bytes = method.memory(&problem, common.dtype.size());
    afford(bytes, "choose a smaller network or fewer samples at a time")?;
    let directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => {
            return match method {
                Method::Descent(_) => run::show::<descent::Trained>(&path, &record, common),
                Method::Flow { .. } => run::show::<flow::Trained>(&path, &record, common),
            };
        }
    };
    let job = Job {
        problem: &problem,
        directory,
        request: &request,
        common,
        bytes,
    };
    match common.dtype {
        Dtype::F32 => train::<f32>(job, &method, args.ntk),
        Dtype::F64 => train::<f64>(job, &method, args.ntk),
    }
}

/// A run that was granted.
struct Job<'a> {
    problem: &'a Problem,
    directory: RunDirectory,
    request: &'a Request,
    common: &'a Common,
    /// Memory that it needs.
    bytes: f64,
}

fn train<T: Float>(job: Job, method: &Method, ntk: Option<usize>) -> Result<(), CliError> {
    match method {
        Method::Descent(config) => descent::run::<T>(job, config, ntk),
        Method::Flow { config, init_seed } => flow::run::<T>(job, config, *init_seed),
    }
}
