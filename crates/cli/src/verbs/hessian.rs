//! `hessian`: the curvature of the loss at given weights.

use std::path::PathBuf;

use clap::Args;
use polariscope_data::Dataset;
use polariscope_landscape::hessian::{
    DENSE, Job, Products, Question, Subject, Summary, Which, page,
};
use polariscope_learning::weights::{Weights, read};
use polariscope_train::{Loss, Problem};

use super::geometry::command;
use super::subject;
use crate::args::{ArchitectureArgs, Common, count, named};
use crate::error::{CliError, flags};
use crate::looker::Looker;
use crate::output;
use crate::run::{self, Opened, Shown, fingerprint_bytes};

/// What `hessian` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = format!(
    "Up to {DENSE} parameters all eigenvalues are computed; above, products with one matrix. Always in f64."
))]
pub struct HessianArgs {
    /// The network.
    #[command(flatten)]
    pub architecture: ArchitectureArgs,
    /// Training samples: folder:DIR, csv:FILE, mnist:DIR, npy:X,Y, NAME?param=value
    #[arg(long, value_name = "SPEC", help_heading = "Curvature")]
    pub data: String,
    /// Weights as safetensors; without it the initial ones that --seed draws
    #[arg(long, value_name = "FILE", help_heading = "Curvature")]
    pub weights: Option<PathBuf>,
    /// Loss of a sample, as of train: hinge:2,0.5, mse, …
    #[arg(long, value_name = "NAME", default_value_t = Question::default().loss, help_heading = "Curvature")]
    pub loss: Loss,
    /// The first so many training samples [default: 2000, by products 128]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true, help_heading = "Curvature")]
    pub samples: Option<usize>,
    /// hessian, gauss-newton, curvature or fisher [default: hessian]
    #[arg(long, value_name = "NAME", value_parser = which, help_heading = "By products")]
    pub matrix: Option<Which>,
    /// Random probes of the density [default: 10]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true, help_heading = "By products")]
    pub probes: Option<usize>,
    /// Products of each probe [default: 40]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true, help_heading = "By products")]
    pub steps: Option<usize>,
    /// Eigenvalues at either end [default: 10]
    #[arg(long, value_name = "K", value_parser = count, allow_negative_numbers = true, help_heading = "By products")]
    pub top: Option<usize>,
}

/// Computes, or shows what an earlier run of the same command found.
pub fn run(args: &HessianArgs, common: &Common) -> Result<(), CliError> {
    let question = Question {
        setup: common.setup(),
        loss: args.loss,
        samples: args.samples,
        products: Products {
            matrix: args.matrix,
            probes: args.probes,
            steps: args.steps,
            top: args.top,
        },
    };
    let found = subject::Subject::new(&args.architecture, Dataset::load(&args.data)?)?;
    let mut configuration = found.architecture.configuration(&found.problem.graph)?;
    found.configure(&mut configuration);
    let Problem { graph, data } = found.problem;
    let (graph, weights) = match &args.weights {
        None => {
            let weights = Weights::<f64>::draw(&graph, common.seed, 0);
            (graph, weights)
        }
        Some(path) => {
            let bytes = read(path)?;
            configuration.insert("weights".into(), fingerprint_bytes(&bytes).into());
            found.architecture.fit(graph, &bytes, path)?
        }
    };
    let subject = Subject {
        problem: Problem { graph, data },
        weights,
        initial: args.weights.is_none(),
    };
    let job = Job::new(&subject, &question)?;
    configuration.extend(run::configuration(&question)?);
    let request = run::request(
        "hessian",
        &subject.problem.graph.name,
        configuration,
        common,
    );
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Summary>(&path, &record, common),
    };
    let mut looker = Looker::new(&mut directory, common);
    let answer = job.answer(&mut looker);
    let mut answer = looker.settle(answer)?;
    answer.summary.words = flags(&answer.summary.words);
    let page = page(&answer, &command(&request), request.settings());
    run::complete(directory, answer.files(), &page, &answer.summary, common)
}

fn which(text: &str) -> Result<Which, String> {
    named(text, &Which::ALL)
}

impl Shown for Summary {
    fn text(&self, directory: &str) -> String {
        let text = self.text(output::WIDTH);
        format!("{text}\neigenvalues and report.html in {directory}\n")
    }
}
