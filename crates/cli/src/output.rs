//! Standard output and standard error.

use std::io::{self, ErrorKind, IsTerminal, Write};

use clap::builder::StyledStr;
use serde::Serialize;

use crate::args::Common;
use crate::error::CliError;
use crate::progress::above;

/// Columns that tables may fill.
pub const WIDTH: usize = 100;

/// Writes to standard output. A reader that went away (`| head`) has seen what it wanted: that is success.
pub fn print(text: &str) -> Result<(), CliError> {
    let written = above(|| {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush())
    });
    match written {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(CliError::Failed(format!(
            "cannot write to standard output: {e}"
        ))),
        _ => Ok(()),
    }
}

/// Writes what clap has laid out, in colour where standard output shows colours.
pub fn print_styled(text: &StyledStr) -> Result<(), CliError> {
    match colour(&io::stdout()) {
        true => print(&text.ansi().to_string()),
        false => print(&text.to_string()),
    }
}

/// Whether colours are shown there: a terminal, and nobody said NO_COLOR (<https://no-color.org>).
fn colour(stream: &impl IsTerminal) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    stream.is_terminal() && !set("NO_COLOR") && !dumb
}

/// Writes a result as JSON.
pub fn print_json(value: &impl Serialize) -> Result<(), CliError> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|e| CliError::Failed(format!("cannot express the result as JSON: {e}")))?;
    print(&(text + "\n"))
}

/// Writes the one line of a failed command.
pub fn complain(error: &CliError) {
    let (word, paint) = match error {
        CliError::Interrupted(_) => ("interrupted:", "\x1b[1m"),
        CliError::Usage(_) | CliError::Failed(_) => ("error:", "\x1b[1;31m"),
    };
    let word = match colour(&io::stderr()) {
        true => format!("{paint}{word}\x1b[0m"),
        false => word.to_string(),
    };
    say(&format!("{word} {error}"));
}

/// Writes a line of guidance to standard error, such as what became of an earlier run.
pub fn note(common: &Common, text: &str) {
    if !common.quiet {
        say(text);
    }
}

fn say(text: &str) {
    // There is nowhere left to report to if standard error is gone.
    above(|| {
        let _ = writeln!(io::stderr().lock(), "{text}");
    });
}
