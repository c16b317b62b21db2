//! `equivariance`: which transformations of its images a network follows or ignores.

use clap::Args;
use polariscope_data::Action;
use polariscope_learning::eval::Number;
use polariscope_symmetry::equivariance::{Job, Question, Summary, page};

use super::geometry::command;
use super::learnt::{LearntArgs, subject};
use crate::args::{ArchitectureArgs, Common, Dtype, count};
use crate::error::CliError;
use crate::looker::Looker;
use crate::output;
use crate::run::{self, Opened, Shown};

/// What `equivariance` takes.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Transformations: cyclic:2 and shift:2 (pixels to the right; shift:0:1 down), turn:15\n(degrees), flip, flip-down, transpose, scale:1.2, colours, jitter:0.2, pixels."
)]
pub struct EquivarianceArgs {
    /// The network.
    #[command(flatten)]
    pub architecture: ArchitectureArgs,
    /// Images: mnist:DIR, cifar10:DIR, folder:DIR, … [default: normal numbers]
    #[arg(long, value_name = "SPEC", help_heading = "Data")]
    pub data: Option<String>,
    /// The first so many test images
    #[arg(long, value_name = "N", default_value_t = Question::default().images, value_parser = count, help_heading = "Data", allow_negative_numbers = true)]
    pub images: usize,
    /// What it has learnt.
    #[command(flatten)]
    pub learnt: LearntArgs,
    /// Transformations, such as turn:90,shift:2 [default: all that act]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        help_heading = "Transformations"
    )]
    pub under: Vec<Action>,
}

/// Measures in the precision asked for, or shows what an earlier run of the same command found.
pub fn run(args: &EquivarianceArgs, common: &Common) -> Result<(), CliError> {
    match common.dtype {
        Dtype::F32 => measure::<f32>(args, common),
        Dtype::F64 => measure::<f64>(args, common),
    }
}

fn measure<T: Number>(args: &EquivarianceArgs, common: &Common) -> Result<(), CliError> {
    let question = Question {
        setup: common.setup(),
        images: args.images,
        under: args.under.clone(),
    };
    // A question that makes no sense is refused before data are read.
    question.check()?;
    let data = args.data.as_deref();
    let (subject, mut configuration) =
        subject::<T>(&args.architecture, data, &args.learnt, args.images, common)?;
    let job = Job::new(&subject, &question)?;
    configuration.extend(run::configuration(&question)?);
    let name = &subject.problem.graph.name;
    let request = run::request("equivariance", name, configuration, common);
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Summary>(&path, &record, common),
    };
    let mut looker = Looker::new(&mut directory, common);
    let answer = job.answer(&mut looker);
    let answer = looker.settle(answer)?;
    let page = page(&answer, &command(&request), request.settings());
    let files = [("equivariance.csv", answer.summary.csv().into_bytes())];
    run::complete(directory, files, &page, &answer.summary, common)
}

impl Shown for Summary {
    fn text(&self, directory: &str) -> String {
        let text = self.text(output::WIDTH);
        format!("{text}\nequivariance.csv and report.html in {directory}\n")
    }
}
