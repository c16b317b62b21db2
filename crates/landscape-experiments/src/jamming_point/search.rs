//! The width at which patterns start to fit.

/// Widths about 8 % apart, from 1.
fn wider(width: usize) -> usize {
    (width + 1).max((1.08 * width as f64).round() as usize)
}

/// Rungs of the ladder that are skipped at a time on the way to the first that fits.
const STRIDE: usize = 3;
/// Widest network.
const WIDEST: usize = 2_000;

/// Where fitting starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bracket {
    /// Widest network known to fail; 0 where the narrowest fits.
    pub fails: usize,
    /// The next one, which fits.
    pub fits: usize,
}

/// Finds the bracket from a first guess; `None` where the widest network fails.
pub(super) fn bracket<E>(
    guess: usize,
    mut fits: impl FnMut(usize) -> Result<bool, E>,
) -> Result<Option<Bracket>, E> {
    let mut ladder = vec![1];
    while ladder[ladder.len() - 1] < WIDEST {
        ladder.push(wider(ladder[ladder.len() - 1]));
    }
    // Rungs below `low` fail and `high` fits, as far as is known.
    let (mut low, mut high) = (0, ladder.len());
    let mut at = ladder.partition_point(|&w| w < guess).min(high - 1);
    while low < high {
        match fits(ladder[at])? {
            true => high = at,
            false => low = at + 1,
        }
        at = match (low, high) {
            // Nothing failed yet, or nothing fits: go on in strides.
            (0, high) => high.saturating_sub(STRIDE),
            (low, high) if high == ladder.len() => (low + STRIDE - 1).min(high - 1),
            (low, high) => (low + high) / 2,
        };
    }
    Ok((high < ladder.len()).then(|| Bracket {
        fails: high.checked_sub(1).map_or(0, |i| ladder[i]),
        fits: ladder[high],
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_start_finds_the_same_bracket() {
        for first in [1, 2, 7, 18, 40, 1500] {
            for guess in [1, 5, 18, 300, 5_000] {
                let mut asked = Vec::new();
                let found = bracket(guess, |w| {
                    asked.push(w);
                    Ok::<_, ()>(w >= first)
                });
                let found = found.unwrap().unwrap();
                assert!(found.fails < first && found.fits >= first, "{found:?}");
                let next = if found.fails == 0 {
                    1
                } else {
                    wider(found.fails)
                };
                assert_eq!(found.fits, next);
                let times = asked.len();
                asked.sort_unstable();
                asked.dedup();
                assert_eq!(times, asked.len(), "no width is trained twice");
            }
        }
    }

    #[test]
    fn near_a_good_guess_few_widths_are_tried() {
        let mut tried = 0;
        let found = bracket(18, |w| {
            tried += 1;
            Ok::<_, ()>(w >= 17)
        });
        assert_eq!(
            found,
            Ok(Some(Bracket {
                fails: 16,
                fits: 17
            }))
        );
        assert!(tried <= 4, "{tried}");
    }

    #[test]
    fn what_never_fits_has_no_bracket() {
        assert_eq!(bracket(10, |_| Ok::<_, ()>(false)), Ok(None));
        assert_eq!(bracket(10, |_| Err("stopped")), Err("stopped"));
    }
}
