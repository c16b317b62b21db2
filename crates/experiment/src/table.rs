//! The tidy table: one row a cell, factors first, then the run, then what was measured.

use polariscope_stats::Estimate;
use thiserror::Error;

use crate::{Cell, Design};

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    factors: Vec<String>,
    measures: Vec<String>,
    /// In the order of the work.
    pub rows: Vec<Row>,
}

/// One cell with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// One level for each factor.
    pub levels: Vec<String>,
    /// Which run.
    pub run: u64,
    /// One number for each measure.
    pub values: Vec<f64>,
}

/// A mean over runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// Of two runs and more.
    pub standard_error: Option<f64>,
    /// How many.
    pub runs: usize,
}

impl Mean {
    /// Of at least one number.
    pub fn of(values: &[f64]) -> Option<Self> {
        Some(Mean {
            value: values
                .first()
                .map(|_| values.iter().sum::<f64>() / values.len() as f64)?,
            standard_error: Estimate::mean(values).map(|e| e.standard_error),
            runs: values.len(),
        })
    }
}

/// Rows of certain levels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Select(Vec<(String, String)>);

impl Select {
    /// Rows where each factor has the level beside it.
    pub fn of(levels: &[(&str, &str)]) -> Self {
        let own = |(f, l): &(&str, &str)| (f.to_string(), l.to_string());
        Select(levels.iter().map(own).collect())
    }
}

/// Why a stored table cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TableError {
    /// The header is that of another design.
    #[error("the table has the columns {found}, not {wanted}")]
    Columns {
        /// As stored.
        found: String,
        /// As designed.
        wanted: String,
    },
    /// A row that does not fit the header.
    #[error("line {line} does not fit the columns: {text}")]
    Row {
        /// From 1, the header included.
        line: usize,
        /// What stands there.
        text: String,
    },
}

impl Table {
    /// An empty table.
    pub fn new(design: &Design) -> Self {
        Table {
            factors: design.factors.to_vec(),
            measures: design.measures.clone(),
            rows: Vec::new(),
        }
    }

    /// Names of the factors.
    pub fn factors(&self) -> &[String] {
        &self.factors
    }

    /// Names of the measures.
    pub fn measures(&self) -> &[String] {
        &self.measures
    }

    /// Whether a cell was measured.
    pub fn holds(&self, cell: &Cell) -> bool {
        let same = |row: &Row| row.run == cell.run && row.levels == cell.levels;
        self.rows.iter().any(same)
    }

    /// (run, value) of a measure in the selected rows; rows without a number, such as those of networks that diverged, are
    /// left out.
    pub fn values(&self, select: &Select, measure: &str) -> Vec<(u64, f64)> {
        let Some(column) = self.measures.iter().position(|m| m == measure) else {
            return Vec::new();
        };
        let chosen = |row: &&Row| {
            select.0.iter().all(|(factor, level)| {
                let place = self.factors.iter().position(|f| f == factor);
                place.is_some_and(|i| row.levels[i] == *level)
            })
        };
        let rows = self.rows.iter().filter(chosen);
        let values = rows.map(|row| (row.run, row.values[column]));
        values.filter(|(_, y)| !y.is_nan()).collect()
    }

    /// Mean of a measure over the selected rows with its standard error.
    pub fn mean(&self, select: &Select, measure: &str) -> Option<Mean> {
        let values: Vec<f64> = self
            .values(select, measure)
            .into_iter()
            .map(|v| v.1)
            .collect();
        Mean::of(&values)
    }

    fn header(&self) -> String {
        let run = ["run".to_string()];
        [&self.factors[..], &run, &self.measures].concat().join(",")
    }

    /// As CSV; numbers keep every bit.
    pub fn to_csv(&self) -> String {
        let mut text = self.header() + "\n";
        for row in &self.rows {
            let mut fields = row.levels.clone();
            fields.push(row.run.to_string());
            fields.extend(row.values.iter().map(|x| format!("{x:?}")));
            text += &(fields.join(",") + "\n");
        }
        text
    }

    /// Adds the rows that [`Table::to_csv`] wrote for a table of the same columns.
    pub fn read_csv(&mut self, text: &str) -> Result<(), TableError> {
        let mut lines = text.lines();
        let (found, wanted) = (lines.next().unwrap_or_default(), self.header());
        if found != wanted {
            let found = found.to_string();
            return Err(TableError::Columns { found, wanted });
        }
        for (i, line) in lines.enumerate() {
            let row = self.parse(line).ok_or_else(|| TableError::Row {
                line: i + 2,
                text: line.to_string(),
            })?;
            self.rows.push(row);
        }
        Ok(())
    }

    fn parse(&self, line: &str) -> Option<Row> {
        let fields: Vec<&str> = line.split(',').collect();
        let (factors, measures) = (self.factors.len(), self.measures.len());
        if fields.len() != factors + 1 + measures {
            return None;
        }
        let values = fields[factors + 1..].iter().map(|f| f.parse().ok());
        Some(Row {
            levels: fields[..factors].iter().map(|f| f.to_string()).collect(),
            run: fields[factors].parse().ok()?,
            values: values.collect::<Option<_>>()?,
        })
    }
}
