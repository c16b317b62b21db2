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
pub struct FillPlan<'a> {
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
    plan: FillPlan<'_>,
    store: &Store,
    observer: &mut dyn Observer,
) -> Result<(), KernelsError> {
    let FillPlan {
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use polariscope_lens::Stopped;

    use super::*;

    /// Remembers which tiles were computed.
    struct Tiles(Vec<usize>);

    impl Tiled for Tiles {
        fn compute(&mut self, i: usize) -> Result<(), KernelsError> {
            self.0.push(i);
            Ok(())
        }

        fn sync(&self) -> Result<(), StoreError> {
            Ok(())
        }
    }

    /// Keeps every state, and stops the work after so many entries.
    #[derive(Default)]
    struct Keeper {
        stop: u64,
        state: Option<Vec<u8>>,
        pieces: BTreeMap<String, Vec<u8>>,
    }

    impl Observer for Keeper {
        fn advance(
            &mut self,
            done: u64,
            state: &dyn Fn() -> Option<Vec<u8>>,
        ) -> Result<(), Stopped> {
            self.state = state();
            match done >= self.stop {
                true => Err(Stopped),
                false => Ok(()),
            }
        }

        fn state(&mut self) -> Result<Option<Vec<u8>>, Stopped> {
            Ok(self.state.clone())
        }

        fn keep(&mut self, name: &str, content: &[u8]) -> Result<(), Stopped> {
            self.pieces.insert(name.into(), content.into());
            Ok(())
        }

        fn kept(&mut self, name: &str) -> Result<Option<Vec<u8>>, Stopped> {
            Ok(self.pieces.get(name).cloned())
        }
    }

    fn run(store: &Store, keeper: &mut Keeper) -> (Vec<usize>, bool) {
        let mut tiles = Tiles(Vec::new());
        let plan = FillPlan {
            entries: &[10, 10, 5, 5],
            words: String::new(),
            bytes: 0.0,
        };
        let done = fill(&mut tiles, plan, store, keeper).is_ok();
        (tiles.0, done)
    }

    #[test]
    fn stopped_work_goes_on_with_the_next_tile() {
        let files = Store::Files(BTreeMap::new());
        let mut keeper = Keeper {
            stop: 20,
            ..Keeper::default()
        };
        assert_eq!(run(&files, &mut keeper), (vec![0, 1], false));
        keeper.stop = 100;
        assert_eq!(run(&files, &mut keeper), (vec![2, 3], true));
        // Whatever became of the state: every tile is there.
        keeper.state = None;
        assert_eq!(run(&files, &mut keeper), (vec![], true));
        // Memory holds nothing of an earlier process.
        assert_eq!(run(&Store::Memory, &mut keeper), (vec![0, 1, 2, 3], true));
    }
}
