//! `double-descent` (Spigler et al. 2019, Fig 4; Geiger et al. 2020, Fig 2 and 7): the test error peaks where networks start
//! to fit, and an ensemble of them has no peak.

mod ensemble;
mod peak;
mod view;

use polariscope_experiment::grid::{along, falls, grid, text};
use polariscope_experiment::{
    Cell, Claim, Design, Experiment, Memo, Row, Select, Table, Test, Wanted,
};

use crate::scored::scored;
use crate::{Entry, Lab, LandscapeExperimentsError};
use ensemble::{Problem, train};
use peak::{Curve, Width};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "double-descent",
    source: "Geiger 2020 Fig 2, 7",
    line: "the test error peaks where networks start to fit; that of an ensemble does not",
    architecture: None,
    data: Some("mixture?eps=1&noise=0.1"),
    minutes: 5.0,
    make: |lab| {
        Ok(Box::new(DoubleDescent {
            lab: lab.clone(),
            problem: Memo::default(),
        }))
    },
};

/// Beyond so many times N* curves should be flat, and networks quick.
const BEYOND: f64 = 2.0;
/// Widths that are beyond it in both scales.
const WIDE: [usize; 5] = [24, 32, 48, 64, 96];

struct DoubleDescent {
    lab: Lab,
    problem: Memo<(), Problem>,
}

/// Measured of a width.
const MEASURES: [&str; 11] = [
    "weights",
    "parameters",
    "fitted",
    "jammed",
    "steps",
    "error",
    "spread",
    "oracle",
    "ensemble",
    "norm",
    "scatter",
];

/// What follows from all widths of a run.
const SCORES: [&str; 5] = ["relative", "peak", "gain", "flat", "late"];

impl DoubleDescent {
    fn widths(&self) -> Vec<usize> {
        self.lab.pick(
            vec![2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 48, 64, 96],
            vec![
                2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 18, 20, 24, 28, 32, 40, 48, 64, 96,
                128, 256, 512, 1024,
            ],
        )
    }
}

/// The curve of a run.
fn curve(table: &Table, run: u64) -> Curve {
    let rows = table.rows.iter().filter(|row| row.run == run);
    let place = |name: &str| table.measures().iter().position(|m| m == name);
    let width = |row: &Row| {
        let of = |name: &str| place(name).map_or(f64::NAN, |i| row.values[i]);
        Width {
            weights: of("weights"),
            jammed: of("jammed"),
            error: of("error"),
            spread: of("spread"),
            oracle: of("oracle"),
            ensemble: of("ensemble"),
        }
    };
    Curve::new(rows.map(width).collect())
}

impl Experiment for DoubleDescent {
    type Error = LandscapeExperimentsError;

    fn design(&self) -> Design {
        grid(
            &[("width", &text(self.widths()))],
            self.lab.runs(1, 3),
            &MEASURES,
        )
    }

    fn claims(&self) -> Vec<Claim> {
        let certain = |measure, wanted| Test::Certain {
            measure,
            at: Select::default(),
            wanted,
        };
        vec![
            Claim::new(
                "the mean test error peaks within a factor of 1.5 of N*, where networks start to fit",
                certain(
                    "peak",
                    Wanted::Near {
                        value: 0.0,
                        tolerance: 1.5_f64.ln(),
                    },
                ),
            ),
            Claim::new(
                "at the peak the ensemble errs less than its networks, by three standard errors of their mean or more",
                certain("gain", Wanted::AtLeast(3.0)),
            ),
            Claim::new(
                "beyond 2N* the test error of the ensemble stays within 10 % of its mean there",
                certain("flat", Wanted::AtMost(0.1)),
            ),
            Claim::new(
                "the widest networks lose less than half as much by training to the end (oracle early stop) as those at the peak",
                certain("late", Wanted::AtMost(0.5)),
            ),
            Claim::new(
                "beyond the peak wider networks fit in fewer steps",
                falls("steps", along("width", &text(WIDE), &[])),
            ),
        ]
    }

    fn prepare(&self) -> Result<(), LandscapeExperimentsError> {
        self.problem.get((), || Problem::new(&self.lab)).map(|_| ())
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, LandscapeExperimentsError> {
        let problem = self.problem.get((), || Problem::new(&self.lab))?;
        train(&self.lab, &problem, cell.number("width"), cell.run)
    }

    /// Where each width is beside N* and the peak of its run.
    fn scores(&self, table: &Table) -> Result<Option<Table>, LandscapeExperimentsError> {
        let of = |row: &Row| curve(table, row.run).scores(row.values[0]).to_vec();
        Ok(Some(scored(table, &SCORES, of)))
    }

    fn cost(&self, cell: &Cell) -> f64 {
        // Networks that do not fit take all their steps, and a step has some work that does not grow.
        let width = cell.real("width");
        let steps = if width < 9.0 {
            30_000.0
        } else {
            50_000.0 / width
        };
        (60.0 + 12.0 * width + width * width) * steps
    }
}
