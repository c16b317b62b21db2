//! Runs as the command line has them: its options, its notes, its printing.

use std::path::Path;

use polariscope_report::Page;
use polariscope_run as run;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::args::Common;
use crate::error::CliError;
use crate::interrupt;
use crate::output;

pub use polariscope_lens::{fingerprint, fingerprint_bytes};
pub use run::{Opened, Record, Request, RunDirectory, Status, find, write_atomically};

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

/// A request with what every verb's result depends on added to its own `configuration`.
pub fn request(
    verb: &'static str,
    architecture: &str,
    mut configuration: toml::Table,
    common: &Common,
) -> Request {
    configuration.extend(common.configuration());
    configuration.insert("verb".into(), verb.into());
    Request {
        verb,
        architecture: architecture.to_string(),
        configuration,
    }
}

/// A question as a part of `run.toml`; what every verb's result depends on is added by [`request`].
pub fn configuration(question: &impl Serialize) -> Result<toml::Table, CliError> {
    let table = toml::Table::try_from(question);
    let mut table =
        table.map_err(|e| CliError::Failed(format!("cannot express the question as TOML: {e}")))?;
    table.remove("setup");
    Ok(table)
}

/// Opens the directory of a run, saying what became of an earlier one.
pub fn open(request: &Request, common: &Common) -> Result<Opened, CliError> {
    let options = run::Options {
        out: common.out.clone(),
        force: common.force,
        threads: common.threads.unwrap_or_else(rayon::current_num_threads),
        png: common.png(),
    };
    let opened = interrupt::writing(|| run::open(request, &options))?;
    match &opened {
        Opened::Work(run) if run.is_resumed() => output::note(
            common,
            &format!("resuming the unfinished run in {}", run.path().display()),
        ),
        Opened::Work(_) => {}
        Opened::Finished(path, _) => output::note(
            common,
            &format!(
                "{} holds this run, finished; --force runs it again",
                path.display()
            ),
        ),
    }
    Ok(opened)
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

/// Writes the files and the page of an answer, finishes the run and prints its result.
pub fn complete<R: Shown>(
    mut directory: RunDirectory,
    files: impl IntoIterator<Item = (impl AsRef<str>, Vec<u8>)>,
    page: &Page,
    result: &R,
    common: &Common,
) -> Result<(), CliError> {
    for (name, content) in files {
        directory.write(name.as_ref(), &content)?;
    }
    directory.write_page(page)?;
    finish(directory, result, common)
}

/// Prints the result of an earlier run.
pub fn show<R: Shown>(path: &Path, record: &Record, common: &Common) -> Result<(), CliError> {
    print(path, record, &record.result::<R>(path)?, common)
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
