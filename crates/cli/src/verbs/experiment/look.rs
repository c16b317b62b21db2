//! What happens beside an experiment: progress, an estimate, the table after every cell.

use std::time::{Duration, Instant};

use polariscope_lens::{Observer, Stopped, Work};

use super::runner::TABLE;
use crate::args::Common;
use crate::error::CliError;
use crate::estimate::announce;
use crate::output::note;
use crate::progress::Progress;
use crate::run::RunDirectory;

/// The rate of the first moment says little about the rest.
const SETTLED: Duration = Duration::from_secs(1);

/// Looks on and keeps the table.
pub struct Look<'a> {
    directory: &'a mut RunDirectory,
    common: &'a Common,
    under_way: Option<UnderWay>,
    /// Why the work was stopped.
    pub failure: Option<CliError>,
}

struct UnderWay {
    work: Work,
    progress: Progress,
    started: Instant,
    /// Pieces that the bar knows of.
    seen: u64,
    announced: bool,
}

impl<'a> Look<'a> {
    /// Nothing has begun.
    pub fn new(directory: &'a mut RunDirectory, common: &'a Common) -> Self {
        Look {
            directory,
            common,
            under_way: None,
            failure: None,
        }
    }
}

impl Observer for Look<'_> {
    fn begin(&mut self, work: Work) {
        self.under_way = Some(UnderWay {
            progress: Progress::new(work.unit.clone(), work.total, work.first, self.common),
            started: Instant::now(),
            seen: work.first,
            announced: false,
            work,
        });
    }

    fn advance(&mut self, done: u64, state: &dyn Fn() -> Option<Vec<u8>>) -> Result<(), Stopped> {
        if let Some(now) = &mut self.under_way {
            now.progress.advance(done - now.seen);
            now.seen = done;
            let elapsed = now.started.elapsed();
            // The first cell may be less than a whole one of average work.
            if !now.announced && elapsed >= SETTLED && done > now.work.first {
                now.announced = true;
                let here = (done - now.work.first) as f64;
                let left = now.work.total.saturating_sub(done) as f64;
                announce(
                    self.common,
                    &now.work.words,
                    elapsed,
                    here,
                    left,
                    now.work.bytes,
                );
            }
        }
        let Some(table) = state() else {
            return Ok(());
        };
        self.directory.checkpoint(TABLE, &table).map_err(|e| {
            self.failure = Some(e.into());
            Stopped
        })
    }

    fn end(&mut self) {
        self.under_way = None;
    }

    fn note(&mut self, text: &str) {
        note(self.common, text);
    }
}
