//! What an experiment is made of; whoever runs it needs to know no more.

use crate::{Cell, Claim, Design};

/// A design, claims fixed beforehand, and a way to measure a cell.
pub trait Experiment {
    /// Why a cell cannot be measured.
    type Error;

    /// The grid.
    fn design(&self) -> Design;

    /// What is claimed, with the statistics that decide it.
    fn claims(&self) -> Vec<Claim>;

    /// Makes what all cells share; called once, before the first cell that is missing.
    fn prepare(&self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The measures of a cell. They depend on the cell alone, not on what was measured before; what cells share may be
    /// kept.
    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, Self::Error>;

    /// Cells that are measured side by side: more than one where a cell does not keep all threads busy by itself.
    fn together(&self) -> usize {
        1
    }

    /// Work of a cell, in any unit: what estimates of the time left follow from.
    fn cost(&self, _cell: &Cell) -> f64 {
        1.0
    }
}
