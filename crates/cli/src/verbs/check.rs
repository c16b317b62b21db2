//! `check`: closed-form controls on this machine.

use clap::Args;
use polariscope_diff::Device;
use polariscope_graph::nearest;
use polariscope_report::{Align, Cell, Table};
use serde::Serialize;

use crate::args::Common;
use crate::check::{GROUPS, Group, Outcome, device};
use crate::error::CliError;
use crate::output;
use crate::progress::Progress;

/// What `check` takes.
#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// What to check: core, geometry, kernels or device [default: everything]
    #[arg(value_name = "LENS")]
    pub lens: Option<String>,
}

/// The part that needs a GPU.
const DEVICE: &str = "device";

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
    let total =
        groups.iter().map(|g| g.controls.len()).sum::<usize>() + gpu.map_or(0, |_| device::COUNT);
    let progress = Progress::new("controls", total as u64, 0, common);
    let all = groups
        .iter()
        .flat_map(|g| g.controls.iter().map(|c| (g.name, c)));
    let mut controls: Vec<Outcome> = all
        .map(|(group, control)| {
            let outcome = control.run(group);
            progress.advance(1);
            outcome
        })
        .collect();
    if let Some(ordinal) = gpu {
        controls.extend(device::run(ordinal, || progress.advance(1)));
    }
    drop(progress);
    let failed = controls.iter().filter(|c| !c.pass).count();
    let verdict = Verdict {
        pass: failed == 0,
        controls,
    };
    if common.json {
        output::print_json(&verdict)?;
    } else {
        output::print(&table(&verdict.controls).to_text(output::WIDTH))?;
    }
    match failed {
        0 => Ok(()),
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
