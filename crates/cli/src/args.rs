//! What can be typed.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, Parser, Subcommand};
use polariscope_graph::{
    BiasRule, Graph, GraphError, Nonlinearity, Parametrisation, Shape, ZooOptions, load, nearest,
    parse_file, stated_input, zoo,
};
use polariscope_learning::eval::Number;
use polariscope_learning::weights::{self, Weights};
pub use polariscope_lens::Dtype;
use polariscope_lens::{Device, Place, Precision, Setup};

use crate::error::CliError;
use crate::verbs::align::AlignArgs;
use crate::verbs::check::CheckArgs;
use crate::verbs::compare::CompareArgs;
use crate::verbs::completions::{CompletionsArgs, ManArgs};
use crate::verbs::deform::DeformArgs;
use crate::verbs::equivariance::EquivarianceArgs;
use crate::verbs::eval::EvalArgs;
use crate::verbs::evolution::EvolutionArgs;
use crate::verbs::experiment::ExperimentArgs;
use crate::verbs::geometry::GeometryArgs;
use crate::verbs::hessian::HessianArgs;
use crate::verbs::init::InitArgs;
use crate::verbs::kernel::KernelArgs;
use crate::verbs::landscape::LandscapeArgs;
use crate::verbs::list::ListArgs;
use crate::verbs::merge::MergeArgs;
use crate::verbs::plan::PlanArgs;
use crate::verbs::predict::PredictArgs;
use crate::verbs::regress::RegressArgs;
use crate::verbs::spectrum::SpectrumArgs;
use crate::verbs::stability::StabilityArgs;
use crate::verbs::symmetry::SymmetryArgs;
use crate::verbs::train::TrainArgs;

/// Shows the inductive bias of a neural architecture.
#[derive(Debug, Parser)]
#[command(name = "polariscope", version, disable_help_subcommand = true)]
#[command(subcommand_value_name = "VERB", subcommand_help_heading = "Verbs")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
    /// Options of every verb.
    #[command(flatten)]
    pub common: Common,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Name the architectures of the zoo, or the data sets
    List(ListArgs),
    /// Describe an architecture by layer: shapes, parameters, multiply-adds, initial values
    Show(ArchitectureArgs),
    /// Draw the initial weights of a network into a safetensors file
    Init(InitArgs),
    /// Evaluate a network: outputs, input gradients, their tangents along a weight direction
    Eval(EvalArgs),
    /// Find what an architecture sees before training: its geometry, directions, report
    Geometry(Box<GeometryArgs>),
    /// Put the geometries of several architectures side by side
    Compare(Box<CompareArgs>),
    /// Tell whether an architecture suits a data set: verdict, scores, unseen directions
    Align(Box<AlignArgs>),
    /// Predict test accuracies on linear data from the geometry and one training
    Predict(Box<PredictArgs>),
    /// Find how the geometry begins to move when training on a data set starts
    Evolution(Box<EvolutionArgs>),
    /// Say how many networks and seconds a wanted precision of the geometry costs
    Plan(Box<PlanArgs>),
    /// Join the shards of a sampled geometry or of kernels
    Merge(MergeArgs),
    /// Compute the kernels of the infinitely wide network: NNGP and NTK of samples
    Kernel(Box<KernelArgs>),
    /// Learn a data set with the kernel of the infinitely wide network
    Regress(Box<RegressArgs>),
    /// Find what a kernel learns first: eigenvalues on products of spheres, or on samples
    Spectrum(Box<SpectrumArgs>),
    /// Find the group of transformations that an architecture cannot tell apart
    Symmetry(Box<SymmetryArgs>),
    /// Find which transformations of its images a network follows or ignores, layer by layer
    Equivariance(Box<EquivarianceArgs>),
    /// Measure how much less a network minds deformations of its images than noise
    Stability(Box<StabilityArgs>),
    /// Deform images smoothly at random: temperatures, displacements, folds
    Deform(Box<DeformArgs>),
    /// Find how the loss curves at given weights: eigenvalues of its Hessian and their signs
    Hessian(Box<HessianArgs>),
    /// Train a few networks: what they need to fit, their regime, what their noise is worth
    Landscape(Box<LandscapeArgs>),
    /// Run an experiment of the literature: grid, table, verdict, page
    Experiment(Box<ExperimentArgs>),
    /// Train a network: learning curves, weights, report
    Train(Box<TrainArgs>),
    /// Compare with closed forms and theorems on this machine; a GPU with the CPU
    Check(CheckArgs),
    /// Print what completes verbs and options in a shell
    Completions(CompletionsArgs),
    /// Print a manual page
    Man(ManArgs),
}

impl Verb {
    /// Whether it has figures to write.
    fn draws(&self) -> bool {
        use Verb::{Check, Completions, Init, List, Man, Plan};
        !matches!(
            self,
            List(_) | Init(_) | Check(_) | Plan(_) | Completions(_) | Man(_)
        )
    }
}

/// Options of every verb.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Common options")]
pub struct Common {
    /// Seed of every random number
    #[arg(long, global = true, value_name = "N", default_value_t = 0, value_parser = seed, allow_negative_numbers = true)]
    pub seed: u64,
    /// Threads to use; results do not depend on it [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub threads: Option<usize>,
    /// Where to compute: cpu, cuda or cuda:N
    #[arg(long, global = true, value_name = "DEVICE", default_value = "cpu", value_parser = Device::from_str)]
    pub device: Device,
    /// Products of f32 on a GPU: full or fast (TF32)
    #[arg(long, global = true, value_name = "HOW", default_value = "full", value_parser = Precision::from_str)]
    pub precision: Precision,
    /// Precision of the computation: f32 or f64
    #[arg(long, global = true, value_name = "TYPE", default_value = "f32")]
    pub dtype: Dtype,
    /// Where the results go [default: runs/VERB-ARCH-N]
    #[arg(long, global = true, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// No progress bar and no notes on standard error
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// The result as JSON on standard output
    #[arg(long, global = true)]
    pub json: bool,
    /// Files of figures: svg, or png for both
    #[arg(long, global = true, value_name = "FORMAT", default_value = "svg", value_parser = figures)]
    pub figures: Figures,
    /// Width of a png, in pixels [default: 1600]
    #[arg(long, global = true, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(64..=10_000))]
    pub size: Option<u32>,
    /// Start over, replacing what an earlier run left at --out
    #[arg(long, global = true)]
    pub force: bool,
}

/// What figures are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figures {
    /// Drawings.
    Svg,
    /// Drawings, and pixels beside them.
    Png,
}

impl Common {
    /// Width of the PNG beside every figure, if there is to be one.
    pub fn png(&self) -> Option<u32> {
        (self.figures == Figures::Png).then_some(self.size.unwrap_or(1600))
    }

    /// Checks the device and starts the threads.
    pub fn prepare(&self, verb: &Verb) -> Result<(), CliError> {
        if self.device != Device::Cpu {
            if let Verb::List(_)
            | Verb::Show(_)
            | Verb::Init(_)
            | Verb::Merge(_)
            | Verb::Completions(_)
            | Verb::Man(_) = verb
            {
                return Err(CliError::Usage(
                    "list, show, init, merge, completions and man have nothing for a GPU; leave --device out"
                        .into(),
                ));
            }
            polariscope_lens::open(self.device)
                .map_err(|e| CliError::Usage(format!("--device: {e}")))?;
        }
        if self.size.is_some() && self.png().is_none() {
            return Err(CliError::Usage(
                "--size is the width of png figures; add --figures png".into(),
            ));
        }
        if self.png().is_some() && !verb.draws() {
            return Err(CliError::Usage(
                "--figures png: list, init, check, plan, completions and man draw no figures; leave it out".into(),
            ));
        }
        if self.precision == Precision::Fast {
            let wrong = match (self.device, self.dtype, verb) {
                (Device::Cpu, ..) => Some("only a GPU has fast products; add --device cuda"),
                (_, Dtype::F64, _) => Some("these are products of f32; leave one of the two out"),
                (_, _, Verb::Geometry(_) | Verb::Compare(_) | Verb::Align(_)) => None,
                (_, _, Verb::Predict(_)) => None,
                (_, _, Verb::Train(_) | Verb::Experiment(_) | Verb::Plan(_)) => None,
                _ => Some(
                    "only geometry, compare, align, predict, train and experiment take it; leave it out",
                ),
            };
            if let Some(wrong) = wrong {
                return Err(CliError::Usage(format!("--precision fast: {wrong}")));
            }
        }
        if let Some(threads) = self.threads {
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build_global()
                .map_err(|e| CliError::Failed(format!("cannot start {threads} threads: {e}")))?;
        }
        Ok(())
    }

    /// What every question depends on.
    pub fn setup(&self) -> Setup {
        Setup {
            seed: self.seed,
            dtype: self.dtype,
            device: self.device,
            precision: self.precision,
        }
    }

    /// Where networks are computed.
    pub fn place(&self) -> Place {
        self.setup().place()
    }

    /// Refuses `--out` for a verb that only prints.
    pub fn refuse_out(&self, verb: &str) -> Result<(), CliError> {
        match self.out {
            None => Ok(()),
            Some(_) => Err(CliError::Usage(format!(
                "--out: {verb} writes no files; redirect its output instead"
            ))),
        }
    }

    /// What every result depends on, for `run.toml`. Threads are left out: no result depends on them.
    pub fn configuration(&self) -> toml::Table {
        let mut table = toml::Table::new();
        // `seed` admits what a TOML integer holds.
        table.insert("seed".into(), toml::Value::Integer(self.seed as i64));
        table.insert("dtype".into(), self.dtype.name().into());
        table.insert("device".into(), self.device.to_string().into());
        if self.precision == Precision::Fast {
            table.insert("precision".into(), "fast".into());
        }
        table
    }
}

/// An architecture and what its name leaves open; shared by every verb that takes one.
#[derive(Clone, Debug, Args)]
pub struct ArchitectureArgs {
    /// Zoo name (see `polariscope list`) or architecture file
    #[arg(value_name = "ARCH")]
    pub architecture: String,
    /// What the name leaves open.
    #[command(flatten)]
    pub options: ArchitectureOptions,
}

/// What the name of an architecture leaves open.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Architecture options")]
pub struct ArchitectureOptions {
    /// Shape of one input [default: 3x32x32, geometry 1x32x32]
    #[arg(long, value_name = "CxHxW")]
    pub input: Option<Shape>,
    /// Number of outputs [default: 10]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub outputs: Option<usize>,
    /// Replaces every activation: tanh, softplus:5, normalised:relu, …
    #[arg(long, value_name = "NAME")]
    pub activation: Option<Nonlinearity>,
    /// pytorch, ntk, mean-field, he, lecun, xavier or orthogonal
    #[arg(long, value_name = "NAME")]
    pub parametrisation: Option<Parametrisation>,
    /// `zero` starts every bias at 0, whatever the parametrisation says
    #[arg(long, value_name = "RULE")]
    pub bias: Option<BiasRule>,
    /// Weight scale of ntk and mean-field
    #[arg(long, value_name = "X", value_parser = scale, allow_negative_numbers = true)]
    pub w_std: Option<f64>,
    /// Bias scale of ntk and mean-field
    #[arg(long, value_name = "X", value_parser = scale, allow_negative_numbers = true)]
    pub b_std: Option<f64>,
    /// Hidden layers of fcn, lcn and the cnn-… networks
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub depth: Option<usize>,
    /// Channels or features of their hidden layers
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub width: Option<usize>,
    /// Taps of their convolutions, per axis
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub kernel: Option<usize>,
}

impl ArchitectureOptions {
    /// These options for a given architecture.
    pub fn of(&self, architecture: &str) -> ArchitectureArgs {
        ArchitectureArgs {
            architecture: architecture.to_string(),
            options: self.clone(),
        }
    }

    fn zoo(&self) -> ZooOptions {
        ZooOptions {
            input: self.input,
            outputs: self.outputs,
            activation: self.activation,
            parametrisation: self.parametrisation,
            bias: self.bias.unwrap_or_default(),
            depth: self.depth,
            width: self.width,
            kernel: self.kernel,
        }
    }
}

impl ArchitectureArgs {
    /// Builds the graph.
    pub fn graph(&self) -> Result<Graph, CliError> {
        let mut options = self.options.zoo();
        let graph = load(&self.architecture, &options)?;
        if self.options.w_std.is_none() && self.options.b_std.is_none() {
            return Ok(graph);
        }
        // The scales refine a parametrisation that may be the network's own default or its file's.
        let mut parametrisation = graph.parametrisation;
        match &mut parametrisation {
            Parametrisation::Ntk { w_std, b_std } | Parametrisation::MeanField { w_std, b_std } => {
                *w_std = self.options.w_std.unwrap_or(*w_std);
                *b_std = self.options.b_std.unwrap_or(*b_std);
            }
            other => {
                return Err(CliError::Usage(format!(
                    "--w-std and --b-std belong to --parametrisation ntk or mean-field; {} uses {other}",
                    self.architecture
                )));
            }
        }
        options.parametrisation = Some(parametrisation);
        Ok(load(&self.architecture, &options)?)
    }

    /// The architecture for samples of this shape, which `samples` names; refuses a file that states another input.
    pub fn reading(&self, shape: Shape, samples: &str) -> Result<ArchitectureArgs, CliError> {
        let file = &self.architecture;
        let stated = match Path::new(file).is_file() && self.is_file() {
            true => stated_input(file)?,
            false => None,
        };
        // What is typed beats what the file states.
        match stated {
            Some(stated) if stated != shape && self.options.input.is_none() => {
                return Err(CliError::Usage(format!(
                    "{file} states an input of {stated}, but {samples} has samples of {shape}; change its `input` or \
                     leave it out, the samples decide"
                )));
            }
            _ => {}
        }
        let mut architecture = self.clone();
        architecture.options.input = Some(shape);
        Ok(architecture)
    }

    /// Reads weights for `graph`, whose number of outputs follows from them where it was left open.
    pub fn fit<T: Number>(
        &self,
        graph: Graph,
        bytes: &[u8],
        path: &Path,
    ) -> Result<(Graph, Weights<T>), CliError> {
        let with_outputs = |outputs| {
            let mut architecture = self.clone();
            let left_open = architecture.options.outputs.replace(outputs).is_none();
            left_open.then(|| architecture.graph().ok()).flatten()
        };
        let file = path.display().to_string();
        Ok(weights::fit(graph, bytes, &file, with_outputs)?)
    }

    /// Whether the architecture is a file, which fixes the number of outputs, and not a name of the zoo.
    pub fn is_file(&self) -> bool {
        let known = zoo(&self.architecture, &self.options.zoo());
        matches!(known, Err(GraphError::UnknownArchitecture { .. }))
    }

    /// The architecture as resolved into `graph`, for `run.toml`. A file is kept with its text: the record
    /// then says what was computed even after the file has changed.
    pub fn configuration(&self, graph: &Graph) -> Result<toml::Table, CliError> {
        let mut table = toml::Table::new();
        let mut set = |key: &str, value: String| table.insert(key.to_string(), value.into());
        set("architecture", self.architecture.clone());
        set("input", graph.input().to_string());
        set("output", graph.output().to_string());
        set("parametrisation", graph.parametrisation.to_string());
        if let Some(activation) = self.options.activation {
            set("activation", activation.to_string());
        }
        if let Some(bias) = self.options.bias {
            set("bias", bias.to_string());
        }
        if self.is_file() {
            let text = std::fs::read_to_string(&self.architecture)
                .map_err(|e| CliError::Usage(format!("{}: {e}", self.architecture)))?;
            set("architecture_text", text);
        }
        for (key, size) in [
            ("depth", self.options.depth),
            ("width", self.options.width),
            ("kernel", self.options.kernel),
        ] {
            if let Some(size) = size {
                table.insert(key.to_string(), toml::Value::Integer(size as i64));
            }
        }
        Ok(table)
    }
}

impl ArchitectureArgs {
    /// The graph that [`ArchitectureArgs::configuration`] described.
    pub fn restore(configuration: &toml::Table) -> Result<Graph, CliError> {
        let text = |key: &str| configuration.get(key).and_then(toml::Value::as_str);
        let size = |key: &str| {
            let size = configuration.get(key).and_then(toml::Value::as_integer);
            size.and_then(|n| usize::try_from(n).ok())
        };
        let name = text("architecture").unwrap_or_default();
        let options = ZooOptions {
            input: text("input").and_then(|t| t.parse().ok()),
            outputs: text("output").and_then(|t| t.parse().ok()),
            activation: text("activation").and_then(|t| t.parse().ok()),
            parametrisation: text("parametrisation").and_then(|t| t.parse().ok()),
            bias: text("bias")
                .and_then(|t| t.parse().ok())
                .unwrap_or_default(),
            depth: size("depth"),
            width: size("width"),
            kernel: size("kernel"),
        };
        match text("architecture_text") {
            None => Ok(zoo(name, &options)?),
            Some(file) => {
                // A file fixes its outputs.
                let options = ZooOptions {
                    outputs: None,
                    ..options
                };
                Ok(parse_file(file, name, &options)?)
            }
        }
    }
}

fn figures(text: &str) -> Result<Figures, String> {
    match text {
        "svg" => Ok(Figures::Svg),
        "png" => Ok(Figures::Png),
        _ => Err("must be svg or png".to_string()),
    }
}

/// A whole number that a TOML integer holds: a seed, or which of the networks that it draws.
pub fn seed(text: &str) -> Result<u64, String> {
    let most = i64::MAX as u64;
    let seed = text.parse().ok().filter(|&n| n <= most);
    seed.ok_or_else(|| format!("must be a whole number from 0 to {most}"))
}

/// A whole number of at least 1.
pub fn count(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|&n| n >= 1);
    count.ok_or_else(|| "must be a whole number of at least 1".to_string())
}

/// One of several words.
pub fn named<T: Copy>(text: &str, all: &[(&'static str, T)]) -> Result<T, String> {
    let names = || all.iter().map(|(name, _)| *name);
    match all.iter().find(|(name, _)| *name == text) {
        Some((_, found)) => Ok(*found),
        None => Err(match nearest(text, names()) {
            Some(near) => format!("unknown; did you mean {near}?"),
            None => format!("it is one of {}", names().collect::<Vec<_>>().join(", ")),
        }),
    }
}

/// A finite number above 0.
pub fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|x: &f64| x.is_finite() && *x > 0.0);
    number.ok_or_else(|| "must be a finite number above 0".to_string())
}

fn scale(text: &str) -> Result<f64, String> {
    let scale = text
        .parse()
        .ok()
        .filter(|x: &f64| x.is_finite() && *x >= 0.0);
    scale.ok_or_else(|| "must be a finite number of at least 0".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn devices() {
        let device = |text: &str| text.parse::<Device>();
        assert_eq!(device("cpu"), Ok(Device::Cpu));
        assert_eq!(device("cuda:3").map(|d| d.to_string()), Ok("cuda:3".into()));
        assert!(device("gpu").is_err() && device("cuda:x").is_err() && device("cpu:0").is_err());
    }

    #[test]
    fn numbers_have_bounds() {
        assert_eq!(seed("9223372036854775807"), Ok(i64::MAX as u64));
        assert!(seed("9223372036854775808").is_err() && seed("-1").is_err());
        assert!(count("0").is_err() && count("1.5").is_err());
        assert!(scale("nan").is_err() && scale("-1").is_err() && scale("0").is_ok());
    }
}
