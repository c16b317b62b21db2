//! How claims are judged.
//!
//! Means over runs are judged by Student's t at the level of 95 %, two-sided: with s the standard error and ν the degrees
//! of freedom, r = t_{0.975, ν} · s is the half width of the interval. ν is n − 1 for a mean of n runs and Welch and
//! Satterthwaite's for a difference of two means; an exponent is fitted in every run and judged as a mean over runs. One
//! run alone has no error and decides nothing.
//!
//! - [`above`]: differences d between two conditions, paired by run. Holds where mean(d) > r; fails where mean(d) < −r.
//! - [`equal`]: holds where the largest difference between the conditions of a run is within the tolerance in every
//!   run, else fails.
//! - [`trend`]: Spearman's ρ between the place of a level and the measure, over all n rows. Holds where it has the
//!   claimed sign and |ρ| > 1.645/√(n−1), one-sided 5 %; fails where it has the other sign and is as large.
//! - [`contrast`]: c = Σ w y in every run, y the mean of the run's rows. Positive: as differences. Near v: holds where
//!   |mean(c) − v| + r is within the tolerance, fails where |mean(c) − v| − r is beyond.
//!   At least or at most v: as differences, from v.
//! - [`certain`]: holds where every row has what is wanted, else fails.
//! - [`range`]: largest less smallest mean over the conditions, its standard error that of the two means, its degrees of
//!   freedom those of their difference; as contrasts.
//! - [`together`]: Spearman's ρ between the means over runs of two measures in n conditions, with the standard error
//!   √((1 + ρ²/2)/(n−3)) of its Fisher transform. Holds where ρ is at least v (for v = 0: above 1.645/√(n−1), one-sided
//!   5 %), fails where it is not and v is 1.96 standard errors of the transform away (for v = 0: as for trends).
//! - [`orders`](crate::order::orders): Spearman's ρ between the means of two measures, by a bootstrap over conditions. Holds
//!   where the interval of 95 % lies above 0, fails where it lies below; [`better`](crate::order::better) the same of a
//!   difference. Undecided where the conditions are alike.
//! - [`scatter`]: the mean of z² over n rows, which has mean 1 and standard deviation √(2/n) where nothing but chance
//!   is at work. Holds up to three of these above 1, else fails.
//!
//! What neither holds nor fails is undecided: more runs would tell.

use polariscope_report::pretty;
use polariscope_stats::{student_quantile, welch};

use crate::{Mean, Outcome, Scale, Select, Table, Wanted};

/// One-sided 5 % point of the normal distribution.
const FIVE_PERCENT: f64 = 1.645;
/// An interval of 95 % ends here, two-sided.
const LEVEL: f64 = 0.975;
/// The same of the normal distribution, for an error that is known and not estimated.
const NORMAL: f64 = 1.959_963_984_540_054;
/// Standard deviations of the mean of z² that chance is granted.
const CHANCE: f64 = 3.0;

/// A statistic and what it decides.
pub(crate) struct Judged {
    pub statistic: Option<Mean>,
    pub rule: String,
    pub outcome: Outcome,
}

pub(crate) fn above(table: &Table, measure: &str, upper: &Select, lower: &Select) -> Judged {
    let terms = [(1.0, upper.clone()), (-1.0, lower.clone())];
    let differences = sums(table, measure, Scale::Linear, &terms);
    let what = format!("difference of {measure}");
    meet(Tested::of(&differences), &what, Wanted::Positive)
}

pub(crate) fn equal(table: &Table, measure: &str, conditions: &[Select], tolerance: f64) -> Judged {
    let first = conditions.first();
    let runs = first.map_or(Vec::new(), |first| table.values(first, measure));
    let spreads = runs.iter().filter_map(|(run, _)| {
        let values = conditions.iter().map(|c| value(table, c, measure, *run));
        let values = values.collect::<Option<Vec<f64>>>()?;
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some(high - low)
    });
    let spreads: Vec<f64> = spreads.collect();
    let largest = spreads.iter().copied().fold(0.0, f64::max);
    Judged {
        statistic: (!spreads.is_empty()).then_some(Mean {
            value: largest,
            standard_error: None,
            runs: spreads.len(),
        }),
        rule: format!("largest difference of {measure} in any run, at most {tolerance}"),
        outcome: match spreads.is_empty() {
            true => Outcome::Undecided,
            false if largest <= tolerance => Outcome::Holds,
            false => Outcome::Fails,
        },
    }
}

pub(crate) fn contrast(
    table: &Table,
    (measure, scale): (&str, Scale),
    terms: &[(f64, Select)],
    wanted: Wanted,
) -> Judged {
    let sums = sums(table, measure, scale, terms);
    let what = match scale {
        _ if matches!(terms, [(1.0, _)]) => measure.to_string(),
        Scale::Linear => format!("weighted sum of {measure}"),
        Scale::Log => format!("weighted sum of ln {measure}"),
    };
    meet(Tested::of(&sums), &what, wanted)
}

/// A mean with the degrees of freedom of its error.
#[derive(Clone, Copy)]
struct Tested {
    mean: Mean,
    freedom: f64,
}

impl Tested {
    /// Of one number a run.
    fn of(values: &[f64]) -> Option<Self> {
        Some(Tested {
            mean: Mean::of(values)?,
            freedom: values.len() as f64 - 1.0,
        })
    }

    /// Standard errors to the end of the interval; `None` where there is no error.
    fn errors(self) -> Option<f64> {
        let error = self.mean.standard_error?;
        // Without scatter nothing is left to chance.
        Some(if error > 0.0 {
            student_quantile(LEVEL, self.freedom)
        } else {
            0.0
        })
    }

    /// What comes of the claim that the mean exceeds a value.
    fn exceeds(self, value: f64) -> Outcome {
        self.decide(self.mean.value - value)
    }

    /// What comes of a claim that has `room`, with the error of the mean.
    fn decide(self, room: f64) -> Outcome {
        match (self.mean.standard_error, self.errors()) {
            (Some(s), Some(errors)) => decide(room, errors * s),
            _ => Outcome::Undecided,
        }
    }
}

/// A number of runs.
fn counted(runs: usize) -> String {
    match runs {
        1 => "1 run".into(),
        n => format!("{n} runs"),
    }
}

/// Whether a mean is what was wanted.
fn meet(tested: Option<Tested>, what: &str, wanted: Wanted) -> Judged {
    let runs = counted(tested.map_or(0, |t| t.mean.runs));
    let by = match tested.and_then(Tested::errors) {
        Some(errors) => format!("by {errors:.2} standard errors"),
        None => "with an error, which takes two runs".into(),
    };
    let (rule, outcome): (String, Box<dyn Fn(Tested) -> Outcome>) = match wanted {
        Wanted::Positive => (
            format!("{what} over {runs}, above 0 {by}"),
            Box::new(|t| t.exceeds(0.0)),
        ),
        Wanted::AtLeast(value) => (
            format!("{what} over {runs}, above {value} {by}"),
            Box::new(move |t| t.exceeds(value)),
        ),
        Wanted::AtMost(value) => (
            format!("{what} over {runs}, below {value} {by}"),
            Box::new(move |t| opposite(t.exceeds(value))),
        ),
        Wanted::Near { value, tolerance } => (
            format!(
                "{what} over {runs}, within {} of {} {by}",
                pretty(tolerance),
                pretty(value)
            ),
            Box::new(move |t| t.decide(tolerance - (t.mean.value - value).abs())),
        ),
    };
    Judged {
        statistic: tested.map(|t| t.mean),
        rule,
        outcome: tested.map_or(Outcome::Undecided, outcome),
    }
}

pub(crate) fn range(table: &Table, measure: &str, along: &[Select], wanted: Wanted) -> Judged {
    let means = along
        .iter()
        .filter_map(|select| table.mean(select, measure));
    let means: Vec<Mean> = means.collect();
    let by_value = |a: &&Mean, b: &&Mean| a.value.total_cmp(&b.value);
    let ends = means
        .iter()
        .max_by(by_value)
        .zip(means.iter().min_by(by_value));
    let tested = ends.map(|(high, low)| {
        let errors = high.standard_error.zip(low.standard_error);
        let mean = Mean {
            value: high.value - low.value,
            standard_error: errors.map(|(a, b)| a.hypot(b)),
            runs: high.runs.min(low.runs),
        };
        let freedom = errors.map_or(0.0, |(a, b)| welch((a, high.runs), (b, low.runs)));
        Tested { mean, freedom }
    });
    let what = format!("range of {measure} over {} conditions", means.len());
    meet(tested, &what, wanted)
}

pub(crate) fn certain(table: &Table, measure: &str, at: &Select, wanted: Wanted) -> Judged {
    // How far inside what is wanted; below 0 outside.
    let (rule, room): (String, Box<dyn Fn(f64) -> f64>) = match wanted {
        Wanted::Positive => ("above 0".into(), Box::new(|y| y)),
        Wanted::AtLeast(v) => (format!("at least {v}"), Box::new(move |y| y - v)),
        Wanted::AtMost(v) => (format!("at most {v}"), Box::new(move |y| v - y)),
        Wanted::Near { value, tolerance } => (
            format!("within {} of {}", pretty(tolerance), pretty(value)),
            Box::new(move |y| tolerance - (y - value).abs()),
        ),
    };
    let values = table.values(at, measure).into_iter().map(|(_, y)| y);
    let worst = values.min_by(|a, b| room(*a).total_cmp(&room(*b)));
    Judged {
        statistic: worst.map(|value| Mean {
            value,
            standard_error: None,
            runs: 1,
        }),
        rule: format!("{measure}, {rule} in every row"),
        outcome: match worst.map(room) {
            None => Outcome::Undecided,
            Some(room) if room >= 0.0 => Outcome::Holds,
            Some(_) => Outcome::Fails,
        },
    }
}

pub(crate) fn scatter(table: &Table, measure: &str, at: &Select) -> Judged {
    let values = table.values(at, measure);
    let squares: Vec<f64> = values.iter().map(|(_, z)| z * z).collect();
    let bound = 1.0 + CHANCE * (2.0 / squares.len().max(1) as f64).sqrt();
    let statistic = Mean::of(&squares);
    Judged {
        statistic,
        rule: format!(
            "mean {measure}² over {} rows, at most {bound:.2}",
            squares.len()
        ),
        outcome: match statistic {
            None => Outcome::Undecided,
            Some(mean) if mean.value <= bound => Outcome::Holds,
            Some(_) => Outcome::Fails,
        },
    }
}

/// A measure in one run: the mean where several of its rows are selected.
fn value(table: &Table, select: &Select, measure: &str, run: u64) -> Option<f64> {
    let rows = table.values(select, measure).into_iter();
    let own: Vec<f64> = rows.filter(|(r, _)| *r == run).map(|(_, y)| y).collect();
    Mean::of(&own).map(|mean| mean.value)
}

/// Σ w y in every run that has all terms.
fn sums(table: &Table, measure: &str, scale: Scale, terms: &[(f64, Select)]) -> Vec<f64> {
    let first = terms.first();
    let rows = first.map_or(Vec::new(), |(_, first)| table.values(first, measure));
    let mut runs: Vec<u64> = rows.into_iter().map(|(run, _)| run).collect();
    runs.sort_unstable();
    runs.dedup();
    let sum = |run: u64| -> Option<f64> {
        let parts = terms.iter().map(|(w, select)| {
            let y = value(table, select, measure, run)?;
            Some(match scale {
                Scale::Linear => w * y,
                Scale::Log => w * y.ln(),
            })
        });
        parts.sum()
    };
    runs.into_iter().filter_map(sum).collect()
}

fn decide(value: f64, bound: f64) -> Outcome {
    if value > bound {
        Outcome::Holds
    } else if value < -bound {
        Outcome::Fails
    } else {
        Outcome::Undecided
    }
}

fn opposite(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Holds => Outcome::Fails,
        Outcome::Fails => Outcome::Holds,
        Outcome::Undecided => Outcome::Undecided,
    }
}

pub(crate) fn trend(table: &Table, measure: &str, along: &[Select], sign: f64) -> Judged {
    let points = along.iter().enumerate().flat_map(|(i, select)| {
        let values = table.values(select, measure);
        values.into_iter().map(move |(_, y)| (i as f64, y))
    });
    let points: Vec<(f64, f64)> = points.collect();
    let bound = chance(points.len());
    let statistic = spearman(&points).map(|rho| Mean {
        value: rho,
        standard_error: None,
        runs: points.len(),
    });
    let way = if sign > 0.0 { "above " } else { "below −" };
    Judged {
        statistic,
        rule: format!("Spearman's ρ of {measure} along the conditions, {way}{bound:.2}"),
        outcome: statistic.map_or(Outcome::Undecided, |s| decide(sign * s.value, bound)),
    }
}

pub(crate) fn together(table: &Table, x: &str, y: &str, along: &[Select], least: f64) -> Judged {
    let mean = |select, measure| table.mean(select, measure).map(|m| m.value);
    let points = along
        .iter()
        .filter_map(|select| Some((mean(select, x)?, mean(select, y)?)));
    let points: Vec<(f64, f64)> = points.collect();
    let n = points.len();
    let statistic = spearman(&points).map(|rho| Mean {
        value: rho,
        // Of atanh ρ, brought to ρ.
        standard_error: (n > 3).then(|| (1.0 - rho * rho) * fisher(rho, n)),
        runs: n,
    });
    let outcome = match statistic.map(|s| s.value) {
        None => Outcome::Undecided,
        Some(rho) if least <= 0.0 => decide(rho, chance(n)),
        Some(rho) if rho >= least => Outcome::Holds,
        Some(rho) if least.atanh() - rho.atanh() > NORMAL * fisher(rho, n) => Outcome::Fails,
        Some(_) => Outcome::Undecided,
    };
    let bound = if least > 0.0 { least } else { chance(n) };
    Judged {
        statistic,
        rule: format!("Spearman's ρ of {x} and {y} over {n} conditions, at least {bound:.2}"),
        outcome,
    }
}

/// What chance makes of ρ in one case of twenty.
fn chance(points: usize) -> f64 {
    FIVE_PERCENT / (points as f64 - 1.0).max(1.0).sqrt()
}

/// Standard error of atanh ρ (Bonett and Wright).
fn fisher(rho: f64, points: usize) -> f64 {
    ((1.0 + 0.5 * rho * rho) / (points as f64 - 3.0).max(f64::MIN_POSITIVE)).sqrt()
}

/// Spearman's ρ of three points and more; 0 where one side does not vary.
fn spearman(points: &[(f64, f64)]) -> Option<f64> {
    (points.len() >= 3).then(|| polariscope_stats::spearman(points).unwrap_or(0.0))
}
