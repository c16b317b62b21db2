//! `isotropic` (GIH Fig 10, 11, 14): x = εαu + ω looks the same in every direction; a label that depends on xᵀu is learnt
//! where u is an early direction of G.

use polariscope_data::{Generator, Labeling};
use polariscope_experiment::{Answers, Cell, Claim, Curves, Design, Experiment, Pivot, View};
use polariscope_report::Axis;

use crate::lab::shape;
use crate::learn::{learn, plain};
use crate::lens::Directions;
use crate::prepared::Prepared;
use crate::{Entry, GeometryExperimentsError, Lab};
use polariscope_experiment::grid::{along, falls, grid, text};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "isotropic",
    source: "GIH Fig 10, 11, 14",
    line: "linear, quadratic and sinusoidal labels on noise: learnt along early directions",
    architecture: "lenet-avg",
    images: false,
    minutes: 2.0,
    own: &[],
    make: |lab| {
        Ok(Box::new(Isotropic {
            lab: lab.clone(),
            directions: Prepared::default(),
        }))
    },
};

/// Labels with their ε and the offset b that balances the classes: α² has the median 0.4549.
const KINDS: [(&str, Labeling, f64, f64); 3] = [
    ("linear", Labeling::Linear, 0.9, 0.0),
    ("quadratic", Labeling::Quadratic, 2.0, -0.4549 * 4.0),
    ("sinusoidal", Labeling::Sinusoidal, 2.1, 0.0),
];

struct Isotropic {
    lab: Lab,
    directions: Prepared<Directions>,
}

impl Isotropic {
    fn indices(&self) -> Vec<String> {
        self.lab.pick(
            text([0, 5, 20, 60, 150, 400]),
            text([
                0, 1, 2, 5, 10, 20, 40, 60, 100, 150, 200, 300, 400, 500, 700, 1023,
            ]),
        )
    }
}

impl Experiment for Isotropic {
    type Error = GeometryExperimentsError;

    fn design(&self) -> Design {
        let kinds = text(KINDS.map(|k| k.0));
        let factors = [("label", &kinds[..]), ("index", &self.indices())];
        grid(&factors, self.lab.runs(2, 5), &["accuracy", "eigenvalue"])
    }

    fn claims(&self) -> Vec<Claim> {
        let claim = |kind: &str| {
            let conditions = along("index", &self.indices(), &[("label", kind)]);
            Claim::new(
                format!("{kind} labels: accuracy falls along the directions"),
                falls("accuracy", conditions),
            )
        };
        KINDS.map(|k| claim(k.0)).into()
    }

    fn prepare(&self) -> Result<(), GeometryExperimentsError> {
        let directions = self.lab.directions(&self.lab.architecture)?;
        self.directions.set(directions);
        Ok(())
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, GeometryExperimentsError> {
        let (directions, index) = (self.directions.get()?, cell.number("index"));
        let kind = KINDS.iter().find(|k| k.0 == cell.level("label"));
        let (_, labeling, eps, b) = *kind.unwrap_or(&KINDS[0]);
        let problem = Generator::Isotropic {
            u: directions.direction(index),
            eps,
            sigma: 1.0,
            labeling,
            b,
        };
        let samples = self.lab.pick([5000, 2000], [10_000, 10_000]);
        let [train, test] = problem.splits(shape(1), samples, self.lab.seed + cell.run)?;
        let graph = self.lab.network(&self.lab.architecture, 1, 2)?;
        let learnt = learn(&self.lab, &graph, plain(20), cell.run, &train)?;
        let accuracy = learnt.map_or(Ok(f64::NAN), |l| l.accuracy(&test))?;
        Ok(vec![accuracy, directions.spectrum.values[index]])
    }

    fn together(&self) -> usize {
        self.lab.together()
    }
}

impl View for Isotropic {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        format!("What {} learns from noise", self.lab.architecture)
    }

    fn asked(&self) -> String {
        "Data without a preferred direction, labels that depend on one: for which can the network tell?".into()
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "For early directions of G, whatever the label: accuracy on linear, quadratic and sinusoidal ones falls along the directions.",
            "For late directions of G, whatever the label: accuracy on linear, quadratic and sinusoidal ones rises along the directions.",
        )
    }

    fn curves(&self) -> Vec<Curves<'_>> {
        vec![Curves {
            pivot: Pivot {
                rows: "index",
                columns: "label",
                fixed: Vec::new(),
                measure: "accuracy",
                unit: 0.01,
            },
            title: "Accuracy along the directions of G".into(),
            x: Axis::linear("index of the direction"),
            y: Axis::linear("test accuracy in %"),
            caption: "Labels sgn(t), sgn(t² + b) and sgn(sin t) of t = xᵀu. 50 % is chance.".into(),
        }]
    }
}
