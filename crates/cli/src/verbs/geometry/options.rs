//! From what was typed to a question.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use polariscope_data::Dataset;
use polariscope_diff::Place;
use polariscope_geometry::{
    Centring, GROUPS, Gradient, Limit, Method, Output, Probe, Readouts, SampleConfig, Shard,
    kernel_memory,
};
use polariscope_graph::{Graph, Op, Shape};
use polariscope_meanfield::{ExactProbe, approximations, exact_applies, mean_field_applies};
use polariscope_network::multiplications;
use polariscope_random::Stream;

use crate::args::{ArchitectureArgs, count};
use crate::error::CliError;
use crate::run::fingerprint;
use crate::samples::Inputs;

/// Input of networks that leave it open: small enough for seconds, large enough to look at.
const INPUT: Shape = Shape::Image {
    channels: 1,
    height: 32,
    width: 32,
};
/// Relative standard error at which sampling stops where nothing else is said: Corr(Ĝ, G) is about 0.995.
pub const ERROR: f64 = 0.1;
/// The same for networks whose gradients take long.
const COARSE_ERROR: f64 = 0.3;
/// Multiplications of a forward pass up to which sampling takes seconds.
const CHEAP: usize = 30_000_000;
/// Points for each network, and of closed forms at infinite width, where nothing is said.
const PROBES: usize = 16;
/// Inputs where nothing is said.
const GAUSS: Probe = Probe::Gauss { sigma: 1.0 };

/// What is asked of a geometry, whatever the verb.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Geometry")]
pub struct QuestionArgs {
    /// exact, meanfield, kernel, sample or mixed [default: the best here]
    #[arg(long, value_name = "NAME")]
    pub method: Option<Method>,
    /// zero, gauss:SIGMA, file:X.npy, data:SPEC [default: gauss:1]
    #[arg(long, value_name = "LAW")]
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
    #[arg(long, value_name = "NAME", hide_possible_values = true)]
    pub compat: Option<Compat>,
}

/// The conventions of released code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compat {
    /// Neural anisotropy directions: dipole of 100 at one normal point, mean removed.
    Nad,
    /// Geometric inductive biases: mean of the outputs at 128 points of σ = 0.001, divided by 128.
    Gih,
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
    /// x = 0.
    Zero,
    /// Normal with this deviation.
    Gauss(f64),
    /// Samples of a file.
    File(PathBuf),
    /// Samples of a data set.
    Data(String),
}

impl FromStr for ProbeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "zero" => Ok(ProbeArg::Zero),
            None if text == "gauss" => Ok(ProbeArg::Gauss(1.0)),
            Some(("gauss", sigma)) => {
                let sigma = sigma
                    .parse()
                    .ok()
                    .filter(|s: &f64| s.is_finite() && *s > 0.0);
                sigma
                    .map(ProbeArg::Gauss)
                    .ok_or_else(|| "sigma must be a number above 0, as in gauss:1".into())
            }
            Some(("file", path)) if !path.is_empty() => Ok(ProbeArg::File(path.into())),
            Some(("data", spec)) if !spec.is_empty() => Ok(ProbeArg::Data(spec.into())),
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
            ProbeArg::Zero => Ok(Probe::Zero),
            ProbeArg::Gauss(sigma) => Ok(Probe::Gauss { sigma: *sigma }),
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

/// A question about a network, every default resolved.
#[derive(Clone, Debug)]
pub struct Question {
    /// By which method.
    pub method: Method,
    /// Where.
    pub probe: Probe,
    /// Points for each network, or for a closed form at infinite width; of given weights, for each batch.
    pub probes: usize,
    /// Batches of points for each network: more than one for given weights.
    pub batches: u64,
    /// Which scalar.
    pub output: Output,
    /// Which geometry.
    pub gradient: Gradient,
    /// Whether the mean is removed.
    pub centring: Centring,
    /// When sampling stops.
    pub limit: Limit,
    /// Whether the last layer may be integrated out.
    pub integrate: Integrate,
    /// Factor on G that the conventions ask for.
    pub scale: f64,
    /// The preset behind it.
    pub compat: Option<Compat>,
}

/// Whether the last layer may be integrated out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integrate {
    /// Where that pays.
    LastLayer,
    /// Every network has its own.
    Nothing,
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

    /// Resolves the question for a network; `given` is true where weights are read, not drawn.
    pub fn resolve(&self, graph: &Graph, seed: u64, given: Given) -> Result<Question, CliError> {
        let limit = match (self.samples, self.error) {
            (Some(networks), _) => Limit::Networks(networks),
            (None, Some(error)) => Limit::Error(error),
            (None, None) if multiplications(graph) < CHEAP => Limit::Error(ERROR),
            (None, None) => Limit::Error(COARSE_ERROR),
        };
        let mut question = Question {
            method: Method::Sample,
            probe: Probe::Zero,
            probes: 1,
            batches: 1,
            output: self.logit.unwrap_or(Output::Logit(0)),
            gradient: match (self.gradient, given, self.method) {
                (Some(typed), _, _) => typed.gradient,
                // One network has one mean gradient, a geometry of rank one; Mixed has a derivative of its own.
                (None, Given::Files(_), _) | (None, _, Some(Method::Mixed)) => Gradient::Local,
                (None, Given::Nothing, _) => Gradient::Coherent,
            },
            centring: Centring::None,
            limit,
            integrate: Integrate::LastLayer,
            scale: 1.0,
            compat: self.compat,
        };
        if let Some(compat) = self.compat {
            return self.preset(question, compat, graph, seed);
        }
        let probe = self
            .probe
            .as_ref()
            .map(|p| p.load(graph.input()))
            .transpose()?;
        let sampled = given != Given::Nothing
            || self.samples.is_some()
            || self.error.is_some()
            || matches!(question.gradient, Gradient::Dipole { .. });
        question.method = match self.method {
            Some(method) => method,
            None if sampled => Method::Sample,
            None => best_method(graph, question.gradient, probe.as_ref(), question.output),
        };
        self.check(&question, given)?;
        question.probe = probe.unwrap_or(match question.method {
            Method::Exact => Probe::Zero,
            Method::MeanField | Method::Kernel | Method::Sample | Method::Mixed => GAUSS,
        });
        question.probes = match (&question.probe, self.probes) {
            (Probe::Zero, Some(m)) if m > 1 => {
                return Err(CliError::Usage(
                    "--probes: with --probe zero there is one point, 0".into(),
                ));
            }
            (_, Some(m)) => m,
            (Probe::Zero, None) => 1,
            (Probe::Gauss { .. } | Probe::Points { .. }, None) => PROBES,
        };
        let dim = graph.input().len();
        match given {
            // Twice as many gradients as directions, in batches whose scatter is the error: one for each group at least.
            Given::Files(files) => {
                let points = match (&question.probe, self.probes) {
                    (Probe::Zero, _) => 1,
                    (_, Some(m)) => m,
                    (_, None) => 2 * dim,
                };
                question.probes = (points / GROUPS).clamp(1, PROBES);
                question.batches = points.div_ceil(question.probes) as u64;
                question.limit = Limit::Networks(files * question.batches);
            }
            Given::Nothing => {}
        }
        Ok(question)
    }

    /// Options that a method has no use for.
    fn check(&self, question: &Question, given: Given) -> Result<(), CliError> {
        let method = question.method;
        if matches!(method, Method::Sample | Method::Mixed) {
            return Ok(());
        }
        let dipole = matches!(question.gradient, Gradient::Dipole { .. });
        let idle = [
            ("--samples", self.samples.is_some()),
            ("--error", self.error.is_some()),
            ("--gradient dipole", dipole),
            ("--weights", given != Given::Nothing),
        ];
        match idle.iter().find(|(_, set)| *set) {
            None => Ok(()),
            Some((option, _)) => Err(CliError::Usage(format!(
                "{option} belongs to --method sample; {method} draws no networks"
            ))),
        }
    }

    /// The conventions of released code; what they fix cannot be given beside.
    fn preset(
        &self,
        question: Question,
        compat: Compat,
        graph: &Graph,
        seed: u64,
    ) -> Result<Question, CliError> {
        let fixed = [
            ("--method", self.method.is_some_and(|m| m != Method::Sample)),
            ("--gradient", self.gradient.is_some()),
            ("--probes", self.probes.is_some()),
            ("--probe", self.probe.is_some() && compat == Compat::Nad),
            ("--logit", self.logit.is_some() && compat == Compat::Gih),
        ];
        if compat == Compat::Nad && self.method == Some(Method::Mixed) {
            return Err(CliError::Usage(
                "--compat nad --method mixed: as printed, Algorithm 2 averages the mixed derivative over networks first, \
                 which leaves noise for weights of mean 0; --method mixed alone takes E[MᵀM]"
                    .into(),
            ));
        }
        if let Some((option, _)) = fixed.iter().find(|(_, set)| *set) {
            return Err(CliError::Usage(format!(
                "{option} is fixed by --compat; leave one of the two out"
            )));
        }
        let question = Question {
            integrate: Integrate::Nothing,
            ..question
        };
        Ok(match compat {
            Compat::Nad => {
                let mut x = vec![0f32; graph.input().len()];
                Stream::new(seed, 0, "evaluation point").normal(1.0, &mut x);
                Question {
                    probe: Probe::Points {
                        source: "one point of N(0, I)".into(),
                        x: x.into_iter().map(f64::from).collect(),
                    },
                    gradient: Gradient::Dipole { h: 100.0 },
                    centring: Centring::Mean,
                    ..question
                }
            }
            Compat::Gih => {
                let probe = self
                    .probe
                    .as_ref()
                    .map(|p| p.load(graph.input()))
                    .transpose()?;
                Question {
                    probe: probe.unwrap_or(Probe::Gauss { sigma: 1e-3 }),
                    probes: 128,
                    gradient: Gradient::Local,
                    output: Output::Mean,
                    scale: 1.0 / 128.0,
                    ..question
                }
            }
        })
    }
}

/// Where the networks come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// Drawn by the seed.
    Nothing,
    /// Read from this many files.
    Files(u64),
}

/// The best method for a network. Coherent: a closed form wherever there is one. Local: a closed form that holds, then
/// sampling where it takes seconds, then a closed form that approximates.
fn best_method(graph: &Graph, gradient: Gradient, probe: Option<&Probe>, output: Output) -> Method {
    // Where nothing is said a coherent geometry is that of Gaussian inputs.
    let probe = match gradient {
        Gradient::Coherent => Some(probe.unwrap_or(&GAUSS)),
        Gradient::Local | Gradient::Dipole { .. } => probe,
    };
    let cheap = multiplications(graph) < CHEAP;
    match closed_form(graph, probe, output) {
        Some(Method::Exact) => Method::Exact,
        Some(Method::MeanField)
            if gradient == Gradient::Coherent
                || approximations(graph).is_empty()
                || !(cheap || pools_by_maximum(graph)) =>
        {
            Method::MeanField
        }
        _ => Method::Sample,
    }
}

/// Max-pool taken as average pool is too far off to be shown unasked.
fn pools_by_maximum(graph: &Graph) -> bool {
    graph
        .nodes
        .iter()
        .any(|node| matches!(node.op, Op::MaxPool(_)))
}

/// The closed form that answers the question, if one does.
fn closed_form(graph: &Graph, probe: Option<&Probe>, output: Output) -> Option<Method> {
    if exact_applies(graph, place(probe), output.into()).is_ok() {
        Some(Method::Exact)
    } else if mean_field_applies(graph, output.into()).is_ok() {
        Some(Method::MeanField)
    } else {
        None
    }
}

/// Where an exact geometry would be taken.
fn place(probe: Option<&Probe>) -> ExactProbe {
    match probe {
        None | Some(Probe::Zero) => ExactProbe::Zero,
        Some(Probe::Gauss { .. } | Probe::Points { .. }) => ExactProbe::Anywhere,
    }
}

impl Question {
    /// The question for `run.toml`.
    pub fn table(&self) -> toml::Table {
        let mut table = toml::Table::new();
        let mut set = |key: &str, value: toml::Value| table.insert(key.to_string(), value);
        set("method", self.method.to_string().into());
        set("probe", self.probe.to_string().into());
        set("output_differentiated", self.output.to_string().into());
        if let Some(bits) = self.probe.bits() {
            set("probe_fingerprint", fingerprint(bits).into());
        }
        set("gradient", self.gradient.to_string().into());
        if !self.is_averaged_over_inputs() {
            set("probes", toml::Value::Integer(self.probes as i64));
        }
        if matches!(self.method, Method::Sample | Method::Mixed) {
            match self.limit {
                Limit::Networks(n) => set("samples", toml::Value::Integer(n as i64)),
                Limit::Error(e) => set("error", e.into()),
            };
            set("centred", (self.centring == Centring::Mean).into());
        }
        if let Some(compat) = self.compat {
            set("compat", compat.name().into());
            set("scale", self.scale.into());
        }
        table
    }

    /// Whether the closed form needs no points: the exact one, and the coherent one of Gaussian inputs.
    pub fn is_averaged_over_inputs(&self) -> bool {
        matches!(
            (self.method, self.gradient, &self.probe),
            (Method::Exact, _, _) | (Method::MeanField, Gradient::Coherent, Probe::Gauss { .. })
        )
    }

    /// The sampler's part of the question, every network with its own last layer.
    pub fn sample_config(&self, seed: u64) -> SampleConfig {
        SampleConfig {
            seed,
            method: self.method,
            gradient: self.gradient,
            probe: self.probe.clone(),
            probes: self.probes,
            output: self.output,
            readouts: Readouts::Own,
            centring: self.centring,
            place: Place::default(),
        }
    }

    /// Refuses a question that the network has no answer to.
    pub fn check(&self, graph: &Graph) -> Result<(), CliError> {
        // Whatever the method, the output and the points must exist.
        let config = self.sample_config(0);
        match self.method {
            Method::Sample | Method::Mixed => config.check(graph)?,
            Method::Exact | Method::MeanField | Method::Kernel => config.check_place(graph)?,
        }
        let refused = match self.method {
            Method::Exact => exact_applies(graph, place(Some(&self.probe)), self.output.into())
                .map_err(|e| e.to_string()),
            Method::MeanField => {
                mean_field_applies(graph, self.output.into()).map_err(|e| e.to_string())
            }
            Method::Kernel => kernel_memory(graph, self.output)
                .map(|_| ())
                .map_err(|e| e.to_string()),
            Method::Sample | Method::Mixed => Ok(()),
        };
        refused.map_err(CliError::Usage)
    }

    /// The closed form that answers the same question, if one does.
    pub fn closed_form(&self, graph: &Graph) -> Option<Method> {
        closed_form(graph, Some(&self.probe), self.output)
    }

    /// The question of a sampled run from its `run.toml`; points are not needed any more.
    pub fn restore(table: &toml::Table) -> Option<Self> {
        let text = |key: &str| table.get(key).and_then(toml::Value::as_str);
        let probe = match text("probe")?.parse() {
            Ok(ProbeArg::Zero) => Probe::Zero,
            Ok(ProbeArg::Gauss(sigma)) => Probe::Gauss { sigma },
            _ => Probe::Points {
                source: text("probe")?.to_string(),
                x: Arc::from([]),
            },
        };
        let compat = text("compat").and_then(|name| Compat::from_str(name, false).ok());
        Some(Self {
            method: text("method")?.parse().ok()?,
            probe,
            probes: usize::try_from(table.get("probes")?.as_integer()?).ok()?,
            batches: 1,
            output: text("output_differentiated")?.parse().ok()?,
            gradient: text("gradient")?.parse().ok()?,
            centring: if table.get("centred")?.as_bool()? {
                Centring::Mean
            } else {
                Centring::None
            },
            limit: Limit::Networks(u64::try_from(table.get("samples")?.as_integer()?).ok()?),
            integrate: Integrate::Nothing,
            scale: table
                .get("scale")
                .and_then(toml::Value::as_float)
                .unwrap_or(1.0),
            compat,
        })
    }

    /// What others choose differently, for the report.
    pub fn conventions(&self) -> Vec<(String, String)> {
        let mut out = vec![("probe".to_string(), self.probe.to_string())];
        let mut push = |name: &str, value: String| out.push((name.to_string(), value));
        push(
            "scalar",
            match self.output {
                Output::Logit(k) => format!("output {k}"),
                Output::Mean => "mean of the outputs".into(),
                Output::All => "every output, summed".into(),
            },
        );
        push(
            "geometry",
            match self.gradient {
                Gradient::Coherent => "coherent: gradients at two independent inputs".into(),
                Gradient::Local => "local: both gradients at the same input".into(),
                Gradient::Dipole { h } => format!("differences over ±{h} in place of gradients"),
            },
        );
        if matches!(self.method, Method::Sample | Method::Mixed) {
            push("points a network", self.probes.to_string());
            push(
                "mean gradient",
                match self.centring {
                    Centring::None => "kept: G = E[g gᵀ]".into(),
                    Centring::Mean => "removed: covariance with divisor T − 1".into(),
                },
            );
        }
        if self.scale != 1.0 {
            push(
                "factor",
                format!("G × {}, as the released code scales it", self.scale),
            );
        }
        out
    }
}

impl Compat {
    /// As typed.
    pub fn name(self) -> &'static str {
        match self {
            Compat::Nad => "nad",
            Compat::Gih => "gih",
        }
    }
}

/// `i/n`, counted from 1.
pub fn shard(text: &str) -> Result<Shard, String> {
    let wrong = || "it is i/n with i from 1 to n, such as 1/4".to_string();
    let (i, n) = text.split_once('/').ok_or_else(wrong)?;
    match (i.parse::<u64>(), n.parse::<u64>()) {
        (Ok(i), Ok(n)) if 1 <= i && i <= n => Ok(Shard {
            index: i - 1,
            count: n,
        }),
        _ => Err(wrong()),
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
