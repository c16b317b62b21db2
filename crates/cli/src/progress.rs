//! A progress bar on standard error, when that is a terminal.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use polariscope_report::duration;

use crate::args::Common;

/// Redrawing more often than this costs more than it tells.
const REDRAW: Duration = Duration::from_millis(100);
/// Cells of the bar.
const CELLS: u64 = 24;

/// Counts finished pieces of work, from any thread; the line vanishes when it is dropped.
#[derive(Debug)]
pub struct Progress {
    label: String,
    total: u64,
    done: AtomicU64,
    /// Work that an earlier, interrupted run had done; it says nothing about today's rate.
    resumed: u64,
    started: Instant,
    /// When the line was last drawn; `None` when nothing is drawn at all.
    drawn: Option<Mutex<Instant>>,
}

impl Progress {
    /// A bar over `total` pieces, of which `resumed` are done already.
    pub fn new(label: impl Into<String>, total: u64, resumed: u64, common: &Common) -> Self {
        let started = Instant::now();
        let shown = !common.quiet && io::stderr().is_terminal();
        Self {
            label: label.into(),
            total,
            done: AtomicU64::new(resumed),
            resumed,
            started,
            drawn: shown.then(|| Mutex::new(started)),
        }
    }

    /// Reports `pieces` more as done.
    pub fn advance(&self, pieces: u64) {
        let done = self.done.fetch_add(pieces, Ordering::Relaxed) + pieces;
        let elapsed = self.started.elapsed();
        self.draw(|| line(&self.label, done, self.total, self.resumed, elapsed));
    }

    /// Shows a line in place of the bar, unless one was drawn a moment ago.
    pub fn draw(&self, line: impl FnOnce() -> String) {
        // Whoever finds the line busy leaves the drawing to the other thread.
        let Some(Ok(mut drawn)) = self.drawn.as_ref().map(Mutex::try_lock) else {
            return;
        };
        if drawn.elapsed() >= REDRAW {
            *drawn = Instant::now();
            let _ = write!(io::stderr().lock(), "\r\x1b[K{}", line());
        }
    }

    /// Writes a line above the bar, where there is one.
    pub fn note(&self, text: &str) {
        if let Some(drawn) = &self.drawn {
            // Held while writing, so that no other thread draws into the line.
            let _drawn = drawn.lock();
            let _ = writeln!(io::stderr().lock(), "\r\x1b[K{text}");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.drawn.is_some() {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}

/// `label  ████████────────  33 %  12.5/s  1 min 20 s left`
fn line(label: &str, done: u64, total: u64, resumed: u64, elapsed: Duration) -> String {
    let fraction = done.min(total) as f64 / total.max(1) as f64;
    let full = (fraction * CELLS as f64) as usize;
    let bar = "█".repeat(full) + &"─".repeat(CELLS as usize - full);
    let mut out = format!("{label}  {bar}  {:.0} %", fraction * 100.0);
    let rate = done.saturating_sub(resumed) as f64 / elapsed.as_secs_f64();
    if rate.is_finite() && rate > 0.0 {
        let left = total.saturating_sub(done) as f64 / rate;
        // Writing to a String cannot fail.
        let _ = write!(
            out,
            "  {}/s  {} left",
            polariscope_report::pretty(rate),
            duration(left)
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_leaves_out_what_was_resumed() {
        // 50 of 100 were done before; 25 more took 5 s, so the last 25 take 5 s more.
        let text = line("networks", 75, 100, 50, Duration::from_secs(5));
        assert!(text.ends_with("75 %  5/s  5.0 s left"), "{text}");
        assert_eq!(text.matches('█').count(), 18);
    }

    #[test]
    fn too_much_progress_is_not_a_panic() {
        let text = line("x", 12, 10, 0, Duration::ZERO);
        assert!(text.contains("100 %"), "{text}");
        assert!(line("x", 0, 0, 0, Duration::ZERO).contains("0 %"));
    }
}
