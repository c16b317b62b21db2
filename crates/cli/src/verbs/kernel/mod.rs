//! `kernel`: NNGP and NTK of samples, tile by tile, on disk.

mod answer;
mod compute;
mod engine;
mod page;
pub(crate) mod store;
mod survey;
pub(crate) mod tiles;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use polariscope_diff::Real;
use polariscope_geometry::Shard;
use polariscope_graph::Graph;
use polariscope_infinite::{Kernel, Wanted};
use polariscope_kernels::empirical::Outputs;
use polariscope_network::{Network, Weights};

use super::geometry::options::shard;
use crate::args::{ArchitectureArgs, Common, Dtype, seed};
use crate::checkpoint;
use crate::error::CliError;
use crate::run::{self, Opened, fingerprint_bytes};
use crate::samples::Inputs;
use answer::{Answer, Part};
use compute::Job;
use engine::{Engine, Number};
use store::Stored;
use tiles::Symmetry;

pub use compute::merge;

/// What `kernel` takes.
#[derive(Clone, Debug, Args)]
pub struct KernelArgs {
    /// The network; its widths do not matter under ntk.
    #[command(flatten)]
    pub architecture: ArchitectureArgs,
    /// Samples as .npy, NxCxHxW, NxCxL or NxD; the input shape is taken from it
    #[arg(long, value_name = "FILE", help_heading = "Kernel")]
    pub x1: PathBuf,
    /// Other samples for the columns [default: those of --x1]
    #[arg(long, value_name = "FILE", help_heading = "Kernel")]
    pub x2: Option<PathBuf>,
    /// nngp, ntk or both, with a comma
    #[arg(
        long,
        value_name = "KINDS",
        default_value = "nngp,ntk",
        help_heading = "Kernel"
    )]
    pub kind: Kinds,
    /// The NTK of one finite network instead: number I of those that --seed draws
    #[arg(long, value_name = "I", value_parser = seed, help_heading = "Kernel", conflicts_with = "shard", allow_negative_numbers = true)]
    pub finite: Option<u64>,
    /// The NTK of these weights (safetensors) instead
    #[arg(long, value_name = "FILE", help_heading = "Kernel", conflicts_with_all = ["finite", "shard"])]
    pub weights: Option<PathBuf>,
    /// Every pair of outputs of a finite network, NC x NC, not their mean
    #[arg(long, help_heading = "Kernel", conflicts_with = "shard")]
    pub full: bool,
    /// Compute part I of N of the entries; `merge` joins the parts
    #[arg(long, value_name = "I/N", value_parser = shard, help_heading = "Kernel")]
    pub shard: Option<Shard>,
}

/// One of the two kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// K = E[f f'].
    Nngp,
    /// Θ = E[∇f·∇f'] over the parameters.
    Ntk,
}

impl Kind {
    /// As typed.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Nngp => "nngp",
            Kind::Ntk => "ntk",
        }
    }

    /// The file of the matrix.
    pub fn file(self) -> &'static str {
        match self {
            Kind::Nngp => "nngp.npy",
            Kind::Ntk => "ntk.npy",
        }
    }
}

/// Kernels that are wanted, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kinds(pub Vec<Kind>);

impl FromStr for Kinds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut kinds = Vec::new();
        for name in text.split(',') {
            let kind = match name.trim() {
                "nngp" => Kind::Nngp,
                "ntk" => Kind::Ntk,
                _ => return Err("it is nngp, ntk or nngp,ntk".into()),
            };
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        Ok(Kinds(kinds))
    }
}

impl std::fmt::Display for Kinds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|k| k.name()).collect();
        f.write_str(&names.join(","))
    }
}

impl Kinds {
    /// What the engine must compute.
    fn wanted(&self) -> Wanted {
        match self.0.contains(&Kind::Ntk) {
            true => Wanted::Both,
            false => Wanted::Nngp,
        }
    }
}

/// Computes in the precision asked for.
pub fn run(args: &KernelArgs, common: &Common) -> Result<(), CliError> {
    match common.dtype {
        Dtype::F32 => kernel::<f32>(args, common),
        Dtype::F64 => kernel::<f64>(args, common),
    }
}

fn kernel<T: Number + Stored>(args: &KernelArgs, common: &Common) -> Result<(), CliError> {
    let x1 = Inputs::<T>::read(&args.x1, args.architecture.options.input)?;
    let x2 = match &args.x2 {
        None => None,
        Some(path) => Some(columns(&x1, &args.x1, path)?),
    };
    let mut architecture = args.architecture.clone();
    architecture.options.input = Some(x1.shape);
    let Source {
        graph,
        engine,
        settings,
    } = source::<T>(args, &architecture, common)?;
    let kinds = match &engine {
        Engine::Infinite(_) => args.kind.clone(),
        Engine::Finite { .. } => Kinds(vec![Kind::Ntk]),
    };
    let mut configuration = architecture.configuration(&graph)?;
    configuration.extend(settings);
    let mut set = |key: &str, value: String| configuration.insert(key.into(), value.into());
    set("kind", kinds.to_string());
    set("x1", x1.fingerprint.clone());
    if let Some(x2) = &x2 {
        set("x2", x2.fingerprint.clone());
    }
    set(
        "samples",
        format!("{} x {}", x1.count(), x2.as_ref().unwrap_or(&x1).count()),
    );
    if let Some(shard) = args.shard {
        set("shard", format!("{}/{}", shard.index + 1, shard.count));
    }
    let request = run::request("kernel", &graph.name, configuration, common);
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) if args.shard.is_none() => {
            return run::show::<Answer>(&path, &record, common);
        }
        Opened::Finished(path, record) => return run::show::<Part>(&path, &record, common),
    };
    let symmetry = match &x2 {
        None => Symmetry::Symmetric,
        Some(_) => Symmetry::Rectangular,
    };
    let job = Job {
        engine: &engine,
        kinds: &kinds,
        x1: &x1.numbers,
        x2: x2.as_ref().map_or(&x1.numbers, |x| &x.numbers),
        symmetry,
    };
    job.run(args.shard.unwrap_or(Shard::WHOLE), &mut directory, common)?;
    if let Some(shard) = args.shard {
        let part = Part {
            rows: x1.count(),
            columns: x2.as_ref().unwrap_or(&x1).count(),
            entries: job.entries(shard),
            operations: engine.operations(),
        };
        return run::finish(directory, &part, common);
    }
    let each = engine.rows();
    let shape = (
        x1.count() * each,
        x2.as_ref().unwrap_or(&x1).count() * each,
        symmetry,
    );
    compute::conclude::<T>(
        directory,
        &kinds,
        engine.approximations(),
        shape,
        &request,
        common,
    )
}

/// Samples for the columns, of the shape of those for the rows.
fn columns<T: Real>(x1: &Inputs<T>, first: &Path, path: &Path) -> Result<Inputs<T>, CliError> {
    let x2 = Inputs::<T>::read(path, None)?;
    if x2.shape != x1.shape {
        return Err(CliError::Usage(format!(
            "{}: its samples are {}, those of {} are {}; both must have one shape",
            path.display(),
            x2.shape,
            first.display(),
            x1.shape
        )));
    }
    Ok(x2)
}

/// A network and what computes its kernels.
struct Source<T> {
    graph: Graph,
    engine: Engine<T>,
    /// What the kernels depend on beside the architecture.
    settings: toml::Table,
}

/// The engine that was asked for.
fn source<T: Number>(
    args: &KernelArgs,
    architecture: &ArchitectureArgs,
    common: &Common,
) -> Result<Source<T>, CliError> {
    let graph = architecture.graph()?;
    let mut settings = toml::Table::new();
    let (graph, weights) = match (&args.weights, args.finite) {
        (Some(path), _) => {
            let bytes = checkpoint::read(path)?;
            settings.insert("weights".into(), fingerprint_bytes(&bytes).into());
            checkpoint::fit(architecture, graph, &bytes, &path.display().to_string())?
        }
        (None, Some(index)) => {
            // `seed` admits what a TOML integer holds.
            settings.insert("finite".into(), toml::Value::Integer(index as i64));
            let weights = Weights::draw(&graph, common.seed, index);
            (graph, weights)
        }
        (None, None) if args.full => {
            return Err(CliError::Usage(
                "--full belongs to a finite network: give --finite I or --weights FILE; outputs of an infinitely \
                 wide one are independent"
                    .into(),
            ));
        }
        (None, None) => {
            let engine = Engine::Infinite(Box::new(Kernel::on(&graph, common.device)?));
            return Ok(Source {
                graph,
                engine,
                settings,
            });
        }
    };
    let outputs = match args.full {
        true => Outputs::All,
        false => Outputs::Mean,
    };
    if args.full {
        settings.insert("outputs".into(), "all".into());
    }
    let engine = Engine::Finite {
        network: Box::new(Network::on(graph.clone(), common.device)),
        weights,
        outputs,
    };
    Ok(Source {
        graph,
        engine,
        settings,
    })
}
