//! `experiment all`: one experiment after the other, then a line for each.

use std::time::Instant;

use polariscope_report::{Align, Page, Section, Table, counted, duration};

use super::answer::Answer;
use super::{ExperimentArgs, KERNELS, Name, one, trials};
use crate::args::Common;
use crate::error::CliError;
use crate::output;
use crate::run::write_atomically;

/// Beside the directories of the experiments.
const PAGE: &str = "report.html";

/// What all of them came to.
fn overview(table: Table) -> Page {
    let mut page = Page::new(
        "Every experiment",
        "What do the architectures learn of what their geometry and their kernels predict?",
        "Claims that hold, that are shown wrong and that more runs would decide, experiment by experiment. Each has a page of \
         its own, NAME/report.html.",
    );
    page.push(Section::new("Verdicts").table(table));
    page
}

/// Runs every experiment that has its data; a finished one is only shown.
pub fn run(args: &ExperimentArgs, common: &Common) -> Result<(), CliError> {
    let directory = args.data.as_deref().map(trials::directory).transpose()?;
    let directory = directory.map(|d| d.display().to_string());
    let mut table = Table::new([
        ("experiment", Align::Left),
        ("holds", Align::Right),
        ("fails", Align::Right),
        ("undecided", Align::Right),
        ("took", Align::Right),
    ]);
    let mut failed = 0;
    for name in polariscope_trials::TRIALS
        .iter()
        .map(Name::Trial)
        .chain(KERNELS)
    {
        let data = match (name, &directory) {
            (Name::Trial(entry), _) if !entry.images => None,
            (Name::Spectra, _) => None,
            (_, None) => {
                let why = "needs --data cifar10:DIR";
                table.push([name.text(), "", "", "", why].map(Into::into));
                continue;
            }
            (Name::Trial(_), Some(directory)) => Some(format!("cifar10:{directory}")),
            (_, Some(directory)) => Some(format!("cifar10:{directory}?pool=4&standardise")),
        };
        let own = ExperimentArgs {
            name,
            data,
            ..args.clone()
        };
        let place = Common {
            out: common.out.as_ref().map(|out| out.join(name.text())),
            ..common.clone()
        };
        let started = Instant::now();
        let found = one(&own, &place);
        let took = duration(started.elapsed().as_secs_f64());
        match found {
            Ok(Answer {
                holds,
                fails,
                undecided,
                ..
            }) => table.push([
                name.text().into(),
                (holds as u64).into(),
                (fails as u64).into(),
                (undecided as u64).into(),
                took.into(),
            ]),
            Err(e) => {
                failed += 1;
                table.push([name.text(), "", "", "", &e.to_string()].map(Into::into));
            }
        }
    }
    if !common.json {
        output::print(&format!("\n{}", table.to_text(output::WIDTH)))?;
    }
    if let Some(out) = &common.out {
        write_atomically(&out.join(PAGE), overview(table).html().as_bytes())?;
    }
    match failed {
        0 => Ok(()),
        n => Err(CliError::Failed(format!(
            "{} could not be run to the end",
            counted(n, "experiment")
        ))),
    }
}
