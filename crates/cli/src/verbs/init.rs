//! `init`: the initial weights of network `index`, as safetensors with PyTorch's names.

use polariscope_lens::afford;
use std::fs;
use std::path::PathBuf;

use clap::Args;
use polariscope_learning::weights;
use polariscope_report::grouped;
use serde::Serialize;

use crate::args::{ArchitectureArgs, Common, seed};
use crate::error::CliError;
use crate::output;
use crate::run::write_atomically;

/// What `init` takes.
#[derive(Clone, Debug, Args)]
pub struct InitArgs {
    /// The network.
    #[command(flatten)]
    pub architecture: ArchitectureArgs,
    /// Which of the networks that the seed draws
    #[arg(long, value_name = "I", default_value_t = 0, value_parser = seed, allow_negative_numbers = true)]
    pub index: u64,
}

/// What was written.
#[derive(Debug, Serialize)]
struct Written {
    file: String,
    tensors: usize,
    parameters: usize,
    bytes: usize,
}

/// Writes the file; one that holds something else is replaced only with `--force`.
pub fn run(args: &InitArgs, common: &Common) -> Result<(), CliError> {
    let graph = args.architecture.graph()?;
    let path = match &common.out {
        Some(path) if path.as_os_str().is_empty() => {
            return Err(CliError::Usage("--out: the file name is empty".into()));
        }
        Some(path) => path.clone(),
        None => PathBuf::from(format!(
            "{}-seed{}-index{}.safetensors",
            graph.name, common.seed, args.index
        )),
    };
    if path.is_dir() {
        return Err(CliError::Usage(format!(
            "--out {}: is a directory; init writes one file, such as {}/w.safetensors",
            path.display(),
            path.display()
        )));
    }
    // The numbers and the file.
    let numbers: usize = graph.params.iter().map(|p| p.len()).sum();
    afford(
        (2 * common.dtype.size() * numbers) as f64,
        "choose a smaller network",
    )?;
    let bytes = weights::initial(&graph, &common.setup(), args.index);
    // The same weights again need no writing, and other weights are somebody's work.
    let found = fs::read(&path).ok();
    if found.as_ref() != Some(&bytes) {
        if found.is_some() && !common.force {
            return Err(CliError::Usage(format!(
                "--out {}: holds something else; give another file, or --force to replace it",
                path.display()
            )));
        }
        write_atomically(&path, &bytes).map_err(|e| CliError::from(e).about("--out"))?;
    }
    let written = Written {
        file: path.display().to_string(),
        tensors: graph.params.len(),
        parameters: graph.parameter_count(),
        bytes: bytes.len(),
    };
    if common.json {
        return output::print_json(&written);
    }
    output::print(&format!(
        "{}: {} parameters in {} tensors, {}, seed {}, index {}\n",
        written.file,
        grouped(written.parameters as u64),
        written.tensors,
        common.dtype.name(),
        common.seed,
        args.index
    ))
}
