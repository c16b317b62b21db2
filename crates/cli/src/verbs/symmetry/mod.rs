//! `symmetry`: what a learning system cannot tell apart.

mod answer;
mod measure;
mod page;
mod words;

use clap::Args;
use polariscope_data::Dataset;
use polariscope_graph::Graph;

use super::geometry::command;
use super::subject::Subject;
use crate::args::{ArchitectureArgs, Common, count};
use crate::error::CliError;
use crate::run::{self, Opened};
use answer::Symmetry;
use measure::{Material, measure};

/// Samples that are transformed where nothing else is said.
const SAMPLES: usize = 8;
/// Updates of the runs that are compared.
const STEPS: usize = 20;

/// What `symmetry` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "The kernels and runs are always computed in f64.")]
pub struct SymmetryArgs {
    /// The network.
    #[command(flatten)]
    pub architecture: ArchitectureArgs,
    /// Check on cifar10:DIR, npy:X,Y or NAME?param=value [default: normal numbers]
    #[arg(long, value_name = "SPEC", help_heading = "Check")]
    pub data: Option<String>,
    /// Samples to transform
    #[arg(long, value_name = "N", default_value_t = SAMPLES, value_parser = count, allow_negative_numbers = true, help_heading = "Check")]
    pub samples: usize,
    /// Updates of the training runs that are compared
    #[arg(long, value_name = "N", default_value_t = STEPS, value_parser = count, allow_negative_numbers = true, help_heading = "Check")]
    pub steps: usize,
}

/// Deduces and checks, or shows what an earlier run of the same command found.
pub fn run(args: &SymmetryArgs, common: &Common) -> Result<(), CliError> {
    let (graph, architecture, material, subject) = subject(args, common)?;
    let mut configuration = architecture.configuration(&graph)?;
    for (key, value) in [("samples", args.samples), ("steps", args.steps)] {
        configuration.insert(key.into(), toml::Value::Integer(value as i64));
    }
    if let Some(subject) = &subject {
        subject.configure(&mut configuration);
    }
    let request = run::request("symmetry", &graph.name, configuration, common);
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Symmetry>(&path, &record, common),
    };
    let measured = measure(&graph, &material, args.steps, common)?;
    let result = Symmetry::new(&graph, measured);
    directory.write("groups.csv", result.table_for_files().to_csv().as_bytes())?;
    let page = page::page(&graph, &result, &command(&request), request.settings());
    directory.write_page(&page)?;
    run::finish(directory, &result, common)
}

type Parts = (Graph, ArchitectureArgs, Material, Option<Subject>);

/// The network and the samples, from data or drawn.
fn subject(args: &SymmetryArgs, common: &Common) -> Result<Parts, CliError> {
    let Some(spec) = &args.data else {
        let graph = args.architecture.graph()?;
        let material = Material::drawn(&graph, args.samples, common.seed);
        return Ok((graph, args.architecture.clone(), material, None));
    };
    let subject = Subject::new(&args.architecture, Dataset::load(spec)?)?;
    let graph = subject.problem.graph.clone();
    let material = Material::of(&subject.problem.data, &graph, args.samples);
    Ok((graph, subject.architecture.clone(), material, Some(subject)))
}
