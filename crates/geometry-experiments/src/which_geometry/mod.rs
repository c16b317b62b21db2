//! `which-geometry`: which geometry orders directions as learning does? Networks are trained along Fourier directions that
//! no geometry has drawn; every geometry is scored by how uᵀGu goes with the accuracy.

mod directions;
mod geometries;
mod sigma;
mod statistics;
mod view;

use polariscope_data::{Direction, dft_vector};
use polariscope_experiment::{
    Cell, Claim, Design, Experiment, Order, Row, Select, Table, Test, levels,
};

use crate::lab::SIDE;
use crate::linear::{Sizes, accuracy};
use crate::{Entry, GeometryExperimentsError, Lab};
use directions::{PILOTS, count, drawn, frequency, pilots};
use geometries::Candidates;
use polariscope_experiment::grid::{along, grid, text};
use sigma::{Step, step};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "which-geometry",
    source: "ours",
    line: "which geometry orders directions as learning does",
    architecture: "lenet",
    images: false,
    minutes: 9.0,
    own: &["sigma", "accuracies"],
    make: |lab| {
        Ok(Box::new(WhichGeometry {
            candidates: Candidates::of(lab)?,
            directions: drawn(lab.seed, count(&lab.architecture)),
            lab: lab.clone(),
        }))
    },
};

/// Levels of `stage`.
const PILOT: &str = "pilot";
const MAIN: &str = "main";
/// Directions that are trained twice even where one run is asked for: how well a second seed orders them is the ceiling.
const TWICE: usize = 16;
/// Accuracies within this range are no order.
const ALIKE: f64 = 0.05;
/// Chance, which a network that diverges has.
const CHANCE: f64 = 0.5;

struct WhichGeometry {
    lab: Lab,
    candidates: Candidates,
    /// Places in the Fourier basis.
    directions: Vec<usize>,
}

impl WhichGeometry {
    fn runs(&self) -> u64 {
        self.lab.runs(1, 2)
    }

    /// Networks of one stage at one σ.
    fn stage(&self, stage: &str, sigma: f64, places: &[usize], runs: u64) -> Design {
        let factors = [
            ("stage", &text([stage])[..]),
            ("sigma", &text([sigma])),
            ("direction", &text(places)),
        ];
        grid(&factors, runs, &["accuracy"])
    }

    fn main(&self, sigma: f64) -> Design {
        let (runs, twice) = (self.runs(), text(self.directions.iter().take(TWICE)));
        self.stage(MAIN, sigma, &self.directions, runs.max(2))
            .retain(|cell| {
                let again = cell.run == 1 && twice.iter().any(|d| d == cell.level("direction"));
                cell.run < runs || again
            })
    }

    fn pilots(&self, sigma: f64) -> Design {
        self.stage(PILOT, sigma, &pilots(self.lab.seed), 1)
    }

    /// What the pilots in a table say.
    fn step(&self, table: &Table) -> Step {
        step(|sigma| {
            let sigma = sigma.to_string();
            let own = |row: &&Row| row.levels[0] == PILOT && row.levels[1] == sigma;
            let found = table.rows.iter().filter(own).map(|row| row.values[0]);
            let mut found: Vec<f64> = found.map(|y| if y.is_nan() { CHANCE } else { y }).collect();
            found.sort_unstable_by(f64::total_cmp);
            (found.len() == PILOTS).then(|| found[PILOTS / 2])
        })
    }

    /// The conditions, and what is predicted of them.
    fn order(&self) -> Order {
        Order {
            y: "accuracy",
            along: self.conditions(),
            tolerance: ALIKE,
            seed: self.lab.seed,
        }
    }

    fn conditions(&self) -> Vec<Select> {
        along("direction", &text(&self.directions), &[("stage", MAIN)])
    }
}

impl Experiment for WhichGeometry {
    type Error = GeometryExperimentsError;

    fn design(&self) -> Design {
        match (self.lab.sigma, self.step(&Table::new(&self.main(1.0)))) {
            (Some(sigma), _) => self.main(sigma),
            (None, Step::Try(sigma)) => self.pilots(sigma),
            (None, Step::Take { sigma, .. }) => self.main(sigma),
        }
    }

    fn follow(&self, table: &Table) -> Option<Design> {
        if self.lab.sigma.is_some() {
            return None;
        }
        let next = match self.step(table) {
            Step::Try(sigma) => self.pilots(sigma),
            Step::Take { sigma, .. } => self.main(sigma),
        };
        (!next.missing(table).is_empty()).then_some(next)
    }

    fn claims(&self) -> Vec<Claim> {
        let first = self.candidates.first();
        let names = self.candidates.all.iter().map(|c| c.name);
        let orders = names.clone().map(|x| {
            let order = self.order();
            Claim::new(
                format!("uᵀGu by {x} goes with the accuracy"),
                Test::Orders { x, order },
            )
        });
        // The sampled one is the same geometry.
        let others = names.filter(|other| !other.starts_with("coherent"));
        let better = others.map(|other| {
            let (x, order) = (first, self.order());
            Claim::new(
                format!("{x} orders directions better than {other}"),
                Test::OrdersBetter { x, other, order },
            )
        });
        orders.chain(better).collect()
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, GeometryExperimentsError> {
        if let Some(known) = self.lab.known(cell) {
            return Ok(vec![known]);
        }
        let graph = self.lab.network(&self.lab.architecture, 1, 2)?;
        let problem = (Direction::Dft(cell.number("direction")), cell.real("sigma"));
        let sizes = Sizes::of(&self.lab);
        Ok(vec![accuracy(&self.lab, &graph, problem, sizes, cell.run)?])
    }

    /// uᵀGu of every direction, with tr G = D so that 1 is what a geometry without preference has.
    fn scores(&self, table: &Table) -> Result<Option<Table>, GeometryExperimentsError> {
        let places = levels(table, "direction");
        let vectors = places.iter().map(|place| {
            let place = place.parse().unwrap_or(0);
            dft_vector(SIDE, SIDE, place).unwrap_or_default()
        });
        let vectors: Vec<Vec<f64>> = vectors.collect();
        let (mut measures, mut columns) = (text(["accuracy"]), Vec::new());
        for candidate in &self.candidates.all {
            let (lab, lens) = (&self.lab, candidate.lens);
            let g = lens.geometry(&lab.architecture, lab.seed, lab.place)?;
            let unit = g.trace().abs() / (SIDE * SIDE) as f64;
            measures.push(candidate.name.to_string());
            let scores = vectors.iter().map(|u| g.quadratic(u) / unit);
            columns.push(scores.collect::<Vec<f64>>());
        }
        let design = Design {
            factors: text(["stage", "sigma", "direction", "a", "b", "phase"]).into(),
            measures,
            cells: Vec::new(),
        };
        let mut scored = Table::new(&design);
        scored.rows = table
            .rows
            .iter()
            .map(|row| {
                let place = &row.levels[2];
                let at = places.iter().position(|p| p == place).unwrap_or(0);
                let frequency = frequency(place.parse().unwrap_or(0));
                let scores = columns.iter().map(|column| column[at]);
                Row {
                    levels: [&row.levels[..], &frequency].concat(),
                    run: row.run,
                    values: row.values.iter().copied().chain(scores).collect(),
                }
            })
            .collect();
        Ok(Some(scored))
    }

    fn together(&self) -> usize {
        self.lab.together()
    }
}

#[cfg(test)]
mod tests;
