//! Runs any experiment into a run directory: a checkpoint after each cell, then the page from the table alone.

use polariscope_experiment::{Answer, Entry, Failure, Settings, Study};
use polariscope_report::fill;

use super::ExperimentArgs;
use super::look::Look;
use crate::args::Common;
use crate::error::CliError;
use crate::output;
use crate::run::{self, Opened, Request, Shown};
use crate::verbs::geometry::command;

/// The table, as checkpoint and as result.
pub const TABLE: &str = "table.csv";
/// The table with numbers that were not measured, where an experiment has some.
const SCORES: &str = "scores.csv";

/// Measures what is missing, judges, shows.
pub fn conduct(
    entry: &dyn Entry,
    args: &ExperimentArgs,
    common: &Common,
) -> Result<Answer, CliError> {
    let study = entry.make(&args.settings(common), common.place())?;
    let request = request(&*study, common);
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => {
            run::show::<Answer>(&path, &record, common)?;
            return Ok(record.result(&path)?);
        }
    };
    let kept = directory.restore(TABLE)?;
    let mut look = Look::new(&mut directory, common);
    let found = study.conduct(kept.as_deref(), &mut look);
    if let Some(failure) = look.failure {
        return Err(failure);
    }
    let finding = found.map_err(|e| match e {
        Failure::Kept(_) => CliError::from(e).about(&directory.path().display().to_string()),
        e => e.into(),
    })?;
    directory.write(TABLE, finding.table.to_csv().as_bytes())?;
    if let Some(scores) = &finding.scores {
        directory.write(SCORES, scores.to_csv().as_bytes())?;
    }
    directory.write_page(&finding.page(request.settings(), command(&request)))?;
    run::finish(directory, &finding.answer, common)?;
    Ok(finding.answer)
}

/// What an experiment is about to compute.
fn request(study: &dyn Study, common: &Common) -> Request {
    run::request(
        "experiment",
        study.name(),
        study.configuration().clone(),
        common,
    )
}

/// Whether an experiment that needs no data was run at the small scale, where runs without `--out` go.
pub fn finished(entry: &dyn Entry, common: &Common) -> Result<bool, CliError> {
    let settings = Settings {
        seed: common.seed,
        ..Settings::default()
    };
    let study = entry.make(&settings, common.place())?;
    Ok(run::find(&request(&*study, common), None).is_some())
}

impl Shown for Answer {
    fn text(&self, directory: &str) -> String {
        let words: String = self.words.split("\n\n").map(fill).collect();
        format!(
            "{}\n{}\n{words}table.csv and report.html in {directory}\n",
            self.means().to_text(output::WIDTH),
            self.verdicts().to_text(output::WIDTH),
        )
    }
}
