//! `compare`: the geometries of several architectures, side by side.
//!
//! Each geometry is a run of its own in a folder of the run directory: finished ones survive an interruption.

use clap::Args;
use polariscope_geometry::page::{compare_page, with_error};
use polariscope_geometry::{Answer, GeometryError, Numbers, corr};
use polariscope_report::{Align, Table};
use serde::{Deserialize, Serialize};

use super::geometry::options::QuestionArgs;
use super::geometry::{GeometryArgs, Job, command};
use crate::args::{ArchitectureOptions, Common};
use crate::error::CliError;
use crate::output;
use crate::run::{self, Opened, Shown};

/// What `compare` takes.
#[derive(Clone, Debug, Args)]
pub struct CompareArgs {
    /// Zoo names or architecture files, two or more
    #[arg(value_name = "ARCH", num_args = 2.., required = true)]
    pub architectures: Vec<String>,
    /// What the names leave open, for all of them.
    #[command(flatten)]
    pub options: ArchitectureOptions,
    /// The question, the same for all.
    #[command(flatten)]
    pub question: QuestionArgs,
}

/// The `[result]` of `run.toml`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Compared {
    geometries: Vec<Row>,
    /// Corr of every pair, row by row.
    corr: Vec<Vec<f64>>,
}

/// One architecture.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Row {
    architecture: String,
    /// Folder of its run.
    folder: String,
    #[serde(flatten)]
    answer: Numbers,
}

/// Compares, or shows what an earlier run of the same command found.
pub fn run(args: &CompareArgs, common: &Common) -> Result<(), CliError> {
    let single = |name: &String| GeometryArgs {
        architecture: args.options.of(name),
        question: args.question.clone(),
        weights: None,
        top: None,
        shard: None,
    };
    // All are resolved before any is computed: a misspelt name costs nothing.
    let jobs = args
        .architectures
        .iter()
        .map(|name| Job::new(&single(name), common));
    let jobs: Vec<Job> = jobs.collect::<Result<_, _>>()?;
    let dim = jobs[0].graph.input().len();
    if let Some(other) = jobs.iter().find(|job| job.graph.input().len() != dim) {
        return Err(CliError::Usage(format!(
            "{} has an input of {}, {} one of {}; give --input",
            jobs[0].graph.name,
            jobs[0].graph.input(),
            other.graph.name,
            other.graph.input()
        )));
    }
    let parts = jobs
        .iter()
        .map(|job| toml::Value::Table(job.request.configuration.clone()));
    let mut configuration = toml::Table::new();
    configuration.insert("geometries".into(), toml::Value::Array(parts.collect()));
    let names: Vec<&str> = jobs.iter().map(|job| job.graph.name.as_str()).collect();
    let request = run::request("compare", &names.join("-"), configuration, common);
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Compared>(&path, &record, common),
    };
    let mut rows: Vec<(String, Answer)> = Vec::new();
    for (i, job) in jobs.iter().enumerate() {
        let folder = format!("{:02}-{}", i + 1, job.graph.name);
        output::note(
            common,
            &format!("{} by {}", job.graph.name, job.question.method),
        );
        let answer = job.answer_in(directory.path().join(&folder), common)?;
        rows.push((folder, answer));
    }
    let corr: Vec<Vec<f64>> = rows
        .iter()
        .map(|(_, a)| {
            rows.iter()
                .map(|(_, b)| corr(&a.matrix, &b.matrix))
                .collect()
        })
        .collect::<Result<_, GeometryError>>()?;
    let answers: Vec<&Answer> = rows.iter().map(|(_, answer)| answer).collect();
    let page = compare_page(&answers, &corr, &command(&request), request.settings());
    directory.write_page(&page)?;
    let geometries = rows.into_iter().map(|(folder, answer)| Row {
        architecture: answer.name,
        folder,
        answer: answer.numbers,
    });
    let compared = Compared {
        geometries: geometries.collect(),
        corr,
    };
    run::finish(directory, &compared, common)
}

impl Shown for Compared {
    fn text(&self, directory: &str) -> String {
        use Align::{Left, Right};
        let mut table = Table::new([
            ("architecture", Left),
            ("geometry", Left),
            ("method", Left),
            ("trace", Right),
            ("directions", Right),
            ("effective rank", Right),
            ("first tenth", Right),
        ]);
        for row in &self.geometries {
            let s = &row.answer.summary;
            table.push([
                row.architecture.as_str().into(),
                row.answer.gradient.to_string().into(),
                row.answer.method.to_string().into(),
                with_error(s.trace, s.trace_error).into(),
                with_error(s.participation_ratio, s.participation_ratio_error).into(),
                with_error(s.effective_rank, s.effective_rank_error).into(),
                with_error(s.top10_share, s.top10_share_error).into(),
            ]);
        }
        let mut similar = Table::new(
            [("Corr", Left)].into_iter().chain(
                self.geometries
                    .iter()
                    .map(|r| (r.architecture.as_str(), Right)),
            ),
        );
        for (row, corr) in self.geometries.iter().zip(&self.corr) {
            let cells = corr.iter().map(|c| format!("{c:.3}").into());
            similar.push([row.architecture.as_str().into()].into_iter().chain(cells));
        }
        format!(
            "{}\n{}\nreport.html, and a folder for each architecture, in {directory}\n",
            table.to_text(output::WIDTH),
            similar.to_text(output::WIDTH)
        )
    }
}
