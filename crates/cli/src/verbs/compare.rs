//! `compare`: the geometries of several architectures, side by side.
//!
//! Each geometry is a run of its own in a folder of the run directory: finished ones survive an interruption.

use std::path::Path;

use clap::Args;
use polariscope_geometry::{Float, Shard, corr};
use polariscope_report::{Align, Table};
use serde::{Deserialize, Serialize};

use super::geometry::answer::{Answer, Found};
use super::geometry::options::QuestionArgs;
use super::geometry::page::{compare_page, with_error};
use super::geometry::{GeometryArgs, Job, Obtained, command, obtain, view};
use crate::args::{ArchitectureOptions, Common, Dtype};
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
    answer: Answer,
}

/// Compares, or shows what an earlier run of the same command found.
pub fn run(args: &CompareArgs, common: &Common) -> Result<(), CliError> {
    match common.dtype {
        Dtype::F32 => compare::<f32>(args, common),
        Dtype::F64 => compare::<f64>(args, common),
    }
}

fn compare<T: Float>(args: &CompareArgs, common: &Common) -> Result<(), CliError> {
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
        .map(|name| Job::<T>::new(&single(name), common));
    let jobs: Vec<Job<T>> = jobs.collect::<Result<_, _>>()?;
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
    let mut all = Vec::new();
    for (i, job) in jobs.into_iter().enumerate() {
        let folder = format!("{:02}-{}", i + 1, job.graph.name);
        let inner = Common {
            out: Some(directory.path().join(&folder)),
            ..common.clone()
        };
        output::note(
            common,
            &format!("{} by {}", job.graph.name, job.question.method),
        );
        let (graph, question, inner_request) =
            (job.graph.clone(), job.question.clone(), job.request.clone());
        let found = match obtain(job, Shard::WHOLE, &inner)? {
            Obtained::Now(inner, found) => {
                inner.finish(&found.answer)?;
                *found
            }
            Obtained::Before(path, record) => read(&path, record)?,
            Obtained::Shard(..) => {
                return Err(CliError::Failed("a comparison has no shards".into()));
            }
        };
        all.push((graph, question, inner_request, folder, found));
    }
    let corr: Vec<Vec<f64>> = all
        .iter()
        .map(|a| {
            all.iter()
                .map(|b| Ok(corr(&a.4.matrix, &b.4.matrix)?))
                .collect()
        })
        .collect::<Result<_, CliError>>()?;
    let views: Vec<_> = all
        .iter()
        .map(|(graph, question, request, _, found)| view(graph, question, request, found))
        .collect();
    directory.write_page(&compare_page(
        &views,
        &corr,
        &command(&request),
        request.settings(),
    ))?;
    let geometries = all.into_iter().map(|(graph, _, _, folder, found)| Row {
        architecture: graph.name,
        folder,
        answer: found.answer,
    });
    let compared = Compared {
        geometries: geometries.collect(),
        corr,
    };
    run::finish(directory, &compared, common)
}

/// A geometry that an earlier process finished.
pub fn read(path: &Path, record: run::Record) -> Result<Found, CliError> {
    let answer: Answer =
        toml::Value::Table(record.result)
            .try_into()
            .map_err(|e: toml::de::Error| {
                CliError::Usage(format!(
                    "{}: the [result] of run.toml cannot be read ({}); --force runs it again",
                    path.display(),
                    e.message()
                ))
            })?;
    Found::read(path, answer)
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
