//! How the table of an experiment is shown.

use polariscope_report::{Axis, Mark, Plot, Section, Series};
use serde::{Deserialize, Serialize};

use crate::{Answers, Mean, Select, Table};

/// Words and figures of an experiment, made from its table alone.
pub trait View {
    /// As it is typed.
    fn name(&self) -> &'static str;

    /// Heading of the page.
    fn title(&self) -> String;

    /// What is asked, in a sentence.
    fn asked(&self) -> String;

    /// The answers to it where the claims agree.
    fn answers(&self) -> Answers;

    /// Its lines, where it has some: what words, summary and figures are made of by default.
    fn curves(&self) -> Vec<Curves<'_>> {
        Vec::new()
    }

    /// What the numbers say, in a sentence or two.
    fn words(&self, table: &Table) -> String {
        let all = self.curves().into_iter().filter(|c| c.is_there(table));
        let words: Vec<String> = all.map(|c| c.words(table)).collect();
        words.join(" ")
    }

    /// The means, as rows and columns.
    fn summary(&self, table: &Table) -> Grid {
        let first = self.curves().into_iter().find(|c| c.is_there(table));
        first.map_or_else(Grid::default, |c| c.pivot.grid(table))
    }

    /// Figures with their captions.
    fn figures(&self, table: &Table) -> Vec<Section> {
        let all = self.curves().into_iter().filter(|c| c.is_there(table));
        all.map(|c| c.section(table)).collect()
    }
}

/// A table of text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows.
    pub rows: Vec<Vec<String>>,
}

/// Levels of a factor, in the order of the table; an empty one for no factor.
pub fn levels(table: &Table, factor: &str) -> Vec<String> {
    if factor.is_empty() {
        return vec![String::new()];
    }
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

/// `31.2 ± 0.4`, in units of `unit`; a dash where nothing was measured.
pub fn shown(mean: Option<Mean>, unit: f64) -> String {
    let Some(mean) = mean else {
        return "–".into();
    };
    let value = mean.value / unit;
    match mean.standard_error {
        // Less than that is rounding.
        Some(s) if s > 1e-9 * mean.value.abs() => {
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
    /// The factor along the top; empty where there is none.
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
        let mut levels = vec![(self.rows, row)];
        if !self.columns.is_empty() {
            levels.push((self.columns, column));
        }
        levels.extend(self.fixed.iter().map(|(f, l)| (*f, l.as_str())));
        Select::of(&levels)
    }

    /// The mean in a row and a column.
    pub fn mean(&self, table: &Table, row: &str, column: &str) -> Option<Mean> {
        table.mean(&self.select(row, column), self.measure)
    }

    /// A column by its level, or by the measure where there is no factor.
    fn named(&self, column: &str) -> String {
        match self.columns {
            "" => self.measure.to_string(),
            _ => column.to_string(),
        }
    }

    /// All means as text.
    pub fn grid(&self, table: &Table) -> Grid {
        let columns = levels(table, self.columns);
        let row = |row: String| {
            let means = columns.iter().map(|c| self.mean(table, &row, c));
            // A table of dashes would be hard to read.
            let cells = means.map(|m| m.map_or_else(String::new, |m| shown(Some(m), self.unit)));
            [row.clone()].into_iter().chain(cells).collect()
        };
        Grid {
            rows: levels(table, self.rows).into_iter().map(row).collect(),
            columns: [self.rows.to_string()]
                .into_iter()
                .chain(columns.iter().map(|c| self.named(c)))
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
                ..Series::line(
                    label(&self.named(&column)),
                    points.iter().map(|p| (p.0, p.1)).collect(),
                )
            }
            .with_band(points.iter().map(|p| (p.1 - p.2, p.1 + p.2)).collect())
        };
        levels(table, self.columns).into_iter().map(line).collect()
    }
}

/// Lines of means over a factor of numbers: one experiment in one figure.
pub struct Curves<'a> {
    /// What is drawn: rows along x, one line a column.
    pub pivot: Pivot<'a>,
    /// Heading of its section.
    pub title: String,
    /// The rows.
    pub x: Axis,
    /// The measure.
    pub y: Axis,
    /// What to see in it.
    pub caption: String,
}

impl Curves<'_> {
    /// The figure.
    pub fn section(&self, table: &Table) -> Section {
        let plot = Plot {
            title: self.what(),
            x: self.x.clone(),
            y: self.y.clone(),
            series: self.pivot.series(table, str::to_string),
        };
        Section::new(self.title.clone()).figure(
            self.title.to_lowercase(),
            plot.draw(),
            format!("{} Bands: a standard error over runs.", self.caption),
        )
    }

    /// Whether something of it was measured.
    fn is_there(&self, table: &Table) -> bool {
        let columns = levels(table, self.pivot.columns);
        let rows = levels(table, self.pivot.rows);
        let there = |row: &String| {
            let mean = |column: &String| self.pivot.mean(table, row, column);
            columns.iter().any(|column| mean(column).is_some())
        };
        rows.iter().any(there)
    }

    /// Every column at its first, middle and last row, in words.
    pub fn words(&self, table: &Table) -> String {
        let rows = levels(table, self.pivot.rows);
        let sentence = |column: String| -> Option<String> {
            let there = |row: &&String| self.pivot.mean(table, row, &column).is_some();
            let rows: Vec<&String> = rows.iter().filter(there).collect();
            let mut places = vec![0, rows.len() / 2, rows.len().checked_sub(1)?];
            places.dedup();
            let at = places.into_iter().filter_map(|i| rows.get(i)).map(|row| {
                let mean = shown(self.pivot.mean(table, row, &column), self.pivot.unit);
                format!("{mean} at {row}")
            });
            let name = self.pivot.named(&column);
            Some(format!("{name}: {}.", at.collect::<Vec<_>>().join(", ")))
        };
        let all: Vec<String> = levels(table, self.pivot.columns)
            .into_iter()
            .filter_map(sentence)
            .collect();
        let (title, y, x) = (&self.title, &self.y.label, &self.x.label);
        format!("{title}: {y} by {x}. {}", all.join(" "))
    }

    /// The measure by the rows.
    fn what(&self) -> String {
        let label = &self.y.label;
        let mut letters = label.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        let label: String = first.chain(letters).collect();
        format!("{label} by {}", self.x.label)
    }
}
