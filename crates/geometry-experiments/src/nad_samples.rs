//! `nad-samples` (NAD Fig 22): later NADs need more training samples.

use polariscope_experiment::{
    Answers, Cell, Claim, Curves, Design, Experiment, Pivot, Scale as Values, Select, Test, View,
    Wanted,
};
use polariscope_report::Axis;

use crate::lens::Directions;
use crate::linear::{SIGMA, Sizes, accuracy};
use crate::prepared::Prepared;
use crate::{Entry, GeometryExperimentsError, Lab};
use polariscope_experiment::grid::{along, falls, grid, rises, text};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "nad-samples",
    source: "NAD Fig 22",
    line: "accuracy by training samples: later NADs need more of them",
    architecture: "lenet",
    images: false,
    minutes: 2.0,
    own: &[],
    make: |lab| {
        Ok(Box::new(NadSamples {
            lab: lab.clone(),
            nads: Prepared::default(),
        }))
    },
};

const INDICES: [usize; 4] = [0, 40, 100, 250];

struct NadSamples {
    lab: Lab,
    nads: Prepared<Directions>,
}

impl NadSamples {
    fn samples(&self) -> Vec<String> {
        self.lab.pick(
            text([1250, 2500, 5000, 10_000]),
            text([1000, 2000, 5000, 10_000, 20_000, 50_000]),
        )
    }
}

impl Experiment for NadSamples {
    type Error = GeometryExperimentsError;

    fn design(&self) -> Design {
        let factors = [("index", &text(INDICES)[..]), ("m", &self.samples())];
        grid(&factors, self.lab.runs(2, 5), &["accuracy"])
    }

    fn claims(&self) -> Vec<Claim> {
        let samples = self.samples();
        let (least, most) = (&samples[0], &samples[samples.len() - 1]);
        let at = |index, m: &str| Select::of(&[("index", index), ("m", m)]);
        let more = Test::Contrast {
            measure: "accuracy",
            scale: Values::Linear,
            terms: vec![
                (1.0, at("100", most)),
                (-1.0, at("100", least)),
                (-1.0, at("0", most)),
                (1.0, at("0", least)),
            ],
            wanted: Wanted::Positive,
        };
        vec![
            Claim::new(
                format!("with {most} samples accuracy falls along the NADs"),
                falls("accuracy", along("index", &text(INDICES), &[("m", most)])),
            ),
            Claim::new(
                "accuracy on NAD 100 rises with the samples",
                rises("accuracy", along("m", &samples, &[("index", "100")])),
            ),
            Claim::new("more samples help NAD 100 more than NAD 0", more),
        ]
    }

    fn prepare(&self) -> Result<(), GeometryExperimentsError> {
        self.nads.set(self.lab.nads()?);
        Ok(())
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, GeometryExperimentsError> {
        let problem = (self.nads.get()?.direction(cell.number("index")), SIGMA);
        let graph = self.lab.network(&self.lab.architecture, 1, 2)?;
        let sizes = Sizes {
            train: cell.number("m"),
            ..Sizes::of(&self.lab)
        };
        Ok(vec![accuracy(&self.lab, &graph, problem, sizes, cell.run)?])
    }

    fn together(&self) -> usize {
        self.lab.together()
    }

    fn cost(&self, cell: &Cell) -> f64 {
        cell.real("m")
    }
}

impl View for NadSamples {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        format!(
            "Samples that {} needs along its NADs",
            self.lab.architecture
        )
    }

    fn asked(&self) -> String {
        "How many samples does a linear feature take, depending on where it lies?".into()
    }

    fn answers(&self) -> Answers {
        let samples = self.samples();
        let most = &samples[samples.len() - 1];
        Answers::new(
            format!(
                "The more the later it lies: with {most} samples accuracy still falls along the NADs, and more samples help NAD 100, more \
             than NAD 0."
            ),
            format!(
                "Not the more the later it lies: with {most} samples accuracy rises along the NADs, and more samples lower it on NAD 100 and \
             help less there than on NAD 0."
            ),
        )
    }

    fn curves(&self) -> Vec<Curves<'_>> {
        vec![Curves {
            pivot: Pivot {
                rows: "m",
                columns: "index",
                fixed: Vec::new(),
                measure: "accuracy",
                unit: 0.01,
            },
            title: "Accuracy by training samples".into(),
            x: Axis::log("training samples"),
            y: Axis::linear("test accuracy in %"),
            caption: "A line a NAD, by its index.".into(),
        }]
    }
}
