//! `check`: closed-form controls on this machine.

use clap::Args;
use polariscope_geometry::controls as geometry;
use polariscope_graph::nearest;
use polariscope_kernels::controls as kernels;
use polariscope_landscape::controls as landscape;
use polariscope_lens::{Comparison, Control, Device, Group, Outcome};
use polariscope_report::{Align, Cell, Table};
use polariscope_symmetry::controls as symmetry;
use polariscope_train::controls::{self as training, networks};
use serde::Serialize;

use crate::args::Common;
use crate::error::{CliError, flags};
use crate::output;
use crate::progress::Progress;

/// What `check` takes.
#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// core, geometry, kernels, landscape, symmetry or device [default: everything]
    #[arg(value_name = "LENS")]
    pub lens: Option<String>,
}

/// Every group, in the order in which they run.
const GROUPS: &[Group] = &[
    networks::CONTROLS,
    geometry::CONTROLS,
    kernels::CONTROLS,
    landscape::CONTROLS,
    symmetry::CONTROLS,
];

/// The part that needs a GPU.
const DEVICE: &str = "device";

/// What it compares, in the order of the table.
const COMPARISONS: [&[Comparison]; 4] = [
    networks::device::COMPARISONS,
    geometry::device::COMPARISONS,
    training::COMPARISONS,
    symmetry::COMPARISONS,
];

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Verdict {
    pass: bool,
    controls: Vec<Outcome>,
}

/// Runs the controls, prints the table, and fails if one of them does.
pub fn run(args: &CheckArgs, common: &Common) -> Result<(), CliError> {
    common.refuse_out("check")?;
    let groups: Vec<&Group> = match args.lens.as_deref() {
        None => GROUPS.iter().collect(),
        Some(DEVICE) => Vec::new(),
        Some(name) => vec![find(name)?],
    };
    let asked = matches!(args.lens.as_deref(), None | Some(DEVICE));
    let gpu = match common.device {
        Device::Cuda(ordinal) => Some(ordinal).filter(|_| asked),
        Device::Cpu if args.lens.as_deref() == Some(DEVICE) => {
            return Err(CliError::Usage(
                "check device compares a GPU with the CPU: add --device cuda".into(),
            ));
        }
        Device::Cpu => None,
    };
    let known: Vec<(&str, &Control)> = groups
        .iter()
        .flat_map(|g| g.controls.iter().map(|c| (g.name, c)))
        .collect();
    let compared: Vec<(usize, &Comparison)> = gpu
        .iter()
        .flat_map(|&n| COMPARISONS.into_iter().flatten().map(move |c| (n, c)))
        .collect();
    let total = known.len() + compared.len();
    let progress = Progress::new("controls", total as u64, 0, common);
    let known = known.iter().map(|(group, c)| c.run(group));
    let compared = compared.iter().map(|(n, c)| c.run(DEVICE, *n));
    let measured = known.chain(compared).inspect(|_| progress.advance(1));
    let controls: Vec<Outcome> = measured.map(shown).collect();
    drop(progress);
    let failed = controls.iter().filter(|c| !c.pass).count();
    if common.json {
        let pass = failed == 0;
        output::print_json(&Verdict { pass, controls })?;
        agreement(failed, total)?;
    } else {
        output::print(&table(&controls).to_text(output::WIDTH))?;
        output::print(&agreement(failed, total)?)?;
    }
    Ok(())
}

/// The outcome with settings as flags.
fn shown(outcome: Outcome) -> Outcome {
    Outcome {
        fault: outcome.fault.map(|fault| flags(&fault)),
        ..outcome
    }
}

/// The last line.
fn agreement(failed: usize, total: usize) -> Result<String, CliError> {
    match failed {
        0 => Ok(format!("all {total} controls agree\n")),
        n => Err(CliError::Failed(format!("{n} of {total} controls failed"))),
    }
}

fn find(name: &str) -> Result<&'static Group, CliError> {
    let names = || GROUPS.iter().map(|g| g.name).chain([DEVICE]);
    GROUPS.iter().find(|g| g.name == name).ok_or_else(|| {
        let hint = match nearest(name, names()) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("there is {}", names().collect::<Vec<_>>().join(", ")),
        };
        CliError::Usage(format!("check {name}: no such part; {hint}"))
    })
}

fn table(controls: &[Outcome]) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new([
        ("control", Left),
        ("expected", Right),
        ("measured", Right),
        ("tolerance", Right),
        ("", Left),
    ]);
    for c in controls {
        let measured = match &c.fault {
            None => c.measured.into(),
            Some(fault) => Cell::from(fault.as_str()),
        };
        let verdict = if c.pass { "pass" } else { "FAIL" };
        table.push([
            c.control.into(),
            c.expected.into(),
            measured,
            c.tolerance.into(),
            verdict.into(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use polariscope_lens::control;

    use super::*;

    #[test]
    fn the_last_line_counts_or_the_command_fails() {
        assert_eq!(agreement(0, 58), Ok("all 58 controls agree\n".into()));
        let failed = CliError::Failed("1 of 58 controls failed".into());
        assert_eq!(agreement(1, 58), Err(failed));
    }

    #[test]
    fn faults_name_flags() {
        let control = control("", 0.0, 0.0, || Err("needs ‹probe zero›".into()));
        let outcome = shown(control.run("test"));
        assert_eq!(outcome.fault.as_deref(), Some("needs --probe zero"));
    }
}
