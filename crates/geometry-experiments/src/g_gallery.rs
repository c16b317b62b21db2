//! `g-gallery` (GIH Fig 9, NAD Fig 5, 13–19): G of architectures, its spectrum and its first and last directions.

use polariscope_experiment::{
    Answers, Cell, Claim, Design, Experiment, Grid, Memo, Pivot, Select, Table, Test, View, Wanted,
    levels, shown,
};
use polariscope_geometry::Summary;
use polariscope_report::{Axis, ColourMap, Gallery, Picture, Plot, Section, Series, Tile};

use crate::lab::SIDE;
use crate::lens::Directions;
use crate::{Entry, GeometryExperimentsError, Lab};
use polariscope_experiment::grid::{grid, text};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "g-gallery",
    source: "GIH Fig 9, NAD Fig 5, 13–19",
    line: "G of architectures: spectra and directions, before any training",
    architecture: "lenet-avg",
    images: false,
    minutes: 0.1,
    own: &[],
    make: |lab| {
        Ok(Box::new(GGallery {
            lab: lab.clone(),
            made: Memo::default(),
        }))
    },
};

const FLAT: &str = "mlp-2x100";
const OTHERS: [&str; 4] = ["lenet-gap", "resnet9", "resnet18", "densenet121"];
/// Directions that are shown.
const SHOWN: [usize; 8] = [0, 1, 2, 3, 10, 50, 200, 1023];

struct GGallery {
    lab: Lab,
    made: Memo<String, Directions>,
}

impl GGallery {
    fn networks(&self) -> Vec<String> {
        let mut all = text([FLAT, self.lab.architecture.as_str()]);
        all.extend(text(OTHERS));
        all.dedup();
        all
    }

    fn directions(
        &self,
        name: &str,
    ) -> Result<std::sync::Arc<Directions>, GeometryExperimentsError> {
        self.made
            .get(name.to_string(), || self.lab.directions(name))
    }
}

impl Experiment for GGallery {
    type Error = GeometryExperimentsError;

    fn design(&self) -> Design {
        let measures = [
            "top10_share",
            "participation_ratio",
            "effective_rank",
            "trace",
        ];
        grid(&[("network", &self.networks())], 1, &measures)
    }

    fn claims(&self) -> Vec<Claim> {
        let share = |network: &str, wanted| Test::Certain {
            measure: "top10_share",
            at: Select::of(&[("network", network)]),
            wanted,
        };
        let claim = |network: String| match network.as_str() {
            FLAT => Claim::new(
                format!("{FLAT} has no preference: a tenth of the directions holds a tenth of G"),
                share(
                    FLAT,
                    Wanted::Near {
                        value: 0.1,
                        tolerance: 0.01,
                    },
                ),
            ),
            name => Claim::new(
                format!("{name} has one: a tenth of the directions holds more than a quarter"),
                share(name, Wanted::AtLeast(0.25)),
            ),
        };
        self.networks().into_iter().map(claim).collect()
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, GeometryExperimentsError> {
        let directions = self.directions(cell.level("network"))?;
        let s = Summary::of(&directions.spectrum);
        Ok(vec![
            s.top10_share,
            s.participation_ratio,
            s.effective_rank,
            s.trace,
        ])
    }
}

impl View for GGallery {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        "What architectures see before they learn".into()
    }

    fn asked(&self) -> String {
        "How uneven is the geometry of random networks, and what do its first and last directions look like?".into()
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "Uneven, but for the MLP: a tenth of the directions holds more than a quarter of G for every other network and a tenth of it \
             for the MLP. The first and the last directions are drawn below.",
            "Not as was thought: the MLP has a preference, and for no other network does a tenth of the directions hold a quarter of G. The \
             first and the last directions are drawn below.",
        )
    }

    fn words(&self, table: &Table) -> String {
        let share = |network: String| {
            let mean = table.mean(&Select::of(&[("network", &network)]), "top10_share");
            format!("{network} {} %", shown(mean, 0.01))
        };
        let all: Vec<String> = self.networks().into_iter().map(share).collect();
        format!(
            "Share of tr G in a tenth of the directions: {}.",
            all.join(", ")
        )
    }

    fn summary(&self, table: &Table) -> Grid {
        let row = |network: String| {
            let mean = |measure: &String| {
                let pivot = Pivot {
                    rows: "network",
                    columns: "",
                    fixed: Vec::new(),
                    measure,
                    unit: 1.0,
                };
                shown(pivot.mean(table, &network, ""), 1.0)
            };
            [network.clone()]
                .into_iter()
                .chain(table.measures().iter().map(mean))
                .collect()
        };
        Grid {
            columns: [text(["network"]), table.measures().to_vec()].concat(),
            rows: levels(table, "network").into_iter().map(row).collect(),
        }
    }

    // The pictures have more numbers than a table should: the closed forms are made again.
    fn figures(&self, table: &Table) -> Vec<Section> {
        let found = levels(table, "network").into_iter().filter_map(|network| {
            let directions = self.directions(&network).ok()?;
            Some((network, directions))
        });
        let found: Vec<_> = found.collect();
        let series = found.iter().map(|(network, d)| {
            let values = &d.spectrum.values;
            let points = values
                .iter()
                .enumerate()
                .filter(|(_, v)| **v > 1e-9 * values[0]);
            Series::line(
                network.clone(),
                points
                    .map(|(i, v)| (i as f64 + 1.0, v / values[0]))
                    .collect(),
            )
        });
        let plot = Plot {
            title: "Eigenvalues of G".into(),
            x: Axis::log("direction, from 1"),
            y: Axis::log("eigenvalue, the largest as 1"),
            series: series.collect(),
        };
        let picture = |words: String, values: &[f64]| Picture::Map {
            words,
            rows: values.chunks_exact(SIDE).map(<[f64]>::to_vec).collect(),
            colours: ColourMap::Diverging,
        };
        let gallery = |(network, d): &(String, std::sync::Arc<Directions>)| {
            let middle = SIDE * SIDE / 2 + SIDE / 2;
            let row = &d.g.factor[middle * d.g.n..][..d.g.n];
            let first = Tile {
                label: "G, middle pixel".into(),
                pictures: vec![picture(
                    format!("{network}: G between the middle pixel and all others"),
                    row,
                )],
            };
            let tiles = SHOWN.map(|i| Tile {
                label: format!("u{i}"),
                pictures: vec![picture(format!("{network}: direction {i}"), d.vector(i))],
            });
            let title = network.clone();
            Section::new(title.clone()).gallery(
                format!("gallery {network}"),
                Gallery {
                    title,
                    tiles: [first].into_iter().chain(tiles).collect(),
                },
                "G between the middle pixel and all others, then directions by index.",
            )
        };
        let spectra = Section::new("Spectra").figure(
            "spectra",
            plot.draw(),
            "A flat line is an architecture without a preference.",
        );
        [spectra]
            .into_iter()
            .chain(found.iter().map(gallery))
            .collect()
    }
}
