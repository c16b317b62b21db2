//! `predict`: test accuracy on linear data, from the geometry and one training.

use std::path::PathBuf;

use clap::Args;
use polariscope_data::{DataSource, Direction, Generator, Spec, Transforms};
use polariscope_geometry::LinearProblem;
use polariscope_geometry_experiments::predict::{
    Networks, Predicted, Question, Target, answer, page,
};
use polariscope_geometry_experiments::{GeometryExperimentsError, MOST};
use polariscope_graph::Shape;
use polariscope_learning::Inputs;
use polariscope_report::fill;

use super::geometry::command;
use crate::args::{ArchitectureArgs, Common, count, positive};
use crate::error::CliError;
use crate::looker::Looker;
use crate::output;
use crate::run::{self, Opened, Shown};

/// Input of networks that leave it open.
const INPUT: Shape = Shape::Image {
    channels: 1,
    height: 32,
    width: 32,
};

/// What `predict` takes.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "The data are x = y v + noise of deviation sigma across v, y = ±1.\n\
                  Trainings take the recipe of `experiment nad-accuracy`."
)]
pub struct PredictArgs {
    /// The network.
    #[command(flatten)]
    pub architecture: ArchitectureArgs,
    /// Training samples [default: 10000]
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Prediction", allow_negative_numbers = true)]
    pub train: Option<usize>,
    /// Deviation of the noise [default: 1]
    #[arg(long, value_name = "S", value_parser = positive, help_heading = "Prediction", allow_negative_numbers = true)]
    pub sigma: Option<f64>,
    /// Directions that are trained to find delta, 1 to 3
    #[arg(long, value_name = "K", value_parser = few, default_value_t = 1, help_heading = "Prediction", allow_negative_numbers = true)]
    pub calibrate: usize,
    /// The delta of another run, same network and sigma: no training
    #[arg(long, value_name = "X", value_parser = positive, conflicts_with = "calibrate", help_heading = "Prediction", allow_negative_numbers = true)]
    pub delta: Option<f64>,
    /// One direction a row; accuracy.npy gets a number for each
    #[arg(long, value_name = "ROWS.npy", help_heading = "Prediction")]
    pub directions: Option<PathBuf>,
    /// linear?v=…: the number for these data, their train and sigma
    #[arg(long, value_name = "SPEC", conflicts_with_all = ["directions", "train", "sigma"], help_heading = "Prediction")]
    pub data: Option<String>,
}

/// Predicts, or shows what an earlier run of the same command found.
pub fn run(args: &PredictArgs, common: &Common) -> Result<(), CliError> {
    let data = args.data.as_deref().map(Linear::parse).transpose()?;
    let (networks, mut configuration) =
        networks(&args.architecture, data.as_ref().map(|d| d.shape))?;
    let default = Question::default();
    let problem = match &data {
        Some(data) => LinearProblem {
            train: data.train.unwrap_or(default.problem.train),
            sigma: data.sigma,
        },
        None => LinearProblem {
            train: args.train.unwrap_or(default.problem.train),
            sigma: args.sigma.unwrap_or(default.problem.sigma),
        },
    };
    let question = Question {
        problem,
        target: target(args, data, networks.scalar.input(), &mut configuration)?,
        calibrate: args.calibrate,
        delta: args.delta,
        setup: common.setup(),
    };
    question
        .check(&networks)
        .map_err(|e| match (&e, &args.directions) {
            (GeometryExperimentsError::Predict(_), Some(path)) => {
                CliError::from(e).about(&format!("--directions {}", path.display()))
            }
            _ => e.into(),
        })?;
    let mut set = |key: &str, value: toml::Value| configuration.insert(key.into(), value);
    set("train", toml::Value::Integer(problem.train as i64));
    set("sigma", problem.sigma.into());
    match args.delta {
        Some(delta) => set("delta", delta.into()),
        None => set("calibrate", toml::Value::Integer(args.calibrate as i64)),
    };
    let request = run::request("predict", &networks.scalar.name, configuration, common);
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Predicted>(&path, &record, common),
    };
    let mut looker = Looker::new(&mut directory, common);
    let found = answer(&networks, &question, &mut looker);
    let found = looker.settle(found)?;
    let page = page(&found, &command(&request), request.settings());
    run::complete(directory, found.files(), &page, &found.result, common)
}

/// Which directions, and what of them goes into `run.toml`.
fn target(
    args: &PredictArgs,
    data: Option<Linear>,
    shape: Shape,
    configuration: &mut toml::Table,
) -> Result<Target, CliError> {
    let mut set = |key: &str, value: String| configuration.insert(key.into(), value.into());
    match (data, &args.directions) {
        (Some(data), _) => {
            set("data", data.spec.clone());
            Ok(Target::Data {
                direction: data.v.resolve(shape)?,
                spec: data.spec,
            })
        }
        (None, Some(path)) => {
            let rows = Inputs::<f64>::read(path, None)?;
            if rows.shape.len() != shape.len() {
                return Err(CliError::Usage(format!(
                    "--directions {}: its rows have {} numbers, the input {shape} has {}; give --input",
                    path.display(),
                    rows.shape.len(),
                    shape.len()
                )));
            }
            set("directions", path.display().to_string());
            set("directions_fingerprint", rows.fingerprint);
            Ok(Target::Rows(rows.numbers))
        }
        (None, None) => Ok(Target::All),
    }
}

impl Shown for Predicted {
    fn text(&self, directory: &str) -> String {
        let mut text = String::new();
        if !self.trainings.is_empty() {
            text += &format!("{}\n", self.table().to_text(output::WIDTH));
        }
        for paragraph in self.words.split("\n\n") {
            text += &fill(paragraph);
            text.push('\n');
        }
        let array = self
            .file
            .as_ref()
            .map_or(String::new(), |f| format!("{f}, "));
        text + &format!("{array}curve.csv and report.html in {directory}\n")
    }
}

/// The network with one output and with two. An architecture file has the outputs that it has.
fn networks(
    args: &ArchitectureArgs,
    shape: Option<Shape>,
) -> Result<(Networks, toml::Table), CliError> {
    if args.options.outputs.is_some() {
        return Err(CliError::Usage(
            "--outputs: predict tells two classes apart; leave it out".into(),
        ));
    }
    let mut args = args.clone();
    let file = args.is_file();
    if args.options.input.is_none() && !file {
        args.options.input = shape.or(Some(INPUT));
    }
    let mut with = |outputs: usize| {
        if !file {
            args.options.outputs = Some(outputs);
        }
        let graph = args.graph()?;
        let configuration = args.configuration(&graph)?;
        Ok::<_, CliError>((graph, configuration))
    };
    let ((scalar, _), (classifier, configuration)) = (with(1)?, with(2)?);
    if let Some(shape) = shape
        && shape != scalar.input()
    {
        return Err(CliError::Usage(format!(
            "--data: its samples are {shape}, the input is {}; add shape={} to the specification",
            scalar.input(),
            scalar.input()
        )));
    }
    let networks = Networks { scalar, classifier };
    Ok((networks, configuration))
}

/// A data set of the linear family.
struct Linear {
    spec: String,
    shape: Shape,
    v: Direction,
    sigma: f64,
    train: Option<usize>,
}

impl Linear {
    fn parse(text: &str) -> Result<Self, CliError> {
        let wrong = |what: &str| Err(CliError::Usage(format!("--data {text}: {what}")));
        let spec = Spec::parse(text)?;
        let DataSource::Generator {
            generator: Generator::Linear { v, eps, sigma },
            shape,
        } = spec.source
        else {
            return wrong("only the linear family is predicted, as in linear?v=40&sigma=1");
        };
        if eps != 1.0 {
            return wrong("predictions are for eps=1; leave eps out");
        }
        if sigma <= 0.0 {
            return wrong("without noise there is nothing to predict; give a sigma above 0");
        }
        if spec.transforms != Transforms::default() {
            return wrong(
                "transformed samples are no longer of the linear family; leave transforms out",
            );
        }
        Ok(Self {
            spec: text.to_string(),
            shape,
            v,
            sigma,
            train: spec.train,
        })
    }
}

fn few(text: &str) -> Result<usize, String> {
    let k = text.parse().ok().filter(|k| (1..=MOST).contains(k));
    k.ok_or_else(|| format!("must be a whole number from 1 to {MOST}"))
}
