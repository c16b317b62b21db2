//! `landscape`: a few networks are trained; what they need, where they end, what they have in common.

use clap::Args;
use polariscope_data::{DataError, Dataset};
use polariscope_landscape::lens::{Job, Question, Summary, page};
use polariscope_lens::Dtype;
use polariscope_report::fill;

use super::geometry::command;
use super::subject::Subject;
use crate::args::{ArchitectureArgs, Common, count, positive};
use crate::error::CliError;
use crate::looker::Looker;
use crate::output;
use crate::run::{self, Opened, Shown};

/// Samples of each set where neither the data nor options say how many.
const SAMPLES: [(&str, usize); 2] = [("train", 300), ("test", 2000)];

/// What `landscape` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "`polariscope list data` names the data sets and their parameters.")]
pub struct LandscapeArgs {
    /// The network.
    #[command(flatten)]
    pub architecture: ArchitectureArgs,
    /// folder:DIR, csv:FILE, mnist:DIR, npy:X,Y or NAME?param=value
    #[arg(long, value_name = "SPEC", help_heading = "Data")]
    pub data: String,
    /// Training samples, as the data parameter train=N [default: 300, or all]
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Data", allow_negative_numbers = true)]
    pub train: Option<usize>,
    /// Test samples, as the data parameter test=N [default: 2000, or all]
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Data", allow_negative_numbers = true)]
    pub test: Option<usize>,
    /// Networks that differ in their initial weights alone
    #[arg(long, value_name = "N", default_value_t = Question::default().networks, value_parser = count, help_heading = "Training", allow_negative_numbers = true)]
    pub networks: usize,
    /// F = α (f − f₀) is trained; a large α makes training lazy
    #[arg(long, value_name = "X", default_value_t = Question::default().alpha, value_parser = positive, help_heading = "Training", allow_negative_numbers = true)]
    pub alpha: f64,
    /// Stop when every y F is above this
    #[arg(long, value_name = "X", default_value_t = Question::default().margin, value_parser = positive, help_heading = "Training", allow_negative_numbers = true)]
    pub margin: f64,
    /// Learning rate of Adam: networks with kinks or batch norm
    #[arg(long, alias = "lr", value_name = "X", default_value_t = Question::default().rate, value_parser = positive, help_heading = "Training", allow_negative_numbers = true)]
    pub rate: f64,
    /// Most steps of a network [default: 5000, or as many as take minutes for all]
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Training", allow_negative_numbers = true)]
    pub steps: Option<usize>,
}

/// Trains, or shows what an earlier run of the same command found.
pub fn run(args: &LandscapeArgs, common: &Common) -> Result<(), CliError> {
    // Single precision leaves margins unmet.
    let common = &Common {
        dtype: Dtype::F64,
        ..common.clone()
    };
    let question = Question {
        setup: common.setup(),
        networks: args.networks,
        alpha: args.alpha,
        margin: args.margin,
        rate: args.rate,
        steps: args.steps.map(|steps| steps as u64),
    };
    // A question that makes no sense is refused before data are read.
    question.check()?;
    let subject = Subject::new(&args.architecture, data(args)?)?;
    let problem = &subject.problem;
    let job = Job::new(problem, &question)?;
    let mut configuration = subject.architecture.configuration(&problem.graph)?;
    subject.configure(&mut configuration);
    configuration.extend(run::configuration(&question)?);
    let request = run::request("landscape", &problem.graph.name, configuration, common);
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Summary>(&path, &record, common),
    };
    let mut looker = Looker::new(&mut directory, common);
    let answer = job.answer(&mut looker);
    let answer = looker.settle(answer)?;
    let page = page(&answer, &command(&request), request.settings());
    run::complete(directory, answer.files(), &page, &answer.summary, common)
}

/// The data with as many samples as were asked for, else at most the default of each set.
fn data(args: &LandscapeArgs) -> Result<Dataset, DataError> {
    let with = |mut spec: String, name: &str, samples: usize| {
        let join = if spec.contains('?') { '&' } else { '?' };
        spec += &format!("{join}{name}={samples}");
        spec
    };
    let mut spec = args.data.clone();
    let mut open = Vec::new();
    for ((name, default), asked) in SAMPLES.into_iter().zip([args.train, args.test]) {
        match asked {
            Some(samples) => spec = with(spec, name, samples),
            None if spec.contains(&format!("{name}=")) => {}
            None => open.push((name, default)),
        }
    }
    // Data that have fewer say so before they are read.
    let limits = [
        &open[..],
        open.get(..1).unwrap_or(&[]),
        open.get(1..).unwrap_or(&[]),
    ];
    let limited = limits.into_iter().filter(|limits| !limits.is_empty());
    let mut specs = limited.map(|limits| {
        let add = |spec, (name, samples): &(&str, usize)| with(spec, name, *samples);
        limits.iter().fold(spec.clone(), add)
    });
    match specs.find_map(|spec| Dataset::load(&spec).ok()) {
        Some(data) => Ok(data),
        None => Dataset::load(&spec),
    }
}

impl Shown for Summary {
    fn text(&self, directory: &str) -> String {
        let words: Vec<String> = self.words.iter().map(|words| fill(words)).collect();
        let missing = self
            .missing
            .iter()
            .map(|why| fill(&format!("Not told: {why}")));
        let missing: Vec<String> = missing.collect();
        format!(
            "{}\n\n{}\n{}\nnetworks.csv, ensemble.csv, outputs.npy and report.html in {directory}\n",
            words.join("\n"),
            self.text(output::WIDTH),
            missing.join("\n")
        )
    }
}
