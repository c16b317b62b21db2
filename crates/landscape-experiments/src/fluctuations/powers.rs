//! Powers, by least squares of logarithms of means over runs, with the jackknife's errors over runs.
//!
//! With θ the power of all n runs and θ₍ᵢ₎ that without run i, run i is given the pseudo-value nθ − (n − 1)θ₍ᵢ₎. Their
//! mean is θ without its first bias and their standard error the jackknife's, whatever the points of a fit share.

use polariscope_experiment::{Row, Table};

use super::{NETWORKS, SIZES, at, distance_of, error_of, scatter_of};
use crate::scored;

/// What is added to every row: √(Σ Var Θ₀/Σ ⟨Θ₀⟩²), ε(1) − ε(n), ε(1)/2 − ε(n), and ε̄_∞.
const ADDED: [&str; 4] = ["kernel-noise", "excess", "mostly", "limit"];
/// Powers over widths, beside the narrowest; the last two over sizes of ensembles, beside each.
const POWERS: [&str; 7] = [
    "kernel-power",
    "variance-power",
    "global-power",
    "excess-power",
    "cost-power",
    "error-power",
    "distance-power",
];
const OVER_WIDTHS: usize = 5;

/// The table with what follows from it.
pub(super) fn scored(table: &Table, widths: &[usize], trained: &[usize]) -> Table {
    let column = |name: &str| table.measures().iter().position(|m| m == name);
    let drawn = Runs::of(table, "kernel-variance", widths);
    let ensembles = Runs::of(table, "variance", trained);
    let points = Powers { widths, trained };
    // A power, its width, and pseudo-values by run.
    let mut powers = Vec::new();
    for (k, name) in POWERS.into_iter().enumerate() {
        let runs = if k == 0 { &drawn } else { &ensembles };
        let beside = if k < OVER_WIDTHS {
            &trained[..1]
        } else {
            trained
        };
        for &h in beside {
            let power = |mean: &Means| slope(&logarithms(&points.of(name, h, mean)));
            powers.push((name, h.to_string(), runs.pseudo_values(&power)));
        }
    }
    let added = [&ADDED[..], &POWERS].concat();
    scored::scored(table, &added, |row: &Row| {
        let of = |name: &str| column(name).map_or(f64::NAN, |i| row.values[i]);
        let power = |name: &str| {
            let mut all = powers.iter();
            let (.., values) = all.find(|(n, h, _)| *n == name && row.levels.contains(h))?;
            Some(values.iter().find(|(run, _)| *run == row.run)?.1)
        };
        let [one, all] = [1, NETWORKS].map(|m| of(&error_of(m)));
        let mut values = vec![
            (of("kernel-variance") / of("kernel-square")).sqrt(),
            one - all,
            0.5 * one - all,
            limit(&of),
        ];
        values.extend(POWERS.map(|name| power(name).unwrap_or(f64::NAN)));
        values
    })
}

/// ε̄_∞ of ε(m) = ε̄_∞ + c/m, by least squares over two networks or more: one may be too noisy for it.
fn limit(of: &impl Fn(&str) -> f64) -> f64 {
    let sizes = SIZES[1..].iter().chain(&[NETWORKS]);
    let points: Vec<(f64, f64)> = sizes.map(|&m| (1.0 / m as f64, of(&error_of(m)))).collect();
    let (x, y) = middle(&points);
    y - slope(&points) * x
}

/// Means over runs of measures at widths.
type Means<'a> = dyn Fn(usize, &str) -> f64 + 'a;

/// Which points a power is fitted to.
struct Powers<'a> {
    widths: &'a [usize],
    trained: &'a [usize],
}

impl Powers<'_> {
    /// x and y, from means of measures by width.
    fn of(&self, power: &str, h: usize, mean: &Means) -> Vec<(f64, f64)> {
        let excess = |h: usize, m: usize| mean(h, &error_of(m)) - mean(h, &error_of(NETWORKS));
        let noise = |h: usize| (mean(h, "kernel-variance") / mean(h, "kernel-square")).sqrt();
        let delta = |h: usize| mean(h, &distance_of(1));
        let over = |widths: &[usize], point: &dyn Fn(usize) -> (f64, f64)| {
            widths.iter().map(|&h| point(h)).collect()
        };
        let sizes = |y: &dyn Fn(usize) -> f64| SIZES.map(|m| (scatter_of(m), y(m))).into();
        match power {
            "kernel-power" => over(self.widths, &|h| (h as f64, noise(h))),
            "variance-power" => over(self.trained, &|h| (h as f64, mean(h, "variance"))),
            "global-power" => over(self.trained, &|h| (mean(h, "global"), delta(h))),
            "excess-power" => over(self.trained, &|h| (delta(h), excess(h, 1))),
            "cost-power" => over(self.trained, &|h| (h as f64, excess(h, 1))),
            "error-power" => sizes(&|m| excess(h, m)),
            "distance-power" => sizes(&|m| mean(h, &distance_of(m))),
            _ => Vec::new(),
        }
    }
}

/// Runs in which a measure is there at all of some widths.
struct Runs<'a> {
    table: &'a Table,
    runs: Vec<u64>,
}

impl<'a> Runs<'a> {
    fn of(table: &'a Table, measure: &str, widths: &[usize]) -> Self {
        let there = |&h: &usize| table.values(&at(h), measure);
        let there: Vec<Vec<(u64, f64)>> = widths.iter().map(there).collect();
        let whole = |run: u64| there.iter().all(|w| w.iter().any(|(r, _)| *r == run));
        let runs = there.first().into_iter().flatten().map(|(run, _)| *run);
        Runs {
            table,
            runs: runs.filter(|run| whole(*run)).collect(),
        }
    }

    /// Of a statistic of means; none where it cannot be had without one of the runs.
    fn pseudo_values(&self, statistic: &dyn Fn(&Means) -> f64) -> Vec<(u64, f64)> {
        let n = self.runs.len() as f64;
        let without = |out: Option<u64>| {
            statistic(&|h, measure| {
                let values = self.table.values(&at(h), measure).into_iter();
                let kept = values.filter(|(run, _)| Some(*run) != out && self.runs.contains(run));
                let kept: Vec<f64> = kept.map(|(_, y)| y).collect();
                kept.iter().sum::<f64>() / kept.len() as f64
            })
        };
        let all = without(None);
        let value = |&run: &u64| (run, n * all - (n - 1.0) * without(Some(run)));
        let values: Vec<(u64, f64)> = self.runs.iter().map(value).collect();
        match values.iter().all(|(_, value)| value.is_finite()) {
            true => values,
            false => Vec::new(),
        }
    }
}

/// NaN where a number is not positive.
fn logarithms(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    points.iter().map(|(x, y)| (x.ln(), y.ln())).collect()
}

/// Mean x and mean y.
pub(super) fn middle(points: &[(f64, f64)]) -> (f64, f64) {
    let n = points.len() as f64;
    let sum = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    (sum(&|p| p.0), sum(&|p| p.1))
}

/// Of the line by least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let (x, y) = middle(points);
    let squares: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
    let products: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    products / squares
}
