//! What happens beside the training: progress, an estimate, checkpoints.

use std::time::{Duration, Instant};

use polariscope_diff::{Number, Real};
use polariscope_report::{grouped, pretty};
use polariscope_train::{Control, Observer, Row, State, Trainer};

use super::STATE;
use crate::args::Common;
use crate::error::CliError;
use crate::estimate::announce;
use crate::progress::Progress;
use crate::run::RunDirectory;

/// The rate of the first moment says little about the rest.
const SETTLED: Duration = Duration::from_secs(1);
/// Shortest time between two checkpoints.
const PAUSE: Duration = Duration::from_secs(10);
/// A checkpoint that took t is followed by at least this many t of work.
const SHARE: u32 = 20;

/// Watches a run.
pub struct Watch<'a> {
    directory: &'a mut RunDirectory,
    common: &'a Common,
    progress: Progress,
    started: Instant,
    /// Steps that an interrupted process had done.
    first: u64,
    samples: usize,
    announced: bool,
    /// When to save next.
    save_at: Instant,
    failure: Option<CliError>,
    /// Bytes that the run needs.
    memory: f64,
}

impl<'a> Watch<'a> {
    /// Over the steps of `trainer`, in `memory` bytes.
    pub fn new<T: Number>(
        directory: &'a mut RunDirectory,
        trainer: &Trainer<T>,
        samples: usize,
        memory: f64,
        common: &'a Common,
    ) -> Self {
        let (first, total) = (trainer.state().step, trainer.total_steps());
        Self {
            directory,
            common,
            progress: Progress::new("steps", total, first, common),
            started: Instant::now(),
            first,
            samples,
            announced: false,
            save_at: Instant::now() + PAUSE,
            failure: None,
            memory,
        }
    }

    /// The error that stopped the run, if one did.
    pub fn finish(self) -> Result<(), CliError> {
        self.failure.map_or(Ok(()), Err)
    }

    fn save<T: Real>(&mut self, state: &State<T>) -> Control {
        let started = Instant::now();
        if let Err(e) = self.directory.checkpoint(STATE, &state.to_bytes()) {
            self.failure = Some(e);
            return Control::Stop;
        }
        let pause = PAUSE.max(started.elapsed() * SHARE);
        self.save_at = Instant::now() + pause;
        Control::Continue
    }
}

impl<T: Real> Observer<T> for Watch<'_> {
    fn on_step(&mut self, state: &State<T>, total: u64) -> Control {
        self.progress.advance(1);
        let elapsed = self.started.elapsed();
        if !self.announced && elapsed >= SETTLED {
            self.announced = true;
            let (done, left) = (state.step - self.first, total - state.step);
            let work = format!(
                "{} steps on {} samples",
                grouped(total),
                grouped(self.samples as u64)
            );
            announce(
                self.common,
                &work,
                elapsed,
                done as usize,
                left as usize,
                self.memory,
            );
        }
        if Instant::now() >= self.save_at && state.step < total {
            return self.save(state);
        }
        Control::Continue
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
            return self.save(state);
        }
        Control::Continue
    }
}
