//! `flip-data` (NAD Fig 8): CIFAR-10 turned so that what lay along the first NADs lies along the last, x′ = U flip(Uᵀx).

use polariscope_data::Split;
use polariscope_experiment::{
    Answers, Cell, Claim, Design, Experiment, Grid, Select, Table, Test, View, Wanted, level, shown,
};
use polariscope_report::{Axis, BarChart, Bars, Section};

use crate::images::Images;
use crate::learn::{cifar, learn, rate};
use crate::lens::Directions;
use crate::prepared::Prepared;
use crate::{Entry, GeometryExperimentsError, Lab};
use polariscope_experiment::grid::{grid, text};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "flip-data",
    source: "NAD Fig 8",
    line: "images turned against the NADs are learnt by heart, not understood",
    architecture: "lenet",
    images: true,
    minutes: 1.5,
    own: &[],
    make: |lab| {
        Ok(Box::new(FlipData {
            lab: lab.clone(),
            shared: Prepared::default(),
        }))
    },
};

struct FlipData {
    lab: Lab,
    shared: Prepared<(Directions, Images)>,
}

fn flipped(nads: &Directions, split: &Split) -> Split {
    let mut c = nads.coordinates(&split.x);
    c.chunks_exact_mut(nads.spectrum.n)
        .for_each(<[f32]>::reverse);
    Split {
        x: nads.assemble(&c),
        y: split.y.clone(),
    }
}

fn at(data: &str) -> Select {
    Select::of(&[("data", data)])
}

impl Experiment for FlipData {
    type Error = GeometryExperimentsError;

    fn design(&self) -> Design {
        let data = text(["plain", "flipped"]);
        grid(&[("data", &data)], self.lab.runs(3, 5), &["test", "train"])
    }

    fn claims(&self) -> Vec<Claim> {
        let lower = Test::Above {
            measure: "test",
            upper: at("plain"),
            lower: at("flipped"),
        };
        vec![
            Claim::new(
                "flipped images are learnt by heart",
                level("train", at("flipped"), Wanted::AtLeast(0.95)),
            ),
            Claim::new("they test lower than plain ones", lower),
        ]
    }

    fn prepare(&self) -> Result<(), GeometryExperimentsError> {
        let sizes = self.lab.pick([3000, 2000], [50_000, 10_000]);
        let images = Images::load(&self.lab, ENTRY.name, "cifar10", sizes, "&standardise")?;
        self.shared.set((self.lab.nads()?, images));
        Ok(())
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, GeometryExperimentsError> {
        let (nads, images) = self.shared.get()?;
        let splits = images.run(self.lab.seed, cell.run);
        let [train, test] = match cell.level("data") {
            "flipped" => splits.map(|s| flipped(nads, &s)),
            _ => splits,
        };
        let graph = self.lab.network(&self.lab.architecture, 3, 10)?;
        // Long enough, and without weight decay, for a small network to learn all by heart.
        let (decay, epochs) = self.lab.pick((0.0, 80), (5e-4, 50));
        let config = cifar(&self.lab, (rate(&self.lab, &graph), decay), epochs);
        match learn(&self.lab, &graph, config, cell.run, &train)? {
            None => Ok(vec![f64::NAN; 2]),
            Some(learnt) => Ok(vec![learnt.accuracy(&test)?, learnt.accuracy(&train)?]),
        }
    }

    fn together(&self) -> usize {
        self.lab.together()
    }
}

impl View for FlipData {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        format!("CIFAR-10, turned against {}", self.lab.architecture)
    }

    fn asked(&self) -> String {
        "Turning the images loses no information. Does the network still generalise when they lie along its last NADs?".into()
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "It does not: flipped images are learnt by heart and test lower than plain ones.",
            "It does: flipped images are not learnt by heart and test higher than plain ones.",
        )
    }

    fn words(&self, table: &Table) -> String {
        let mean = |data, measure| shown(table.mean(&at(data), measure), 0.01);
        format!(
            "Test accuracy {} % on plain images and {} % on flipped ones; training accuracy {} % and {} %.",
            mean("plain", "test"),
            mean("flipped", "test"),
            mean("plain", "train"),
            mean("flipped", "train")
        )
    }

    fn summary(&self, table: &Table) -> Grid {
        let mut grid = Grid {
            columns: text(["data", "test, %", "train, %"]),
            rows: Vec::new(),
        };
        for data in ["plain", "flipped"] {
            let mean = |measure| shown(table.mean(&at(data), measure), 0.01);
            grid.rows
                .push(vec![data.into(), mean("test"), mean("train")]);
        }
        grid
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        let bars = |measure: &str| {
            let means = ["plain", "flipped"].map(|d| table.mean(&at(d), measure));
            Bars {
                label: measure.into(),
                values: means
                    .iter()
                    .map(|m| m.map_or(f64::NAN, |m| 100.0 * m.value))
                    .collect(),
                errors: means
                    .iter()
                    .map(|m| 100.0 * m.and_then(|m| m.standard_error).unwrap_or(0.0))
                    .map(|error| [error; 2])
                    .collect(),
            }
        };
        let chart = BarChart {
            title: "Accuracy on plain and flipped images".into(),
            value: Axis::linear("accuracy in %"),
            categories: text(["plain", "flipped"]),
            series: ["train", "test"].map(bars).into(),
        };
        vec![Section::new("Plain and flipped").figure(
            "plain and flipped",
            chart.draw(),
            "The same images in another basis: a rotation of the input space. Whiskers: a standard error over runs.",
        )]
    }
}
