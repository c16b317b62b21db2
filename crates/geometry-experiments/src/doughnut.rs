//! `doughnut` (GIH Fig 1): two concentric circles are told apart only in planes that the architecture sees.

use polariscope_data::{Generator, Labels, Split};
use polariscope_experiment::{
    Answers, Cell, Claim, Design, Experiment, Grid, Pivot, Select, Table, View, Wanted, level,
    levels, shown,
};
use polariscope_report::{Axis, ColourMap, Extent, Field, Section};

use crate::lab::shape;
use crate::learn::{learn, plain};
use crate::lens::Directions;
use crate::prepared::Prepared;
use crate::{Entry, GeometryExperimentsError, Lab};
use polariscope_experiment::grid::{grid, text};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "doughnut",
    source: "GIH Fig 1",
    line: "two circles are told apart in planes of early directions alone",
    architecture: "lenet-gap",
    images: false,
    minutes: 3.5,
    own: &[],
    make: |lab| {
        Ok(Box::new(Doughnut {
            lab: lab.clone(),
            directions: Prepared::default(),
        }))
    },
};

const FLAT: &str = "mlp-2x100";
/// Radii of the circles (the paper gives none).
const RADII: [f64; 2] = [3.0, 0.25];
/// The first two directions, the first and the last, the last two.
const PLANES: [&str; 3] = ["A", "B", "C"];
/// Not given in the paper.
const EPOCHS: u64 = 30;
/// Points of the plane at which the decision is drawn, along an axis.
const POINTS: usize = 25;
/// Half the side of the plane.
const REACH: f64 = 4.0;

struct Doughnut {
    lab: Lab,
    directions: Prepared<Directions>,
}

/// The decision at a point of the plane, as columns.
fn columns() -> Vec<String> {
    (0..POINTS * POINTS).map(|i| format!("p{i}")).collect()
}

fn coordinate(i: usize) -> f64 {
    REACH * (2.0 * i as f64 / (POINTS - 1) as f64 - 1.0)
}

impl Doughnut {
    fn networks(&self) -> Vec<String> {
        text([self.lab.architecture.as_str(), FLAT])
    }

    fn axes(&self, plane: &str) -> Result<[usize; 2], GeometryExperimentsError> {
        let last = self.directions.get()?.spectrum.n - 1;
        Ok(match plane {
            "A" => [0, 1],
            "B" => [0, last],
            _ => [last - 1, last],
        })
    }
}

impl Experiment for Doughnut {
    type Error = GeometryExperimentsError;

    fn design(&self) -> Design {
        let factors = [("network", &self.networks()[..]), ("plane", &text(PLANES))];
        let columns = columns();
        let measures: Vec<&str> = ["test", "train"]
            .into_iter()
            .chain(columns.iter().map(String::as_str))
            .collect();
        grid(&factors, self.lab.runs(5, 5), &measures)
    }

    fn claims(&self) -> Vec<Claim> {
        let name = &self.lab.architecture;
        let at = |network: &str, plane| Select::of(&[("network", network), ("plane", plane)]);
        let learns = |network: &str, plane| {
            let test = level("test", at(network, plane), Wanted::AtLeast(0.95));
            Claim::new(format!("{network} generalises in plane {plane}"), test)
        };
        let fails = |plane| {
            let test = level("test", at(name, plane), Wanted::AtMost(0.65));
            Claim::new(format!("{name} fails in plane {plane}"), test)
        };
        vec![
            learns(name, "A"),
            fails("B"),
            fails("C"),
            learns(FLAT, "A"),
            learns(FLAT, "B"),
            learns(FLAT, "C"),
        ]
    }

    fn prepare(&self) -> Result<(), GeometryExperimentsError> {
        let directions = self.lab.directions(&self.lab.architecture)?;
        self.directions.set(directions);
        Ok(())
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, GeometryExperimentsError> {
        let directions = self.directions.get()?;
        let [a, b] = self.axes(cell.level("plane"))?;
        let problem = Generator::Doughnut {
            u: [directions.direction(a), directions.direction(b)],
            outer: RADII[0],
            inner: RADII[1],
            sigma: 1.0,
        };
        let samples = self.lab.pick([10_000, 2000], [10_000, 10_000]);
        let [train, test] = problem.splits(shape(1), samples, self.lab.seed + cell.run)?;
        let graph = self.lab.network(cell.level("network"), 1, 2)?;
        let Some(learnt) = learn(&self.lab, &graph, plain(EPOCHS), cell.run, &train)? else {
            return Ok(vec![f64::NAN; 2 + POINTS * POINTS]);
        };
        let plane = (0..POINTS * POINTS).flat_map(|i| {
            let (y, x) = (coordinate(i / POINTS), coordinate(i % POINTS));
            let axes = directions.vector(a).iter().zip(directions.vector(b));
            axes.map(move |(u, v)| (x * u + y * v) as f32)
        });
        let plane = Split {
            x: plane.collect(),
            y: Labels::Classes(vec![1; POINTS * POINTS]),
        };
        let mut values = vec![learnt.accuracy(&test)?, learnt.accuracy(&train)?];
        values.extend(learnt.classes(&plane)?.into_iter().map(f64::from));
        Ok(values)
    }

    fn together(&self) -> usize {
        self.lab.together()
    }
}

impl View for Doughnut {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        format!("Which doughnuts {} sees", self.lab.architecture)
    }

    fn asked(&self) -> String {
        "Two circles around each other, in the plane of the first two directions (A), of the first and the last (B), or of the \
         last two (C): are they told apart?"
            .into()
    }

    fn answers(&self) -> Answers {
        let name = &self.lab.architecture;
        Answers::new(
            format!(
                "{name} tells them apart in the plane of the first two directions (A) and fails in the others (B, C); {FLAT} tells them \
             apart in all three."
            ),
            format!(
                "{name} does not reach 95 % in plane A, and is above 65 % in B and C; {FLAT} reaches 95 % in none of the three."
            ),
        )
    }

    fn words(&self, table: &Table) -> String {
        let pivot = pivot();
        let planes = levels(table, "plane");
        let all = levels(table, "network").into_iter().map(|network| {
            let at = |plane: &String| shown(pivot.mean(table, &network, plane), 0.01);
            let all = planes
                .iter()
                .map(|plane| format!("{} % in {plane}", at(plane)));
            format!("{network} {}", all.collect::<Vec<_>>().join(", "))
        });
        format!("Test accuracy: {}.", all.collect::<Vec<_>>().join("; "))
    }

    fn summary(&self, table: &Table) -> Grid {
        pivot().grid(table)
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        let map = |network: &str, plane: &str| {
            let select = Select::of(&[("network", network), ("plane", plane)]);
            let value = |i: usize| {
                table
                    .mean(&select, &format!("p{i}"))
                    .map_or(f64::NAN, |m| m.value)
            };
            let field = Field {
                title: format!("{network}, plane {plane}"),
                x: Extent::new("first axis", -REACH, REACH),
                y: Extent::new("second axis", -REACH, REACH),
                value: Axis::linear("share that decide for the outer circle"),
                rows: (0..POINTS)
                    .map(|r| (0..POINTS).map(|c| value(r * POINTS + c)).collect())
                    .collect(),
                colours: ColourMap::Sequential,
                range: Some((0.0, 1.0)),
                outline: Some(0.5),
            };
            Section::new("").figure(format!("plane {network} {plane}"), field.draw(), "")
        };
        let planes = levels(table, "plane");
        let section = |network: String| {
            Section::new(format!("Decisions of {network} in the plane"))
                .prose(
                    "The circles have radii 3 and 0.25; all other directions hold noise of size 1. The pictures show what the \
                     trained networks decide in the plane itself, averaged over runs.",
                )
                .columns(planes.iter().map(|plane| map(&network, plane)))
        };
        levels(table, "network").into_iter().map(section).collect()
    }
}

fn pivot() -> Pivot<'static> {
    Pivot {
        rows: "network",
        columns: "plane",
        fixed: Vec::new(),
        measure: "test",
        unit: 0.01,
    }
}
