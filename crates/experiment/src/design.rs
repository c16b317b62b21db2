//! Which conditions, how often, what is measured.

use std::sync::Arc;

use rayon::prelude::*;

use crate::{Row, Table};

/// A grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Design {
    /// Names of what varies.
    pub factors: Arc<[String]>,
    /// Names of what is measured.
    pub measures: Vec<String>,
    /// Conditions and runs in the order of the work.
    pub cells: Vec<Cell>,
}

/// What a design does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// No such factor; there are these.
    #[error("the factors are {}", .0.join(", "))]
    Factor(Vec<String>),
    /// No such level; there are these.
    #[error("there is no level '{}'; the levels are {}", .0, .1.join(", "))]
    Level(String, Vec<String>),
}

/// One condition in one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    factors: Arc<[String]>,
    /// One level for each factor.
    pub levels: Vec<String>,
    /// From 0; runs differ in their random numbers alone.
    pub run: u64,
}

impl Cell {
    /// The level of a factor; empty where the design has no such factor.
    pub fn level(&self, factor: &str) -> &str {
        let place = self.factors.iter().position(|f| f == factor);
        place.map_or("", |i| &self.levels[i])
    }

    /// The level of a factor of whole numbers; 0 where it is none.
    pub fn number(&self, factor: &str) -> usize {
        self.level(factor).parse().unwrap_or(0)
    }

    /// The level of a factor of real numbers; 0 where it is none.
    pub fn real(&self, factor: &str) -> f64 {
        self.level(factor).parse().unwrap_or(0.0)
    }
}

impl Design {
    /// Every combination of levels, run by run: an experiment that is cut short has whole runs.
    pub fn product(factors: &[(&str, &[&str])], runs: u64, measures: &[&str]) -> Self {
        let names: Arc<[String]> = factors.iter().map(|(name, _)| name.to_string()).collect();
        let mut conditions: Vec<Vec<String>> = vec![Vec::new()];
        for (_, levels) in factors {
            conditions = conditions
                .iter()
                .flat_map(|c| levels.iter().map(|l| [&c[..], &[l.to_string()]].concat()))
                .collect();
        }
        let cells = (0..runs).flat_map(|run| {
            conditions.iter().map({
                let names = &names;
                move |levels| Cell {
                    factors: Arc::clone(names),
                    levels: levels.clone(),
                    run,
                }
            })
        });
        Design {
            cells: cells.collect(),
            factors: Arc::clone(&names),
            measures: measures.iter().map(|m| m.to_string()).collect(),
        }
    }

    /// Without the cells that `keep` refuses.
    pub fn retain(mut self, keep: impl Fn(&Cell) -> bool) -> Self {
        self.cells.retain(keep);
        self
    }

    /// The cells in which a factor has one of these levels.
    pub fn only(mut self, factor: &str, levels: &[&str]) -> Result<Self, Unknown> {
        let of = |what: &str| self.cells.iter().any(|cell| cell.level(factor) == what);
        if !self.factors.iter().any(|f| f == factor) {
            return Err(Unknown::Factor(self.factors.to_vec()));
        }
        if let Some(&level) = levels.iter().find(|&&level| !of(level)) {
            let mut all: Vec<String> = Vec::new();
            for cell in &self.cells {
                if !all.iter().any(|known| known == cell.level(factor)) {
                    all.push(cell.level(factor).into());
                }
            }
            return Err(Unknown::Level(level.into(), all));
        }
        self.cells
            .retain(|cell| levels.contains(&cell.level(factor)));
        Ok(self)
    }

    /// Cells that the table lacks.
    pub fn missing(&self, table: &Table) -> Vec<&Cell> {
        self.cells.iter().filter(|c| !table.holds(c)).collect()
    }

    /// Measures every cell that the table lacks, `together` at a time; `begin` sees which come next, `done` the table
    /// with them. After an error the table holds the cells before the one that failed.
    pub fn fill<E: Send>(
        &self,
        table: &mut Table,
        together: usize,
        measure: impl Fn(&Cell) -> Result<Vec<f64>, E> + Sync,
        mut begin: impl FnMut(&[&Cell]),
        mut done: impl FnMut(&Table) -> Result<(), E>,
    ) -> Result<(), E> {
        for cells in self.missing(table).chunks(together.max(1)) {
            begin(cells);
            let found: Vec<_> = cells.par_iter().map(|cell| measure(cell)).collect();
            let mut failed = Ok(());
            for (cell, values) in cells.iter().zip(found) {
                match values {
                    Ok(values) => table.rows.push(Row {
                        levels: cell.levels.clone(),
                        run: cell.run,
                        values,
                    }),
                    Err(e) => {
                        failed = Err(e);
                        break;
                    }
                }
            }
            done(table)?;
            failed?;
        }
        Ok(())
    }
}
