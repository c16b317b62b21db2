//! `jamming` (Geiger et al. 2019, Fig 2 and 3): where random patterns stop fitting, the number of those that do not jumps.

mod view;

use polariscope_data::Dataset;
use polariscope_experiment::grid::{grid, text};
use polariscope_experiment::{Cell, Claim, Design, Experiment, Select, Table, Test, Wanted};
use polariscope_graph::{Activation, Graph, Shape};
use polariscope_train::Control;

use crate::machine::{End, hinge, machine, sizes, train};
use crate::{Entry, Lab, LandscapeExperimentsError};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "jamming",
    source: "Geiger 2019 Fig 2, 3",
    line: "random patterns: the number of those not learnt jumps where they stop fitting",
    architecture: None,
    data: None,
    minutes: 6.0,
    make: |lab| Ok(Box::new(Jamming { lab: lab.clone() })),
};

/// A loss that fell by less than half in the last quarter of the training has settled.
const SETTLED: f64 = 0.5;
/// A jump of at least so many patterns a weight.
const JUMP: f64 = 0.5;
/// Share of the patterns not learnt that are misclassified, at most.
const SHARE: f64 = 0.25;

struct Jamming {
    lab: Lab,
}

/// Networks of an activation and the patterns a weight that they are given.
struct Scan {
    activation: Activation,
    networks: &'static [&'static str],
    ratios: &'static [&'static str],
}

const SMALL: [Scan; 2] = [
    Scan {
        activation: Activation::Relu,
        networks: &["2x18"],
        ratios: &["2.0", "2.4", "2.6", "2.8", "3.0", "3.4"],
    },
    Scan {
        activation: Activation::Tanh,
        networks: &["2x14"],
        ratios: &["3.0", "3.4", "3.8", "4.0", "4.4", "4.8"],
    },
];

const PAPER: [Scan; 2] = [
    Scan {
        activation: Activation::Relu,
        networks: &["2x62", "3x51", "5x40"],
        ratios: &[
            "2.0", "2.4", "2.6", "2.7", "2.8", "2.9", "3.0", "3.1", "3.2", "3.4",
        ],
    },
    Scan {
        activation: Activation::Tanh,
        networks: &["2x62", "3x51", "5x40"],
        ratios: &[
            "2.6", "3.0", "3.4", "3.8", "4.2", "4.6", "5.0", "5.5", "6.0",
        ],
    },
];

/// A ratio that both are given.
const COMMON: &str = "3.4";

/// Rows of an activation, at a ratio where one is named.
fn at(activation: Activation, ratio: Option<&str>) -> Select {
    let name = activation.to_string();
    let ratio = ratio.map(|r| ("ratio", r));
    let levels: Vec<(&str, &str)> = [("activation", name.as_str())]
        .into_iter()
        .chain(ratio)
        .collect();
    Select::of(&levels)
}

impl Jamming {
    fn scans(&self) -> &'static [Scan; 2] {
        self.lab.pick(&SMALL, &PAPER)
    }

    fn network(&self, cell: &Cell) -> Result<Graph, LandscapeExperimentsError> {
        let scans = self.scans().iter();
        let mut own = scans.filter(|s| s.activation.to_string() == cell.level("activation"));
        let activation = own.next().map_or(Activation::Relu, |s| s.activation);
        let network = cell.level("network");
        // As many dimensions as units.
        let features = network.split_once('x').and_then(|(_, h)| h.parse().ok());
        let input = Shape::Vector {
            features: features.unwrap_or(1),
        };
        machine((&format!("mlp-{network}"), None), input, activation)
    }

    fn patterns(&self, cell: &Cell, weights: usize) -> usize {
        (cell.real("ratio") * weights as f64).round() as usize
    }
}

/// What happened to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Every pattern is learnt.
    Fits,
    /// Every pattern is learnt but those whose signal died.
    Frozen,
    /// Some are not, and the loss still falls.
    Falling,
    /// Some are not, and the loss has settled.
    Jammed,
}

impl Kind {
    fn of(unsatisfied: f64, alive: f64, fall: f64) -> Self {
        match (unsatisfied > 0.0, alive > 0.0, fall < SETTLED) {
            (false, ..) => Kind::Fits,
            (_, false, _) => Kind::Frozen,
            (_, _, true) => Kind::Falling,
            (_, _, false) => Kind::Jammed,
        }
    }
}

/// Names of the measures. `height` is N_Δ/N and `wrong` the misclassified patterns over N, both without patterns whose signal
/// died; `jump` and `share` are there for jammed runs alone.
const MEASURES: [&str; 14] = [
    "weights",
    "parameters",
    "patterns",
    "steps",
    "loss",
    "fall",
    "unsatisfied",
    "misclassified",
    "frozen",
    "height",
    "wrong",
    "fits",
    "jump",
    "share",
];

/// The measures of a run.
fn measures([weights, parameters]: [usize; 2], end: &End) -> Vec<f64> {
    let (gaps, alive) = (end.fitted.gaps, end.alive);
    let [unsatisfied, left, wrong, n] = [
        gaps.unsatisfied,
        alive.unsatisfied,
        alive.misclassified,
        weights,
    ]
    .map(|count| count as f64);
    let kind = Kind::of(unsatisfied, left, end.fall);
    let jammed = |value: f64| match kind {
        Kind::Jammed => value,
        Kind::Fits | Kind::Frozen | Kind::Falling => f64::NAN,
    };
    vec![
        n,
        parameters as f64,
        gaps.patterns as f64,
        end.fitted.steps as f64,
        end.fitted.loss,
        end.fall,
        unsatisfied,
        gaps.misclassified as f64,
        end.frozen as f64,
        left / n,
        wrong / n,
        f64::from(u8::from(left == 0.0)),
        jammed(left / n),
        jammed(wrong / left),
    ]
}

impl Experiment for Jamming {
    type Error = LandscapeExperimentsError;

    fn design(&self) -> Design {
        let scans = self.scans();
        let mut ratios: Vec<&str> = scans.iter().flat_map(|s| s.ratios).copied().collect();
        let number = |ratio: &str| ratio.parse().unwrap_or(0.0_f64);
        ratios.sort_by(|a, b| number(a).total_cmp(&number(b)));
        ratios.dedup();
        let mut networks: Vec<&str> = scans.iter().flat_map(|s| s.networks).copied().collect();
        networks.dedup();
        let factors = [
            ("activation", &text(scans.iter().map(|s| s.activation))[..]),
            ("network", &text(networks)),
            ("ratio", &text(ratios)),
        ];
        grid(&factors, self.lab.runs(3, 10), &MEASURES).retain(|cell| {
            scans.iter().any(|s| {
                s.activation.to_string() == cell.level("activation")
                    && s.networks.contains(&cell.level("network"))
                    && s.ratios.contains(&cell.level("ratio"))
            })
        })
    }

    fn claims(&self) -> Vec<Claim> {
        let mut claims = Vec::new();
        for Scan {
            activation, ratios, ..
        } in self.scans()
        {
            let [first, last] = [ratios.first(), ratios.last()].map(|r| r.copied().unwrap_or(""));
            let mut certain = |words: String, measure, ratio, wanted| {
                let at = at(*activation, ratio);
                claims.push(Claim::new(
                    words,
                    Test::Certain {
                        measure,
                        at,
                        wanted,
                    },
                ));
            };
            certain(
                format!("{activation}: every network fits {first} patterns a weight"),
                "fits",
                Some(first),
                Wanted::AtLeast(1.0),
            );
            certain(
                format!("{activation}: no network fits {last} patterns a weight"),
                "fits",
                Some(last),
                Wanted::AtMost(0.0),
            );
            certain(
                format!(
                    "{activation}: where the loss settles above 0, at least N/2 patterns are not learnt"
                ),
                "jump",
                None,
                Wanted::AtLeast(JUMP),
            );
            certain(
                format!("{activation}: and at most a quarter of those are misclassified"),
                "share",
                None,
                Wanted::AtMost(SHARE),
            );
        }
        claims.push(Claim::new(
            format!("tanh fits {COMMON} patterns a weight more often than relu"),
            Test::Above {
                measure: "fits",
                upper: at(Activation::Tanh, Some(COMMON)),
                lower: at(Activation::Relu, Some(COMMON)),
            },
        ));
        claims
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, LandscapeExperimentsError> {
        let graph = self.network(cell)?;
        let sizes = sizes(&graph);
        let patterns = self.patterns(cell, sizes[0]);
        let spec = format!(
            "random?shape={}&train={patterns}&test=0&seed={}",
            graph.input().len(),
            self.lab.seed.wrapping_add(cell.run)
        );
        let data = Dataset::load(&spec)?;
        let descent = self.lab.pick(
            hinge(0.5, (1e-3, Some(20_000)), 40_000),
            hinge(0.5, (1e-4, Some(250_000)), 10_000_000),
        );
        let from = (self.lab.seed, cell.run);
        let device = self.lab.place.device;
        let end = train(device, &graph, &descent, from, &data.train, |_| {
            Control::Continue
        })?;
        Ok(measures(sizes, &end))
    }

    fn together(&self) -> usize {
        4 * rayon::current_num_threads()
    }

    fn cost(&self, cell: &Cell) -> f64 {
        // Steps that are not needed where patterns fit.
        let ratio = cell.real("ratio");
        ratio * if ratio < 2.5 { 0.3 } else { 1.0 }
    }
}

/// What happened to the runs of some rows.
fn kinds(table: &Table, select: &Select) -> Vec<Kind> {
    let of = |measure: &str| table.values(select, measure);
    let (unsatisfied, height, fall) = (of("unsatisfied"), of("height"), of("fall"));
    let all = unsatisfied.into_iter().zip(height).zip(fall);
    all.map(|(((_, u), (_, h)), (_, f))| Kind::of(u, h, f))
        .collect()
}
