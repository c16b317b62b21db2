//! `velocity` (GIH Fig 3, 12, 13): with random labels G moves while the data lie where it is large, N(0, G/‖G‖), and hardly
//! where it is small, N(0, flip(G)/‖G‖).

use polariscope_data::{Labels, Split};
use polariscope_experiment::{
    Answers, Cell, Claim, Design, Experiment, Grid, Scale as Values, Select, Table, Test, View,
    Wanted, shown,
};
use polariscope_random::Stream;
use polariscope_report::{Axis, Section};
use polariscope_train::{Config, Schedule};

use crate::learn::sgd;
use crate::lens::Directions;
use crate::prepared::Prepared;
use crate::series::{columns, epochs as over_epochs};
use crate::watch::watch;
use crate::{Entry, GeometryExperimentsError, Lab};
use polariscope_experiment::grid::{grid, text};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "velocity",
    source: "GIH Fig 3, 12, 13",
    line: "random labels move G along what it sees, not along what it does not",
    architecture: "lenet-avg",
    images: false,
    minutes: 1.0,
    own: &[],
    make: |lab| {
        Ok(Box::new(Velocity {
            lab: lab.clone(),
            directions: Prepared::default(),
        }))
    },
};

const DATA: [&str; 2] = ["G", "flip"];

struct Velocity {
    lab: Lab,
    directions: Prepared<Directions>,
}

impl Velocity {
    fn epochs(&self) -> u64 {
        100
    }

    /// x ~ N(0, G/‖G‖₂) or N(0, flip(G)/‖G‖₂), labels fair coins.
    fn samples(&self, data: &str, run: u64) -> Result<Split, GeometryExperimentsError> {
        let directions = self.directions.get()?;
        let (n, values) = (directions.spectrum.n, &directions.spectrum.values);
        let count = self.lab.pick(1000, 10_000);
        let mut c = vec![0.0; count * n];
        Stream::new(self.lab.seed, run, "trial.gaussian").normal(1.0, &mut c);
        for row in c.chunks_exact_mut(n) {
            for (i, c) in row.iter_mut().enumerate() {
                let value = if data == "flip" {
                    values[n - 1 - i]
                } else {
                    values[i]
                };
                *c *= (value.max(0.0) / values[0]).sqrt() as f32;
            }
        }
        let mut coins = Stream::new(self.lab.seed, run, "trial.coins").cursor();
        Ok(Split {
            x: directions.assemble(&c),
            y: Labels::Classes((0..count).map(|_| coins.next_u32() >> 31).collect()),
        })
    }
}

fn at(data: &str) -> Select {
    Select::of(&[("data", data)])
}

impl Experiment for Velocity {
    type Error = GeometryExperimentsError;

    fn design(&self) -> Design {
        let (v, a) = (
            columns("velocity", self.epochs()),
            columns("train", self.epochs()),
        );
        let measures: Vec<&str> = ["moved"]
            .into_iter()
            .chain(v.iter().chain(&a).map(String::as_str))
            .collect();
        grid(&[("data", &text(DATA))], self.lab.runs(3, 5), &measures)
    }

    fn claims(&self) -> Vec<Claim> {
        let ratio = Test::Contrast {
            measure: "moved",
            scale: Values::Log,
            terms: vec![(1.0, at("G")), (-1.0, at("flip"))],
            wanted: Wanted::Positive,
        };
        vec![Claim::new(
            "data along G move the geometry more than flipped data (ln of the ratio)",
            ratio,
        )]
    }

    fn prepare(&self) -> Result<(), GeometryExperimentsError> {
        let directions = self.lab.directions(&self.lab.architecture)?;
        self.directions.set(directions);
        Ok(())
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, GeometryExperimentsError> {
        let train = self.samples(cell.level("data"), cell.run)?;
        let graph = self.lab.binary()?;
        let config = Config {
            schedule: Schedule::Constant,
            ..sgd(0.1, 0.9, 0.0, self.epochs())
        };
        let epochs: Vec<u64> = (0..=self.epochs()).collect();
        let ensemble = (self.lab.pick(3, 25), epochs.as_slice());
        let watched = watch(&self.lab, &graph, &config, cell.run, &train, ensemble)?;
        let Some(watched) = watched else {
            return Ok(vec![f64::NAN; 1 + 2 * self.epochs() as usize]);
        };
        // Ġ_t = 1 − Corr(G^t, G^{t−1})
        let velocity: Vec<f64> = watched
            .geometry
            .windows(2)
            .map(|w| 1.0 - w[1].corr(&w[0]))
            .collect();
        let moved = velocity.iter().sum();
        let accuracy = watched.accuracy.into_iter().skip(1);
        Ok([moved]
            .into_iter()
            .chain(velocity)
            .chain(accuracy)
            .collect())
    }

    fn together(&self) -> usize {
        self.lab.together()
    }
}

impl View for Velocity {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        format!("What moves the geometry of {}", self.lab.architecture)
    }

    fn asked(&self) -> String {
        "Random labels must be learnt by heart. Does the geometry move as much where the architecture does not look?".into()
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "It does not: data along G move it more than data that are flipped away from G.",
            "It moves there more: data along G move it less than data that are flipped away from G.",
        )
    }

    fn words(&self, table: &Table) -> String {
        let moved = |data| shown(table.mean(&at(data), "moved"), 1.0);
        format!(
            "The sum of Ġ over the epochs is {} on data along G and {} on flipped data.",
            moved("G"),
            moved("flip")
        )
    }

    fn summary(&self, table: &Table) -> Grid {
        let last = format!("train{}", self.epochs());
        let row = |data: &str| {
            let mean = |measure: &str| shown(table.mean(&at(data), measure), 1.0);
            vec![data.to_string(), mean("moved"), mean(&last)]
        };
        Grid {
            columns: text(["data", "Σ Ġ", "training accuracy"]),
            rows: DATA.map(row).into(),
        }
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        let figure = |name, title, y: &str, caption| {
            over_epochs(table, ("data", name), (title, Axis::linear(y)), caption)
        };
        vec![
            figure(
                "velocity",
                "Geometric velocity",
                "Ġ = 1 − Corr(G^t, G^{t−1})",
                "0 is a geometry that does not move.",
            ),
            figure(
                "train",
                "Training accuracy",
                "training accuracy",
                "Random labels: only memory helps.",
            ),
        ]
    }
}
