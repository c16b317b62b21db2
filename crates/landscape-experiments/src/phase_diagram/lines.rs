//! The lines of the diagram: where networks begin to fit, and where the kernel moves by its norm.

use polariscope_experiment::grid::text;
use polariscope_experiment::{Design, Row, Table};

use super::MEASURES;

/// What is added, once a width or once an α̃ in every run, beside the first level of the other factor.
const LINES: [&str; 4] = ["crossover", "jam", "edge", "brink"];

/// The plane of one run: widths and α̃ with the numbers of its cells, NaN where some network did not fit.
pub(super) struct Plane {
    pub widths: Vec<f64>,
    pub controls: Vec<f64>,
    /// ‖ΔΘ‖/‖Θ₀‖, by width, then by α̃.
    pub kernel: Vec<Vec<f64>>,
    /// Most steps of a network.
    pub steps: Vec<Vec<f64>>,
}

impl Plane {
    /// Of one run, or of the geometric mean over runs, which is NaN where one of them is.
    pub fn of(table: &Table, run: Option<u64>) -> Self {
        let column = |name: &str| table.measures().iter().position(|m| m == name);
        let place = |name: &str| table.factors().iter().position(|f| f == name);
        let number = |row: &Row, factor: Option<usize>| -> f64 {
            let level = factor.and_then(|f| row.levels.get(f));
            level.and_then(|l| l.parse().ok()).unwrap_or(f64::NAN)
        };
        let rows: Vec<&Row> = table
            .rows
            .iter()
            .filter(|row| run.is_none_or(|run| row.run == run))
            .collect();
        let all = |factor: &str| {
            let mut values: Vec<f64> = rows.iter().map(|row| number(row, place(factor))).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            values
        };
        let (widths, controls) = (all("h"), all("control"));
        let grid = |measure: &str| {
            let cell = |h: f64, c: f64| {
                let here = rows.iter().filter(|row| {
                    number(row, place("h")) == h && number(row, place("control")) == c
                });
                let values =
                    here.map(|row| column(measure).map_or(f64::NAN, |m| row.values[m].ln()));
                let values: Vec<f64> = values.collect();
                (values.iter().sum::<f64>() / values.len() as f64).exp()
            };
            let line = |&h: &f64| controls.iter().map(|&c| cell(h, c)).collect();
            widths.iter().map(line).collect()
        };
        Plane {
            kernel: grid("kernel"),
            steps: grid("steps"),
            widths,
            controls,
        }
    }

    /// α̃ at which the kernel of the width in this place moves by `level` times its norm, by straight lines between the
    /// logarithms; `None` where it stays on one side.
    pub fn crossing(&self, width: usize, level: f64) -> Option<f64> {
        let moved = &self.kernel[width];
        (1..moved.len()).find_map(|j| {
            let (a, b) = (moved[j - 1] / level, moved[j] / level);
            let inside = a.is_finite() && b.is_finite() && a >= 1.0 && b < 1.0;
            inside.then(|| {
                let share = a.ln() / (a.ln() - b.ln());
                let (x, y) = (self.controls[j - 1].ln(), self.controls[j].ln());
                (x + share * (y - x)).exp()
            })
        })
    }

    /// Place of the smallest width from which on all networks fit within `budget` steps at the α̃ in this place.
    pub fn jam(&self, control: usize, budget: f64) -> Option<usize> {
        let fits = |width: &usize| self.steps[*width][control] <= budget;
        (0..self.widths.len()).rev().take_while(fits).last()
    }
}

/// The table with the lines, in logarithms: `crossover` α̃ where the kernel moves by its norm, `jam` the smallest width that
/// fits, `edge` how far the kernel moves there, `brink` how much further than at the largest width.
pub(super) fn scored(table: &Table) -> Table {
    let design = Design {
        factors: table.factors().to_vec().into(),
        measures: text(MEASURES.into_iter().chain(LINES)),
        cells: Vec::new(),
    };
    let mut scores = Table::new(&design);
    let mut planes: Vec<(u64, Plane)> = Vec::new();
    for row in &table.rows {
        if !planes.iter().any(|(run, _)| *run == row.run) {
            planes.push((row.run, Plane::of(table, Some(row.run))));
        }
        let plane = planes.iter().find(|(run, _)| *run == row.run);
        let lines = plane.map_or([f64::NAN; 4], |(_, plane)| plane.lines(row));
        scores.rows.push(Row {
            levels: row.levels.clone(),
            run: row.run,
            values: row.values.iter().copied().chain(lines).collect(),
        });
    }
    scores
}

impl Plane {
    /// What stands beside a row.
    fn lines(&self, row: &Row) -> [f64; 4] {
        let level = |i: usize| row.levels.get(i).and_then(|l| l.parse::<f64>().ok());
        let place = |all: &[f64], level: Option<f64>| all.iter().position(|&x| Some(x) == level);
        let (h, c) = (
            place(&self.widths, level(0)),
            place(&self.controls, level(1)),
        );
        let (Some(h), Some(c)) = (h, c) else {
            return [f64::NAN; 4];
        };
        let crossover = match c {
            0 => self.crossing(h, 1.0).map_or(f64::NAN, f64::ln),
            _ => f64::NAN,
        };
        let jam = self.jam(c, f64::INFINITY).filter(|_| h == 0);
        let (Some(jam), Some(last)) = (jam, self.widths.len().checked_sub(1)) else {
            return [crossover, f64::NAN, f64::NAN, f64::NAN];
        };
        let edge = self.kernel[jam][c].ln();
        [
            crossover,
            self.widths[jam].ln(),
            edge,
            edge - self.kernel[last][c].ln(),
        ]
    }
}
