//! The tiles, one after the other; work that was interrupted goes on with the next.

use std::cell::RefCell;

use polariscope_lens::{Observer, Work};

use super::{Store, StoreError};
use crate::KernelsError;

/// The piece that says that every tile is there.
const WHOLE: &str = "tiles";

/// Work in tiles.
pub trait Tiled {
    /// Computes tile `i` and stores it.
    fn compute(&mut self, i: usize) -> Result<(), KernelsError>;
    /// Waits until every stored tile outlives the process.
    fn sync(&self) -> Result<(), StoreError>;
}

/// What is to be filled.
pub struct Plan<'a> {
    /// Numbers in each tile.
    pub entries: &'a [u64],
    /// The work in words.
    pub words: String,
    /// Bytes that it needs.
    pub bytes: f64,
}

/// Computes the tiles that an earlier process has not.
pub fn fill(
    work: &mut dyn Tiled,
    plan: Plan<'_>,
    store: &Store,
    observer: &mut dyn Observer,
) -> Result<(), KernelsError> {
    let Plan {
        entries,
        words,
        bytes,
    } = plan;
    let done = begun(store, entries.len(), observer)?;
    let total = entries.iter().sum();
    let mut seen = entries[..done].iter().sum();
    observer.begin(Work {
        unit: "entries".into(),
        first: seen,
        total,
        words,
        bytes,
    });
    for (i, &numbers) in entries.iter().enumerate().skip(done) {
        work.compute(i)?;
        seen += numbers;
        let trouble = RefCell::new(None);
        // A checkpoint may only count what outlives the process.
        let state = || match work.sync() {
            Ok(()) => store.lasts().then(|| (i + 1).to_string().into_bytes()),
            Err(e) => {
                trouble.replace(Some(e));
                None
            }
        };
        observer.advance(seen, &state)?;
        if let Some(e) = trouble.into_inner() {
            return Err(e.into());
        }
    }
    observer.end();
    work.sync()?;
    // From here on every tile is known to be there, whatever happens before the end.
    if store.lasts() {
        observer.keep(WHOLE, b"")?;
    }
    Ok(())
}

/// Tiles that are there.
fn begun(store: &Store, tiles: usize, observer: &mut dyn Observer) -> Result<usize, KernelsError> {
    if !store.lasts() {
        return Ok(0);
    }
    if observer.kept(WHOLE)?.is_some() {
        return Ok(tiles);
    }
    let state = observer.state()?.unwrap_or_default();
    let done = String::from_utf8_lossy(&state).parse::<usize>();
    Ok(done.unwrap_or(0).min(tiles))
}
