//! `eval`: f(x), ∇ₓ of logit 0, and its tangent d/dε ∇ₓ f at weights + εv, for every sample of a file.

mod compute;
mod diagnosis;
mod report;
mod spread;
mod weights;

use polariscope_lens::afford;
use std::path::PathBuf;

use clap::Args;
use polariscope_data::npy;
use polariscope_diff::Number;
use polariscope_network::Network;
use polariscope_report::{Align, Table, counted};
use serde::{Deserialize, Serialize};

use crate::args::{ArchitectureArgs, Common, Dtype, seed};
use crate::error::CliError;
use crate::output;
use crate::run::{self, Opened, Shown};
use crate::samples::Inputs;
use compute::{Answers, Question};
use spread::Spread;
use weights::Loaded;

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

/// The `[result]` of `run.toml`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Evaluation {
    samples: usize,
    outputs: usize,
    /// Of all outputs of all samples.
    output: Spread,
    /// Of the gradient's Euclidean norm over samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    gradient_norm: Option<Spread>,
    /// Of the tangent's.
    #[serde(skip_serializing_if = "Option::is_none")]
    gradient_tangent_norm: Option<Spread>,
}

/// Evaluates in the precision asked for.
pub fn run(args: &EvalArgs, common: &Common) -> Result<(), CliError> {
    match common.dtype {
        Dtype::F32 => evaluate::<f32>(args, common),
        Dtype::F64 => evaluate::<f64>(args, common),
    }
}

fn evaluate<T: Number + npy::Element>(args: &EvalArgs, common: &Common) -> Result<(), CliError> {
    let inputs = Inputs::<T>::read(&args.x, args.architecture.options.input)?;
    let Loaded {
        graph,
        weights,
        tangent,
        fingerprints,
    } = Loaded::new(args, common, inputs.shape)?;
    let mut configuration = args.architecture.configuration(&graph)?;
    let files = fingerprints
        .into_iter()
        .chain([("x", inputs.fingerprint.clone())]);
    configuration.extend(files.map(|(key, print)| (key.to_string(), print.into())));
    if args.weights.is_none() {
        // `index` admits what a TOML integer holds.
        let index = args.index.unwrap_or(0) as i64;
        configuration.insert("index".into(), toml::Value::Integer(index));
    }
    configuration.insert("gradient".into(), args.gradient.into());
    let request = run::request("eval", &graph.name, configuration, common);
    let question = Question {
        gradient: args.gradient,
        tangent,
    };
    let bytes = question.memory(&graph, &inputs);
    afford(bytes, "evaluate fewer samples or a smaller network")?;
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => {
            return run::show::<Evaluation>(&path, &record, common);
        }
    };

    let network = Network::on(graph, common.device);
    let answers = Answers::compute(&network, &weights, &inputs, &question, common)?;
    let outputs = network.graph().output().len();
    directory.write(
        "output.npy",
        &npy::encode(&[inputs.count(), outputs], &answers.output),
    )?;
    for (name, values) in [
        ("gradient.npy", &answers.gradient),
        ("gradient_tangent.npy", &answers.tangent),
    ] {
        if let Some(values) = values {
            directory.write(name, &npy::encode(&inputs.dims, values))?;
        }
    }
    let evaluation = answers.summary(inputs.count(), inputs.shape.len());
    directory.write_page(&report::page(
        &network,
        &inputs,
        &answers,
        &evaluation,
        &request,
    ))?;
    run::finish(directory, &evaluation, common)
}

impl Shown for Evaluation {
    fn text(&self, directory: &str) -> String {
        format!(
            "{}\n{}, {}; arrays and report.html in {directory}\n",
            self.table().to_text(output::WIDTH),
            counted(self.samples as u64, "sample"),
            counted(self.outputs as u64, "output"),
        )
    }
}

impl Evaluation {
    fn table(&self) -> Table {
        use Align::{Left, Right};
        let mut table = Table::new([
            ("quantity", Left),
            ("mean", Right),
            ("std", Right),
            ("min", Right),
            ("max", Right),
        ]);
        let rows = [
            ("output", Some(self.output)),
            ("‖gradient‖", self.gradient_norm),
            ("‖gradient tangent‖", self.gradient_tangent_norm),
        ];
        for (name, spread) in rows {
            if let Some(s) = spread {
                table.push([
                    name.into(),
                    s.mean.into(),
                    s.std.into(),
                    s.min.into(),
                    s.max.into(),
                ]);
            }
        }
        table
    }
}
