//! Runs any experiment into a run directory: a checkpoint after each cell, then the page from the table alone.

use polariscope_experiment::{Answer, Entry, Failure, Settings, Study};
use polariscope_lens::Observer;
use polariscope_report::fill;

use super::{ExperimentArgs, Name, Scale};
use crate::args::Common;
use crate::error::CliError;
use crate::looker::Looker;
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
    if let Name::Renamed(old, _) = args.name {
        let words = format!("experiment {old} is called {} now", study.name());
        output::note(common, &words);
    }
    let request = request(&*study, common);
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => {
            run::show::<Answer>(&path, &record, common)?;
            return Ok(record.result(&path)?);
        }
    };
    let kept = directory.restore(TABLE)?;
    let place = directory.path().display().to_string();
    let mut looker = Looker::keeping(&mut directory, TABLE, common);
    if args.scale == Scale::Small {
        looker.foretell(60.0 * entry.about().minutes);
    }
    let found = study.conduct(kept.as_deref(), &mut looker);
    let finding = looker.settle(found.map_err(|e| match e {
        Failure::Kept(_) => CliError::from(e).about(&place),
        e => e.into(),
    }))?;
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
