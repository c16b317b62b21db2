//! `nad-accuracy` (NAD Fig 6, 20): test accuracy on D(u_i) falls with the index i of the NAD.

use polariscope_experiment::{
    Answers, Cell, Claim, Curves, Design, Experiment, Pivot, Select, Test, View, Wanted, level,
};
use polariscope_report::Axis;

use crate::lens::Directions;
use crate::linear::{SIGMA, Sizes, accuracy};
use crate::prepared::Prepared;
use crate::{Entry, GeometryExperimentsError, Lab, Scale};
use polariscope_experiment::grid::{along, grid, text};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "nad-accuracy",
    source: "NAD Fig 6, 20",
    line: "accuracy along the NADs: early ones are learnt, late ones never",
    architecture: "lenet",
    images: false,
    minutes: 3.0,
    own: &[],
    make: |lab| {
        Ok(Box::new(NadAccuracy {
            lab: lab.clone(),
            nads: Prepared::default(),
        }))
    },
};

/// Networks without a preference, for comparison.
const FLAT: [&str; 2] = ["mlp-3x500", "logreg"];
/// NADs with published accuracies.
const PUBLISHED: [usize; 4] = [0, 10, 100, 500];
/// The printed σ.
const PRINTED: &str = "3";

struct NadAccuracy {
    lab: Lab,
    nads: Prepared<Directions>,
}

/// NAD indices spread over 0 … 1023: few, or 64. Those with published numbers are among them.
pub(crate) fn indices(scale: Scale) -> Vec<usize> {
    match scale {
        Scale::Small => vec![0, 10, 40, 100, 160, 240, 340, 500, 700, 1023],
        Scale::Paper => {
            let spread = (0..60).map(|k| k * 1023 / 59);
            let mut all: Vec<usize> = spread.chain([5, 10, 100, 500]).collect();
            all.sort_unstable();
            all
        }
    }
}

impl Experiment for NadAccuracy {
    type Error = GeometryExperimentsError;

    fn design(&self) -> Design {
        let (name, indices) = (&self.lab.architecture, text(indices(self.lab.scale)));
        let networks = text([name.as_str(), FLAT[0], FLAT[1]]);
        let sigmas = [SIGMA.to_string(), PRINTED.into()];
        let published = text(PUBLISHED);
        let few = [0, indices.len() / 2, indices.len() - 1].map(|i| indices[i].clone());
        let factors = [
            ("network", &networks[..]),
            ("sigma", &sigmas),
            ("index", &indices),
        ];
        let runs = self.lab.runs(2, 2);
        grid(&factors, runs, &["accuracy", "eigenvalue"]).retain(|cell| {
            // Three points show that a line is flat.
            let flat = cell.level("network") != name;
            let printed = cell.level("sigma") == PRINTED;
            let among = |some: &[String]| some.iter().any(|i| cell.level("index") == i);
            match (flat, printed) {
                (true, _) => !printed && among(&few),
                (false, true) => self.lab.scale == Scale::Paper || among(&published),
                (false, false) => true,
            }
        })
    }

    fn claims(&self) -> Vec<Claim> {
        let (name, sigma) = (self.lab.architecture.as_str(), SIGMA.to_string());
        let fixed = [("network", name), ("sigma", sigma.as_str())];
        let follows = Test::Together {
            x: "eigenvalue",
            y: "accuracy",
            along: along("index", &text(indices(self.lab.scale)), &fixed),
            least: 0.95,
        };
        let at = |index| Select::of(&[&fixed[..], &[("index", index)]].concat());
        let flat = |flat: &str| {
            let all = Select::of(&[("network", flat)]);
            let test = level("accuracy", all, Wanted::AtLeast(0.95));
            Claim::new(format!("{flat} learns any direction"), test)
        };
        vec![
            Claim::new(format!("{name}: accuracy follows the eigenvalue"), follows),
            Claim::new(
                format!("{name} learns NAD 0"),
                level("accuracy", at("0"), Wanted::AtLeast(0.95)),
            ),
            Claim::new(
                format!("{name} does not learn NAD 500"),
                level("accuracy", at("500"), Wanted::AtMost(0.6)),
            ),
            flat(FLAT[0]),
            flat(FLAT[1]),
        ]
    }

    fn prepare(&self) -> Result<(), GeometryExperimentsError> {
        self.nads.set(self.lab.nads()?);
        Ok(())
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, GeometryExperimentsError> {
        let (nads, index) = (self.nads.get()?, cell.number("index"));
        let graph = self.lab.network(cell.level("network"), 1, 2)?;
        let problem = (nads.direction(index), cell.real("sigma"));
        let accuracy = accuracy(&self.lab, &graph, problem, Sizes::of(&self.lab), cell.run)?;
        Ok(vec![accuracy, nads.spectrum.values[index]])
    }

    fn together(&self) -> usize {
        self.lab.together()
    }
}

impl View for NadAccuracy {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        format!("What {} learns along its NADs", self.lab.architecture)
    }

    fn asked(&self) -> String {
        "Does the order of the eigenvalues at initialisation say what training will find?".into()
    }

    fn answers(&self) -> Answers {
        let name = &self.lab.architecture;
        Answers::new(
            format!(
                "It does for {name}: accuracy follows the eigenvalue, NAD 0 is learnt and NAD 500 is not; {} and {} learn any direction.",
                FLAT[0], FLAT[1]
            ),
            format!(
                "It does not for {name}: accuracy does not follow the eigenvalue, NAD 0 is not learnt and NAD 500 is; {} and {} do not learn \
             every direction.",
                FLAT[0], FLAT[1]
            ),
        )
    }

    fn curves(&self) -> Vec<Curves<'_>> {
        let pivot = |sigma: &str| Pivot {
            rows: "index",
            columns: "network",
            fixed: vec![("sigma", sigma.to_string())],
            measure: "accuracy",
            unit: 0.01,
        };
        let curves = |sigma: &str| {
            Curves {
            pivot: pivot(sigma),
            title: format!("Accuracy along the NADs, σ = {sigma}"),
            x: Axis::linear("index of the NAD"),
            y: Axis::linear("test accuracy in %"),
            caption: "Each point is a network trained to tell x = ±u + noise apart, u the NAD with this index: a problem that \
                      is linearly separable without error, whatever u. 50 % is chance."
                .into(),
        }
        };
        vec![curves(&SIGMA.to_string()), curves(PRINTED)]
    }
}
