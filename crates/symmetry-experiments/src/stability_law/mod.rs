//! `stability-law` (Petrini et al. 2021): test error ε against D, G and R = D/G over architectures.
//!
//! A cell trains one network on P samples and measures ε on the test samples and D_f, G_f, R_f of its outputs, R of layers at three
//! depths, and the same before training. Deformations and averages are those of the code of the source: δ = 1 (nominal), c = 3.

mod recipe;
mod settings;
#[cfg(test)]
mod tests;
mod view;

use polariscope_data::Dataset;
use polariscope_diff::Place;
use polariscope_experiment::{
    Cell, Claim, Design, Experiment, Row, Scale, Select, Table, Test, Wanted,
};
use polariscope_graph::{Graph, ZooOptions, zoo};
use polariscope_lens::{Quiet as Unwatched, Setup};
use polariscope_random::Stream;
use polariscope_symmetry::stability::{self, Question, Rules};
use polariscope_symmetry::{Learnt, Subject};
use polariscope_train::{Evaluator, Problem, Quiet, Samples, State, TrainError, Trainer};

use crate::SymmetryExperimentsError;
use crate::samples::{first, samples};
use recipe::recipe;
pub(crate) use settings::ENTRY;

/// Test images that are deformed.
const IMAGES: usize = 500;
/// Test samples of ε, at most.
const TESTS: usize = 10_000;
/// Relative depths at which layers are looked at, with the names of their measures.
const DEPTHS: [(f64, &str); 3] = [(0.25, "R_25"), (0.5, "R_50"), (0.75, "R_75")];
const MEASURES: [&str; 10] = [
    "error", "D", "G", "R", "D_first", "G_first", "R_first", "R_25", "R_50", "R_75",
];

/// The experiment.
pub(crate) struct Law {
    data: Dataset,
    architectures: Vec<String>,
    /// Training samples, growing.
    counts: Vec<usize>,
    /// Those at which all architectures are compared.
    compared: Vec<usize>,
    /// Runs, each with its own samples and weights.
    runs: u64,
    seed: u64,
    place: Place,
    /// Rows of tables that were measured before.
    known: Vec<Row>,
}

/// Architectures whose R is followed over P.
const FOLLOWED: [&str; 3] = ["fc-4", "lenet", "resnet18"];
/// From so many samples on the others have one run.
const MANY: usize = 20_000;

impl Law {
    fn graph(&self, name: &str) -> Result<Graph, SymmetryExperimentsError> {
        let options = ZooOptions {
            outputs: Some(self.data.classes),
            ..ZooOptions::with_input(self.data.shape)
        };
        Ok(zoo(name, &options)?)
    }

    /// The largest P at which an architecture is.
    fn most(&self, architecture: &str) -> Option<String> {
        let cells = self.design().cells;
        let own = cells
            .iter()
            .filter(|c| c.level("architecture") == architecture);
        own.map(|c| c.number("P")).max().map(|p| p.to_string())
    }

    /// P at which all architectures are compared, as levels.
    fn compared(&self) -> Vec<String> {
        self.compared.iter().map(usize::to_string).collect()
    }
}

fn at(architecture: &str, p: &str) -> Select {
    Select::of(&[("architecture", architecture), ("P", p)])
}

impl Experiment for Law {
    type Error = SymmetryExperimentsError;

    fn design(&self) -> Design {
        let counts: Vec<String> = self.counts.iter().map(usize::to_string).collect();
        let refs = |v: &'_ [String]| v.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
        let (architectures, counts) = (refs(&self.architectures), refs(&counts));
        let factors: [(&str, &[&str]); 2] = [
            ("architecture", &architectures.lines().collect::<Vec<_>>()),
            ("P", &counts.lines().collect::<Vec<_>>()),
        ];
        let design = Design::product(&factors, self.runs, &MEASURES);
        design.retain(|cell| {
            let p = cell.number("P");
            FOLLOWED.contains(&cell.level("architecture"))
                || (self.compared.contains(&p) && (p < MANY || cell.run == 0))
        })
    }

    fn claims(&self) -> Vec<Claim> {
        let has = |name: &str| self.architectures.iter().any(|a| a == name);
        let mut claims = Vec::new();
        let change = |terms, wanted| Test::Contrast {
            measure: "change",
            scale: Scale::Log,
            terms,
            wanted,
        };
        if let Some(p) = self.most("resnet18").filter(|_| has("resnet18")) {
            claims.push(Claim::new(
                format!("resnet18: R after training on {p} samples is a fifth of its first value or less"),
                change(vec![(1.0, at("resnet18", &p))], Wanted::AtMost(-(5f64.ln()))),
            ));
        }
        if let Some(p) = self.most("fc-4").filter(|_| has("fc-4")) {
            claims.push(Claim::new(
                format!("fc-4: R does not fall by training on {p} samples"),
                change(vec![(1.0, at("fc-4", &p))], Wanted::AtLeast(0.0)),
            ));
        }
        if self.architectures.len() > 3 {
            for p in self.compared() {
                let along = self.architectures.iter().map(|a| at(a, &p)).collect();
                claims.push(Claim::new(
                    format!("P = {p}: architectures with a smaller R have a smaller error"),
                    Test::Together {
                        x: "R",
                        y: "error",
                        along,
                        least: 0.0,
                    },
                ));
            }
        }
        claims
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, SymmetryExperimentsError> {
        let known = |row: &&Row| row.run == cell.run && row.levels == cell.levels;
        if let Some(row) = self.known.iter().find(known) {
            return Ok(row.values.clone());
        }
        let graph = self.graph(cell.level("architecture"))?;
        let seed = self.seed.wrapping_mul(1000) + cell.run;
        let p = cell.number("P");
        let chosen = |split, seed, name, count| {
            first(
                split,
                self.data.shape.len(),
                Stream::new(seed, 0, name),
                count,
            )
        };
        let learnt = chosen(&self.data.train, seed, "stability-law.train", p);
        let tests = chosen(&self.data.test, self.seed, "stability-law.test", TESTS);
        let config = recipe(cell.level("architecture"), &graph, p, seed);
        let state = State::<f32>::new(&graph, &config, 0);
        let train = samples(&learnt);
        let mut trainer = Trainer::on(self.place, &graph, &config, (train, None), state)?;
        match trainer.run(&mut Quiet) {
            Err(TrainError::Diverged(_)) => return Ok(vec![f64::NAN; MEASURES.len()]),
            other => other?,
        };
        let weights = trainer.into_state().weights;
        let evaluator = Evaluator::on(self.place.device, &graph, config.loss);
        let test: Samples<'_> = samples(&tests);
        let accuracy = evaluator.evaluate(&weights, &test, &[])?.accuracy;
        drop(evaluator);
        let few: Vec<usize> = (0..tests.len().min(IMAGES)).collect();
        let data = Dataset {
            train: learnt.select(self.data.shape.len(), &[]),
            test: tests.select(self.data.shape.len(), &few),
            name: self.data.name.clone(),
            shape: self.data.shape,
            classes: self.data.classes,
            class_names: self.data.class_names.clone(),
        };
        let subject = Subject {
            problem: Problem { graph, data },
            learnt: Learnt::Given(weights),
        };
        let question = Question {
            setup: Setup {
                seed,
                device: self.place.device,
                precision: self.place.precision,
                ..Setup::default()
            },
            images: IMAGES,
            others: 0,
            rules: Rules::CODE,
            ..Question::default()
        };
        let summary = stability::answer(&subject, &question, &mut Unwatched)?.summary;
        let [before, after] = &summary.networks[..] else {
            return Ok(vec![f64::NAN; MEASURES.len()]);
        };
        let of = |n: &stability::Network| {
            let point = n.asked();
            [point.deformation, point.noise, point.relative].map(|v| v.value)
        };
        let layer = |depth: f64| {
            let near = |l: &&stability::Depth| (l.depth - depth).abs();
            let nearest = after
                .layers
                .iter()
                .min_by(|a, b| near(a).total_cmp(&near(b)));
            nearest.map_or(f64::NAN, |l| l.relative.value)
        };
        let error = accuracy.map_or(f64::NAN, |a| 1.0 - a);
        let outputs = of(after).into_iter().chain(of(before));
        let depths = DEPTHS.map(|(depth, _)| layer(depth));
        Ok([error].into_iter().chain(outputs).chain(depths).collect())
    }

    fn scores(&self, table: &Table) -> Result<Option<Table>, SymmetryExperimentsError> {
        Ok(Some(scored(table)))
    }

    fn cost(&self, cell: &Cell) -> f64 {
        let name = cell.level("architecture");
        let work = self.graph(name).map_or(1.0, |g| {
            // Small networks wait for the device rather than compute.
            1e7 + polariscope_network::multiplications(&g) as f64
        });
        work * recipe::passes(cell.number("P"))
    }
}

/// The table with `change`, R over its first value.
fn scored(table: &Table) -> Table {
    let measures = table.measures().iter().cloned().chain(["change".into()]);
    let mut scored = Table::new(&Design {
        factors: table.factors().to_vec().into(),
        measures: measures.collect(),
        cells: Vec::new(),
    });
    let column = |name: &str| MEASURES.iter().position(|m| *m == name);
    for row in &table.rows {
        let value = |name| column(name).and_then(|k| row.values.get(k)).copied();
        let change = value("R")
            .zip(value("R_first"))
            .map_or(f64::NAN, |(r, first)| r / first);
        scored.rows.push(Row {
            values: row.values.iter().copied().chain([change]).collect(),
            ..row.clone()
        });
    }
    scored
}
