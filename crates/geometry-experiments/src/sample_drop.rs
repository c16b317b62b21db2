//! `sample-drop` (GIH Tables 1, 2): dropping the images with the lowest Score(x) = (x/‖x‖)ᵀG(x/‖x‖), against random
//! ones.

use polariscope_data::Split;
use polariscope_experiment::{
    Answers, Cell, Claim, Curves, Design, Experiment, Pivot, Select, Test, View,
};
use polariscope_random::Stream;
use polariscope_report::Axis;

use crate::images::{CHANNELS, Images, normalised};
use crate::learn::{cifar, classes, learn};
use crate::lens::Directions;
use crate::prepared::Prepared;
use crate::{Entry, GeometryExperimentsError, Lab};
use polariscope_experiment::grid::{grid, text};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "sample-drop",
    source: "GIH Tables 1, 2",
    line: "dropping images by their score under G costs less than dropping them at random",
    architecture: "lenet-avg",
    images: true,
    minutes: 5.0,
    own: &[],
    make: |lab| {
        Ok(Box::new(SampleDrop {
            lab: lab.clone(),
            shared: Prepared::default(),
        }))
    },
};

/// Removed, in %.
const REMOVED: [usize; 4] = [30, 50, 70, 90];
/// The highest scores of every class (as the public code means to), the highest of all, or random ones of every class.
const WAYS: [&str; 3] = ["score", "overall score", "random"];

struct SampleDrop {
    lab: Lab,
    shared: Prepared<(Directions, Images)>,
}

/// Score(x) of every image; G = I₃ ⊗ B acts on each channel.
fn scores(directions: &Directions, x: &[f32]) -> Vec<f64> {
    let (n, values) = (directions.spectrum.n, &directions.spectrum.values);
    let c = directions.coordinates(x);
    let square = |c: &[f32]| -> f64 { c.iter().map(|&c| f64::from(c).powi(2)).sum() };
    let score = |c: &[f32]| -> f64 {
        let channels = c.chunks_exact(n);
        let weighted = channels.map(|c| {
            let terms = c.iter().zip(values);
            terms.map(|(&c, l)| l * f64::from(c).powi(2)).sum::<f64>()
        });
        weighted.sum::<f64>() / square(c).max(f64::MIN_POSITIVE)
    };
    c.chunks_exact(CHANNELS * n).map(score).collect()
}

/// The images that stay, by rank in their class or in all.
fn kept(split: &Split, rank: &[f64], by_class: bool, removed: usize) -> Split {
    let labels = classes(split);
    let groups = if by_class { 10 } else { 1 };
    let mut all = Vec::new();
    for group in 0..groups {
        let own = |i: &usize| !by_class || labels[*i] == group;
        let mut rows: Vec<usize> = (0..split.len()).filter(own).collect();
        rows.sort_by(|&a, &b| rank[b].total_cmp(&rank[a]));
        rows.truncate(rows.len() * (100 - removed) / 100);
        all.extend(rows);
    }
    split.select(split.x.len() / split.len().max(1), &all)
}

impl Experiment for SampleDrop {
    type Error = GeometryExperimentsError;

    fn design(&self) -> Design {
        let factors = [("kept", &text(WAYS)[..]), ("removed", &text(REMOVED))];
        grid(&factors, self.lab.runs(3, 5), &["accuracy"])
    }

    fn claims(&self) -> Vec<Claim> {
        let claim = |way: &str, removed: usize| {
            let removed = removed.to_string();
            let at = |way| Select::of(&[("kept", way), ("removed", removed.as_str())]);
            let test = Test::Above {
                measure: "accuracy",
                upper: at(way),
                lower: at("random"),
            };
            Claim::new(format!("{removed} % removed: the {way} beats chance"), test)
        };
        let scores = WAYS[..2].iter();
        scores
            .flat_map(|way| REMOVED.map(|removed| claim(way, removed)))
            .collect()
    }

    fn prepare(&self) -> Result<(), GeometryExperimentsError> {
        let sizes = self.lab.pick([10_000, 5000], [50_000, 10_000]);
        let images = Images::load(&self.lab, ENTRY.name, "cifar10", sizes, "")?;
        let directions = self.lab.directions(&self.lab.architecture)?;
        self.shared.set((directions, images));
        Ok(())
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, GeometryExperimentsError> {
        let (directions, images) = self.shared.get()?;
        let key = (self.lab.seed, cell.run);
        let [train, test] = images.run(key.0, key.1);
        let way = cell.level("kept");
        let [train, test] = [train, test].map(normalised);
        let rank = match way {
            "random" => {
                let order = Stream::new(key.0, key.1, "trial.drop")
                    .cursor()
                    .permutation(train.len());
                order.into_iter().map(|i| i as f64).collect()
            }
            _ => scores(directions, &train.x),
        };
        let train = kept(
            &train,
            &rank,
            way != "overall score",
            cell.number("removed"),
        );
        let graph = self.lab.network(&self.lab.architecture, CHANNELS, 10)?;
        let rates = (self.lab.pick(0.02, 0.2), 5e-4);
        let config = cifar(&self.lab, rates, self.lab.pick(25, 50));
        let learnt = learn(&self.lab, &graph, config, cell.run, &train)?;
        Ok(vec![learnt.map_or(Ok(f64::NAN), |l| l.accuracy(&test))?])
    }

    fn together(&self) -> usize {
        self.lab.together()
    }
}

impl View for SampleDrop {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        format!("Images that {} does not miss", self.lab.architecture)
    }

    fn asked(&self) -> String {
        "Dropping the training images that lie least along G: does it cost less than dropping random ones?".into()
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "It costs less, whatever the share that is dropped.",
            "It costs more, whatever the share that is dropped.",
        )
    }

    fn curves(&self) -> Vec<Curves<'_>> {
        vec![Curves {
            pivot: Pivot {
                rows: "removed",
                columns: "kept",
                fixed: Vec::new(),
                measure: "accuracy",
                unit: 0.01,
            },
            title: "Accuracy by images removed".into(),
            x: Axis::linear("images removed in %"),
            y: Axis::linear("test accuracy in %"),
            caption: "CIFAR-10. Published for LeNet with all 50,000 images: 62.5, 58.5, 53.5, 45.9 by score, 61.7, 56.6, 52.4, \
                      45.1 at random."
                .into(),
        }]
    }
}
