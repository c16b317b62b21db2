//! `geometry --top k`: the first directions of inputs too large for a matrix.

use std::time::Instant;

use polariscope_report::{Align, Table, counted, pretty};
use serde::{Deserialize, Serialize};

use super::{Job, command};
use crate::args::Common;
use crate::error::CliError;
use crate::looker::Looker;
use crate::output;
use crate::run::{self, Opened, Shown};

/// The `[result]` of `run.toml`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Answer {
    networks: u64,
    trace: f64,
    trace_error: f64,
    /// Share of the trace in the directions found.
    share: f64,
    directions: usize,
    seconds: f64,
}

impl Shown for Answer {
    fn text(&self, directory: &str) -> String {
        let mut table = Table::new([("quantity", Align::Left), ("value", Align::Right)]);
        table.push([
            "trace".into(),
            format!("{} ± {}", pretty(self.trace), pretty(self.trace_error)).into(),
        ]);
        table.push([
            format!("share of the first {}", self.directions).into(),
            pretty(self.share).into(),
        ]);
        format!(
            "{}\n{}, matrix-free; eigenvalues.npy, directions.npy and report.html in {directory}\n",
            table.to_text(output::WIDTH),
            counted(self.networks, "network")
        )
    }
}

/// Finds the first `k` directions.
pub fn run(job: Job, k: usize, common: &Common) -> Result<(), CliError> {
    let mut looker = Looker::without(common);
    let planned = job.question.first(&job.graph, k, &mut looker);
    let planned = looker.settle(planned)?;
    let mut directory = match run::open(&job.request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Answer>(&path, &record, common),
    };
    let started = Instant::now();
    let mut looker = Looker::new(&mut directory, common);
    let found = planned(&mut looker);
    let first = looker.settle(found)?;
    let seconds = started.elapsed().as_secs_f64();
    for (name, content) in first.files() {
        directory.write(&name, &content)?;
    }
    directory.write_page(&first.page(&command(&job.request), job.request.settings()))?;
    let answer = Answer {
        networks: first.networks,
        trace: first.trace,
        trace_error: first.trace_error,
        share: first.share(),
        directions: k,
        seconds,
    };
    run::finish(directory, &answer, common)
}
