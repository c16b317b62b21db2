//! `geometry-drift` (GIH Fig 2, 8): during training Corr(G^t, GSG) rises above Corr(G^t, S), but for the MLP, which has no
//! preference, they coincide.

use polariscope_experiment::{
    Answers, Cell, Claim, Design, Experiment, Grid, Memo, Pivot, Select, Table, View, Wanted,
    level, levels, shown,
};
use polariscope_geometry::Kron;
use polariscope_linalg::apply;
use polariscope_report::{Axis, Plot, Section};
use polariscope_train::{BatchSize, Config, Schedule};

use crate::cloud::Cloud;
use crate::images::{CHANNELS, Images};
use crate::learn::sgd;
use crate::lens::Lens;
use crate::prepared::Prepared;
use crate::series::{line, points};
use crate::watch::watch;
use crate::{Entry, GeometryExperimentsError, Lab};
use polariscope_experiment::grid::{grid, text};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "geometry-drift",
    source: "GIH Fig 2, 8",
    line: "G moves towards GSG while networks learn CIFAR-2",
    architecture: "lenet-avg",
    images: true,
    minutes: 1.0,
    own: &[],
    make: |lab| {
        Ok(Box::new(GeometryDrift {
            lab: lab.clone(),
            images: Prepared::default(),
            geometries: Memo::default(),
        }))
    },
};

const FLAT: &str = "mlp-2x100";

struct GeometryDrift {
    lab: Lab,
    images: Prepared<Images>,
    /// G at the start, by network.
    geometries: Memo<String, Kron>,
}

impl GeometryDrift {
    fn networks(&self) -> Vec<String> {
        text([self.lab.architecture.as_str(), FLAT])
    }

    /// Epochs at which G^t is measured.
    fn epochs(&self) -> Vec<u64> {
        let (step, last) = self.lab.pick((5, 60), (5, 100));
        (0..=last / step).map(|k| k * step).collect()
    }
}

impl Experiment for GeometryDrift {
    type Error = GeometryExperimentsError;

    fn design(&self) -> Design {
        let columns: Vec<String> = self
            .epochs()
            .iter()
            .flat_map(|e| [format!("s{e}"), format!("gsg{e}")])
            .collect();
        let measures: Vec<&str> = ["lead", "train"]
            .into_iter()
            .chain(columns.iter().map(String::as_str))
            .collect();
        grid(
            &[("network", &self.networks())],
            self.lab.runs(3, 5),
            &measures,
        )
    }

    fn claims(&self) -> Vec<Claim> {
        let at = |network: &str| Select::of(&[("network", network)]);
        vec![
            Claim::new(
                format!(
                    "{}: early on, G is closer to GSG than to S",
                    self.lab.architecture
                ),
                level("lead", at(&self.lab.architecture), Wanted::Positive),
            ),
            Claim::new(
                format!("{FLAT}: the two coincide"),
                level(
                    "lead",
                    at(FLAT),
                    Wanted::Near {
                        value: 0.0,
                        tolerance: 0.02,
                    },
                ),
            ),
        ]
    }

    fn prepare(&self) -> Result<(), GeometryExperimentsError> {
        let sizes = self.lab.pick([1000, 10], [10_000, 10]);
        let images = Images::load(&self.lab, ENTRY.name, "cifar2", sizes, "&standardise")?;
        self.images.set(images);
        Ok(())
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, GeometryExperimentsError> {
        let (images, epochs) = (self.images.get()?, self.epochs());
        let [train, _] = images.run(self.lab.seed, cell.run);
        let name = cell.level("network");
        let networks = self.lab.pick(2000, 10_000);
        let make = || Lens::Local { networks }.geometry(name, self.lab.seed, self.lab.place);
        let g = self.geometries.get(name.to_string(), make)?;
        let s = Cloud::new(train.x.clone(), images.dim);
        // GSG = Σ (Gx)(Gx)ᵀ, channel by channel.
        let gsg = Cloud::new(apply(&g.factor, g.n, &train.x), images.dim);
        let graph = self.lab.network(name, CHANNELS, 1)?;
        let config = Config {
            batch_size: BatchSize::Full,
            schedule: Schedule::Constant,
            ..sgd(0.1, 0.9, 0.0, epochs[epochs.len() - 1])
        };
        let ensemble = (self.lab.pick(4, 25), epochs.as_slice());
        let watched = watch(&self.lab, &graph, &config, cell.run, &train, ensemble)?;
        let Some(watched) = watched else {
            return Ok(vec![f64::NAN; 2 + 2 * epochs.len()]);
        };
        let pairs: Vec<[f64; 2]> = watched
            .geometry
            .iter()
            .map(|g| [g.corr(&s), g.corr(&gsg)])
            .collect();
        // Early: the first quarter of the training, without its start.
        let early = &pairs[1..=(epochs.len() / 4).max(1)];
        let lead = early.iter().map(|[s, gsg]| gsg - s).sum::<f64>() / early.len() as f64;
        let last = watched.accuracy.last().copied().unwrap_or(f64::NAN);
        Ok([lead, last]
            .into_iter()
            .chain(pairs.into_iter().flatten())
            .collect())
    }

    fn together(&self) -> usize {
        self.lab.together()
    }
}

impl View for GeometryDrift {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        format!("Where the geometry of {} moves", self.lab.architecture)
    }

    fn asked(&self) -> String {
        "Does training move the geometry towards the data, S, or towards what the architecture sees of them, GSG?".into()
    }

    fn answers(&self) -> Answers {
        let name = &self.lab.architecture;
        Answers::new(
            format!(
                "Towards what {name} sees of them: early on its geometry is closer to GSG than to S; for {FLAT} the two coincide."
            ),
            format!(
                "Towards the data: early on the geometry of {name} is closer to S than to GSG; for {FLAT} the two do not coincide."
            ),
        )
    }

    fn words(&self, table: &Table) -> String {
        let all = levels(table, "network").into_iter().map(|network| {
            let lead = table.mean(&Select::of(&[("network", &network)]), "lead");
            format!("{network} {}", shown(lead, 1.0))
        });
        let all: Vec<String> = all.collect();
        format!(
            "Corr(G^t, GSG) − Corr(G^t, S) in the first quarter of the training: {}.",
            all.join(", ")
        )
    }

    fn summary(&self, table: &Table) -> Grid {
        let pivot = |measure| Pivot {
            rows: "network",
            columns: "",
            fixed: Vec::new(),
            measure,
            unit: 1.0,
        };
        let row = |network: String| {
            let mean = |measure| shown(pivot(measure).mean(table, &network, ""), 1.0);
            vec![network.clone(), mean("lead"), mean("train")]
        };
        Grid {
            columns: text(["network", "lead of GSG", "training accuracy"]),
            rows: levels(table, "network").into_iter().map(row).collect(),
        }
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        let figure = |network: String| {
            let select = Select::of(&[("network", &network)]);
            let curve = |label: &str, name| line(label.into(), &points(table, &select, name));
            let plot = Plot {
                title: network.clone(),
                x: Axis::linear("epoch"),
                y: Axis::linear("correlation"),
                series: vec![curve("Corr(G^t, S)", "s"), curve("Corr(G^t, GSG)", "gsg")],
            };
            Section::new("").figure(
                format!("evolution {network}"),
                plot.draw(),
                "Animals against the rest, full-batch gradient descent. Bands: a standard error over runs.",
            )
        };
        vec![
            Section::new("Correlations during training")
                .columns(levels(table, "network").into_iter().map(figure)),
        ]
    }
}
