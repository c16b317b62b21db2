//! What an experiment is made of; whoever runs it needs to know no more.

use crate::{Cell, Claim, Design, Table};

/// A design, claims fixed beforehand, and a way to measure a cell.
pub trait Experiment {
    /// Why a cell cannot be measured.
    type Error;

    /// The grid: what is measured first, where [`Experiment::follow`] adds to it.
    fn design(&self) -> Design;

    /// What is to be measured next, of the same factors and measures, once all cells so far are in the table; `None` where
    /// nothing is. It follows from the table alone, so that an interrupted experiment takes the same way.
    fn follow(&self, _table: &Table) -> Option<Design> {
        None
    }

    /// What is claimed, with the statistics that decide it.
    fn claims(&self) -> Vec<Claim>;

    /// Makes what all cells share; called once, before the first cell that is missing.
    fn prepare(&self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The measures of a cell. They depend on the cell alone, not on what was measured before; what cells share may be
    /// kept.
    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, Self::Error>;

    /// The table with numbers that need no measuring, such as predictions: what claims and views read instead, and a file of
    /// its own. Made again whenever the rest is.
    fn scores(&self, _table: &Table) -> Result<Option<Table>, Self::Error> {
        Ok(None)
    }

    /// Cells that are measured side by side: more than one where a cell does not keep all threads busy by itself.
    fn together(&self) -> usize {
        1
    }

    /// Work of a cell, in any unit: what estimates of the time left follow from.
    fn cost(&self, _cell: &Cell) -> f64 {
        1.0
    }
}
