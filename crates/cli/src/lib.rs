//! The command line: arguments in, a run directory, a table or JSON out.
//!
//! | exit | meaning |
//! |---|---|
//! | 0 | success, also when the reader of our output went away |
//! | 2 | bad usage or bad input; one line on standard error says what would be right |
//! | 1 | anything else |
//! | 130 | Ctrl-C; one line says what is kept |
#![forbid(unsafe_code)]

pub mod args;
pub mod error;
pub mod estimate;
pub mod help;
pub mod interrupt;
pub mod looker;
pub mod output;
pub mod progress;
pub mod run;
pub mod verbs;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::FromArgMatches;
use clap::error::ErrorKind;

use args::{Cli, Verb};
use error::CliError;

/// Runs one command and tells how it ended.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let parsed = help::command().try_get_matches_from(args);
    let outcome = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => run(cli),
        Err(e) => match e.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => output::print_styled(&e.render()),
            _ => Err(CliError::from(e)),
        },
    };
    let outcome = match interrupt::asked() {
        // It came when there was nothing left to stop.
        true if outcome.is_ok() => Err(CliError::Interrupted("all was done by then".into())),
        _ => outcome,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            output::complain(&e);
            ExitCode::from(e.exit_code())
        }
    }
}

fn run(cli: Cli) -> Result<(), CliError> {
    cli.common.prepare(&cli.verb)?;
    interrupt::listen();
    match &cli.verb {
        Verb::List(args) => verbs::list::run(args, &cli.common),
        Verb::Show(args) => verbs::show::run(args, &cli.common),
        Verb::Init(args) => verbs::init::run(args, &cli.common),
        Verb::Eval(args) => verbs::eval::run(args, &cli.common),
        Verb::Geometry(args) => verbs::geometry::run(args, &cli.common),
        Verb::Compare(args) => verbs::compare::run(args, &cli.common),
        Verb::Kernel(args) => verbs::kernel::run(args, &cli.common),
        Verb::Regress(args) => verbs::regress::run(args, &cli.common),
        Verb::Landscape(args) => verbs::landscape::run(args, &cli.common),
        Verb::Spectrum(args) => verbs::spectrum::run(args, &cli.common),
        Verb::Symmetry(args) => verbs::symmetry::run(args, &cli.common),
        Verb::Deform(args) => verbs::deform::run(args, &cli.common),
        Verb::Equivariance(args) => verbs::equivariance::run(args, &cli.common),
        Verb::Stability(args) => verbs::stability::run(args, &cli.common),
        Verb::Hessian(args) => verbs::hessian::run(args, &cli.common),
        Verb::Experiment(args) => verbs::experiment::run(args, &cli.common),
        Verb::Align(args) => verbs::align::run(args, &cli.common),
        Verb::Predict(args) => verbs::predict::run(args, &cli.common),
        Verb::Evolution(args) => verbs::evolution::run(args, &cli.common),
        Verb::Plan(args) => verbs::plan::run(args, &cli.common),
        Verb::Merge(args) => verbs::merge::run(args, &cli.common),
        Verb::Train(args) => verbs::train::run(args, &cli.common),
        Verb::Check(args) => verbs::check::run(args, &cli.common),
        Verb::Completions(args) => verbs::completions::completions(args, &cli.common),
        Verb::Man(args) => verbs::completions::man(args, &cli.common),
    }
}
