//! `align`: does an architecture suit a data set?
//!
//! The geometry is a run of its own in `geometry/` of the run directory: once finished it survives an interruption.

use clap::Args;
use polariscope_data::Dataset;
use polariscope_geometry::{AlignedNumbers, align_page, aligned, aligned_memory};
use polariscope_lens::afford;
use polariscope_report::fill;

use super::geometry::options::QuestionArgs;
use super::geometry::{GeometryArgs, Job, command};
use super::subject::Subject;
use crate::args::{ArchitectureArgs, Common};
use crate::error::CliError;
use crate::looker::Looker;
use crate::output;
use crate::run::{self, Opened, Shown};

/// Folder of the geometry.
const GEOMETRY: &str = "geometry";

/// What `align` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "`polariscope list data` names the data sets and their parameters.")]
pub struct AlignArgs {
    /// The network.
    #[command(flatten)]
    pub architecture: ArchitectureArgs,
    /// folder:DIR, csv:FILE, mnist:DIR, npy:X,Y or NAME?…; its training samples
    #[arg(long, value_name = "SPEC", help_heading = "Data")]
    pub data: String,
    /// The question whose answer is the geometry.
    #[command(flatten)]
    pub question: QuestionArgs,
}

/// Compares, or shows what an earlier run of the same command found.
pub fn run(args: &AlignArgs, common: &Common) -> Result<(), CliError> {
    let subject = Subject::new(&args.architecture, Dataset::load(&args.data)?)?;
    let job = Job::new(
        &GeometryArgs {
            architecture: subject.architecture.clone(),
            question: args.question.clone(),
            weights: None,
            top: None,
            shard: None,
        },
        common,
    )?;
    let mut configuration = job.request.configuration.clone();
    subject.configure(&mut configuration);
    let request = run::request("align", &job.graph.name, configuration, common);
    let problem = &subject.problem;
    afford(
        aligned_memory(problem),
        "choose data of fewer numbers a sample",
    )?;
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => {
            return run::show::<AlignedNumbers>(&path, &record, common);
        }
    };
    let geometry = job.answer_in(directory.path().join(GEOMETRY), common)?;
    let mut looker = Looker::new(&mut directory, common);
    let found = aligned(problem, &job.question, &geometry, &mut looker);
    let found = looker.settle(found)?;
    let page = align_page(
        &found,
        &problem.data,
        &command(&request),
        request.settings(),
    );
    run::complete(directory, found.files(), &page, &found.result, common)
}

impl Shown for AlignedNumbers {
    fn text(&self, directory: &str) -> String {
        let mut text = format!("{}\n", self.table().to_text(output::WIDTH));
        for paragraph in self.words.split("\n\n") {
            text += &fill(paragraph);
            text.push('\n');
        }
        text + &format!(
            "scores.csv, energy.csv, unseen.npy, report.html and {GEOMETRY}/ in {directory}\n"
        )
    }
}
