//! `jamming-point` (Geiger et al. 2019, Fig 1; Spigler et al. 2019, Fig 3): N*(P), the number of weights at which P patterns
//! start to fit, with random labels and with true ones.

mod problem;
mod search;
mod view;

use polariscope_diff::Device;
use polariscope_experiment::grid::{along, grid, text};
use polariscope_experiment::{
    Cell, Claim, Design, Experiment, Memo, Row, Scale, Select, Table, Test, Wanted, exponent,
};
use polariscope_graph::Activation;
use polariscope_train::Control;

use crate::machine::{hinge, sizes, train};
use crate::scored::scored;
use crate::{Entry, Lab, LandscapeExperimentsError};
use problem::{Family, Pool};
use search::bracket;

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "jamming-point",
    source: "Geiger 2019 Fig 1",
    line: "how many weights P patterns need, with random labels and with true ones",
    architecture: Some("mlp-2x18"),
    data: Some("stripe?shape=10"),
    minutes: 6.0,
    make: |lab| {
        let families = Family::of(&lab.architecture)?;
        Ok(Box::new(JammingPoint {
            lab: lab.clone(),
            families,
            pool: Memo::default(),
        }))
    },
};

/// Random labels on random points, as many dimensions as units.
const SPHERE: &str = "sphere";
/// Random labels on the inputs of the data.
const RANDOM: &str = "random";
/// The labels of the data.
const TRUE: &str = "true";

/// Patterns of the series on the sphere; at the last one networks have at least 18 units.
const ON_SPHERE: [usize; 3] = [500, 1000, 2000];
/// Patterns of the deeper network, and of tanh.
const FEW: [usize; 2] = [400, 1600];
/// A network fits that leaves at most this many patterns a weight.
const LEFT: f64 = 0.1;

struct JammingPoint {
    lab: Lab,
    /// The network that was named, and a deeper one where there is one.
    families: Vec<Family>,
    pool: Memo<(), Pool>,
}

impl JammingPoint {
    /// Patterns of the data.
    fn patterns(&self) -> Vec<usize> {
        self.lab.pick(
            vec![200, 400, 800, 1600],
            vec![200, 400, 800, 1600, 3200, 6400],
        )
    }

    fn sphere(&self) -> Vec<usize> {
        match self.families[0] {
            Family::Mlp { .. } => self
                .lab
                .pick(ON_SPHERE.into(), vec![500, 1000, 2000, 4000, 8000]),
            // Images have no shape of as many dimensions as units.
            Family::Named { .. } => Vec::new(),
        }
    }

    fn first(&self) -> String {
        self.families[0].to_string()
    }

    /// Whether a condition is measured.
    fn keeps(&self, cell: &Cell) -> bool {
        let (task, patterns) = (cell.level("labels"), cell.number("P"));
        let first = cell.level("network") == self.first();
        let relu = cell.level("activation") == Activation::Relu.to_string();
        match task {
            SPHERE => first && relu && self.sphere().contains(&patterns),
            _ if !self.patterns().contains(&patterns) => false,
            _ if first && relu => true,
            _ => (relu || first && task == RANDOM) && FEW.contains(&patterns),
        }
    }

    /// Rows of a task of the first network with ReLU.
    fn at<'a>(&'a self, task: &'a str, first: &'a str) -> [(&'a str, &'a str); 3] {
        [("labels", task), ("network", first), ("activation", "relu")]
    }
}

const MEASURES: [&str; 8] = [
    "star",
    "ratio",
    "fits",
    "fails",
    "parameters",
    "width",
    "frozen",
    "trained",
];

impl Experiment for JammingPoint {
    type Error = LandscapeExperimentsError;

    fn design(&self) -> Design {
        let mut patterns = [self.patterns(), self.sphere()].concat();
        patterns.sort_unstable();
        patterns.dedup();
        let activations = [Activation::Relu, Activation::Tanh];
        let factors = [
            ("labels", &text([SPHERE, RANDOM, TRUE])[..]),
            ("network", &text(&self.families)),
            ("activation", &text(activations)),
            ("P", &text(patterns)),
        ];
        grid(&factors, self.lab.runs(3, 10), &MEASURES).retain(|cell| self.keeps(cell))
    }

    fn claims(&self) -> Vec<Claim> {
        let first = self.first();
        let mut claims = Vec::new();
        let slope = |task: &str, patterns: &[usize]| {
            let levels = text(patterns);
            let at = along("P", &levels, &self.at(task, &first));
            let points: Vec<(f64, Select)> = patterns.iter().map(|&p| p as f64).zip(at).collect();
            Test::Contrast {
                measure: "star",
                scale: Scale::Log,
                terms: exponent(&points),
                wanted: Wanted::Near {
                    value: 0.95,
                    tolerance: 0.2,
                },
            }
        };
        let sphere = self.sphere();
        if let Some(last) = sphere.last().map(usize::to_string) {
            claims.push(Claim::new(
                format!("random labels on {last} random points: P/N* lies between 2.0 and 3.4"),
                Test::Certain {
                    measure: "ratio",
                    at: Select::of(&[&self.at(SPHERE, &first)[..], &[("P", &last)]].concat()),
                    wanted: Wanted::Near {
                        value: 2.7,
                        tolerance: 0.7,
                    },
                },
            ));
            claims.push(Claim::new(
                "random labels on random points: N* grows as P to the power of 0.75 to 1.15",
                slope(SPHERE, &sphere),
            ));
        }
        claims.push(Claim::new(
            "random labels on the data: N* grows as P to the power of 0.75 to 1.15",
            slope(RANDOM, &self.patterns()),
        ));
        claims.push(Claim::new(
            "with relu N* is at most 4P",
            Test::Certain {
                measure: "ratio",
                at: Select::of(&[("activation", "relu")]),
                wanted: Wanted::AtLeast(0.25),
            },
        ));
        for (i, family) in self.families.iter().enumerate() {
            let (network, patterns) = (family.to_string(), self.patterns());
            for p in patterns.into_iter().filter(|p| i == 0 || FEW.contains(p)) {
                let p = p.to_string();
                let of = |task: &str| {
                    Select::of(&[
                        ("labels", task),
                        ("network", &network),
                        ("activation", "relu"),
                        ("P", &p),
                    ])
                };
                claims.push(Claim::new(
                    format!("{network}, P = {p}: true labels need fewer weights than random ones"),
                    Test::Above {
                        measure: "star",
                        upper: of(RANDOM),
                        lower: of(TRUE),
                    },
                ));
            }
        }
        claims.push(Claim::new(
            "the share of the weights that true labels need falls with P",
            Test::Trend {
                measure: "share",
                along: along("P", &text(self.patterns()), &self.at(TRUE, &first)),
                sign: -1.0,
            },
        ));
        let last = FEW[FEW.len() - 1].to_string();
        let random = |network: &str, activation: &str| {
            Select::of(&[
                ("labels", RANDOM),
                ("network", network),
                ("activation", activation),
                ("P", &last),
            ])
        };
        if let [a, b] = &self.families[..] {
            claims.push(Claim::new(
                format!("{a} and {b} need the same number for random labels, to 25 %"),
                Test::Contrast {
                    measure: "star",
                    scale: Scale::Log,
                    terms: vec![
                        (1.0, random(&b.to_string(), "relu")),
                        (-1.0, random(&first, "relu")),
                    ],
                    wanted: Wanted::Near {
                        value: 0.0,
                        tolerance: 0.25,
                    },
                },
            ));
        }
        claims.push(Claim::new(
            "tanh fits more random labels a weight than relu",
            Test::Above {
                measure: "ratio",
                upper: random(&first, "tanh"),
                lower: random(&first, "relu"),
            },
        ));
        claims
    }

    fn prepare(&self) -> Result<(), LandscapeExperimentsError> {
        self.pool().map(|_| ())
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, LandscapeExperimentsError> {
        let (task, patterns) = (cell.level("labels"), cell.number("P"));
        let families = self.families.iter();
        let mut own = families.filter(|f| f.to_string() == cell.level("network"));
        let family = own.next().unwrap_or(&self.families[0]);
        let activation = cell.level("activation").parse();
        let activation = activation.unwrap_or(Activation::Relu);
        let pool = self.pool()?;
        let from = (self.lab.seed, cell.run);
        let descent = self.lab.pick(
            hinge(0.5, (1e-3, Some(10_000)), 20_000),
            hinge(0.5, (1e-4, Some(250_000)), 2_000_000),
        );
        let (mut trained, mut last) = (0, None);
        let problem = |width: usize| match task {
            SPHERE => problem::sphere(width, patterns, from),
            _ => pool.choose(patterns, from, task == RANDOM),
        };
        // Twice to four times as many patterns as weights is where random labels jam, and true ones need fewer.
        let guess = family.width(patterns as f64 / if task == TRUE { 10.0 } else { 2.5 });
        let found = bracket(guess, |width| {
            let (shape, split) = problem(width)?;
            let graph = family.graph(width, shape, activation)?;
            let most = (LEFT * sizes(&graph)[0] as f64) as usize;
            let end = train(Device::Cpu, &graph, &descent, from, &split, |seen| {
                match seen.gaps.unsatisfied <= most {
                    true => Control::Stop,
                    false => Control::Continue,
                }
            })?;
            trained += 1;
            let fits = end.fitted.gaps.unsatisfied <= most;
            if fits {
                last = Some((sizes(&graph), end.frozen));
            }
            Ok::<_, LandscapeExperimentsError>(fits)
        })?;
        let (Some(found), Some(([fits, parameters], frozen))) = (found, last) else {
            return Ok(vec![f64::NAN; MEASURES.len()]);
        };
        let fails = match found.fails {
            0 => f64::NAN,
            width => {
                let shape = match task {
                    SPHERE => problem::dimensions(width),
                    _ => pool.shape(),
                };
                sizes(&family.graph(width, shape, activation)?)[0] as f64
            }
        };
        // Where the narrowest network fits, N* is no more than it has.
        let star = if fails.is_nan() {
            fits as f64
        } else {
            (fits as f64 * fails).sqrt()
        };
        Ok(vec![
            star,
            patterns as f64 / star,
            fits as f64,
            fails,
            parameters as f64,
            found.fits as f64,
            frozen as f64,
            f64::from(trained),
        ])
    }

    /// With the share of the weights for random labels that true ones need, run by run.
    fn scores(&self, table: &Table) -> Result<Option<Table>, LandscapeExperimentsError> {
        let labels = table.factors().iter().position(|f| f == "labels");
        let Some(labels) = labels else {
            return Ok(None);
        };
        let random = |row: &Row| {
            let mut levels = row.levels.clone();
            levels[labels] = RANDOM.into();
            let mut rows = table.rows.iter();
            rows.find(|other| other.run == row.run && other.levels == levels)
        };
        let share = |row: &Row| match row.levels[labels].as_str() {
            TRUE => random(row).map_or(f64::NAN, |other| row.values[0] / other.values[0]),
            _ => f64::NAN,
        };
        Ok(Some(scored(table, &["share"], |row| vec![share(row)])))
    }

    fn together(&self) -> usize {
        4 * rayon::current_num_threads()
    }

    fn cost(&self, cell: &Cell) -> f64 {
        // Steps cost P times N, which is in proportion to P for random labels.
        let patterns = cell.real("P");
        match cell.level("labels") {
            TRUE => 300.0 * patterns,
            _ => 300.0 * patterns + patterns * patterns,
        }
    }
}

impl JammingPoint {
    fn pool(&self) -> Result<std::sync::Arc<Pool>, LandscapeExperimentsError> {
        let most = self.patterns().into_iter().max().unwrap_or(0);
        self.pool.get((), || Pool::new(&self.lab, most))
    }
}
