//! `poison` (NAD Fig 7): a small carrier of the label along NADs i and i + 1 of the training images. Early carriers are
//! learnt in place of the images; late ones are not seen.

use polariscope_data::Split;
use polariscope_experiment::{
    Answers, Cell, Claim, Curves, Design, Experiment, Pivot, Scale as Values, Select, Test, View,
    Wanted,
};
use polariscope_report::Axis;

use crate::images::{CHANNELS, Images, normalised};
use crate::learn::{cifar, classes, learn, rate};
use crate::lens::Directions;
use crate::prepared::Prepared;
use crate::{Entry, GeometryExperimentsError, Lab};
use polariscope_experiment::grid::{along, grid, rises, text};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "poison",
    source: "NAD Fig 7",
    line: "a carrier of the label along early NADs ruins CIFAR-10, along late ones it does not",
    architecture: "lenet",
    images: true,
    minutes: 2.0,
    own: &[],
    make: |lab| {
        Ok(Box::new(Poison {
            lab: lab.clone(),
            shared: Prepared::default(),
        }))
    },
};

/// ε, of pixels from 0 to 1.
const EPS: f32 = 0.05;
/// A carrier beyond the last NAD is none.
const NONE: &str = "none";

struct Poison {
    lab: Lab,
    shared: Prepared<(Directions, Images)>,
}

impl Poison {
    fn indices(&self) -> Vec<String> {
        self.lab.pick(
            text([0, 10, 50, 150, 400, 900]),
            text([
                0, 5, 10, 25, 50, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000,
            ]),
        )
    }
}

/// x·(u_{i + k/3} ⊗ e_{k mod 3}) = ε(2[y mod 2] − 1), k = ⌊y/2⌋.
fn poisoned(nads: &Directions, train: &Split, i: usize) -> Split {
    let n = nads.spectrum.n;
    let mut c = nads.coordinates(&train.x);
    for (c, y) in c.chunks_exact_mut(CHANNELS * n).zip(classes(train)) {
        let k = (y / 2) as usize;
        c[k % CHANNELS * n + i + k / CHANNELS] = EPS * (2.0 * (y % 2) as f32 - 1.0);
    }
    Split {
        x: nads.assemble(&c),
        y: train.y.clone(),
    }
}

impl Experiment for Poison {
    type Error = GeometryExperimentsError;

    fn design(&self) -> Design {
        let levels = [self.indices(), text([NONE])].concat();
        grid(
            &[("carrier", &levels)],
            self.lab.runs(2, 5),
            &["test", "train"],
        )
    }

    fn claims(&self) -> Vec<Claim> {
        let at = |carrier| Select::of(&[("carrier", carrier)]);
        let indices = self.indices();
        let late = &indices[indices.len() - 1];
        let loss = |carrier, wanted| Test::Contrast {
            measure: "test",
            scale: Values::Linear,
            terms: vec![(1.0, at(NONE)), (-1.0, at(carrier))],
            wanted,
        };
        vec![
            Claim::new(
                "clean test accuracy rises with the index of the carrier",
                rises("test", along("carrier", &indices, &[])),
            ),
            Claim::new(
                "a carrier at 0 costs more than 10 %",
                loss("0", Wanted::AtLeast(0.1)),
            ),
            Claim::new(
                format!("a carrier at {late} costs less than 5 %"),
                loss(late, Wanted::AtMost(0.05)),
            ),
        ]
    }

    fn prepare(&self) -> Result<(), GeometryExperimentsError> {
        let sizes = self.lab.pick([10_000, 2000], [50_000, 10_000]);
        let images = Images::load(&self.lab, ENTRY.name, "cifar10", sizes, "")?;
        self.shared.set((self.lab.nads()?, images));
        Ok(())
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, GeometryExperimentsError> {
        let (nads, images) = self.shared.get()?;
        let [train, test] = images.run(self.lab.seed, cell.run);
        let train = match cell.level("carrier") {
            NONE => train,
            _ => poisoned(nads, &train, cell.number("carrier")),
        };
        let [train, test] = [train, test].map(normalised);
        let graph = self.lab.network(&self.lab.architecture, CHANNELS, 10)?;
        let rates = (rate(&self.lab, &graph), 5e-4);
        let config = cifar(&self.lab, rates, self.lab.pick(20, 50));
        let learnt = learn(&self.lab, &graph, config, cell.run, &train)?;
        match learnt {
            None => Ok(vec![f64::NAN; 2]),
            Some(learnt) => Ok(vec![learnt.accuracy(&test)?, learnt.accuracy(&train)?]),
        }
    }

    fn together(&self) -> usize {
        self.lab.together()
    }
}

impl View for Poison {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        format!(
            "Poison that {} takes and poison that it does not see",
            self.lab.architecture
        )
    }

    fn asked(&self) -> String {
        "The training images carry their label, faintly, along two NADs: what is left of the accuracy on clean images?".into()
    }

    fn answers(&self) -> Answers {
        let indices = self.indices();
        let late = &indices[indices.len() - 1];
        Answers::new(
            format!(
                "Little of it where they are early and most where they are late: it rises with the index, a carrier at 0 costs more than 10 % and \
             one at {late} less than 5 %."
            ),
            format!(
                "More of it where they are early: it falls with the index, a carrier at 0 costs less than 10 % and one at {late} more than 5 %."
            ),
        )
    }

    fn curves(&self) -> Vec<Curves<'_>> {
        let curves = |measure, what: &str| {
            Curves {
            pivot: Pivot {
                rows: "carrier",
                columns: "",
                fixed: Vec::new(),
                measure,
                unit: 0.01,
            },
            title: format!("Accuracy on {what} images"),
            x: Axis::linear("index of the carrier"),
            y: Axis::linear("accuracy in %"),
            caption: "Early carriers tell the network everything it needs on the training set, and nothing on clean images."
                .into(),
        }
        };
        vec![
            curves("test", "clean test"),
            curves("train", "poisoned training"),
        ]
    }
}
