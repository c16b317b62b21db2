//! Ctrl-C: the work stops where it can be taken up again, and one line says what is kept.
//!
//! | at the first Ctrl-C | what happens |
//! |---|---|
//! | work in pieces | stops behind the piece under way, with a checkpoint ([`crate::looker`]) |
//! | work without pieces, or none yet | ends at once |
//! | files are being written | they are written, then as if it had come a moment later |
//!
//! The second ends the process at once, wherever it is. Exit status 130, as shells have it.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::error::CliError;
use crate::output;

/// What shells report of a command that Ctrl-C ended.
pub const STATUS: u8 = 130;

/// Whether Ctrl-C was pressed.
static ASKED: AtomicBool = AtomicBool::new(false);
static NOW: Mutex<Now> = Mutex::new(Now {
    doing: Doing::Whole,
    kept: String::new(),
    before: String::new(),
});

/// What the process is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Something that cannot be stopped half way and leaves nothing.
    Whole,
    /// Work that asks after every piece whether to go on.
    Pieces,
    /// Files.
    Writing,
}

struct Now {
    doing: Doing,
    /// What is kept of the run under way if the process ends now.
    kept: String,
    /// What is kept of those before it that are parts of the same work.
    before: String,
}

impl Now {
    fn error(&self) -> CliError {
        let kept = if self.kept.is_empty() {
            &self.before
        } else {
            &self.kept
        };
        CliError::Interrupted(kept.clone())
    }
}

fn now() -> MutexGuard<'static, Now> {
    NOW.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for Ctrl-C from now on.
pub fn listen() {
    // Where no handler can be had the system ends the process, as it does without one.
    let _ = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::SeqCst) {
            process::exit(STATUS.into());
        }
        // Not here: the second Ctrl-C must find this thread free.
        thread::spawn(|| end_unless(now()));
    });
}

/// Whether Ctrl-C was pressed.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// Says what the process turns to. If Ctrl-C was pressed before and nothing has to be brought to an end, this does not
/// return.
pub fn turn_to(doing: Doing) {
    let mut now = now();
    now.doing = doing;
    if asked() {
        end_unless(now);
    }
}

/// Says what is kept of the run under way from here on; an empty text where that is nothing.
pub fn keep(what: impl Into<String>) {
    now().kept = what.into();
}

/// Says that a run is finished which is a part of larger work, and where.
pub fn keep_part(what: impl Into<String>) {
    now().before = what.into();
}

/// The line of a process that Ctrl-C ends.
pub fn error() -> CliError {
    now().error()
}

/// Ends the process where that loses nothing.
fn end_unless(now: MutexGuard<'static, Now>) {
    if now.doing == Doing::Whole {
        output::complain(&now.error());
        process::exit(STATUS.into());
    }
}

/// Runs `write` to its end, whatever is pressed meanwhile.
pub fn writing<R>(write: impl FnOnce() -> R) -> R {
    let before = std::mem::replace(&mut now().doing, Doing::Writing);
    let written = write();
    turn_to(before);
    written
}
