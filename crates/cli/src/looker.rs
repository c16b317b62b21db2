//! What looks on beside a lens: a bar, an estimate, checkpoints in the run directory.

use std::time::{Duration, Instant};

use polariscope_lens::{Observer, Stopped, Work};

use crate::args::Common;
use crate::error::CliError;
use crate::estimate::announce;
use crate::output;
use crate::progress::Progress;
use crate::run::RunDirectory;

/// Name of the checkpoint.
const STATE: &str = "state";
/// The rate of the first moment says little about the rest.
const SETTLED: Duration = Duration::from_secs(1);
/// When the first checkpoint is due: from then on an interruption costs little.
const FIRST: Duration = Duration::from_secs(1);
/// Shortest time between two checkpoints.
const PAUSE: Duration = Duration::from_secs(10);
/// A checkpoint that took t is followed by at least this many t of work.
const SHARE: u32 = 20;

/// Looks on for a run.
pub struct Looker<'a> {
    /// Where checkpoints go; a verb that only prints has none.
    directory: Option<&'a mut RunDirectory>,
    common: &'a Common,
    stage: Option<Stage>,
    failure: Option<CliError>,
}

/// Work under way.
struct Stage {
    work: Work,
    progress: Progress,
    started: Instant,
    /// Pieces that the bar knows of.
    seen: u64,
    announced: bool,
    /// When to save next.
    save_at: Instant,
}

impl<'a> Looker<'a> {
    /// Looks on for a run in `directory`.
    pub fn new(directory: &'a mut RunDirectory, common: &'a Common) -> Self {
        Self {
            directory: Some(directory),
            ..Self::without(common)
        }
    }

    /// Looks on without a place for checkpoints.
    pub fn without(common: &'a Common) -> Self {
        Self {
            directory: None,
            common,
            stage: None,
            failure: None,
        }
    }

    /// What became of the work: where this stopped it, the reason for that.
    pub fn settle<R, E: Into<CliError>>(self, outcome: Result<R, E>) -> Result<R, CliError> {
        match self.failure {
            Some(failure) => Err(failure),
            None => outcome.map_err(Into::into),
        }
    }

    fn stop(&mut self, error: impl Into<CliError>) -> Stopped {
        self.failure = Some(error.into());
        Stopped
    }
}

impl Observer for Looker<'_> {
    fn begin(&mut self, work: Work) {
        self.stage = Some(Stage {
            progress: Progress::new(work.unit.as_str(), work.total, work.first, self.common),
            started: Instant::now(),
            seen: work.first,
            announced: false,
            save_at: Instant::now() + FIRST,
            work,
        });
    }

    fn advance(&mut self, done: u64, state: &dyn Fn() -> Option<Vec<u8>>) -> Result<(), Stopped> {
        let Some(stage) = &mut self.stage else {
            return Ok(());
        };
        stage.progress.advance(done.saturating_sub(stage.seen));
        stage.seen = done;
        let (work, elapsed) = (&stage.work, stage.started.elapsed());
        if !stage.announced && elapsed >= SETTLED {
            stage.announced = true;
            // A total that was a guess may be passed.
            let (here, left) = (done - work.first, work.total.saturating_sub(done));
            let (here, left) = (here as f64, left as f64);
            announce(self.common, &work.words, elapsed, here, left, work.bytes);
        }
        if Instant::now() < stage.save_at || done == work.total {
            return Ok(());
        }
        let started = Instant::now();
        if let (Some(directory), Some(state)) = (&mut self.directory, state()) {
            directory.checkpoint(STATE, &state).map_err(|e| {
                self.failure = Some(e.into());
                Stopped
            })?;
        }
        stage.save_at = Instant::now() + PAUSE.max(started.elapsed() * SHARE);
        Ok(())
    }

    fn end(&mut self) {
        self.stage = None;
    }

    fn state(&mut self) -> Result<Option<Vec<u8>>, Stopped> {
        self.kept(STATE)
    }

    fn keep(&mut self, name: &str, content: &[u8]) -> Result<(), Stopped> {
        let outcome = match &mut self.directory {
            None => Ok(()),
            Some(directory) => directory.checkpoint(name, content),
        };
        outcome.map_err(|e| self.stop(e))
    }

    fn kept(&mut self, name: &str) -> Result<Option<Vec<u8>>, Stopped> {
        let found = match &self.directory {
            None => Ok(None),
            Some(directory) => directory.restore(name),
        };
        found.map_err(|e| self.stop(e))
    }

    fn expect(&mut self, words: &str, seconds: f64, bytes: f64) {
        let elapsed = Duration::from_secs_f64(seconds.max(0.0));
        announce(self.common, words, elapsed, 1.0, 1.0, bytes);
    }

    fn row(&mut self, text: &str) {
        if let Some(stage) = &self.stage {
            stage.progress.note(text);
        }
    }

    fn stand(&mut self, line: &dyn Fn() -> String) {
        if let Some(stage) = &self.stage {
            stage.progress.draw(line);
        }
    }

    fn note(&mut self, text: &str) {
        output::note(self.common, text);
    }
}
