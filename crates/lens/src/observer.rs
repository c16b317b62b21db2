//! Who looks on while a lens works.

use thiserror::Error;

/// A piece of long work.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// What is counted, in the plural.
    pub unit: String,
    /// Pieces that an interrupted process had done.
    pub first: u64,
    /// Pieces in all, or at most.
    pub total: u64,
    /// The work in words.
    pub words: String,
    /// Bytes that it needs.
    pub bytes: f64,
}

/// The observer had the work stopped; it knows why.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the work was stopped")]
pub struct Stopped;

/// Looks on while a lens works: shows progress, keeps what is finished, may stop the work.
pub trait Observer: Send {
    /// Work begins.
    fn begin(&mut self, work: Work) {
        let _ = work;
    }

    /// `done` pieces of the work are done; `state` makes a checkpoint from which it goes on to the same bits.
    fn advance(&mut self, done: u64, state: &dyn Fn() -> Option<Vec<u8>>) -> Result<(), Stopped> {
        let _ = (done, state);
        Ok(())
    }

    /// The work is done.
    fn end(&mut self) {}

    /// The last state of the work that an interrupted process was about.
    fn state(&mut self) -> Result<Option<Vec<u8>>, Stopped> {
        Ok(None)
    }

    /// A piece is finished that need not be done again.
    fn keep(&mut self, name: &str, content: &[u8]) -> Result<(), Stopped> {
        let _ = (name, content);
        Ok(())
    }

    /// A piece that was finished before.
    fn kept(&mut self, name: &str) -> Result<Option<Vec<u8>>, Stopped> {
        let _ = name;
        Ok(None)
    }

    /// Work without pieces to count will take about so many seconds and bytes; it lasts until the next `expect`, `begin`
    /// or `end`.
    fn expect(&mut self, words: &str, seconds: f64, bytes: f64) {
        let _ = (words, seconds, bytes);
    }

    /// A row of a history, for whoever watches the work go on.
    fn row(&mut self, text: &str) {
        let _ = text;
    }

    /// Where the work stands, in words that say more than the count of its pieces.
    fn stand(&mut self, line: &dyn Fn() -> String) {
        let _ = line;
    }

    /// The work that begins next will take about so many seconds, in all: its first piece may be long.
    fn foretell(&mut self, seconds: f64) {
        let _ = seconds;
    }

    /// A sentence for whoever reads along.
    fn note(&mut self, text: &str) {
        let _ = text;
    }
}

/// Looks on without a word.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Observer for Quiet {}
