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

    /// The measures of a cell. They depend on the cell alone, not on what was measured before; what cells share may be
    /// kept.
    fn measure(&mut self, cell: &Cell) -> Result<Vec<f64>, Self::Error>;

    /// Work of a cell, in any unit: what estimates of the time left follow from.
    fn cost(&self, _cell: &Cell) -> f64 {
        1.0
    }
}
