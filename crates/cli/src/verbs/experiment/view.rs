//! How the table of an experiment is shown.

use polariscope_experiment::{Mean, Select, Table};
use polariscope_report::{Mark, Section, Series};
use serde::{Deserialize, Serialize};

/// Words and figures of an experiment, made from its table alone.
pub trait View {
    /// As it is typed.
    fn name(&self) -> &'static str;

    /// Heading of the page.
    fn title(&self) -> String;

    /// What is asked, in a sentence.
    fn asked(&self) -> String;

    /// What the numbers say, in a sentence or two.
    fn words(&self, table: &Table) -> String;

    /// The means, as rows and columns.
    fn summary(&self, table: &Table) -> Grid;

    /// Figures with their captions.
    fn figures(&self, table: &Table) -> Vec<Section>;
}

/// A table of text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows.
    pub rows: Vec<Vec<String>>,
}

/// Levels of a factor, in the order of the table.
pub fn levels(table: &Table, factor: &str) -> Vec<String> {
    let Some(place) = table.factors().iter().position(|f| f == factor) else {
        return Vec::new();
    };
    let mut found: Vec<String> = Vec::new();
    for row in &table.rows {
        if !found.contains(&row.levels[place]) {
            found.push(row.levels[place].clone());
        }
    }
    found
}

/// `31.2 ± 0.4`, in units of `unit`.
pub fn shown(mean: Option<Mean>, unit: f64) -> String {
    let Some(mean) = mean else {
        return String::new();
    };
    let value = mean.value / unit;
    match mean.standard_error {
        Some(s) if s > 0.0 => {
            let estimate = polariscope_stats::Estimate {
                value,
                standard_error: s / unit,
                samples: mean.runs as u64,
            };
            estimate.pair()
        }
        _ => polariscope_report::pretty(value),
    }
}

/// Rows and columns of means of one measure.
pub struct Pivot<'a> {
    /// The factor down the side.
    pub rows: &'a str,
    /// The factor along the top.
    pub columns: &'a str,
    /// Levels of the others.
    pub fixed: Vec<(&'a str, String)>,
    /// What is shown.
    pub measure: &'a str,
    /// In which unit.
    pub unit: f64,
}

impl Pivot<'_> {
    /// The levels of a row and a column, and those that are fixed.
    pub fn select(&self, row: &str, column: &str) -> Select {
        let mut levels = vec![(self.rows, row), (self.columns, column)];
        levels.extend(self.fixed.iter().map(|(f, l)| (*f, l.as_str())));
        Select::of(&levels)
    }

    /// The mean in a row and a column.
    pub fn mean(&self, table: &Table, row: &str, column: &str) -> Option<Mean> {
        table.mean(&self.select(row, column), self.measure)
    }

    /// All means as text.
    pub fn grid(&self, table: &Table) -> Grid {
        let columns = levels(table, self.columns);
        let row = |row: String| {
            let means = columns.iter().map(|c| self.mean(table, &row, c));
            let cells = means.map(|m| shown(m, self.unit));
            [row.clone()].into_iter().chain(cells).collect()
        };
        Grid {
            rows: levels(table, self.rows).into_iter().map(row).collect(),
            columns: [self.rows.to_string()]
                .into_iter()
                .chain(columns.clone())
                .collect(),
        }
    }

    /// One line a column over rows that are numbers, with a band of a standard error.
    pub fn series(&self, table: &Table, label: impl Fn(&str) -> String) -> Vec<Series> {
        let rows = levels(table, self.rows);
        let line = |column: String| {
            let points = rows.iter().filter_map(|row| {
                let mean = self.mean(table, row, &column)?;
                let x: f64 = row.parse().ok()?;
                let error = mean.standard_error.unwrap_or(0.0) / self.unit;
                Some((x, mean.value / self.unit, error))
            });
            let points: Vec<(f64, f64, f64)> = points.collect();
            Series {
                mark: Mark::LinePoints,
                ..Series::line(label(&column), points.iter().map(|p| (p.0, p.1)).collect())
            }
            .with_band(points.iter().map(|p| (p.1 - p.2, p.1 + p.2)).collect())
        };
        levels(table, self.columns).into_iter().map(line).collect()
    }
}
