//! Runs any experiment: cells in order, a checkpoint after each, then verdicts and the page from the table alone.

use std::time::{Duration, Instant};

use polariscope_experiment::{Cell, Design, Experiment, Table, Verdict};

use super::answer::Answer;
use super::page;
use super::view::View;
use crate::args::Common;
use crate::error::CliError;
use crate::estimate::announce;
use crate::output::counted;
use crate::progress::{Progress, duration};
use crate::run::{self, Opened, Request, RunDirectory};

/// The table, as checkpoint and as result.
const TABLE: &str = "table.csv";
/// The rate of the first moment says little about the rest.
const SETTLED: Duration = Duration::from_secs(1);

/// Measures what is missing, judges, shows. `bytes` is the memory that a cell needs, about.
pub fn conduct<E>(
    mut experiment: E,
    view: &dyn View,
    mut configuration: toml::Table,
    bytes: f64,
    common: &Common,
) -> Result<(), CliError>
where
    E: Experiment,
    CliError: From<E::Error>,
{
    configuration.insert("experiment".into(), view.name().into());
    let request = Request::new("experiment", view.name(), configuration, common);
    let design = experiment.design();
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Answer>(&path, &record, common),
    };
    let mut table = Table::new(&design);
    restore(&mut table, &directory)?;
    let mut clock = Clock::new(&design, &table, |cell| experiment.cost(cell), common);
    design.fill(
        &mut table,
        |cell| {
            clock.begin(cell);
            let values = experiment.measure(cell)?;
            clock.end(bytes, common);
            Ok::<_, CliError>(values)
        },
        |table| directory.checkpoint(TABLE, table.to_csv().as_bytes()),
    )?;
    drop(clock);
    let verdicts: Vec<Verdict> = experiment
        .claims()
        .iter()
        .map(|claim| claim.judge(&table))
        .collect();
    let answer = Answer::new(view, &table, &verdicts);
    directory.write(TABLE, table.to_csv().as_bytes())?;
    directory.write_page(&page::page(view, &table, &answer, &request))?;
    run::finish(directory, &answer, common)
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

    fn begin(&self, cell: &Cell) {
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

    fn end(&mut self, bytes: f64, common: &Common) {
        self.done += 1;
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
