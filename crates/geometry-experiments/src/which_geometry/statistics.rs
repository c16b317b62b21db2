//! How well every geometry orders the directions, and which one best.

use polariscope_experiment::{Order, Table};
use polariscope_stats::{Interval, auc, bootstrap, spearman};

/// From this accuracy on a direction is learnt: half way from chance to all.
pub(super) const LEARNT: f64 = 0.75;
/// Each class must have so many for an area under the curve.
const MEMBERS: usize = 3;

/// A statistic with its interval.
pub(super) type Found = (f64, Interval);

/// One geometry, by one statistic.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Score {
    pub name: String,
    pub found: Found,
    /// How far it is behind the best; `None` for the best.
    pub behind: Option<Found>,
}

/// Whether the best leads every other.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ranking {
    /// The best first.
    pub scores: Vec<Score>,
}

impl Ranking {
    /// By a statistic of the directions with these indices; geometries without one are left out.
    fn by(
        names: &[String],
        n: usize,
        seed: u64,
        statistic: impl Fn(&str, &[usize]) -> Option<f64>,
    ) -> Self {
        let all: Vec<usize> = (0..n).collect();
        let mut scores: Vec<Score> = names
            .iter()
            .filter_map(|name| {
                let interval = bootstrap(n, seed, |at| statistic(name, at))?;
                Some(Score {
                    found: (statistic(name, &all)?, interval),
                    name: name.clone(),
                    behind: None,
                })
            })
            .collect();
        scores.sort_by(|a, b| b.found.0.total_cmp(&a.found.0));
        if let Some((best, others)) = scores.split_first_mut() {
            for other in others {
                let lead =
                    |at: &[usize]| Some(statistic(&best.name, at)? - statistic(&other.name, at)?);
                other.behind = bootstrap(n, seed, lead).map(|i| (best.found.0 - other.found.0, i));
            }
        }
        Ranking { scores }
    }

    /// Those that the best does not lead: their paired intervals hold 0.
    pub fn tied(&self) -> Vec<&Score> {
        let tied = |s: &&Score| s.behind.is_none_or(|(_, i)| !i.excludes_zero());
        self.scores.iter().skip(1).filter(tied).collect()
    }
}

/// Geometries of a table, by its columns.
fn names(table: &Table) -> Vec<String> {
    let own = table.measures().iter().filter(|m| *m != "accuracy");
    own.cloned().collect()
}

/// Spearman's ρ of every geometry.
pub(super) fn by_rho(table: &Table, order: &Order) -> Ranking {
    let names = names(table);
    let points: Vec<_> = names.iter().map(|x| order.points(table, x)).collect();
    let n = points.first().map_or(0, Vec::len);
    Ranking::by(&names, n, order.seed, |name, at| {
        let column = names.iter().position(|x| x == name)?;
        spearman(&at.iter().map(|&i| points[column][i]).collect::<Vec<_>>())
    })
}

/// How many directions are learnt, and how many there are.
pub(super) fn learnt(table: &Table, order: &Order) -> (usize, usize) {
    let points = order.points(table, "accuracy");
    let learnt = points.iter().filter(|p| p.1 >= LEARNT).count();
    (learnt, points.len())
}

/// Area under the curve of every geometry; `None` where nearly all directions are learnt, or nearly none.
pub(super) fn by_auc(table: &Table, order: &Order) -> Option<Ranking> {
    let (learnt, n) = learnt(table, order);
    if learnt.min(n - learnt) < MEMBERS {
        return None;
    }
    let names = names(table);
    let points: Vec<_> = names.iter().map(|x| order.points(table, x)).collect();
    Some(Ranking::by(&names, n, order.seed, |name, at| {
        let column = names.iter().position(|x| x == name)?;
        let scores = at.iter().map(|&i| points[column][i]);
        auc(&scores.map(|(x, y)| (x, y >= LEARNT)).collect::<Vec<_>>())
    }))
}

/// Spearman's ρ between two runs of the same directions, and how many have two.
pub(super) fn ceiling(table: &Table, order: &Order) -> Option<(Found, usize)> {
    let pairs = order.along.iter().filter_map(|select| {
        let runs = table.values(select, order.y);
        let run = |r: u64| runs.iter().find(|v| v.0 == r).map(|v| v.1);
        Some((run(0)?, run(1)?))
    });
    let pairs: Vec<(f64, f64)> = pairs.collect();
    let of = |at: &[usize]| spearman(&at.iter().map(|&i| pairs[i]).collect::<Vec<_>>());
    let interval = bootstrap(pairs.len(), order.seed, of)?;
    Some(((spearman(&pairs)?, interval), pairs.len()))
}
