//! `compare`: the geometries of several architectures, side by side.
//!
//! Each geometry is a run of its own in a folder of the run directory: finished ones survive an interruption.

use std::path::Path;

use clap::Args;

use polariscope_geometry::page::{DROWNED, HEAD, compare_page, head, with_error};
use polariscope_geometry::{Answer, Numbers, Sampled, Similarity};
use polariscope_report::{Align, Table};
use serde::{Deserialize, Serialize};

use super::geometry::options::QuestionArgs;
use super::geometry::{GeometryArgs, Job, command, drop_sample};
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
    /// Corr of every pair, row by row; NaN where noise drowns it.
    corr: Vec<Vec<f64>>,
    /// Their standard errors, 0 between closed forms.
    corr_error: Vec<Vec<f64>>,
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
        let answer = job.answer_and_sample_in(directory.path().join(&folder), common)?;
        rows.push((folder, answer));
    }
    let alike = alike(&jobs, &rows, directory.path())?;
    let answers: Vec<&Answer> = rows.iter().map(|(_, answer)| answer).collect();
    let page = compare_page(&answers, &alike, &command(&request), request.settings());
    directory.write_page(&page)?;
    for (folder, _) in &rows {
        drop_sample(&directory.path().join(folder))?;
    }
    let geometries = rows.into_iter().map(|(folder, answer)| Row {
        architecture: answer.name,
        folder,
        answer: answer.numbers,
    });
    let compared = Compared {
        geometries: geometries.collect(),
        corr: table(&alike, |c| c.corr),
        corr_error: table(&alike, |c| c.error),
    };
    run::finish(directory, &compared, common)
}

/// Corr of every pair; samples lie in the folders, so that two at a time are in memory.
fn alike(
    jobs: &[Job],
    rows: &[(String, Answer)],
    directory: &Path,
) -> Result<Vec<Vec<Similarity>>, CliError> {
    let mut alike = vec![vec![Similarity::SAME; rows.len()]; rows.len()];
    for i in 0..rows.len() {
        let sample = |i: usize| jobs[i].sample_in(&directory.join(&rows[i].0), &rows[i].1);
        let own = sample(i)?;
        for j in i + 1..rows.len() {
            let other: Option<Sampled> = sample(j)?;
            let found = Similarity::of(
                (&rows[i].1.matrix, own.as_ref()),
                (&rows[j].1.matrix, other.as_ref()),
            )?;
            (alike[i][j], alike[j][i]) = (found, found);
        }
    }
    Ok(alike)
}

fn table(alike: &[Vec<Similarity>], value: impl Fn(&Similarity) -> f64) -> Vec<Vec<f64>> {
    let row = |row: &Vec<Similarity>| row.iter().map(&value).collect();
    alike.iter().map(row).collect()
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
            (HEAD, Right),
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
                head(s).into(),
            ]);
        }
        let mut similar = Table::new(
            [("Corr", Left)].into_iter().chain(
                self.geometries
                    .iter()
                    .map(|r| (r.architecture.as_str(), Right)),
            ),
        );
        let pairs = self.corr.iter().zip(&self.corr_error);
        for (row, (corr, error)) in self.geometries.iter().zip(pairs) {
            let both = corr.iter().zip(error);
            let cells = both.map(|(&corr, &error)| Similarity { corr, error }.words().into());
            similar.push([row.architecture.as_str().into()].into_iter().chain(cells));
        }
        let drowned = match self.corr.iter().flatten().any(|c| c.is_nan()) {
            true => format!("{DROWNED}\n"),
            false => String::new(),
        };
        format!(
            "{}\n{}{drowned}\nreport.html, and a folder for each architecture, in {directory}\n",
            table.to_text(output::WIDTH),
            similar.to_text(output::WIDTH)
        )
    }
}
