//! Runs any experiment: cells in order, a checkpoint after each, then verdicts and the page from the table alone.

use polariscope_report::{counted, duration};
use std::cell::RefCell;
use std::time::{Duration, Instant};

use polariscope_experiment::{Cell, Design, Experiment, Table, Verdict, View};

use super::answer::Answer;
use super::{ExperimentArgs, page};
use crate::args::Common;
use crate::error::CliError;
use crate::estimate::announce;
use crate::progress::Progress;
use crate::run::{self, Opened, Request, RunDirectory};

/// The table, as checkpoint and as result.
const TABLE: &str = "table.csv";
/// The table with numbers that were not measured, where an experiment has some.
const SCORES: &str = "scores.csv";
/// The rate of the first moment says little about the rest.
const SETTLED: Duration = Duration::from_secs(1);

/// Measures what is missing, judges, shows. `bytes` is the memory that a cell needs, about.
pub fn conduct<E>(
    experiment: &E,
    view: &dyn View,
    mut configuration: toml::Table,
    bytes: f64,
    (args, common): (&ExperimentArgs, &Common),
) -> Result<Answer, CliError>
where
    E: Experiment + Sync + ?Sized,
    CliError: From<E::Error>,
{
    let mut design = restricted(experiment.design(), &args.only)?;
    if !args.only.is_empty() {
        configuration.insert("only".into(), args.only.clone().into());
    }
    let request = request(view, configuration, common);
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => {
            run::show::<Answer>(&path, &record, common)?;
            return Ok(record.result(&path)?);
        }
    };
    let mut table = Table::new(&design);
    restore(&mut table, &directory)?;
    let mut prepared = false;
    loop {
        if !prepared && !design.missing(&table).is_empty() {
            experiment.prepare()?;
            prepared = true;
        }
        let clock = Clock::new(&design, &table, |cell| experiment.cost(cell), common);
        let clock = RefCell::new(clock);
        design.fill(
            &mut table,
            experiment.together(),
            |cell| Ok::<_, CliError>(experiment.measure(cell)?),
            |cells| clock.borrow().begin(cells),
            |table| {
                clock.borrow_mut().end(table, bytes, common);
                Ok(directory.checkpoint(TABLE, table.to_csv().as_bytes())?)
            },
        )?;
        match experiment.follow(&table) {
            Some(next) => design = next,
            None => break,
        }
    }
    directory.write(TABLE, table.to_csv().as_bytes())?;
    let scores = experiment.scores(&table)?;
    if let Some(scores) = &scores {
        directory.write(SCORES, scores.to_csv().as_bytes())?;
    }
    let shown = scores.as_ref().unwrap_or(&table);
    let verdicts: Vec<Verdict> = experiment
        .claims()
        .iter()
        .map(|claim| claim.judge(shown))
        .collect();
    let answer = Answer::new(view, shown, &verdicts);
    directory.write_page(&page::page(view, shown, &answer, &request))?;
    run::finish(directory, &answer, common)?;
    Ok(answer)
}

/// What an experiment is about to compute.
pub fn request(view: &dyn View, mut configuration: toml::Table, common: &Common) -> Request {
    configuration.insert("experiment".into(), view.name().into());
    run::request("experiment", view.name(), configuration, common)
}

/// The cells that `--only` leaves.
fn restricted(mut design: Design, only: &[String]) -> Result<Design, CliError> {
    for text in only {
        let wrong = |what: String| CliError::Usage(format!("--only '{text}': {what}"));
        let Some((factor, levels)) = text.split_once('=') else {
            return Err(wrong("it reads FACTOR=LEVEL,…, as in index=0,10".into()));
        };
        let levels: Vec<&str> = levels.split(',').collect();
        design = design
            .only(factor, &levels)
            .map_err(|e| wrong(e.to_string()))?;
    }
    match design.cells.is_empty() {
        true => Err(CliError::Usage("--only: no condition is left".into())),
        false => Ok(design),
    }
}

fn restore(table: &mut Table, directory: &RunDirectory) -> Result<(), CliError> {
    let Some(bytes) = directory.restore(TABLE)? else {
        return Ok(());
    };
    let damaged = |e: &dyn std::fmt::Display| {
        CliError::Failed(format!(
            "the checkpoint in {} cannot be read: {e}; --force starts over",
            directory.path().display()
        ))
    };
    let text = String::from_utf8(bytes).map_err(|e| damaged(&e))?;
    table.read_csv(&text).map_err(|e| damaged(&e))
}

/// Tells which cell is being measured and how long the rest will take.
struct Clock {
    progress: Progress,
    costs: Vec<f64>,
    /// Cells that were measured before.
    resumed: usize,
    /// Rows that the table had, those of other designs included.
    rows: usize,
    cells: usize,
    /// Cells that this process has measured.
    done: usize,
    started: Instant,
    announced: bool,
}

impl Clock {
    fn new(design: &Design, table: &Table, cost: impl Fn(&Cell) -> f64, common: &Common) -> Self {
        let missing = design.cells.iter().filter(|c| !table.holds(c));
        let costs: Vec<f64> = missing.map(cost).collect();
        let cells = design.cells.len();
        let resumed = cells - costs.len();
        Self {
            progress: Progress::new("cells", cells as u64, resumed as u64, common),
            costs,
            resumed,
            rows: table.rows.len(),
            cells,
            done: 0,
            started: Instant::now(),
            announced: false,
        }
    }

    /// Work done and left, in the experiment's own unit.
    fn work(&self) -> (f64, f64) {
        let (done, left) = self.costs.split_at(self.done.min(self.costs.len()));
        (done.iter().sum(), left.iter().sum())
    }

    fn begin(&self, cells: &[&Cell]) {
        let [cell, ..] = cells else { return };
        self.progress.draw(|| {
            let (done, left) = self.work();
            let seconds = self.started.elapsed().as_secs_f64() * left / done;
            let rest = match seconds.is_finite() {
                true => format!(", about {} left", duration(seconds)),
                false => String::new(),
            };
            format!(
                "cell {} of {}: {}, run {}{rest}",
                self.resumed + self.done + 1,
                self.cells,
                cell.levels.join(" "),
                cell.run + 1
            )
        });
    }

    fn end(&mut self, table: &Table, bytes: f64, common: &Common) {
        self.done = table.rows.len() - self.rows;
        let elapsed = self.started.elapsed();
        if !self.announced && elapsed >= SETTLED {
            self.announced = true;
            let (done, left) = self.work();
            // `announce` wants whole pieces: parts of the work done so far.
            let work = counted((self.cells - self.resumed - self.done) as u64, "cell");
            announce(common, &work, elapsed, 1.0, left / done, bytes);
        }
    }
}
