//! The line at the foot of the terminal while work is under way, and everything that is written above it.
//!
//! One line stands at a time. A thread redraws it, so that it moves between pieces and where there are none; whoever
//! writes to the terminal clears it first, so that it never runs into another line.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use polariscope_report::duration;

use crate::args::Common;
use crate::interrupt;

/// Time between two drawings.
const REDRAW: Duration = Duration::from_millis(100);
/// Cells of the bar.
const CELLS: u64 = 24;
/// Work that is over before shows no line.
const BRIEF: Duration = Duration::from_millis(300);
/// Clears the line. What is longer than the terminal is wide is cut there, for one line alone can be cleared.
const CLEAR: &str = "\r\x1b[K";
const NO_WRAP: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";

/// What stands at the foot of the terminal.
static FOOT: Mutex<Foot> = Mutex::new(Foot {
    line: None,
    drawn: false,
});

struct Foot {
    line: Option<Arc<Line>>,
    /// Whether it is on the screen.
    drawn: bool,
}

impl Foot {
    fn lock() -> MutexGuard<'static, Self> {
        FOOT.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draw(&mut self) {
        if let Some(line) = self.line.as_ref().filter(|l| l.started.elapsed() >= BRIEF) {
            // There is nowhere left to report to if standard error is gone.
            let _ = write!(io::stderr().lock(), "{CLEAR}{NO_WRAP}{}{WRAP}", line.text());
            self.drawn = true;
        }
    }

    fn clear(&mut self) {
        if self.drawn {
            let _ = write!(io::stderr().lock(), "{CLEAR}");
            self.drawn = false;
        }
    }
}

/// Runs `write` with the line out of the way.
pub fn above<R>(write: impl FnOnce() -> R) -> R {
    let mut foot = Foot::lock();
    foot.clear();
    write()
}

/// Redraws the line for as long as the process lives.
fn keep_moving() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        // Without the thread lines stand still, which is no reason to fail.
        let _ = thread::Builder::new().name("progress".into()).spawn(|| {
            loop {
                thread::sleep(REDRAW);
                Foot::lock().draw();
            }
        });
    });
}

/// What a line says.
#[derive(Debug)]
struct Line {
    label: String,
    /// Pieces in all; none where the work has no pieces.
    total: Option<u64>,
    done: AtomicU64,
    /// Work that an earlier, interrupted run had done; it says nothing about today's rate.
    resumed: u64,
    /// Seconds that all of it was said to take.
    expected: Option<f64>,
    started: Instant,
    /// Milliseconds from the start to the last piece.
    last: AtomicU64,
    /// In place of the count of pieces, and when that was said.
    words: Mutex<Option<(Instant, String)>>,
}

/// Counts finished pieces of work, from any thread; the line vanishes when it is dropped.
#[derive(Debug)]
pub struct Progress {
    line: Arc<Line>,
    shown: bool,
}

impl Progress {
    /// A bar over `total` pieces, of which `resumed` are done already.
    pub fn new(label: impl Into<String>, total: u64, resumed: u64, common: &Common) -> Self {
        Self::of(label.into(), Some(total), resumed, None, common)
    }

    /// A bar over pieces that were said to take so many seconds in all.
    pub fn expecting(
        label: impl Into<String>,
        (total, resumed): (u64, u64),
        seconds: Option<f64>,
        common: &Common,
    ) -> Self {
        Self::of(label.into(), Some(total), resumed, seconds, common)
    }

    /// A sign for work without pieces that was said to take so many seconds.
    pub fn sign(label: impl Into<String>, seconds: Option<f64>, common: &Common) -> Self {
        Self::of(label.into(), None, 0, seconds, common)
    }

    fn of(
        label: String,
        total: Option<u64>,
        resumed: u64,
        expected: Option<f64>,
        common: &Common,
    ) -> Self {
        let line = Arc::new(Line {
            label,
            total,
            done: AtomicU64::new(resumed),
            resumed,
            expected: expected.filter(|s| s.is_finite() && *s > 0.0),
            started: Instant::now(),
            last: AtomicU64::new(0),
            words: Mutex::new(None),
        });
        let shown = !common.quiet && io::stderr().is_terminal();
        if shown {
            Foot::lock().line = Some(line.clone());
            keep_moving();
        }
        Self { line, shown }
    }

    /// Reports `pieces` more as done.
    pub fn advance(&self, pieces: u64) {
        let elapsed = self.line.started.elapsed().as_millis() as u64;
        self.line.last.store(elapsed, Ordering::Relaxed);
        self.line.done.fetch_add(pieces, Ordering::Relaxed);
    }

    /// Shows a line in place of the bar, unless one was made a moment ago.
    pub fn draw(&self, line: impl FnOnce() -> String) {
        if self.shown {
            let words = self.line.words.lock();
            let mut words = words.unwrap_or_else(PoisonError::into_inner);
            if words.as_ref().is_none_or(|(at, _)| at.elapsed() >= REDRAW) {
                *words = Some((Instant::now(), line()));
            }
        }
    }

    /// Writes a line above the bar, where there is one.
    pub fn note(&self, text: &str) {
        if self.shown {
            above(|| {
                let _ = writeln!(io::stderr().lock(), "{text}");
            });
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let mut foot = Foot::lock();
        // Another line may stand there by now.
        if foot
            .line
            .as_ref()
            .is_some_and(|line| Arc::ptr_eq(line, &self.line))
        {
            foot.clear();
            foot.line = None;
        }
    }
}

impl Line {
    fn text(&self) -> String {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed = self.started.elapsed();
        match &*words {
            Some((_, words)) => format!("{words}  {}", duration(elapsed.as_secs_f64())),
            None => {
                let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
                let done = self.done.load(Ordering::Relaxed);
                self.at(elapsed, done, last)
            }
        }
    }

    /// `label  ████████────────  33 %  12.5/s  1 min 20 s left`, with `done` pieces at `last`.
    fn at(&self, elapsed: Duration, done: u64, last: Duration) -> String {
        let (elapsed, last) = (elapsed.as_secs_f64(), last.as_secs_f64());
        let stopping = if interrupt::asked() { "stopping: " } else { "" };
        let mut out = format!("{stopping}{}  ", self.label);
        // Writing to a String cannot fail.
        let rate = done.saturating_sub(self.resumed) as f64 / last;
        match self.total {
            Some(total) if rate.is_finite() && rate > 0.0 => {
                let fraction = done.min(total) as f64 / total.max(1) as f64;
                let left = total.saturating_sub(done) as f64 / rate - (elapsed - last);
                let _ = write!(
                    out,
                    "{}  {:.0} %  {}/s  {} left",
                    bar(fraction),
                    fraction * 100.0,
                    polariscope_report::pretty(rate),
                    duration(left.max(0.0))
                );
            }
            _ => {
                let known = self
                    .total
                    .map_or(0.0, |total| done as f64 / total.max(1) as f64);
                let passed = self.expected.map_or(0.0, |s| (elapsed / s).min(0.99));
                let _ = write!(out, "{}  {}", bar(known.max(passed)), duration(elapsed));
                if let Some(expected) = self.expected {
                    let _ = write!(out, " of about {}", duration(expected));
                }
            }
        }
        out
    }
}

fn bar(fraction: f64) -> String {
    let full = (fraction.clamp(0.0, 1.0) * CELLS as f64) as usize;
    "█".repeat(full) + &"─".repeat(CELLS as usize - full)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(total: Option<u64>, resumed: u64, expected: Option<f64>) -> Line {
        Line {
            label: "networks".into(),
            total,
            done: AtomicU64::new(resumed),
            resumed,
            expected,
            started: Instant::now(),
            last: AtomicU64::new(0),
            words: Mutex::new(None),
        }
    }

    const fn seconds(s: u64) -> Duration {
        Duration::from_secs(s)
    }

    #[test]
    fn rate_leaves_out_what_was_resumed() {
        // 50 of 100 were done before; 25 more took 5 s, so the last 25 take 5 s more.
        let text = line(Some(100), 50, None).at(seconds(5), 75, seconds(5));
        assert!(text.ends_with("75 %  5/s  5.0 s left"), "{text}");
        assert_eq!(text.matches('█').count(), 18);
    }

    #[test]
    fn time_passes_between_two_pieces() {
        // 4 of 10 took 4 s; 3 s later 3 of the 6 s that were left are left, and never less than none.
        let bar = line(Some(10), 0, None);
        assert!(bar.at(seconds(7), 4, seconds(4)).ends_with("3.0 s left"));
        assert!(bar.at(seconds(40), 4, seconds(4)).contains("40 %"));
        assert!(!bar.at(seconds(40), 4, seconds(4)).contains('-'));
    }

    #[test]
    fn before_the_first_piece_the_estimate_stands() {
        let bar = line(Some(10), 0, Some(20.0));
        let text = bar.at(seconds(5), 0, seconds(0));
        assert!(text.ends_with("5.0 s of about 20 s"), "{text}");
        assert_eq!(text.matches('█').count(), 6);
        // Work that takes longer than was said is not called done.
        let sign = line(None, 0, Some(20.0));
        assert_eq!(sign.at(seconds(60), 0, seconds(0)).matches('─').count(), 1);
        assert!(
            line(None, 0, None)
                .at(seconds(5), 0, seconds(0))
                .ends_with("  5.0 s")
        );
    }

    #[test]
    fn too_much_progress_is_not_a_panic() {
        let text = line(Some(10), 0, None).at(seconds(1), 12, seconds(1));
        assert!(text.contains("100 %"), "{text}");
        line(Some(0), 0, None).at(Duration::ZERO, 0, Duration::ZERO);
    }
}
