//! `eval`: f(x), ∇ₓ of logit 0, and its tangent d/dε ∇ₓ f at weights + εv, for every sample of a file.

use std::path::PathBuf;

use clap::Args;
use polariscope_graph::Shape;
use polariscope_learning::Inputs;
use polariscope_learning::eval::{Job, Number, Question, Subject, Summary, page};
use polariscope_learning::weights::{Contents, Weights, read};

use crate::args::{ArchitectureArgs, Common, Dtype, seed};
use crate::error::CliError;
use crate::looker::Looker;
use crate::output;
use crate::run::{self, Opened, Shown, fingerprint_bytes};

/// What `eval` takes.
#[derive(Clone, Debug, Args)]
pub struct EvalArgs {
    /// The network.
    #[command(flatten)]
    pub architecture: ArchitectureArgs,
    /// Inputs as .npy, NxCxHxW, NxCxL or NxD; the input shape is taken from it
    #[arg(long, value_name = "FILE", help_heading = "Evaluation")]
    pub x: PathBuf,
    /// Weights as safetensors; without it they are drawn by --seed and --index
    #[arg(long, value_name = "FILE", help_heading = "Evaluation")]
    pub weights: Option<PathBuf>,
    /// Which of the networks that the seed draws [default: 0]
    #[arg(long, value_name = "I", value_parser = seed, conflicts_with = "weights", help_heading = "Evaluation", allow_negative_numbers = true)]
    pub index: Option<u64>,
    /// Also the gradient of logit 0 in the input
    #[arg(long, help_heading = "Evaluation")]
    pub gradient: bool,
    /// Also the tangent of that gradient along these weights (safetensors)
    #[arg(long, value_name = "FILE", help_heading = "Evaluation")]
    pub tangent: Option<PathBuf>,
}

/// Evaluates in the precision asked for.
pub fn run(args: &EvalArgs, common: &Common) -> Result<(), CliError> {
    match common.dtype {
        Dtype::F32 => evaluate::<f32>(args, common),
        Dtype::F64 => evaluate::<f64>(args, common),
    }
}

fn evaluate<T: Number>(args: &EvalArgs, common: &Common) -> Result<(), CliError> {
    let inputs = Inputs::<T>::read(&args.x, args.architecture.options.input)?;
    let question = Question {
        setup: common.setup(),
        index: args.weights.is_none().then(|| args.index.unwrap_or(0)),
        gradient: args.gradient,
    };
    let mut configuration = run::configuration(&question)?;
    let mut set = |key: &str, value: String| configuration.insert(key.into(), value.into());
    set("x", inputs.fingerprint.clone());
    let subject = subject(args, &question, inputs.shape, |key, bytes| {
        set(key, fingerprint_bytes(bytes));
    })?;
    configuration.extend(args.architecture.configuration(&subject.graph)?);
    let job = Job::new(subject, &inputs, &question)?;
    let request = run::request("eval", &job.graph().name, configuration, common);
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Summary>(&path, &record, common),
    };
    let mut looker = Looker::new(&mut directory, common);
    let answer = job.answer(&mut looker);
    let answer = looker.settle(answer)?;
    let page = page(&answer, request.settings());
    run::complete(directory, answer.files(), &page, &answer.summary, common)
}

/// Reads or draws the weights of a network for samples of shape `input`; `seen` is told what the files held.
fn subject<T: Number>(
    args: &EvalArgs,
    question: &Question,
    input: Shape,
    mut seen: impl FnMut(&str, &[u8]),
) -> Result<Subject<T>, CliError> {
    let samples = args.x.display().to_string();
    let architecture = args.architecture.reading(input, &samples)?;
    let graph = architecture.graph()?;
    let (graph, weights) = match &args.weights {
        None => {
            let weights = question.draw(&graph);
            (graph, weights)
        }
        Some(path) => {
            let bytes = read(path)?;
            seen("weights", &bytes);
            architecture.fit(graph, &bytes, path)?
        }
    };
    let mut tangent = None;
    if let Some(path) = &args.tangent {
        let bytes = read(path)?;
        seen("tangent", &bytes);
        let file = path.display().to_string();
        tangent = Some(Weights::parse(&graph, &bytes, Contents::Tangent, &file)?);
    }
    Ok(Subject {
        graph,
        weights,
        tangent,
    })
}

impl Shown for Summary {
    fn text(&self, directory: &str) -> String {
        let text = self.text(output::WIDTH);
        format!("{text}; arrays and report.html in {directory}\n")
    }
}
