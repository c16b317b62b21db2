//! The order that samples of files without one are put into, by seed: every stretch from its start has each class
//! in its share, so that the first samples, and what is left of them, are sets like the whole.
//!
//! Sample k of the n of a class, shuffled, has the place (k + ½)/n. Places up to t are then round(tn) of each class.

use polariscope_random::Stream;

use crate::dataset::Labels;

/// Rows in their order; `set` names the stream of random numbers.
pub(crate) fn order(y: &Labels, seed: u64, set: &str) -> Vec<usize> {
    let mut cursor = Stream::new(seed, 0, &format!("data.{set}.order")).cursor();
    let Labels::Classes(classes) = y else {
        return cursor.permutation(y.len());
    };
    let count = classes.iter().max().map_or(0, |&c| c as usize + 1);
    let mut members = vec![Vec::new(); count];
    for (row, &class) in classes.iter().enumerate() {
        members[class as usize].push(row);
    }
    let mut placed = Vec::with_capacity(classes.len());
    for (class, mut rows) in members.into_iter().enumerate() {
        cursor.shuffle(&mut rows);
        let n = rows.len() as f64;
        let place = |(k, row)| ((k as f64 + 0.5) / n, class, row);
        placed.extend(rows.into_iter().enumerate().map(place));
    }
    placed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    placed.into_iter().map(|(_, _, row)| row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20, 10 and 5 of three classes: a fifth has 4, 2 and 1.
    #[test]
    fn every_start_has_the_shares() {
        let classes: Vec<u32> = [(0, 20), (1, 10), (2, 5)]
            .into_iter()
            .flat_map(|(class, n)| vec![class; n])
            .collect();
        let y = Labels::Classes(classes.clone());
        let rows = order(&y, 3, "train");
        let mut sorted = rows.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..35).collect::<Vec<_>>());
        for fifths in 1..=5 {
            let start = &rows[..7 * fifths];
            let count = |class| start.iter().filter(|&&row| classes[row] == class).count();
            assert_eq!([0, 1, 2].map(count), [4 * fifths, 2 * fifths, fifths]);
        }
        assert_eq!(rows, order(&y, 3, "train"));
        assert_ne!(rows, order(&y, 4, "train"));
    }
}
