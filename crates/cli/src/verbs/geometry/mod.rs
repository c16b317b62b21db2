//! `geometry`: what an architecture sees before it has learnt anything.

pub mod options;
mod top;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Args;
use polariscope_data::DataError;
use polariscope_geometry::page::{page, text};
use polariscope_geometry::{Answer, Numbers, Part, Resolved, Sampled, Shard};
use polariscope_graph::Graph;
use polariscope_learning::weights;
use polariscope_lens::Clock;
use polariscope_report::grouped;

use crate::args::{ArchitectureArgs, Common, Dtype, count};
use crate::error::CliError;
use crate::interrupt;
use crate::looker::Looker;
use crate::run::{self, Opened, Request, RunDirectory, Shown, fingerprint_bytes, write_atomically};
use options::QuestionArgs;

/// The partial sums of a shard.
pub const SUMS: &str = "sums.bin";
/// What was summed, for as long as geometries are compared.
const SAMPLE: &str = "sample.bin";
/// What the terminal shows, kept for the next time.
const TEXT: &str = "summary.txt";

/// What `geometry` takes.
#[derive(Clone, Debug, Args)]
pub struct GeometryArgs {
    /// The network.
    #[command(flatten)]
    pub architecture: ArchitectureArgs,
    /// The question.
    #[command(flatten)]
    pub question: QuestionArgs,
    /// Given weights (safetensors, with commas) in place of random ones
    #[arg(long, value_name = "FILE[,FILE…]", help_heading = "Geometry", conflicts_with_all = ["samples", "error", "compat"])]
    pub weights: Option<String>,
    /// Only the first K directions, without the D × D matrix
    #[arg(long, value_name = "K", value_parser = count, help_heading = "Geometry", allow_negative_numbers = true)]
    pub top: Option<usize>,
    /// Compute part I of N of the networks; `merge` adds the parts
    #[arg(long, value_name = "I/N", help_heading = "Geometry", conflicts_with_all = ["top", "weights"])]
    pub shard: Option<Shard>,
}

/// Finds the geometry, or shows what an earlier run of the same command found.
pub fn run(args: &GeometryArgs, common: &Common) -> Result<(), CliError> {
    let job = Job::new(args, common)?;
    if let Some(k) = args.top {
        return top::run(job, k, common);
    }
    if let Some(shard) = args.shard.filter(|shard| *shard != Shard::WHOLE) {
        return part(job, shard, common);
    }
    let mut directory = match run::open(&job.request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Numbers>(&path, &record, common),
    };
    let answer = job.answer(&mut directory, common)?;
    run::finish(directory, &answer.numbers, common)
}

/// A question about a network, ready to be answered.
pub struct Job {
    /// The network.
    pub graph: Graph,
    /// The question.
    pub question: Resolved,
    /// What the result depends on.
    pub request: Request,
}

impl Job {
    /// Resolves what was typed.
    pub fn new(args: &GeometryArgs, common: &Common) -> Result<Self, CliError> {
        let architecture = args.question.architecture(&args.architecture);
        let mut graph = architecture.graph()?;
        let mut prints = Vec::new();
        let weights: Vec<&Path> = args
            .weights
            .iter()
            .flat_map(|list| options::paths(list))
            .collect();
        for path in &weights {
            let bytes = weights::read(path)?;
            prints.push(toml::Value::from(fingerprint_bytes(&bytes)));
            graph = match common.dtype {
                Dtype::F32 => architecture.fit::<f32>(graph, &bytes, path)?.0,
                Dtype::F64 => architecture.fit::<f64>(graph, &bytes, path)?.0,
            };
        }
        args.question.note_renamed(common);
        let mut question = args.question.question(&graph, common)?;
        question.weights = weights.into_iter().map(PathBuf::from).collect();
        let mut looker = Looker::without(common);
        let question = match args.top {
            None => question.resolve_observed(&graph, &mut looker),
            Some(_) => question.resolve_first(&graph, &mut looker),
        };
        let question = looker.settle(question)?;
        let mut configuration = architecture.configuration(&graph)?;
        let record = run::configuration(&question.record())?;
        configuration.insert("geometry".into(), toml::Value::Table(record));
        if !prints.is_empty() {
            configuration.insert("weights".into(), toml::Value::Array(prints));
        }
        if let Some(k) = args.top {
            configuration.insert("top".into(), toml::Value::Integer(k as i64));
        }
        if let Some(shard) = args.shard {
            configuration.insert("shard".into(), shard.to_string().into());
        }
        let request = run::request("geometry", &graph.name, configuration, common);
        Ok(Self {
            graph,
            question,
            request,
        })
    }

    /// The answer, its files and its page written.
    pub fn answer(
        &self,
        directory: &mut RunDirectory,
        common: &Common,
    ) -> Result<Answer, CliError> {
        Ok(self.answer_and_sample(directory, common)?.0)
    }

    fn answer_and_sample(
        &self,
        directory: &mut RunDirectory,
        common: &Common,
    ) -> Result<(Answer, Option<Sampled>), CliError> {
        let mut looker = Looker::new(directory, common);
        let found = self.question.answer_and_sample(&self.graph, &mut looker);
        let (mut answer, sample) = looker.settle(found)?;
        write(directory, &self.request, &mut answer)?;
        Ok((answer, sample))
    }

    /// Says that an interruption leaves this geometry.
    fn finished(&self) {
        interrupt::keep_part(format!(
            "the geometry of {} is kept; the same command goes on from there",
            self.graph.name
        ));
    }

    /// The answer in a folder of its own inside another run: read if it is there, else found.
    pub fn answer_in(&self, folder: PathBuf, common: &Common) -> Result<Answer, CliError> {
        self.found_in(folder, common, |_, _| Ok(()))
    }

    /// The same, its sample left in the folder.
    pub fn answer_and_sample_in(
        &self,
        folder: PathBuf,
        common: &Common,
    ) -> Result<Answer, CliError> {
        self.found_in(folder, common, |folder, sample| {
            let bytes = sample.map_or(Vec::new(), |s| s.to_bytes());
            Ok(write_atomically(&folder.join(SAMPLE), &bytes)?)
        })
    }

    /// The sample that [`Job::answer_and_sample_in`] left; none of a closed form.
    pub fn sample_in(&self, folder: &Path, answer: &Answer) -> Result<Option<Sampled>, CliError> {
        if !answer.source.sampled() {
            return Ok(None);
        }
        let path = folder.join(SAMPLE);
        let bytes = fs::read(&path).map_err(|source| DataError::Io { path, source })?;
        Ok(Some(self.question.sample_of(&bytes)?))
    }

    fn found_in(
        &self,
        folder: PathBuf,
        common: &Common,
        keep: impl Fn(&Path, Option<Sampled>) -> Result<(), CliError>,
    ) -> Result<Answer, CliError> {
        let inner = Common {
            out: Some(folder),
            ..common.clone()
        };
        match run::open(&self.request, &inner)? {
            Opened::Work(mut directory) => {
                let (answer, sample) = self.answer_and_sample(&mut directory, &inner)?;
                keep(directory.path(), sample)?;
                directory.finish(&answer.numbers)?;
                self.finished();
                Ok(answer)
            }
            Opened::Finished(path, record) => {
                self.finished();
                let stored = |name: &str| {
                    let path = path.join(name);
                    fs::read(&path).map_err(|source| DataError::Io { path, source })
                };
                let numbers = record.result::<Numbers>(&path)?;
                let answer = self.question.read(&self.graph, numbers, &stored);
                answer.map_err(|e| CliError::from(e).about(&path.display().to_string()))
            }
        }
    }
}

/// Removes what [`Job::answer_and_sample_in`] left.
pub fn drop_sample(folder: &Path) -> Result<(), CliError> {
    let path = folder.join(SAMPLE);
    match fs::remove_file(&path) {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            Err(DataError::Io { path, source }.into())
        }
        _ => Ok(()),
    }
}

/// Writes arrays, summary and page.
pub fn write(
    directory: &mut RunDirectory,
    request: &Request,
    answer: &mut Answer,
) -> Result<(), CliError> {
    let mut clock = Clock::default();
    clock.time("files", || {
        let mut files = answer.files().into_iter();
        files.try_for_each(|(name, content)| directory.write(&name, &content))
    })?;
    answer.numbers.seconds.extend(clock.stages().clone());
    clock.time("report", || {
        directory.write(TEXT, text(answer).as_bytes())?;
        directory.write_page(&page(answer, &command(request), request.settings()))
    })?;
    answer.numbers.seconds.extend(clock.stages().clone());
    Ok(())
}

impl Shown for Numbers {
    fn text(&self, directory: &str) -> String {
        let text = fs::read_to_string(Path::new(directory).join(TEXT)).unwrap_or_default();
        format!(
            "{text}\n{}, eigenvalues.npy, directions.npy and report.html in {directory}\n",
            self.matrix
        )
    }
}

/// Computes one part of the networks.
fn part(job: Job, shard: Shard, common: &Common) -> Result<(), CliError> {
    job.question.check_parts()?;
    let mut directory = match run::open(&job.request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Part>(&path, &record, common),
    };
    let mut looker = Looker::new(&mut directory, common);
    let found = job.question.part(&job.graph, shard, &mut looker);
    let part = looker.settle(found)?;
    directory.write(SUMS, &part.sums)?;
    run::finish(directory, &part, common)
}

impl Shown for Part {
    fn text(&self, directory: &str) -> String {
        format!(
            "{} networks added up in {directory}/{SUMS}; `polariscope merge` adds the parts\n",
            grouped(self.networks)
        )
    }
}

/// What to type to get the same again, the seed spelt out.
pub fn command(request: &Request) -> String {
    let quoted = |text: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+".contains(c);
        if !text.is_empty() && text.chars().all(plain) {
            text
        } else {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
    };
    let mut words: Vec<String> = std::env::args().skip(1).map(quoted).collect();
    if !words
        .iter()
        .any(|w| w == "--seed" || w.starts_with("--seed="))
        && let Some(seed) = request.configuration.get("seed")
    {
        words.extend(["--seed".to_string(), seed.to_string()]);
    }
    format!("polariscope {}", words.join(" "))
}
