//! What looks on beside a lens: a bar, an estimate, checkpoints in the run directory, Ctrl-C.

use std::time::{Duration, Instant};

use polariscope_lens::{Observer, Stopped, Work};
use polariscope_run::RunError;

use crate::args::Common;
use crate::error::CliError;
use crate::estimate::announce;
use crate::interrupt::{self, Doing};
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
    /// Name of the state among the checkpoints.
    state: &'static str,
    /// Whether every state is kept, and not only one now and then.
    every: bool,
    stage: Option<Stage>,
    /// Seconds that the work which begins next was said to take.
    foretold: Option<f64>,
    failure: Option<CliError>,
    /// Whether it was said that checkpoints cannot be written.
    warned: bool,
}

/// Work under way.
struct Stage {
    /// None where the work has no pieces.
    work: Option<Work>,
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
        let mut looker = Self {
            directory: Some(directory),
            ..Self::without(common)
        };
        looker.keeps();
        looker.wait();
        looker
    }

    /// The same, with every state kept under a name of its own.
    pub fn keeping(
        directory: &'a mut RunDirectory,
        state: &'static str,
        common: &'a Common,
    ) -> Self {
        Self {
            state,
            every: true,
            ..Self::new(directory, common)
        }
    }

    /// Looks on without a place for checkpoints.
    pub fn without(common: &'a Common) -> Self {
        Self {
            directory: None,
            common,
            state: STATE,
            every: false,
            stage: None,
            foretold: None,
            failure: None,
            warned: false,
        }
    }

    /// What became of the work: where this stopped it, the reason for that. What follows is written to its end.
    pub fn settle<R, E: Into<CliError>>(self, outcome: Result<R, E>) -> Result<R, CliError> {
        if outcome.is_ok() && self.directory.is_some() {
            interrupt::turn_to(Doing::Writing);
        }
        match self.failure {
            Some(failure) => Err(failure),
            None => outcome.map_err(Into::into),
        }
    }

    fn stop(&mut self, error: impl Into<CliError>) -> Stopped {
        self.failure = Some(error.into());
        Stopped
    }

    /// Until something is known of the work.
    fn wait(&mut self) {
        self.whole("working", None);
    }

    /// Work without pieces.
    fn whole(&mut self, words: &str, expected: Option<f64>) {
        self.stage = Some(Stage {
            work: None,
            progress: Progress::sign(words, expected, self.common),
            started: Instant::now(),
            seen: 0,
            announced: true,
            save_at: Instant::now(),
        });
        interrupt::turn_to(Doing::Whole);
    }

    /// Tells what an interruption leaves.
    fn keeps(&self) {
        let directory = self.directory.as_ref().filter(|d| d.has_checkpoints());
        interrupt::keep(directory.map_or(String::new(), |d| {
            format!(
                "what was done is kept in {}; the same command goes on from there",
                d.path().display()
            )
        }));
    }

    /// Writes a checkpoint. One that cannot be written is no reason to stop: the work may well come to its end.
    fn checkpoint(&mut self, name: &str, content: &[u8]) {
        let written = interrupt::writing(|| match &mut self.directory {
            None => Ok(()),
            Some(directory) => {
                let written = directory.checkpoint(name, content);
                self.keeps();
                written
            }
        });
        if let Err(e) = written
            && !self.warned
        {
            self.warned = true;
            output::note(self.common, &warning(e));
        }
    }
}

fn warning(e: RunError) -> String {
    let e = CliError::from(e);
    format!("warning: {e}; the work goes on, but an interruption would lose what is done from here")
}

impl Observer for Looker<'_> {
    fn begin(&mut self, work: Work) {
        self.stage = Some(Stage {
            progress: Progress::expecting(
                work.unit.as_str(),
                (work.total, work.first),
                self.foretold.take(),
                self.common,
            ),
            started: Instant::now(),
            seen: work.first,
            announced: false,
            save_at: Instant::now() + FIRST,
            work: Some(work),
        });
        interrupt::turn_to(Doing::Pieces);
    }

    fn advance(&mut self, done: u64, state: &dyn Fn() -> Option<Vec<u8>>) -> Result<(), Stopped> {
        let Some(Stage {
            work: Some(work),
            progress,
            started,
            seen,
            announced,
            save_at,
            ..
        }) = &mut self.stage
        else {
            return Ok(());
        };
        progress.advance(done.saturating_sub(*seen));
        *seen = done;
        let elapsed = started.elapsed();
        // The first piece may be less than a whole one of average work.
        if !*announced && elapsed >= SETTLED && done > work.first {
            *announced = true;
            // A total that was a guess may be passed.
            let (here, left) = (done - work.first, work.total.saturating_sub(done));
            let (here, left) = (here as f64, left as f64);
            announce(self.common, &work.words, elapsed, here, left, work.bytes);
        }
        let (last, due) = (done == work.total, Instant::now() >= *save_at);
        let asked = interrupt::asked();
        if self.every || asked || (due && !last) {
            let started = Instant::now();
            match self.directory.as_ref().and_then(|_| state()) {
                Some(state) => self.checkpoint(self.state, &state),
                // Work that leaves nothing may be unable to stop half way: the process ends here.
                None if asked => interrupt::turn_to(Doing::Whole),
                None => {}
            }
            if let Some(stage) = &mut self.stage {
                stage.save_at = Instant::now() + PAUSE.max(started.elapsed() * SHARE);
            }
        }
        match asked {
            true => Err(self.stop(interrupt::error())),
            false => Ok(()),
        }
    }

    fn end(&mut self) {
        self.wait();
    }

    fn state(&mut self) -> Result<Option<Vec<u8>>, Stopped> {
        self.kept(self.state)
    }

    fn keep(&mut self, name: &str, content: &[u8]) -> Result<(), Stopped> {
        self.checkpoint(name, content);
        Ok(())
    }

    fn kept(&mut self, name: &str) -> Result<Option<Vec<u8>>, Stopped> {
        let found = match &self.directory {
            None => Ok(None),
            Some(directory) => directory.restore(name),
        };
        found.map_err(|e| self.stop(e))
    }

    fn expect(&mut self, words: &str, seconds: f64, bytes: f64) {
        let elapsed = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        announce(self.common, words, elapsed, 1.0, 1.0, bytes);
        self.whole(words, Some(seconds));
    }

    fn foretell(&mut self, seconds: f64) {
        self.foretold = Some(seconds);
        // There may be something to prepare.
        if self.stage.as_ref().is_none_or(|stage| stage.work.is_none()) {
            self.whole("working", Some(seconds));
        }
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
