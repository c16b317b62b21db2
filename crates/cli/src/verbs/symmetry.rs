//! `symmetry`: what a learning system cannot tell apart.

use clap::Args;
use polariscope_data::Dataset;
use polariscope_kernels::symmetry::{Question, Summary, answer, page};

use super::geometry::command;
use super::subject::Subject;
use crate::args::{ArchitectureArgs, Common, count};
use crate::error::{CliError, flags};
use crate::looker::Looker;
use crate::output;
use crate::run::{self, Opened, Shown};

/// What `symmetry` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "The kernels and runs are always computed in f64.")]
pub struct SymmetryArgs {
    /// The network.
    #[command(flatten)]
    pub architecture: ArchitectureArgs,
    /// Check on cifar10:DIR, npy:X,Y or NAME?param=value [default: normal numbers]
    #[arg(long, value_name = "SPEC", help_heading = "Check")]
    pub data: Option<String>,
    /// Samples to transform
    #[arg(long, value_name = "N", default_value_t = Question::default().samples, value_parser = count, allow_negative_numbers = true, help_heading = "Check")]
    pub samples: usize,
    /// Updates of the training runs that are compared
    #[arg(long, value_name = "N", default_value_t = Question::default().steps, value_parser = count, allow_negative_numbers = true, help_heading = "Check")]
    pub steps: usize,
}

/// Deduces and checks, or shows what an earlier run of the same command found.
pub fn run(args: &SymmetryArgs, common: &Common) -> Result<(), CliError> {
    let question = Question {
        setup: common.setup(),
        samples: args.samples,
        steps: args.steps,
    };
    let (graph, mut configuration, data) = match &args.data {
        None => {
            let graph = args.architecture.graph()?;
            let configuration = args.architecture.configuration(&graph)?;
            (graph, configuration, None)
        }
        Some(spec) => {
            let subject = Subject::new(&args.architecture, Dataset::load(spec)?)?;
            let graph = subject.problem.graph.clone();
            let mut configuration = subject.architecture.configuration(&graph)?;
            subject.configure(&mut configuration);
            (graph, configuration, Some(subject.problem.data))
        }
    };
    configuration.extend(run::configuration(&question)?);
    let request = run::request("symmetry", &graph.name, configuration, common);
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Summary>(&path, &record, common),
    };
    let mut looker = Looker::new(&mut directory, common);
    let found = answer(&graph, data.as_ref(), &question, &mut looker);
    let mut found = looker.settle(found)?;
    found.summary.words = flags(&found.summary.words);
    directory.write("groups.csv", found.summary.csv().as_bytes())?;
    directory.write("motions.csv", found.summary.places_csv().as_bytes())?;
    directory.write_page(&page(&found, &command(&request), request.settings()))?;
    run::finish(directory, &found.summary, common)
}

impl Shown for Summary {
    fn text(&self, directory: &str) -> String {
        let text = self.text(output::WIDTH);
        format!("{text}\ngroups.csv, motions.csv and report.html in {directory}\n")
    }
}
