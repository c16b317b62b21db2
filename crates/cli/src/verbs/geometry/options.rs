//! From what was typed to a question.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use clap::Args;
use polariscope_data::Dataset;
use polariscope_geometry::{Compat, Gradient, Limit, Method, Output, Probe, Question};
use polariscope_graph::{Graph, Shape};
use polariscope_learning::Inputs;

use crate::args::{ArchitectureArgs, Common, count};
use crate::error::CliError;
use crate::output;

/// Input of networks that leave it open: small enough for seconds, large enough to look at.
const INPUT: Shape = Shape::Image {
    channels: 1,
    height: 32,
    width: 32,
};

/// What is asked of a geometry, whatever the verb.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Geometry")]
pub struct QuestionArgs {
    /// exact, meanfield, kernel, sample or mixed [default: the best here]
    #[arg(long, value_name = "NAME")]
    pub method: Option<Method>,
    /// zero, gauss:SIGMA, file:X.npy, data:SPEC [default: gauss:1]
    #[arg(long, value_name = "POINTS")]
    pub probe: Option<ProbeArg>,
    /// Points for each network [default: by a pilot, or 16]
    #[arg(long, value_name = "M", value_parser = count, allow_negative_numbers = true)]
    pub probes: Option<usize>,
    /// The output to differentiate: its number, mean, or all [default: 0]
    #[arg(long, value_name = "K|mean|all", allow_negative_numbers = true)]
    pub logit: Option<Output>,
    /// coherent, local or dipole:H [default: coherent]
    #[arg(long, value_name = "NAME")]
    pub gradient: Option<GradientArg>,
    /// Networks to sample
    #[arg(long, value_name = "T", value_parser = networks, conflicts_with = "error", allow_negative_numbers = true)]
    pub samples: Option<u64>,
    /// Sample to this relative error of G [default: 0.1, large nets 0.3]
    #[arg(long, value_name = "E", value_parser = error, allow_negative_numbers = true)]
    pub error: Option<f64>,
    /// nad or gih: the conventions of the papers' released code
    #[arg(long, value_name = "NAME")]
    pub compat: Option<Compat>,
}

/// Which geometry, as typed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientArg {
    /// The geometry.
    pub gradient: Gradient,
    /// Whether its old name was used.
    pub renamed: bool,
}

impl FromStr for GradientArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(GradientArg {
            gradient: text.parse()?,
            renamed: text == "autodiff",
        })
    }
}

/// Where gradients are taken.
#[derive(Clone, Debug, PartialEq)]
pub enum ProbeArg {
    /// Points that are drawn, or 0.
    Drawn(Probe),
    /// Samples of a file.
    File(PathBuf),
    /// Samples of a data set.
    Data(String),
}

impl FromStr for ProbeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("file", path)) if !path.is_empty() => Ok(ProbeArg::File(path.into())),
            Some(("data", spec)) if !spec.is_empty() => Ok(ProbeArg::Data(spec.into())),
            None if text == "zero" || text == "gauss" => text.parse().map(ProbeArg::Drawn),
            Some(("gauss", _)) => text.parse().map(ProbeArg::Drawn),
            _ => Err("it is zero, gauss:SIGMA, file:X.npy or data:SPEC".into()),
        }
    }
}

impl ProbeArg {
    /// Reads what has to be read; points must have the shape of the input.
    pub fn load(&self, input: Shape) -> Result<Probe, CliError> {
        let points = |source: String, shape: Shape, x: Vec<f64>| {
            if shape.len() != input.len() {
                return Err(CliError::Usage(format!(
                    "--probe {source}: its samples are {shape}, the input is {input}; give --input {shape}"
                )));
            }
            // Networks are sampled in f32.
            if let Some(large) = x.iter().find(|x| !(**x as f32).is_finite()) {
                return Err(CliError::Usage(format!(
                    "--probe {source}: {large:e} is beyond the range of f32"
                )));
            }
            Ok(Probe::Points {
                source,
                x: Arc::from(x),
            })
        };
        match self {
            ProbeArg::Drawn(probe) => Ok(probe.clone()),
            ProbeArg::File(path) => {
                let inputs = Inputs::<f64>::read(path, None)?;
                points(
                    format!("file:{}", path.display()),
                    inputs.shape,
                    inputs.numbers,
                )
            }
            ProbeArg::Data(spec) => {
                let data = Dataset::load(spec)?;
                let x = data.train.x.iter().map(|&x| f64::from(x)).collect();
                points(format!("data:{spec}"), data.shape, x)
            }
        }
    }
}

impl QuestionArgs {
    /// The architecture with an input of the default size where none is given.
    pub fn architecture(&self, args: &ArchitectureArgs) -> ArchitectureArgs {
        let mut args = args.clone();
        if args.options.input.is_none() && !args.is_file() {
            args.options.input = Some(INPUT);
        }
        args
    }

    /// Says where an old name was used.
    pub fn note_renamed(&self, common: &Common) {
        if self.gradient.is_some_and(|typed| typed.renamed) {
            output::note(common, "--gradient autodiff is called local now");
        }
    }

    /// The question for a network.
    pub fn question(&self, graph: &Graph, common: &Common) -> Result<Question, CliError> {
        let load = |probe: &ProbeArg| probe.load(graph.input());
        Ok(Question {
            gradient: self.gradient.map(|typed| typed.gradient),
            method: self.method,
            probe: self.probe.as_ref().map(load).transpose()?,
            probes: self.probes,
            output: self.logit,
            limit: match (self.samples, self.error) {
                (Some(networks), _) => Some(Limit::Networks(networks)),
                (None, error) => error.map(Limit::Error),
            },
            compat: self.compat,
            weights: Vec::new(),
            setup: common.setup(),
        })
    }
}

/// Separated by commas.
pub fn paths(text: &str) -> Vec<&Path> {
    text.split(',')
        .filter(|t| !t.is_empty())
        .map(Path::new)
        .collect()
}

pub(crate) fn networks(text: &str) -> Result<u64, String> {
    let most = 1u64 << 40;
    let n = text.parse().ok().filter(|n| (1..=most).contains(n));
    n.ok_or_else(|| format!("must be a whole number from 1 to {most}"))
}

fn error(text: &str) -> Result<f64, String> {
    let e = text.parse().ok().filter(|e: &f64| *e > 0.0 && *e < 10.0);
    e.ok_or_else(|| "must be a number above 0, such as 0.1".to_string())
}
