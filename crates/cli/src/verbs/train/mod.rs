//! `train`: a network, a data set, a table of losses and accuracies, the weights at the end.

mod options;

use clap::Args;
use polariscope_data::Dataset;
use polariscope_learning::train::{Job, Question, Summary, page};

use super::subject::Subject;
use crate::args::{ArchitectureArgs, Common, count};
use crate::error::CliError;
use crate::looker::Looker;
use crate::output;
use crate::run::{self, Opened, Shown};
use options::TrainingArgs;

/// What `train` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "`polariscope list data` names the data sets and their parameters.")]
pub struct TrainArgs {
    /// The network.
    #[command(flatten)]
    pub architecture: ArchitectureArgs,
    /// folder:DIR, csv:FILE, mnist:DIR, npy:X,Y or NAME?param=value
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
    let question = Question {
        setup: common.setup(),
        ntk: args.ntk,
        method: args.training.method(common)?,
    };
    // A question that makes no sense is refused before data are read.
    question.check()?;
    let problem = Subject::new(&args.architecture, Dataset::load(&args.data)?)?.problem;
    let job = Job::new(&problem, &question)?;
    let mut configuration = args.architecture.configuration(&problem.graph)?;
    configuration.insert("data".into(), problem.data.name.clone().into());
    configuration.insert("data_fingerprint".into(), problem.fingerprint().into());
    configuration.extend(run::configuration(&question)?);
    let request = run::request("train", &problem.graph.name, configuration, common);
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Summary>(&path, &record, common),
    };
    let mut looker = Looker::new(&mut directory, common);
    let answer = job.answer(&mut looker);
    let answer = looker.settle(answer)?;
    let page = page(&answer, request.settings());
    run::complete(directory, answer.files(), &page, &answer.summary, common)
}

impl Shown for Summary {
    fn text(&self, directory: &str) -> String {
        let text = self.text(output::WIDTH);
        format!("{text}; history.csv, weights.safetensors and report.html in {directory}\n")
    }
}
