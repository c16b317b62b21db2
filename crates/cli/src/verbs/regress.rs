//! `regress`: a data set learnt with the kernel of the infinitely wide network.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use polariscope_data::Dataset;
use polariscope_kernels::Store;
use polariscope_kernels::kernel::Kind;
use polariscope_kernels::regress::{Job, Question, Summary, page};

use super::geometry::command;
use super::subject::Subject;
use crate::args::{ArchitectureArgs, Common, count};
use crate::error::CliError;
use crate::looker::Looker;
use crate::output;
use crate::run::{self, Opened, Shown};

/// What `regress` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "`polariscope list data` names the data sets and their parameters.")]
pub struct RegressArgs {
    /// The network; its widths do not matter under ntk.
    #[command(flatten)]
    pub architecture: ArchitectureArgs,
    /// folder:DIR, csv:FILE, mnist:DIR, npy:X,Y or NAME?param=value
    #[arg(long, value_name = "SPEC", help_heading = "Data")]
    pub data: String,
    /// Training samples, as the data parameter train=N [default: all there are]
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Data", allow_negative_numbers = true)]
    pub train: Option<usize>,
    /// Test samples, as the data parameter test=N [default: all there are]
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Data", allow_negative_numbers = true)]
    pub test: Option<usize>,
    /// ntk (gradient descent) or nngp (Bayesian posterior)
    #[arg(
        long,
        value_name = "KIND",
        default_value = "ntk",
        value_parser = PossibleValuesParser::new(["ntk", "nngp"]).try_map(|kind| kind.parse::<Kind>()),
        hide_possible_values = true,
        help_heading = "Regression"
    )]
    pub kind: Kind,
    /// Added to the diagonal of the Gram matrix; 0 is ridgeless
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = ridge, help_heading = "Regression", allow_negative_numbers = true)]
    pub ridge: f64,
    /// Training times of ntk; the predictions are of the last [default: ∞]
    #[arg(long, value_name = "T1,T2,…", value_delimiter = ',', value_parser = positive, help_heading = "Regression", allow_hyphen_values = true)]
    pub time: Vec<f64>,
    /// Learning rate η that --time is multiplied by [default: 1]
    #[arg(long, value_name = "X", value_parser = positive, requires = "time", help_heading = "Regression", allow_negative_numbers = true)]
    pub rate: Option<f64>,
}

/// Learns, or shows what an earlier run of the same command found.
pub fn run(args: &RegressArgs, common: &Common) -> Result<(), CliError> {
    let question = Question {
        setup: common.setup(),
        kind: args.kind,
        ridge: args.ridge,
        time: args.time.clone(),
        rate: args.rate.unwrap_or(1.0),
    };
    // A question that makes no sense is refused before data are read.
    let question = question.resolve()?;
    let subject = Subject::new(&args.architecture, Dataset::load(&data(args))?)?;
    let graph = &subject.problem.graph;
    let job = Job::new(graph, &subject.problem.data, &question)?;
    let mut configuration = subject.architecture.configuration(graph)?;
    subject.configure(&mut configuration);
    configuration.extend(run::configuration(&question)?);
    let request = run::request("regress", &graph.name, configuration, common);
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Summary>(&path, &record, common),
    };
    let files = Job::files().map(|name| (name.to_string(), directory.growing(name)));
    let mut looker = Looker::new(&mut directory, common);
    let answer = job.answer(&Store::Files(files.into()), &mut looker);
    let answer = looker.settle(answer)?;
    let page = page(&answer, &command(&request), request.settings());
    run::complete(directory, answer.files(), &page, &answer.summary, common)
}

/// The specification of the data with the numbers of samples in it.
fn data(args: &RegressArgs) -> String {
    let mut data = args.data.clone();
    for (name, samples) in [("train", args.train), ("test", args.test)] {
        if let Some(samples) = samples {
            let join = if data.contains('?') { '&' } else { '?' };
            data += &format!("{join}{name}={samples}");
        }
    }
    data
}

impl Shown for Summary {
    fn text(&self, directory: &str) -> String {
        let text = self.text(output::WIDTH);
        format!("{text}; predictions and report.html in {directory}\n")
    }
}

/// A finite number above 0.
fn positive(text: &str) -> Result<f64, String> {
    crate::args::positive(text.trim())
}

/// A finite number of at least 0.
fn ridge(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|x: &f64| x.is_finite() && *x >= 0.0);
    number.ok_or_else(|| "must be a finite number of at least 0".to_string())
}
