//! How well one measure orders conditions by another: Spearman's ρ with a bootstrap interval over the conditions.
//!
//! Where the conditions are alike there is no order to find, and no correlation is given: chance alone would make one.

use polariscope_stats::{Interval, bootstrap, spearman};

use crate::judge::Judged;
use crate::{Mean, Outcome, Select, Table};

/// Conditions whose spread is below so many times that of their runs are alike.
const NOISE: f64 = 1.5;

/// What is ordered, and by which rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// The measure that sets the order.
    pub y: &'static str,
    /// The conditions.
    pub along: Vec<Select>,
    /// A range of y below this is none.
    pub tolerance: f64,
    /// Of the resamples.
    pub seed: u64,
}

/// Means of y over the conditions: how far apart, and how far apart runs of one condition are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Smallest mean.
    pub low: f64,
    /// Largest mean.
    pub high: f64,
    /// Standard deviation over conditions.
    pub deviation: f64,
    /// Standard deviation over runs of one condition, where some have two.
    pub noise: Option<f64>,
}

impl Order {
    /// Means of y, `None` where it was not measured.
    fn means(&self, table: &Table, measure: &str) -> Vec<Option<f64>> {
        let mean = |select| table.mean(select, measure).map(|m| m.value);
        self.along.iter().map(mean).collect()
    }

    /// (x, y) of the conditions that have both.
    pub fn points(&self, table: &Table, x: &str) -> Vec<(f64, f64)> {
        let pairs = self
            .means(table, x)
            .into_iter()
            .zip(self.means(table, self.y));
        pairs.filter_map(|(x, y)| Some((x?, y?))).collect()
    }

    /// How far apart the conditions are; `None` for fewer than three.
    pub fn spread(&self, table: &Table) -> Option<Spread> {
        let y: Vec<f64> = self.means(table, self.y).into_iter().flatten().collect();
        if y.len() < 3 {
            return None;
        }
        let variance = |y: &[f64]| {
            let mean = y.iter().sum::<f64>() / y.len() as f64;
            y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / (y.len() - 1) as f64
        };
        let repeated = self.along.iter().filter_map(|select| {
            let runs = table.values(select, self.y);
            let runs: Vec<f64> = runs.into_iter().map(|(_, y)| y).collect();
            (runs.len() > 1).then(|| variance(&runs))
        });
        let repeated = Mean::of(&repeated.collect::<Vec<f64>>());
        Some(Spread {
            low: y.iter().copied().fold(f64::INFINITY, f64::min),
            high: y.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            deviation: variance(&y).sqrt(),
            noise: repeated.map(|m| m.value.sqrt()),
        })
    }

    /// Whether there is no order to find: a range within the tolerance, or a spread that runs of one condition have as well.
    pub fn alike(&self, table: &Table) -> bool {
        self.spread(table).is_some_and(|s| {
            let noise = s.noise.is_some_and(|noise| s.deviation < NOISE * noise);
            s.high - s.low < self.tolerance || noise
        })
    }

    /// Spearman's ρ of x and y; `None` where conditions are alike or few.
    pub fn rho(&self, table: &Table, x: &str) -> Option<(f64, Interval)> {
        let points = self.points(table, x);
        if points.len() < 3 || self.alike(table) {
            return None;
        }
        let pick = |at: &[usize]| spearman(&at.iter().map(|&i| points[i]).collect::<Vec<_>>());
        let interval = bootstrap(points.len(), self.seed, pick)?;
        Some((spearman(&points)?, interval))
    }

    /// ρ of x less that of `other`, over the same resamples.
    pub fn lead(&self, table: &Table, x: &str, other: &str) -> Option<(f64, Interval)> {
        let (a, b) = (self.points(table, x), self.points(table, other));
        if a.len() < 3 || a.len() != b.len() || self.alike(table) {
            return None;
        }
        let pick = |points: &[(f64, f64)], at: &[usize]| {
            spearman(&at.iter().map(|&i| points[i]).collect::<Vec<_>>())
        };
        let difference = |at: &[usize]| Some(pick(&a, at)? - pick(&b, at)?);
        let interval = bootstrap(a.len(), self.seed, difference)?;
        Some((spearman(&a)? - spearman(&b)?, interval))
    }

    fn judged(&self, table: &Table, what: String, found: Option<(f64, Interval)>) -> Judged {
        let n = self.means(table, self.y).iter().flatten().count();
        let rule = match found {
            Some((_, i)) => format!(
                "{what} over {n} conditions, bootstrap interval {:.2} to {:.2}, above 0",
                i.low, i.high
            ),
            None if self.alike(table) => format!("{what}: none, the conditions are alike"),
            None => format!("{what}, bootstrap interval above 0"),
        };
        Judged {
            statistic: found.map(|(value, interval)| Mean {
                value,
                standard_error: Some(interval.standard_error),
                runs: n,
            }),
            rule,
            outcome: match found {
                Some((_, i)) if i.low > 0.0 => Outcome::Holds,
                Some((_, i)) if i.high < 0.0 => Outcome::Fails,
                _ => Outcome::Undecided,
            },
        }
    }
}

pub(crate) fn orders(table: &Table, x: &str, order: &Order) -> Judged {
    let what = format!("Spearman's ρ of {x} and {}", order.y);
    order.judged(table, what, order.rho(table, x))
}

pub(crate) fn better(table: &Table, x: &str, other: &str, order: &Order) -> Judged {
    let what = format!("Spearman's ρ with {}, {x} less {other}", order.y);
    order.judged(table, what, order.lead(table, x, other))
}
