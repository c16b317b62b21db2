//! `merge`: the shards of a sampled geometry or of a kernel become what one run would have written.

use std::path::{Path, PathBuf};

use clap::Args;
use polariscope_geometry::{self as geometry, Numbers, Part, Resolved, State};
use polariscope_lens::{Clock, Device, Setup};

use super::geometry::{SUMS, write};
use crate::args::{ArchitectureArgs, Common};
use crate::error::CliError;
use crate::looker::Looker;
use crate::run::{self, Opened, Record, Request, Status};

/// What `merge` takes.
#[derive(Clone, Debug, Args)]
pub struct MergeArgs {
    /// Run directories of all shards
    #[arg(value_name = "DIR", num_args = 1.., required = true)]
    pub shards: Vec<PathBuf>,
}

/// Adds the shards; the result is what one run would have written.
pub fn run(args: &MergeArgs, common: &Common) -> Result<(), CliError> {
    if common.out.is_none() {
        return Err(CliError::Usage("merge needs --out DIR for the sum".into()));
    }
    let records: Vec<Record> = args
        .shards
        .iter()
        .map(|path| record(path))
        .collect::<Result<_, _>>()?;
    let configuration = complete(&args.shards, &records)?;
    if configuration.get("verb").and_then(toml::Value::as_str) == Some("kernel") {
        return super::kernel::merge(&args.shards, &records, configuration, common);
    }
    let wrong = |what: String| CliError::Usage(format!("{}: {what}", args.shards[0].display()));
    let graph = ArchitectureArgs::restore(&configuration)?;
    let record = configuration.get("geometry").cloned();
    let record = record.and_then(|value| value.try_into::<geometry::Record>().ok());
    // What is left to do with the sums takes no card.
    let setup = Setup {
        device: Device::Cpu,
        ..common.setup()
    };
    let question = record.and_then(|record| Resolved::restore(&record, setup));
    let question =
        question.ok_or_else(|| wrong("its run.toml describes no sampled geometry".into()))?;
    let part: Part = records[0].result(&args.shards[0])?;
    let request = Request {
        verb: "geometry",
        architecture: graph.name.clone(),
        configuration,
    };
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Numbers>(&path, &record, common),
    };
    let mut clock = Clock::default();
    let state = clock.time("merging", || sums(&args.shards))?;
    let mut looker = Looker::new(&mut directory, common);
    let answer = question.merged(&graph, state, part.readouts, &mut clock, &mut looker);
    let mut answer = looker.settle(answer)?;
    write(&mut directory, &request, &mut answer)?;
    run::finish(directory, &answer.numbers, common)
}

/// The record of a finished shard.
fn record(path: &Path) -> Result<Record, CliError> {
    let wrong = |what: &str| Err(CliError::Usage(format!("{}: {what}", path.display())));
    match Record::read(path)? {
        None => wrong(
            "no run.toml; give the run directories of `geometry` or `kernel` with --shard i/n",
        ),
        Some(record) if record.status != Status::Finished => {
            wrong("this shard is not finished; run its command again")
        }
        Some(record) => Ok(record),
    }
}

/// The configuration of the whole run, if the shards are all of one.
fn complete(paths: &[PathBuf], records: &[Record]) -> Result<toml::Table, CliError> {
    let mut common: Option<toml::Table> = None;
    let mut seen: Vec<(u64, u64)> = Vec::new();
    for (path, record) in paths.iter().zip(records) {
        let wrong = |what: String| Err(CliError::Usage(format!("{}: {what}", path.display())));
        let mut configuration = record.configuration.clone();
        let shard = configuration.remove("shard");
        let text = shard.as_ref().and_then(toml::Value::as_str).unwrap_or("");
        let Some((Ok(i), Ok(n))) = text.split_once('/').map(|(i, n)| (i.parse(), n.parse())) else {
            return wrong("this is no shard: run `geometry` or `kernel` with --shard i/n".into());
        };
        if seen.iter().any(|&(j, _)| j == i) {
            return wrong(format!("shard {i}/{n} is given twice"));
        }
        if common.as_ref().is_some_and(|c| *c != configuration) || seen.iter().any(|&(_, m)| m != n)
        {
            return wrong(format!(
                "this shard belongs to another run than {}",
                paths[0].display()
            ));
        }
        seen.push((i, n));
        common = Some(configuration);
    }
    let count = seen.first().map_or(0, |s| s.1);
    let missing: Vec<String> = (1..=count)
        .filter(|i| !seen.iter().any(|(j, _)| j == i))
        .map(|i| format!("{i}/{count}"))
        .collect();
    if !missing.is_empty() {
        return Err(CliError::Usage(format!(
            "shard {} is missing",
            missing.join(" and ")
        )));
    }
    common.ok_or_else(|| CliError::Usage("there is nothing to merge".into()))
}

/// The sum of the shards' sums.
fn sums(paths: &[PathBuf]) -> Result<State, CliError> {
    let mut total: Option<State> = None;
    for path in paths {
        let file = path.join(SUMS);
        let bytes = std::fs::read(&file)
            .map_err(|e| CliError::Usage(format!("{}: {e}", file.display())))?;
        let state = State::from_bytes(&bytes)
            .map_err(|e| CliError::from(e).about(&file.display().to_string()))?;
        match &mut total {
            None => total = Some(state),
            Some(total) => total.merge(&state)?,
        }
    }
    total.ok_or_else(|| CliError::Usage("there is nothing to merge".into()))
}
