//! `dft-map` (NAD Fig 1, 3, 10, 11): test accuracy on D(v) for vectors v of the Fourier basis, with and without pooling.

use polariscope_data::{Direction, Phase, dft_frequencies};
use polariscope_experiment::{
    Answers, Cell, Claim, Design, Experiment, Grid, Pivot, Select, Table, Test, View, Wanted,
    level, levels,
};
use polariscope_report::{Axis, ColourMap, Extent, Field, Section};

use crate::lab::SIDE;
use crate::linear::{SIGMA, Sizes, accuracy};
use crate::{Entry, GeometryExperimentsError, Lab};
use polariscope_experiment::grid::{grid, text};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "dft-map",
    source: "NAD Fig 1, 3, 10, 11",
    line: "accuracy by Fourier direction, with pooling and without",
    architecture: "lenet",
    images: false,
    minutes: 4.0,
    own: &[],
    make: |lab| Ok(Box::new(DftMap { lab: lab.clone() })),
};

/// The same network without its pools.
const BARE: &str = "lenet-nopool";
const LINEAR: &str = "logreg";

struct DftMap {
    lab: Lab,
}

impl DftMap {
    fn networks(&self) -> Vec<String> {
        text([self.lab.architecture.as_str(), BARE, LINEAR])
    }

    /// Frequencies along an axis.
    fn axis(&self) -> Vec<String> {
        text((0..=SIDE / 2).step_by(self.lab.pick(4, 1)))
    }

    fn sizes(&self) -> Sizes {
        self.lab.pick(
            Sizes {
                train: 2500,
                test: 1000,
                epochs: 12,
            },
            Sizes::of(&self.lab),
        )
    }

    fn of(&self, network: &str) -> Vec<Select> {
        let cells = self.design().cells.into_iter();
        let own = cells.filter(|c| c.level("network") == network && c.run == 0);
        own.map(|c| {
            let [a, b] = ["a", "b"].map(|f| c.level(f).to_string());
            Select::of(&[("network", network), ("a", &a), ("b", &b)])
        })
        .collect()
    }
}

/// cos 2π(an + bm)/32: the even vector of a frequency.
fn direction(a: usize, b: usize) -> Direction {
    let same = |f: &polariscope_data::Frequency| {
        f.phase == Phase::Cos && (f.a, f.b) == (a as isize, b as isize)
    };
    let place = dft_frequencies(SIDE, SIDE).iter().position(same);
    Direction::Dft(place.unwrap_or(0))
}

impl Experiment for DftMap {
    type Error = GeometryExperimentsError;

    fn design(&self) -> Design {
        let (networks, axis) = (self.networks(), self.axis());
        let factors = [("network", &networks[..]), ("a", &axis), ("b", &axis)];
        grid(&factors, self.lab.runs(2, 2), &["accuracy"])
    }

    fn claims(&self) -> Vec<Claim> {
        let name = &self.lab.architecture;
        let range = |network: &str, wanted| Test::Range {
            measure: "accuracy",
            along: self.of(network),
            wanted,
        };
        vec![
            Claim::new(
                format!("{name} depends on the frequency by more than 30 %"),
                range(name, Wanted::AtLeast(0.3)),
            ),
            Claim::new(
                "without pooling it is equalised to within 20 %",
                range(BARE, Wanted::AtMost(0.2)),
            ),
            Claim::new(
                format!("{LINEAR} learns every frequency"),
                level(
                    "accuracy",
                    Select::of(&[("network", LINEAR)]),
                    Wanted::AtLeast(0.98),
                ),
            ),
        ]
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, GeometryExperimentsError> {
        let graph = self.lab.network(cell.level("network"), 1, 2)?;
        let problem = (direction(cell.number("a"), cell.number("b")), SIGMA);
        Ok(vec![accuracy(
            &self.lab,
            &graph,
            problem,
            self.sizes(),
            cell.run,
        )?])
    }

    fn together(&self) -> usize {
        self.lab.together()
    }

    fn cost(&self, cell: &Cell) -> f64 {
        let graph = self.lab.network(cell.level("network"), 1, 2);
        graph.map_or(1.0, |g| polariscope_network::multiplications(&g) as f64)
    }
}

fn pivot(network: &str) -> Pivot<'static> {
    Pivot {
        rows: "a",
        columns: "b",
        fixed: vec![("network", network.to_string())],
        measure: "accuracy",
        unit: 0.01,
    }
}

impl View for DftMap {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        format!("What {} learns in Fourier space", self.lab.architecture)
    }

    fn asked(&self) -> String {
        "Which frequencies does the architecture learn, and is it pooling that decides?".into()
    }

    fn answers(&self) -> Answers {
        let name = &self.lab.architecture;
        Answers::new(
            format!(
                "{name} learns some frequencies better than others by more than 30 %, and it is pooling that decides: without it they are \
             within 20 %, and {LINEAR} learns every one."
            ),
            format!(
                "{name} learns frequencies alike to within 30 %, without pooling they are more than 20 % apart, and {LINEAR} does not learn \
             them all: it is not pooling that decides."
            ),
        )
    }

    fn words(&self, table: &Table) -> String {
        let sentence = |network: String| {
            let values: Vec<f64> = self
                .of(&network)
                .iter()
                .filter_map(|s| Some(100.0 * table.mean(s, "accuracy")?.value))
                .collect();
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            format!("{network}: {low:.0} to {high:.0} %")
        };
        let all: Vec<String> = self.networks().into_iter().map(sentence).collect();
        format!("Test accuracy over the frequencies: {}.", all.join(", "))
    }

    fn summary(&self, table: &Table) -> Grid {
        let mut whole = Grid::default();
        for network in self.networks() {
            let mut part = pivot(&network).grid(table);
            let rows = part.rows.iter_mut();
            rows.for_each(|row| row[0] = format!("{network}, a = {}", row[0]));
            whole.columns = part.columns;
            whole.rows.extend(part.rows);
        }
        whole
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        let (axis, last) = (levels(table, "a"), (SIDE / 2) as f64);
        let map = |network: String| {
            let pivot = pivot(&network);
            let value = |a: &str, b: &str| {
                pivot
                    .mean(table, a, b)
                    .map_or(f64::NAN, |m| 100.0 * m.value)
            };
            let field = Field {
                title: network.clone(),
                x: Extent::new("periods across", 0.0, last),
                y: Extent::new("periods down", 0.0, last),
                value: Axis::linear("test accuracy in %"),
                rows: axis
                    .iter()
                    .map(|a| axis.iter().map(|b| value(a, b)).collect())
                    .collect(),
                colours: ColourMap::Sequential,
                range: Some((50.0, 100.0)),
                outline: None,
            };
            Section::new("").figure(format!("map {network}"), field.draw(), "")
        };
        vec![
            Section::new("Accuracy by frequency")
                .prose(
                    "Each cell is a network trained on D(v), v the cosine with this many periods down and across the image. \
                     50 % is chance.",
                )
                .columns(self.networks().into_iter().map(map)),
        ]
    }
}
