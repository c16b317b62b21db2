//! Standard output and standard error.

use std::io::{self, ErrorKind, Write};

use serde::Serialize;

use crate::args::Common;
use crate::error::CliError;

/// Columns that tables may fill.
pub const WIDTH: usize = 100;

/// Writes to standard output. A reader that went away (`| head`) has seen what it wanted: that is success.
pub fn print(text: &str) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(CliError::Failed(format!(
            "cannot write to standard output: {e}"
        ))),
        _ => Ok(()),
    }
}

/// Writes a result as JSON.
pub fn print_json(value: &impl Serialize) -> Result<(), CliError> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|e| CliError::Failed(format!("cannot express the result as JSON: {e}")))?;
    print(&(text + "\n"))
}

/// Writes the one line of a failed command.
pub fn complain(error: &CliError) {
    // There is nowhere left to report to if standard error is gone.
    let _ = writeln!(io::stderr().lock(), "error: {error}");
}

/// Writes a line of guidance to standard error, such as what became of an earlier run.
pub fn note(common: &Common, text: &str) {
    if !common.quiet {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }
}
