//! What happens beside long work: progress, an estimate, checkpoints.

use std::time::{Duration, Instant};

use polariscope_diff::Real;
use polariscope_report::pretty;
use polariscope_train::{Control, Observer, Row, State};

use crate::args::Common;
use crate::error::CliError;
use crate::estimate::announce;
use crate::progress::Progress;
use crate::run::RunDirectory;

/// Name of the checkpoint.
pub const STATE: &str = "state";
/// The rate of the first moment says little about the rest.
const SETTLED: Duration = Duration::from_secs(1);
/// When the first checkpoint is due: from then on an interruption costs little.
const FIRST: Duration = Duration::from_secs(1);
/// Shortest time between two checkpoints.
const PAUSE: Duration = Duration::from_secs(10);
/// A checkpoint that took t is followed by at least this many t of work.
const SHARE: u32 = 20;

/// What a run has before it.
pub struct Work {
    /// What is counted, in the plural.
    pub unit: &'static str,
    /// Steps that an interrupted process had done.
    pub first: u64,
    /// Steps in all, or at most.
    pub total: u64,
    /// The work in words.
    pub words: String,
    /// Bytes that it needs.
    pub bytes: f64,
}

/// Watches a run.
pub struct Watch<'a> {
    /// The bar.
    pub progress: Progress,
    directory: &'a mut RunDirectory,
    work: Work,
    common: &'a Common,
    started: Instant,
    /// Steps that the bar knows of.
    seen: u64,
    announced: bool,
    /// When to save next.
    save_at: Instant,
    failure: Option<CliError>,
}

impl<'a> Watch<'a> {
    /// Starts now.
    pub fn new(directory: &'a mut RunDirectory, work: Work, common: &'a Common) -> Self {
        Self {
            progress: Progress::new(work.unit, work.total, work.first, common),
            directory,
            seen: work.first,
            work,
            common,
            started: Instant::now(),
            announced: false,
            save_at: Instant::now() + FIRST,
            failure: None,
        }
    }

    /// The error that stopped the run, if one did.
    pub fn finish(self) -> Result<(), CliError> {
        self.failure.map_or(Ok(()), Err)
    }

    /// After step `done`: says what is to come once that is known, saves the state when it is time.
    pub fn tick(&mut self, done: u64, state: impl FnOnce() -> Vec<u8>) -> Control {
        let elapsed = self.started.elapsed();
        let Work {
            first,
            total,
            words,
            bytes,
            ..
        } = &self.work;
        if !self.announced && elapsed >= SETTLED {
            self.announced = true;
            // A total that was a guess may be passed.
            let (here, left) = (done - first, total.saturating_sub(done));
            announce(
                self.common,
                words,
                elapsed,
                here as f64,
                left as f64,
                *bytes,
            );
        }
        if Instant::now() >= self.save_at && done != *total {
            return self.save(&state());
        }
        Control::Continue
    }

    /// Writes a checkpoint.
    pub fn save(&mut self, state: &[u8]) -> Control {
        let started = Instant::now();
        let control = self.keep(STATE, state);
        let pause = PAUSE.max(started.elapsed() * SHARE);
        self.save_at = Instant::now() + pause;
        control
    }

    /// Writes something beside the state.
    pub fn keep(&mut self, name: &str, content: &[u8]) -> Control {
        match self.directory.checkpoint(name, content) {
            Ok(()) => Control::Continue,
            Err(e) => self.stop(e.into()),
        }
    }

    /// Stops the run for an error.
    pub fn stop(&mut self, error: CliError) -> Control {
        self.failure = Some(error);
        Control::Stop
    }
}

impl<T: Real> Observer<T> for Watch<'_> {
    fn on_step(&mut self, state: &State<T>, _total: u64) -> Control {
        self.progress.advance(state.step - self.seen);
        self.seen = state.step;
        self.tick(state.step, || state.to_bytes())
    }

    fn on_epoch(&mut self, row: &Row, state: &State<T>) -> Control {
        let number = |name: &str, x: Option<f64>| {
            x.map_or(String::new(), |x| format!(", {name} {}", pretty(x)))
        };
        self.progress.note(&format!(
            "epoch {}: train loss {}{}{}{}",
            row.epoch,
            pretty(row.train_loss),
            number("accuracy", row.train_accuracy),
            number("test loss", row.test_loss),
            number("accuracy", row.test_accuracy)
        ));
        // The first epoch is always kept: from then on an interruption costs little.
        if state.history.len() == 1 {
            return self.save(&state.to_bytes());
        }
        Control::Continue
    }
}
