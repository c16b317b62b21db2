//! `kernel`: NNGP and NTK of samples, tile by tile, on disk.

use std::path::{Path, PathBuf};

use clap::Args;
use polariscope_kernels::kernel::{
    self, Data, Job, Kinds, Outputs, Part, Question, Summary, Whole,
};
use polariscope_kernels::{Number, Store};
use polariscope_learning::{Inputs, weights};
use polariscope_lens::Shard;

use crate::args::{ArchitectureArgs, Common, Dtype, seed};
use crate::error::CliError;
use crate::looker::Looker;
use crate::output;
use crate::run::{self, Opened, Record, Request, RunDirectory, Shown, fingerprint_bytes};

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
    #[arg(long, value_name = "I/N", help_heading = "Kernel")]
    pub shard: Option<Shard>,
}

/// Computes in the precision asked for.
pub fn run(args: &KernelArgs, common: &Common) -> Result<(), CliError> {
    match common.dtype {
        Dtype::F32 => kernel::<f32>(args, common),
        Dtype::F64 => kernel::<f64>(args, common),
    }
}

fn kernel<T: Number>(args: &KernelArgs, common: &Common) -> Result<(), CliError> {
    let x1 = Inputs::<T>::read(&args.x1, args.architecture.options.input)?;
    let x2 = match &args.x2 {
        None => None,
        Some(path) => Some(columns(&x1, &args.x1, path)?),
    };
    let samples = args.x1.display().to_string();
    let architecture = args.architecture.reading(x1.shape, &samples)?;
    let mut graph = architecture.graph()?;
    let mut given = None;
    let mut data_configuration = toml::Table::new();
    let mut set = |key: &str, value: String| data_configuration.insert(key.into(), value.into());
    if let Some(path) = &args.weights {
        let bytes = weights::read(path)?;
        set("weights", fingerprint_bytes(&bytes));
        let (fitted, found) = architecture.fit::<T>(graph, &bytes, path)?;
        (graph, given) = (fitted, Some(found));
    }
    let mut question = Question {
        setup: common.setup(),
        kind: args.kind.clone(),
        finite: args.finite,
        outputs: match args.full {
            true => Outputs::All,
            false => Outputs::Mean,
        },
    };
    let data = Data {
        x1: T::of_samples(&x1.numbers),
        x2: x2.as_ref().map(|x2| T::of_samples(&x2.numbers)),
        weights: given.as_ref().map(T::of_weights),
    };
    let job = Job::<T>::new(&graph, data, &question)?;
    question.kind = job.kinds().clone();
    set("x1", x1.fingerprint.clone());
    if let Some(x2) = &x2 {
        set("x2", x2.fingerprint.clone());
    }
    let wide = x2.as_ref().unwrap_or(&x1).count();
    set("samples", format!("{} x {wide}", x1.count()));
    if let Some(shard) = args.shard {
        set("shard", shard.to_string());
    }
    let mut configuration = architecture.configuration(&graph)?;
    configuration.extend(run::configuration(&question)?);
    configuration.extend(data_configuration);
    let request = run::request("kernel", &graph.name, configuration, common);
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) if args.shard.is_none() => {
            return run::show::<Summary>(&path, &record, common);
        }
        Opened::Finished(path, record) => return run::show::<Part>(&path, &record, common),
    };
    let store = store(&directory, &question);
    let mut looker = Looker::new(&mut directory, common);
    if let Some(shard) = args.shard {
        let part = job.part(shard, &store, &mut looker);
        let part = looker.settle(part)?;
        adopt(&mut directory, &question)?;
        return run::finish(directory, &part, common);
    }
    let answer = job.answer(&store, &mut looker);
    let answer = looker.settle(answer)?;
    finish(directory, &question, &answer, &request, common)
}

/// Samples for the columns, of the shape of those for the rows.
fn columns<T: Number>(x1: &Inputs<T>, first: &Path, path: &Path) -> Result<Inputs<T>, CliError> {
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

/// The files of a run that grow.
fn store(directory: &RunDirectory, question: &Question) -> Store {
    let files = question.kind.iter().map(|kind| kind.file());
    Store::Files(
        files
            .map(|f| (f.to_string(), directory.growing(f)))
            .collect(),
    )
}

fn adopt(directory: &mut RunDirectory, question: &Question) -> Result<(), CliError> {
    let mut files = question.kind.iter().map(|kind| kind.file());
    Ok(files.try_for_each(|file| directory.adopt(file))?)
}

fn finish(
    mut directory: RunDirectory,
    question: &Question,
    answer: &kernel::Answer,
    request: &Request,
    common: &Common,
) -> Result<(), CliError> {
    adopt(&mut directory, question)?;
    directory.write_page(&kernel::page(answer, request.settings()))?;
    run::finish(directory, &answer.summary, common)
}

/// Joins the matrices of shards; `configuration` is that of the whole run.
pub fn merge(
    paths: &[PathBuf],
    records: &[Record],
    configuration: toml::Table,
    common: &Common,
) -> Result<(), CliError> {
    let wrong = |what: String| CliError::Usage(format!("{}: {what}", paths[0].display()));
    let graph = ArchitectureArgs::restore(&configuration)?;
    let mut question = Question::default();
    let text = |key: &str| configuration.get(key).and_then(toml::Value::as_str);
    question.kind = text("kind").unwrap_or_default().parse().map_err(wrong)?;
    question.setup.dtype = match text("dtype") {
        Some("f32") => Dtype::F32,
        _ => Dtype::F64,
    };
    let parts = records.iter().zip(paths).map(|(record, path)| {
        let shard = record.configuration.get("shard");
        let shard = shard.and_then(toml::Value::as_str).unwrap_or_default();
        let shard = shard.parse::<Shard>().map_err(wrong)?;
        Ok((shard, path.as_path()))
    });
    let parts: Vec<(Shard, &Path)> = parts.collect::<Result<_, CliError>>()?;
    let part: Part = toml::Value::Table(records[0].result.clone())
        .try_into()
        .map_err(|e: toml::de::Error| {
            wrong(format!("its [result] cannot be read ({})", e.message()))
        })?;
    let two_lists = configuration.contains_key("x2");
    let request = Request {
        verb: "kernel",
        architecture: graph.name.clone(),
        configuration,
    };
    let directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Summary>(&path, &record, common),
    };
    let whole = Whole {
        graph: &graph,
        question: &question,
        part: &part,
        two_lists,
    };
    let answer = kernel::merge(&whole, &parts, &store(&directory, &question))?;
    finish(directory, &question, &answer, &request, common)
}

impl Shown for Summary {
    fn text(&self, directory: &str) -> String {
        let text = self.text(output::WIDTH);
        format!("{text}; arrays and report.html in {directory}\n")
    }
}

impl Shown for Part {
    fn text(&self, directory: &str) -> String {
        let text = self.text();
        format!("{text} in {directory}; `polariscope merge` joins the shards\n")
    }
}
