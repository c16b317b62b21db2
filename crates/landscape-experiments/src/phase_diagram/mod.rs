//! `phase-diagram` (Geiger Intro Fig 6, PD Fig 4 and 5): the test error of the mean of a few networks over width and α̃,
//! where they fit at all, and how far their kernel moves.
//!
//! One training set; runs differ in the initial weights.

mod lines;
mod view;

#[cfg(test)]
mod tests;

use polariscope_diff::Device;
use polariscope_experiment::grid::{falls, grid, text};
use polariscope_experiment::{
    Cell, Claim, Design, Experiment, Scale, Select, Table, Test, Wanted, level,
};
use polariscope_landscape::{POINTS, Start};
use polariscope_network::Weights;
use polariscope_train::{FlowConfig, Problem};

use crate::lazy::{Task, error, first, fitted, network, regime, sets, train};
use crate::{Entry, Lab, LandscapeExperimentsError};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "phase-diagram",
    source: "Geiger PD Fig 4, 5",
    line: "the plane of width and α̃: where networks fit, where the kernel moves, where they generalise",
    architecture: None,
    data: Some("stripe?shape=10&train=200&test=1000"),
    minutes: 3.0,
    make: |lab| Ok(Box::new(PhaseDiagram::new(lab))),
};

/// Hidden layers.
const DEPTH: usize = 2;
/// Networks whose mean is taken.
const NETS: u64 = 3;
/// Widths at which the crossover should be flat, and the error the same.
const WIDE: [usize; 2] = [16, 64];
/// α̃ of either regime.
const FEATURE: &str = "0.1";
const LAZY: &str = "100";
const MEASURES: [&str; 5] = ["fitted", "kernel", "error", "single", "steps"];

struct PhaseDiagram {
    lab: Lab,
    task: Task,
}

impl PhaseDiagram {
    fn new(lab: &Lab) -> Self {
        PhaseDiagram {
            lab: lab.clone(),
            task: Task::default(),
        }
    }

    /// Steps that a network is given.
    fn budget(&self) -> u64 {
        self.lab.pick(20_000, 200_000)
    }

    fn widths() -> Vec<String> {
        text([2, 3, 4, 6, 8, 12, 16, 32, 64])
    }

    fn controls() -> Vec<String> {
        text([
            "0.01", "0.0316", "0.1", "0.316", "1", "3.16", "10", "31.6", "100",
        ])
    }
}

fn width(h: usize) -> Select {
    Select::of(&[("h", &h.to_string())])
}

fn at(h: usize, control: &str) -> Select {
    Select::of(&[("h", &h.to_string()), ("control", control)])
}

impl Experiment for PhaseDiagram {
    type Error = LandscapeExperimentsError;

    fn design(&self) -> Design {
        let factors = [("h", &Self::widths()[..]), ("control", &Self::controls())];
        grid(&factors, self.lab.runs(3, 5), &MEASURES)
    }

    fn claims(&self) -> Vec<Claim> {
        let [narrow, wide] = WIDE;
        let controls = Self::controls();
        let share = 1.0 / controls.len() as f64;
        let error = |h, sign: f64| controls.iter().map(move |c| (sign * share, at(h, c)));
        let along = Self::widths();
        let along = along.iter().map(|h| Select::of(&[("h", h)])).collect();
        vec![
            Claim::new(
                format!(
                    "the α̃ where the kernel moves by its norm is the same at h = {narrow} and {wide}, within a factor 2"
                ),
                Test::Contrast {
                    measure: "crossover",
                    scale: Scale::Linear,
                    terms: vec![(1.0, width(narrow)), (-1.0, width(wide))],
                    wanted: Wanted::Near {
                        value: 0.0,
                        tolerance: 2f64.ln(),
                    },
                },
            ),
            Claim::new(
                "the α̃ where the kernel moves by its norm rises towards small widths",
                falls("crossover", along),
            ),
            Claim::new(
                "at the smallest width that fits the kernel moves more than at the largest, mean over α̃",
                level("brink", Select::default(), Wanted::Positive),
            ),
            Claim::new(
                "at the smallest width that fits the kernel moves by more than its norm even at α̃ = 100",
                level("edge", Select::of(&[("control", LAZY)]), Wanted::Positive),
            ),
            Claim::new(
                "the smallest width that fits is the same at all α̃, within a factor 2",
                Test::Range {
                    measure: "jam",
                    along: controls
                        .iter()
                        .map(|c| Select::of(&[("control", c)]))
                        .collect(),
                    wanted: Wanted::AtMost(2f64.ln()),
                },
            ),
            Claim::new(
                format!(
                    "the error of the mean of {NETS} networks is the same at h = {narrow} and {wide} to 3 points, mean over α̃"
                ),
                Test::Contrast {
                    measure: "error",
                    scale: Scale::Linear,
                    terms: error(narrow, 1.0).chain(error(wide, -1.0)).collect(),
                    wanted: Wanted::Near {
                        value: 0.0,
                        tolerance: 0.03,
                    },
                },
            ),
        ]
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, LandscapeExperimentsError> {
        let h = cell.number("h");
        let data = self.task.data(&self.lab)?;
        let problem = Problem {
            graph: network(&data, DEPTH, h)?,
            data: (*data).clone(),
        };
        let graph = &problem.graph;
        let (learn, test, classes) = sets(&problem);
        let few = first(test, graph.input().len(), POINTS);
        let config = FlowConfig {
            max_steps: self.budget(),
            ..regime(cell.real("control"), h)
        };
        let mut nets = Vec::new();
        for index in 0..NETS {
            let index = NETS * cell.run + index;
            if let Some(net) = fitted(train(&self.lab, graph, &config, (learn, test), index)?) {
                let initial = Weights::<f64>::draw(graph, self.lab.seed, index);
                let start = Start::new(Device::Cpu, graph, &initial, (learn, few), POINTS)?;
                nets.push((start.motion(&net.weights)?.kernel, net));
            }
        }
        let fitted = nets.len() as f64 / NETS as f64;
        if nets.len() < NETS as usize {
            return Ok(vec![fitted, f64::NAN, f64::NAN, f64::NAN, f64::NAN]);
        }
        let share = 1.0 / nets.len() as f64;
        let mut mean = vec![0.0; test.len()];
        for (_, net) in &nets {
            mean.iter_mut().zip(&net.test).for_each(|(m, f)| *m += f);
        }
        Ok(vec![
            fitted,
            nets.iter()
                .map(|(kernel, _)| share * kernel.ln())
                .sum::<f64>()
                .exp(),
            error(&mean, classes),
            nets.iter()
                .map(|(_, net)| share * error(&net.test, classes))
                .sum(),
            nets.iter()
                .map(|(_, net)| net.steps as f64)
                .fold(0.0, f64::max),
        ])
    }

    fn scores(&self, table: &Table) -> Result<Option<Table>, LandscapeExperimentsError> {
        Ok(Some(lines::scored(table)))
    }

    fn together(&self) -> usize {
        rayon::current_num_threads()
    }

    fn cost(&self, cell: &Cell) -> f64 {
        let h = cell.real("h");
        // Networks that do not fit use all their steps.
        let steps = if h < 5.0 { 10.0 } else { 1.0 };
        steps * (200.0 + h * h)
    }
}
