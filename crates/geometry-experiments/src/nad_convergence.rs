//! `nad-convergence` (NAD Fig 2, 21): the training loss on D(u_i) falls later for later NADs.

use polariscope_experiment::{
    Answers, Cell, Claim, Design, Experiment, Grid, Pivot, Table, View, levels,
};
use polariscope_report::{Axis, Section};
use polariscope_train::Config;

use crate::learn::{learn, plain};
use crate::lens::Directions;
use crate::linear::{SIGMA, Sizes, samples};
use crate::prepared::Prepared;
use crate::series::{columns, epochs};
use crate::{Entry, GeometryExperimentsError, Lab};
use polariscope_experiment::grid::{along, grid, rises, text};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "nad-convergence",
    source: "NAD Fig 2, 21",
    line: "training loss by epoch along the NADs: later ones converge later",
    architecture: "lenet",
    images: false,
    minutes: 1.0,
    own: &[],
    make: |lab| {
        Ok(Box::new(NadConvergence {
            lab: lab.clone(),
            nads: Prepared::default(),
        }))
    },
};

const INDICES: [usize; 6] = [0, 10, 40, 100, 250, 700];

struct NadConvergence {
    lab: Lab,
    nads: Prepared<Directions>,
}

impl Experiment for NadConvergence {
    type Error = GeometryExperimentsError;

    fn design(&self) -> Design {
        let losses = columns("loss", Sizes::of(&self.lab).epochs);
        let measures: Vec<&str> = ["area"]
            .into_iter()
            .chain(losses.iter().map(String::as_str))
            .collect();
        grid(&[("index", &text(INDICES))], self.lab.runs(2, 5), &measures)
    }

    fn claims(&self) -> Vec<Claim> {
        let conditions = along("index", &text(INDICES), &[]);
        vec![Claim::new(
            "the mean training loss over the epochs rises with the index",
            rises("area", conditions),
        )]
    }

    fn prepare(&self) -> Result<(), GeometryExperimentsError> {
        self.nads.set(self.lab.nads()?);
        Ok(())
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, GeometryExperimentsError> {
        let (sizes, nads) = (Sizes::of(&self.lab), self.nads.get()?);
        let problem = (nads.direction(cell.number("index")), SIGMA);
        let graph = self.lab.network(&self.lab.architecture, 1, 2)?;
        let [train, _] = samples(&self.lab, graph.input(), problem, sizes, cell.run)?;
        let config = Config {
            row_every: 1,
            ..plain(sizes.epochs)
        };
        let learnt = learn(&self.lab, &graph, config, cell.run, &train)?;
        let losses = learnt.map_or(Vec::new(), |l| l.history);
        let mut values: Vec<f64> = losses.iter().map(|row| row.train_loss).collect();
        values.resize(sizes.epochs as usize, f64::NAN);
        values.insert(0, values.iter().sum::<f64>() / sizes.epochs as f64);
        Ok(values)
    }

    fn together(&self) -> usize {
        self.lab.together()
    }
}

impl View for NadConvergence {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        format!("How fast {} learns along its NADs", self.lab.architecture)
    }

    fn asked(&self) -> String {
        "Does training find a linear feature later where the architecture looks less?".into()
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "It does: the mean training loss over the epochs rises with the index of the direction.",
            "It does not: the mean training loss over the epochs falls with the index of the direction.",
        )
    }

    fn summary(&self, table: &Table) -> Grid {
        let pivot = Pivot {
            rows: "index",
            columns: "index",
            fixed: Vec::new(),
            measure: "area",
            unit: 1.0,
        };
        Grid {
            columns: vec!["index".into(), "mean training loss".into()],
            rows: levels(table, "index")
                .into_iter()
                .map(|i| {
                    let mean = pivot.mean(table, &i, &i);
                    vec![i, polariscope_experiment::shown(mean, 1.0)]
                })
                .collect(),
        }
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        vec![epochs(
            table,
            ("index", "loss"),
            ("Training loss", Axis::linear("training loss")),
            "A line a NAD. ln 2 ≈ 0.69 is guessing; every one of these problems can be solved without error.",
        )]
    }
}
