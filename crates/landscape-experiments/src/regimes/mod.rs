//! `regimes` (FL Fig 4 to 6, 9): how a network moves while it is trained, from feature learning to lazy training.
//!
//! One training set; runs differ in the initial weights. The statistics that belong to two networks at least, the variance
//! of F, are computed from the outputs on the first test samples that every cell keeps.

mod view;

#[cfg(test)]
mod tests;

use polariscope_diff::Device;
use polariscope_experiment::grid::{grid, text};
use polariscope_experiment::{
    Cell, Claim, Design, Experiment, Scale, Select, Table, Test, Wanted, exponent,
};
use polariscope_landscape::{Kernels, POINTS, Start};
use polariscope_network::Weights;
use polariscope_train::{FlowConfig, Problem};

use crate::lazy::{Task, error, first, fitted, network, regime, sets, train};
use crate::{Entry, Lab, LandscapeExperimentsError};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "regimes",
    source: "Geiger FL Fig 4–6, 9",
    line: "between lazy and feature learning: what moves, by which power of α̃, and which side generalises",
    architecture: None,
    data: Some("stripe?shape=10&train=100&test=1000"),
    minutes: 1.0,
    make: |lab| Ok(Box::new(Regimes::new(lab))),
};

/// Hidden layers.
const DEPTH: usize = 2;
/// α of the comparison of widths at fixed α.
const FIXED: f64 = 1e3;
/// Widths of that comparison.
const NARROW_TO_WIDE: [usize; 3] = [16, 64, 256];
/// Outputs that a cell keeps.
const KEPT: usize = 50;
/// Flow time of the comparison of layers: long before the loss halves, so that it does not depend on how long widths take.
const SOON: f64 = 1.0;
/// From here on a network is compared with its frozen kernel.
const NEARLY_LAZY: f64 = 100.0;
/// Below this the outputs of a few test samples are of another order than elsewhere.
const CALM: f64 = 0.1;
/// Where the regimes are compared: the end of the calm part of the one, the last of the other.
const FEATURE: &str = "0.1";
const LAZY: &str = "100000";

/// Every measure but the outputs.
const MEASURES: [&str; 13] = [
    "kernel", "weights", "first", "middle", "last", "half", "slowness", "lag", "error", "steps",
    "fitted", "gap", "time",
];
/// Places of two of them.
const FITTED: usize = 10;
const GAP: usize = 11;

struct Regimes {
    lab: Lab,
    task: Task,
}

impl Regimes {
    fn new(lab: &Lab) -> Self {
        Regimes {
            lab: lab.clone(),
            task: Task::default(),
        }
    }

    /// Widths of the scan over α̃.
    fn widths(&self) -> Vec<usize> {
        self.lab.pick(vec![30, 100], vec![30, 100, 300])
    }
}

/// α̃ of the scan.
fn decades() -> Vec<String> {
    text([1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4, 1e5])
}

/// α̃ of a width at the fixed α.
fn fixed(width: usize) -> String {
    ((width as f64).sqrt() * FIXED).to_string()
}

/// Names of the outputs that a cell keeps.
fn outputs() -> Vec<String> {
    (0..KEPT).map(|i| format!("f{i}")).collect()
}

fn at(width: usize, control: &str) -> Select {
    Select::of(&[("h", &width.to_string()), ("control", control)])
}

/// A power of α̃ over some decades at one width.
fn power(measure: &'static str, width: usize, over: &[&str], value: f64, tolerance: f64) -> Test {
    let points = over
        .iter()
        .map(|c| (c.parse().unwrap_or(f64::NAN), at(width, c)));
    Test::Contrast {
        measure,
        scale: Scale::Log,
        terms: exponent(&points.collect::<Vec<_>>()),
        wanted: Wanted::Near { value, tolerance },
    }
}

/// The logarithm of a measure is the same at two α̃, within a factor.
fn same(measure: &'static str, width: usize, ends: [&str; 2], factor: f64) -> Test {
    Test::Contrast {
        measure,
        scale: Scale::Linear,
        terms: vec![(1.0, at(width, ends[0])), (-1.0, at(width, ends[1]))],
        wanted: Wanted::Near {
            value: 0.0,
            tolerance: factor.ln(),
        },
    }
}

/// A power of h at the fixed α.
fn power_of_width(measure: &'static str, value: f64) -> Test {
    let points = NARROW_TO_WIDE.map(|h| (h as f64, at(h, &fixed(h))));
    Test::Contrast {
        measure,
        scale: Scale::Log,
        terms: exponent(&points),
        wanted: Wanted::Near {
            value,
            tolerance: 0.15,
        },
    }
}

const SMALL: [&str; 3] = ["0.001", "0.01", "0.1"];
const LARGE: [&str; 3] = ["1000", "10000", "100000"];

impl Experiment for Regimes {
    type Error = LandscapeExperimentsError;

    fn design(&self) -> Design {
        let scan = self.widths();
        let mut widths: Vec<usize> = NARROW_TO_WIDE.into_iter().chain(scan.clone()).collect();
        widths.sort_unstable();
        let controls: Vec<String> = decades()
            .into_iter()
            .chain(NARROW_TO_WIDE.map(fixed))
            .collect();
        let measures: Vec<String> = text(MEASURES).into_iter().chain(outputs()).collect();
        let measures: Vec<&str> = measures.iter().map(String::as_str).collect();
        let factors = [("h", &text(widths)[..]), ("control", &controls)];
        grid(&factors, self.lab.runs(10, 20), &measures).retain(|cell| {
            let (width, control) = (cell.number("h"), cell.level("control"));
            let scanned = scan.contains(&width) && decades().iter().any(|d| d == control);
            scanned || (NARROW_TO_WIDE.contains(&width) && control == fixed(width))
        })
    }

    fn claims(&self) -> Vec<Claim> {
        let mut claims = Vec::new();
        for h in self.widths() {
            let mut claim =
                |words: &str, test| claims.push(Claim::new(format!("h = {h}: {words}"), test));
            claim(
                "kernel ~ α̃^−4/3 to 0.15 in the power, α̃ ≤ 0.1",
                power("kernel", h, &SMALL, -4.0 / 3.0, 0.15),
            );
            claim(
                "weights ~ α̃^−1/3 to 0.08, α̃ ≤ 0.1",
                power("weights", h, &SMALL, -1.0 / 3.0, 0.08),
            );
            claim(
                "time to halve the loss ~ α̃ within 25 %, α̃ ≤ 0.1",
                same("lag", h, [SMALL[0], SMALL[2]], 1.25),
            );
            claim(
                "kernel ~ 1/α̃ to 0.03, α̃ ≥ 1000",
                power("kernel", h, &LARGE, -1.0, 0.03),
            );
            claim(
                "time to halve the loss is constant within 5 %, α̃ ≥ 1000",
                same("slowness", h, [LARGE[0], LARGE[2]], 1.05),
            );
            claim(
                "F is that of the frozen kernel to 0.02, α̃ = 10⁴",
                Test::Certain {
                    measure: "gap",
                    at: at(h, LARGE[1]),
                    wanted: Wanted::AtMost(0.02),
                },
            );
            claim(
                "α̃ times the difference from it is constant to 0.1 in the power, α̃ ≥ 1000",
                power("scaled", h, &LARGE, 0.0, 0.1),
            );
        }
        for (words, measure, value) in [
            ("kernel ~ 1/h", "kernel", -1.0),
            ("weights ~ 1/h", "weights", -1.0),
            ("first layer ~ h^−1/2 at flow time 1", "first", -0.5),
            ("middle layer ~ 1/h at flow time 1", "middle", -1.0),
            ("last layer ~ h^−1/2 at flow time 1", "last", -0.5),
        ] {
            claims.push(Claim::new(
                format!("α = 1000: {words}, to 0.15"),
                power_of_width(measure, value),
            ));
        }
        claims.push(Claim::new(
            "h Var F is the same at both widths within a factor 1.6, mean over α̃ ≥ 0.1",
            self.variance(),
        ));
        claims
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, LandscapeExperimentsError> {
        let (width, control) = (cell.number("h"), cell.real("control"));
        let data = self.task.data(&self.lab)?;
        let problem = Problem {
            graph: network(&data, DEPTH, width)?,
            data: (*data).clone(),
        };
        let graph = &problem.graph;
        let (learn, test, classes) = sets(&problem);
        let config = regime(control, width);
        let net = train(&self.lab, graph, &config, (learn, test), cell.run)?;
        let Some(net) = fitted(net) else {
            let mut values = vec![f64::NAN; MEASURES.len() + KEPT];
            values[FITTED] = 0.0;
            return Ok(values);
        };
        let initial = Weights::<f64>::draw(graph, self.lab.seed, cell.run);
        let few = first(test, graph.input().len(), KEPT.max(POINTS));
        let start = Start::new(Device::Cpu, graph, &initial, (learn, few), POINTS)?;
        let motion = start.motion(&net.weights)?;
        let soon = match cell.level("control") == fixed(width) {
            true => {
                let soon = FlowConfig {
                    max_time: SOON,
                    ..config.clone()
                };
                match train(&self.lab, graph, &soon, (learn, few), cell.run)? {
                    Some(net) => start.motion(&net.weights)?.layers,
                    None => Vec::new(),
                }
            }
            false => Vec::new(),
        };
        let layer = |i: usize| soon.get(i).map_or(f64::NAN, |l| l.1);
        let gap = match control >= NEARLY_LAZY {
            false => f64::NAN,
            true => {
                let kernels = Kernels::of(Device::Cpu, graph, &initial, (learn, few))?;
                let until = FlowConfig {
                    margin: f64::INFINITY,
                    max_time: net.time,
                    ..config
                };
                let frozen = kernels.train(learn.y, 1, &until)?;
                let here = net.train.iter().chain(net.test.iter().take(few.len()));
                let pairs = here.zip(frozen.train.iter().chain(&frozen.test));
                pairs.fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()))
            }
        };
        let half = net.half.unwrap_or(f64::NAN);
        let mut values = vec![
            motion.kernel,
            motion.weights,
            layer(0),
            layer(1),
            layer(2),
            half,
            half.ln(),
            (half / control).ln(),
            error(&net.test, classes),
            net.steps as f64,
            1.0,
            gap,
            net.time,
        ];
        values.extend((0..KEPT).map(|i| net.test.get(i).copied().unwrap_or(f64::NAN)));
        Ok(values)
    }

    fn scores(&self, table: &Table) -> Result<Option<Table>, LandscapeExperimentsError> {
        Ok(Some(with_spread(table)))
    }

    fn together(&self) -> usize {
        rayon::current_num_threads()
    }

    fn cost(&self, cell: &Cell) -> f64 {
        let width = cell.number("h") as f64;
        // Steps grow where features are learnt.
        let steps = if cell.real("control") < 1.0 { 3.0 } else { 1.0 };
        steps * (100.0 + width * width)
    }
}

impl Regimes {
    /// ln h Var F at one width less that at another, on average where outputs are calm.
    fn variance(&self) -> Test {
        let calm: Vec<String> = decades();
        let calm: Vec<String> = calm
            .into_iter()
            .filter(|c| c.parse::<f64>().is_ok_and(|c| c >= CALM))
            .collect();
        let weight = 1.0 / calm.len() as f64;
        let of = |width: usize, weight: f64| {
            calm.iter()
                .map(move |c| (weight, at(width, c)))
                .collect::<Vec<_>>()
        };
        Test::Contrast {
            measure: "spread",
            scale: Scale::Log,
            terms: [of(100, weight), of(30, -weight)].concat(),
            wanted: Wanted::Near {
                value: 0.0,
                tolerance: 1.6_f64.ln(),
            },
        }
    }
}

/// The table without the outputs, with what they say: `scaled`, α̃ times the distance from the frozen kernel, and `spread`, h n/(n − 1) times the mean square over test samples of the
/// distance of a network's F from the mean of all n networks of its condition. Its mean over runs is h Var F without bias.
fn with_spread(table: &Table) -> Table {
    let design = Design {
        factors: table.factors().to_vec().into(),
        measures: text(MEASURES.into_iter().chain(["scaled", "spread"])),
        cells: Vec::new(),
    };
    let mut scores = Table::new(&design);
    for row in &table.rows {
        let alike: Vec<&[f64]> = table
            .rows
            .iter()
            .filter(|other| other.levels == row.levels)
            .filter_map(|other| other.values.get(MEASURES.len()..))
            .filter(|outputs| outputs.iter().all(|f| f.is_finite()))
            .collect();
        let own = row.values.get(MEASURES.len()..).unwrap_or_default();
        let n = alike.len() as f64;
        let squares = own.iter().enumerate().map(|(i, f)| {
            let mean = alike.iter().map(|other| other[i]).sum::<f64>() / n;
            (f - mean).powi(2)
        });
        let width = row.levels.first().and_then(|h| h.parse::<f64>().ok());
        let spread = match alike.len() > 1 {
            true => {
                width.unwrap_or(f64::NAN) * n / (n - 1.0) * squares.sum::<f64>() / own.len() as f64
            }
            false => f64::NAN,
        };
        let mut values: Vec<f64> = row.values.iter().take(MEASURES.len()).copied().collect();
        let control = row.levels.get(1).and_then(|c| c.parse::<f64>().ok());
        values.push(
            control
                .zip(values.get(GAP))
                .map_or(f64::NAN, |(c, gap)| c * gap),
        );
        values.push(spread);
        scores.rows.push(polariscope_experiment::Row {
            levels: row.levels.clone(),
            run: row.run,
            values,
        });
    }
    scores
}
