//! Directions that no geometry has chosen: vectors of the Fourier basis, drawn by the seed.

use polariscope_data::{Frequency, Phase, dft_frequencies};
use polariscope_random::Stream;

use crate::lab::SIDE;

/// Directions that are learnt.
const MANY: usize = 64;
/// Directions of the pilots that settle σ.
pub(super) const PILOTS: usize = 5;

/// How many directions an architecture is trained along: fewer where training is dear.
pub(super) fn count(architecture: &str) -> usize {
    match architecture.starts_with("vit") || architecture.starts_with("densenet") {
        true => MANY / 2,
        false => MANY,
    }
}

/// The first directions, by their places in the basis; the same for every architecture.
pub(super) fn drawn(seed: u64, count: usize) -> Vec<usize> {
    let mut all = Stream::new(seed, 0, "which-geometry directions")
        .cursor()
        .permutation(SIDE * SIDE);
    all.truncate(count);
    all
}

/// Other directions, to choose σ by.
pub(super) fn pilots(seed: u64) -> Vec<usize> {
    let taken = drawn(seed, MANY);
    let all = Stream::new(seed, 0, "which-geometry pilots")
        .cursor()
        .permutation(SIDE * SIDE);
    let free = all.into_iter().filter(|place| !taken.contains(place));
    free.take(PILOTS).collect()
}

/// Periods down, periods across and phase of a place, as levels of a table.
pub(super) fn frequency(place: usize) -> [String; 3] {
    let all = dft_frequencies(SIDE, SIDE);
    all.get(place)
        .map_or_else(Default::default, |&Frequency { a, b, phase }| {
            let phase = match phase {
                Phase::Cos => "cos",
                Phase::Sin => "sin",
            };
            [a.to_string(), b.to_string(), phase.to_string()]
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn distinct_and_the_fewer_are_the_first() {
        let all = drawn(3, count("lenet"));
        assert_eq!(all.len(), 64);
        assert_eq!(drawn(3, count("vit")), all[..32]);
        assert_eq!(drawn(3, count("densenet121")), all[..32]);
        let everything: HashSet<usize> = all.iter().copied().chain(pilots(3)).collect();
        assert_eq!(everything.len(), 64 + PILOTS);
        assert_ne!(drawn(4, 64), all);
    }

    #[test]
    fn the_first_place_is_the_mean() {
        assert_eq!(frequency(0), ["0", "0", "cos"]);
    }
}
