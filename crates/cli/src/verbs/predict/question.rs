//! From what was typed to a problem, a network and the directions that are asked for.

use polariscope_data::{Direction, Generator, Source, Spec, Transforms};
use polariscope_geometry::{LinearProblem, PredictError};
use polariscope_graph::{Graph, Shape};

use super::PredictArgs;
use crate::args::{ArchitectureArgs, Common, Dtype};
use crate::error::CliError;
use crate::samples::Inputs;

/// Input of networks that leave it open.
const INPUT: Shape = Shape::Image {
    channels: 1,
    height: 32,
    width: 32,
};
/// Training samples and noise where nothing is said.
const TRAIN: usize = 10_000;
const SIGMA: f64 = 1.0;

/// Which directions.
pub enum Target {
    /// Those at which networks are calibrated: all spatial frequencies, or the eigenvectors of G.
    All,
    /// Rows of a file.
    Rows(Vec<f64>),
    /// That of a data set.
    Data {
        /// As typed.
        spec: String,
        /// v.
        direction: Vec<f64>,
    },
}

/// Everything resolved.
pub struct Question {
    /// n and σ.
    pub problem: LinearProblem,
    /// Which directions.
    pub target: Target,
    /// The network with one output: it has the geometry.
    pub scalar: Graph,
    /// The network with two outputs: it is trained.
    pub classifier: Graph,
    /// δ, where it is given.
    pub delta: Option<f64>,
    /// Directions to calibrate at.
    pub calibrate: usize,
    /// For `run.toml`.
    pub configuration: toml::Table,
}

impl Question {
    /// Resolves what was typed.
    pub fn new(args: &PredictArgs, common: &Common) -> Result<Self, CliError> {
        if common.dtype == Dtype::F64 {
            return Err(CliError::Usage(
                "--dtype f64: networks are trained in f32; leave it out".into(),
            ));
        }
        let data = args.data.as_deref().map(Linear::parse).transpose()?;
        let (scalar, classifier, mut configuration) =
            networks(&args.architecture, data.as_ref().map(|d| d.shape))?;
        let shape = scalar.input();
        let problem = LinearProblem {
            train: data
                .as_ref()
                .map_or(args.train, |d| d.train)
                .unwrap_or(TRAIN),
            sigma: data
                .as_ref()
                .map_or(args.sigma.unwrap_or(SIGMA), |d| d.sigma),
        };
        let mut set = |key: &str, value: toml::Value| configuration.insert(key.into(), value);
        set("train", toml::Value::Integer(problem.train as i64));
        set("sigma", problem.sigma.into());
        match args.delta {
            Some(delta) => set("delta", delta.into()),
            None => set("calibrate", toml::Value::Integer(args.calibrate as i64)),
        };
        let target = match (data, &args.directions) {
            (Some(data), _) => {
                set("data", data.spec.clone().into());
                Target::Data {
                    direction: data.v.resolve(shape)?,
                    spec: data.spec,
                }
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
                // Before anything is trained.
                let mut each = rows.numbers.chunks_exact(shape.len());
                if let Some(row) = each.position(|v| v.iter().all(|x| *x == 0.0)) {
                    let e = CliError::from(PredictError::Direction { row });
                    return Err(e.about(&format!("--directions {}", path.display())));
                }
                set("directions", path.display().to_string().into());
                set("directions_fingerprint", rows.fingerprint.into());
                Target::Rows(rows.numbers)
            }
            (None, None) => Target::All,
        };
        Ok(Self {
            problem,
            target,
            scalar,
            classifier,
            delta: args.delta,
            calibrate: args.calibrate,
            configuration,
        })
    }

    /// Shape of an input.
    pub fn shape(&self) -> Shape {
        self.scalar.input()
    }
}

/// The network with one output and with two. An architecture file has the outputs that it has.
fn networks(
    args: &ArchitectureArgs,
    shape: Option<Shape>,
) -> Result<(Graph, Graph, toml::Table), CliError> {
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
    Ok((scalar, classifier, configuration))
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
        let Source::Generator {
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
