//! What is said at the end of a run, or when a finished one is found.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Record, RunDirectory};
use crate::args::Common;
use crate::error::CliError;
use crate::output;

/// The `[result]` of a verb.
pub trait Shown: Serialize + DeserializeOwned {
    /// For people; `directory` is where the files are.
    fn text(&self, directory: &str) -> String;
}

/// What `--json` prints.
#[derive(Serialize)]
struct Json<'a, R> {
    directory: String,
    files: &'a [String],
    #[serde(flatten)]
    result: &'a R,
}

/// Finishes a run and prints its result.
pub fn finish<R: Shown>(
    directory: RunDirectory,
    result: &R,
    common: &Common,
) -> Result<(), CliError> {
    let path = directory.path().to_path_buf();
    let record = directory.finish(result)?;
    print(&path, &record, result, common)
}

/// Prints the result of an earlier run.
pub fn show<R: Shown>(path: &Path, record: &Record, common: &Common) -> Result<(), CliError> {
    print(path, record, &read::<R>(path, record)?, common)
}

/// The result of an earlier run.
pub fn read<R: Shown>(path: &Path, record: &Record) -> Result<R, CliError> {
    let result = toml::Value::Table(record.result.clone());
    result.try_into().map_err(|e: toml::de::Error| {
        CliError::Usage(format!(
            "{}: the [result] of run.toml cannot be read ({}); --force runs it again",
            path.display(),
            e.message()
        ))
    })
}

fn print<R: Shown>(
    path: &Path,
    record: &Record,
    result: &R,
    common: &Common,
) -> Result<(), CliError> {
    let directory = path.display().to_string();
    if common.json {
        return output::print_json(&Json {
            directory,
            files: &record.files,
            result,
        });
    }
    output::print(&result.text(&directory))
}
