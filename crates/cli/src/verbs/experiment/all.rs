//! `experiment all`: one experiment after the other, then a line for each.

use std::time::Instant;

use polariscope_experiment::{Answer, Data, Entry, Numbers};
use polariscope_geometry_experiments::cifar10;
use polariscope_report::{Align, Page, Section, Table, counted, duration};

use super::registry::entries;
use super::{ExperimentArgs, Name, place, runner};
use crate::args::{Common, Dtype};
use crate::error::CliError;
use crate::interrupt;
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

/// The data of an experiment, from the directory of CIFAR-10; an error says what it needs.
fn data(needed: Data, directory: Option<&str>) -> Result<Option<String>, &'static str> {
    match (needed, directory) {
        (Data::Own, _) => Ok(None),
        (_, None) => Err("needs --data cifar10:DIR"),
        (Data::Cifar10, Some(directory)) => Ok(Some(format!("cifar10:{directory}"))),
        (Data::Images, Some(directory)) => {
            Ok(Some(format!("cifar10:{directory}?pool=4&standardise")))
        }
    }
}

/// Runs one of them, in a directory of its own.
fn one(
    entry: &'static dyn Entry,
    data: Option<String>,
    (args, common): (&ExperimentArgs, &Common),
) -> Result<Answer, CliError> {
    let about = entry.about();
    let own = ExperimentArgs {
        name: Name::One(entry),
        data,
        ..args.clone()
    };
    let mut common = place(&about, common);
    common.out = common.out.map(|out| out.join(about.name));
    // Those that know single precision alone are run in it.
    if let [Numbers::F32] = about.numbers {
        common.dtype = Dtype::F32;
    }
    runner::conduct(entry, &own, &common)
}

/// Runs every experiment that has its data; a finished one is only shown.
pub fn run(args: &ExperimentArgs, common: &Common) -> Result<(), CliError> {
    let directory = args.data.as_deref().map(cifar10).transpose()?;
    let directory = directory.map(|d| d.display().to_string());
    let mut table = Table::new([
        ("experiment", Align::Left),
        ("holds", Align::Right),
        ("fails", Align::Right),
        ("undecided", Align::Right),
        ("took", Align::Right),
    ]);
    let mut failed = 0;
    for entry in entries() {
        let about = entry.about();
        let data = match data(about.data, directory.as_deref()) {
            Ok(data) => data,
            Err(why) => {
                table.push([about.name, "", "", "", why].map(Into::into));
                continue;
            }
        };
        let started = Instant::now();
        let found = one(entry, data, (args, common));
        interrupt::keep_part("experiments that are finished are kept; the same command goes on");
        let took = duration(started.elapsed().as_secs_f64());
        match found {
            Ok(Answer {
                holds,
                fails,
                undecided,
                ..
            }) => table.push([
                about.name.into(),
                (holds as u64).into(),
                (fails as u64).into(),
                (undecided as u64).into(),
                took.into(),
            ]),
            Err(e @ CliError::Interrupted(_)) => return Err(e),
            Err(e) => {
                failed += 1;
                table.push([about.name, "", "", "", &e.to_string()].map(Into::into));
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
