//! `fluctuations` (Geiger S Fig 4 to 6, FL eq. 16): how far networks differ that differ in their initial weights alone, and
//! what that adds to the test error.
//!
//! A cell is a width in a run. It draws networks and looks at the noise of their tangent kernels; at some of the widths it
//! trains an ensemble. Runs share no networks, and hardly any samples where the data have many times as many as a run takes.

mod ensemble;
mod kernel;
mod powers;
mod view;

#[cfg(test)]
mod tests;

use polariscope_experiment::grid::{grid, text};
use polariscope_experiment::{Cell, Claim, Design, Experiment, Select, Table, Wanted, level};

use crate::lazy::{Task, network};
use crate::{Entry, Lab, LandscapeExperimentsError};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "fluctuations",
    source: "Geiger S Fig 4–6",
    line: "how far networks differ by their initial weights, by which power of the width, and what that costs",
    architecture: None,
    data: Some("stripe?shape=10&train=10000&test=400000"),
    minutes: 3.0,
    make: |lab| Ok(Box::new(Fluctuations::new(lab))),
};

/// Hidden layers.
const DEPTH: usize = 2;
/// Networks of an ensemble.
const NETWORKS: usize = 20;
/// Sizes of smaller ensembles: an ensemble is cut into pieces of each without a rest.
const SIZES: [usize; 5] = [1, 2, 4, 5, 10];
/// The narrowest networks: where noise is largest.
const NARROW: usize = 16;
/// Every power is claimed to this part of itself.
const PART: f64 = 0.15;
/// That of the kernel at initialisation, which takes no training, to this much.
const KERNEL: f64 = 0.03;

/// Measured of a width, test errors and boundary distances of ensembles aside.
const MEASURES: [&str; 7] = [
    "kernel-variance",
    "kernel-square",
    "fitted",
    "variance",
    "differ",
    "global",
    "steepness",
];
/// How many of them need no training.
const UNTRAINED: usize = 2;

struct Fluctuations {
    lab: Lab,
    task: Task,
}

impl Fluctuations {
    fn new(lab: &Lab) -> Self {
        Fluctuations {
            lab: lab.clone(),
            task: Task::default(),
        }
    }

    /// Widths at which kernels are looked at.
    fn widths(&self) -> Vec<usize> {
        let all = [NARROW, 32, 64, 128, 256, 512, 1024, 2048, 4096];
        all[..self.lab.pick(7, 9)].into()
    }

    /// Those of them at which ensembles are trained.
    fn trained(&self) -> Vec<usize> {
        self.widths()[..self.lab.pick(4, 7)].into()
    }
}

fn at(width: usize) -> Select {
    Select::of(&[("h", &width.to_string())])
}

/// Test error of the mean of m networks.
fn error_of(m: usize) -> String {
    format!("e{m}")
}

/// Distance of the boundary of the mean of m networks from that of all.
fn distance_of(m: usize) -> String {
    format!("d{m}")
}

/// The means of m networks of n scatter around that of all n as 1/m − 1/n.
fn scatter_of(m: usize) -> f64 {
    1.0 / m as f64 - 1.0 / NETWORKS as f64
}

impl Experiment for Fluctuations {
    type Error = LandscapeExperimentsError;

    fn design(&self) -> Design {
        let measures: Vec<String> = text(MEASURES)
            .into_iter()
            .chain(SIZES.map(error_of))
            .chain([error_of(NETWORKS)])
            .chain(SIZES.map(distance_of))
            .collect();
        let measures: Vec<&str> = measures.iter().map(String::as_str).collect();
        grid(
            &[("h", &text(self.widths())[..])],
            self.lab.runs(16, 40),
            &measures,
        )
    }

    fn claims(&self) -> Vec<Claim> {
        let power = |words: String, measure, width, value: f64, tolerance| {
            Claim::new(
                words,
                level(measure, at(width), Wanted::Near { value, tolerance }),
            )
        };
        let about = |words: &str, measure, value: f64| {
            let words = format!("{words} to 15 % in the power");
            power(words, measure, NARROW, value, PART * value.abs())
        };
        vec![
            power(
                format!(
                    "at initialisation the kernel fluctuates by h^−1/2 of itself to {KERNEL} in the power"
                ),
                "kernel-power",
                NARROW,
                -0.5,
                KERNEL,
            ),
            about("Var F ~ 1/h", "variance-power", -1.0),
            about("δ ~ ‖δF‖/‖∇F‖ over widths,", "global-power", 1.0),
            about("ε − ε̄ ~ δ² over widths,", "excess-power", 2.0),
            about(
                &format!(
                    "h = {NARROW}: the error of the mean of n networks approaches its limit as 1/n"
                ),
                "error-power",
                1.0,
            ),
            about(
                &format!("h = {NARROW}: its boundary approaches its limit as n^−1/2"),
                "distance-power",
                0.5,
            ),
        ]
    }

    fn prepare(&self) -> Result<(), LandscapeExperimentsError> {
        ensemble::check(&*self.task.data(&self.lab)?)
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, LandscapeExperimentsError> {
        let width = cell.number("h");
        let data = self.task.data(&self.lab)?;
        let graph = network(&data, DEPTH, width)?;
        let mut values: Vec<f64> = kernel::noise(&self.lab, &graph, &data, cell.run)?.into();
        values.extend(match self.trained().contains(&width) {
            true => ensemble::train(&self.lab, &graph, &data, width, cell.run)?,
            false => ensemble::nothing(f64::NAN),
        });
        Ok(values)
    }

    fn scores(&self, table: &Table) -> Result<Option<Table>, LandscapeExperimentsError> {
        Ok(Some(powers::scored(table, &self.widths(), &self.trained())))
    }

    fn together(&self) -> usize {
        rayon::current_num_threads()
    }

    fn cost(&self, cell: &Cell) -> f64 {
        // Seconds, about.
        let h = cell.real("h");
        let kernels = 0.02 + 5e-7 * h * h;
        match self.trained().contains(&cell.number("h")) {
            true => kernels + 0.6 + h / 30.0 + h * h / 3000.0,
            false => kernels,
        }
    }
}
