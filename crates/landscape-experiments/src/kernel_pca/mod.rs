//! `kernel-pca` (Geiger PD Fig 10, FL Fig 8): the labels on the eigenvectors of the tangent kernel before and after training.
//!
//! ω_λ² = (φ_λ · y)²/‖y‖² with φ_λ an eigenvector of Θ on the first test samples and y their labels ±1, summed over the
//! largest eigenvalues. Beside it, the test error of training with the kernel frozen as it was before and as it is after.
//! Runs differ in the initial weights.

mod view;

#[cfg(test)]
mod tests;

use polariscope_diff::Device;
use polariscope_empirical::{MEMORY, Outputs, among};
use polariscope_experiment::grid::{grid, text};
use polariscope_experiment::{
    Cell, Claim, Design, Experiment, Row, Scale, Select, Table, Test, Wanted, level,
};
use polariscope_graph::Graph;
use polariscope_landscape::{Kernels, LandscapeError};
use polariscope_linalg::symmetric_eigen;
use polariscope_network::{Network, Weights};
use polariscope_train::{FlowConfig, Problem};

use crate::lazy::{Task, error, first, fitted, network, regime, sets, train};
use crate::{Entry, Lab, LandscapeExperimentsError};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "kernel-pca",
    source: "Geiger PD Fig 10, FL Fig 8",
    line: "labels on the eigenvectors of the tangent kernel before and after training, lazy and not",
    architecture: None,
    data: Some("stripe?shape=10&train=256&test=1000"),
    minutes: 1.0,
    make: |lab| Ok(Box::new(KernelPca::new(lab))),
};

/// Hidden layers.
const DEPTH: usize = 1;
const WIDTH: usize = 100;
/// Test samples that kernels are decomposed on.
const SAMPLES: usize = 300;
/// Eigenvectors that are summed over.
const FIRST: [usize; 9] = [1, 2, 3, 5, 10, 20, 50, 100, 200];
/// How many of them the claims are about.
const TOP: usize = 10;
/// Regimes with their α̃.
const REGIMES: [(&str, f64); 2] = [("lazy", 1e4), ("feature", 1e-2)];
/// Test errors of the network and of both frozen kernels.
const ERRORS: [&str; 3] = ["error", "initial", "final"];

struct KernelPca {
    lab: Lab,
    task: Task,
}

impl KernelPca {
    fn new(lab: &Lab) -> Self {
        KernelPca {
            lab: lab.clone(),
            task: Task::default(),
        }
    }
}

/// A regime, a kernel and a number of eigenvectors in the tidy table.
fn at(regime: &str, kernel: &str, k: usize) -> Select {
    Select::of(&[
        ("regime", regime),
        ("kernel", kernel),
        ("k", &k.to_string()),
    ])
}

/// Where the errors of a regime stand in it.
fn errors(regime: &str) -> Select {
    at(regime, "after", FIRST[0])
}

impl Experiment for KernelPca {
    type Error = LandscapeExperimentsError;

    fn design(&self) -> Design {
        let sums = ["before", "after"].map(|kernel| FIRST.map(|k| format!("{kernel}{k}")));
        let measures: Vec<&str> = sums.iter().flatten().map(String::as_str).collect();
        let measures = [&ERRORS[..], &["fitted"], &measures].concat();
        let factors = [("regime", &text(REGIMES.map(|r| r.0))[..])];
        grid(&factors, self.lab.runs(5, 20), &measures)
    }

    fn claims(&self) -> Vec<Claim> {
        let less = |measure, a, b| Test::Contrast {
            measure,
            scale: Scale::Linear,
            terms: vec![(1.0, a), (-1.0, b)],
            wanted: Wanted::Positive,
        };
        let near = |terms, tolerance| Test::Contrast {
            measure: "share",
            scale: Scale::Linear,
            terms,
            wanted: Wanted::Near {
                value: 0.0,
                tolerance,
            },
        };
        let zero = |tolerance| Wanted::Near {
            value: 0.0,
            tolerance,
        };
        vec![
            Claim::new(
                format!(
                    "feature: the first {TOP} eigenvectors hold more of the labels after training than before"
                ),
                less(
                    "share",
                    at("feature", "after", TOP),
                    at("feature", "before", TOP),
                ),
            ),
            Claim::new(
                format!("lazy: the first {TOP} hold the same share before and after, to 0.01"),
                near(
                    vec![
                        (1.0, at("lazy", "after", TOP)),
                        (-1.0, at("lazy", "before", TOP)),
                    ],
                    0.01,
                ),
            ),
            Claim::new(
                "feature: training with the final kernel frozen has the network's test error, to 2 points",
                level("by-final", errors("feature"), zero(0.02)),
            ),
            Claim::new(
                "feature: training with the initial kernel frozen has a higher one",
                level("by-initial", errors("feature"), Wanted::Positive),
            ),
            Claim::new(
                "lazy: training with the initial kernel frozen has the network's test error, to 1 point",
                level("by-initial", errors("lazy"), zero(0.01)),
            ),
        ]
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, LandscapeExperimentsError> {
        let data = self.task.data(&self.lab)?;
        let problem = Problem {
            graph: network(&data, DEPTH, WIDTH)?,
            data: (*data).clone(),
        };
        let graph = &problem.graph;
        let (learn, test, classes) = sets(&problem);
        let control = REGIMES
            .iter()
            .find(|(name, _)| *name == cell.level("regime"));
        let config = regime(control.map_or(f64::NAN, |r| r.1), WIDTH);
        let net = train(&self.lab, graph, &config, (learn, test), cell.run)?;
        let Some(net) = fitted(net) else {
            let mut values = vec![f64::NAN; ERRORS.len() + 1 + 2 * FIRST.len()];
            values[ERRORS.len()] = 0.0;
            return Ok(values);
        };
        let initial = Weights::<f64>::draw(graph, self.lab.seed, cell.run);
        let frozen = |weights: &Weights<f64>| -> Result<f64, LandscapeExperimentsError> {
            let kernels = Kernels::of(Device::Cpu, graph, weights, (learn, test))?;
            let until = FlowConfig {
                alpha: 1.0,
                ..config.clone()
            };
            Ok(error(&kernels.train(learn.y, 1, &until)?.test, classes))
        };
        let mut values = vec![
            error(&net.test, classes),
            frozen(&initial)?,
            frozen(&net.weights)?,
            1.0,
        ];
        let few = first(test, graph.input().len(), SAMPLES);
        for weights in [&initial, &net.weights] {
            values.extend(shares(graph, weights, few.x, &classes[..few.len()])?);
        }
        Ok(values)
    }

    fn scores(&self, table: &Table) -> Result<Option<Table>, LandscapeExperimentsError> {
        Ok(Some(tidy(table)))
    }

    fn together(&self) -> usize {
        rayon::current_num_threads()
    }
}

/// Share of ‖y‖² on the first eigenvectors of a network's kernel, for every number of them.
fn shares(
    graph: &Graph,
    weights: &Weights<f64>,
    x: &[f32],
    classes: &[u32],
) -> Result<Vec<f64>, LandscapeExperimentsError> {
    let network = Network::new(graph.clone());
    let x: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
    let kernel = among(&network, weights, &x, Outputs::Mean, MEMORY);
    let kernel = kernel.map_err(LandscapeError::from)?;
    let n = classes.len();
    let eigen = symmetric_eigen(&kernel, n).map_err(LandscapeError::from)?;
    let y: Vec<f64> = classes
        .iter()
        .map(|&c| if c == 1 { 1.0 } else { -1.0 })
        .collect();
    let on = |vector: &[f64]| {
        vector
            .iter()
            .zip(&y)
            .map(|(v, y)| v * y)
            .sum::<f64>()
            .powi(2)
    };
    let projections: Vec<f64> = eigen.vectors.chunks_exact(n).map(on).collect();
    let sum = |k: usize| projections.iter().take(k).sum::<f64>() / n as f64;
    Ok(FIRST.map(sum).into())
}

/// One row a regime, a kernel and a number of eigenvectors; errors stand beside one of them.
fn tidy(table: &Table) -> Table {
    let design = Design {
        factors: text(["regime", "kernel", "k"]).into(),
        measures: text([
            "share",
            "error",
            "initial",
            "final",
            "by-initial",
            "by-final",
            "fitted",
        ]),
        cells: Vec::new(),
    };
    let mut tidy = Table::new(&design);
    for row in &table.rows {
        let value = |i: usize| row.values.get(i).copied().unwrap_or(f64::NAN);
        for (i, kernel) in ["before", "after"].into_iter().enumerate() {
            for (j, k) in FIRST.into_iter().enumerate() {
                let own = kernel == "after" && j == 0;
                let beside = |x: f64| if own { x } else { f64::NAN };
                let share = value(ERRORS.len() + 1 + i * FIRST.len() + j);
                let [net, initial, last] = [0, 1, 2].map(value);
                tidy.rows.push(Row {
                    levels: row
                        .levels
                        .iter()
                        .cloned()
                        .chain([kernel.into(), k.to_string()])
                        .collect(),
                    run: row.run,
                    values: [
                        &[share][..],
                        &[
                            net,
                            initial,
                            last,
                            initial - net,
                            last - net,
                            value(ERRORS.len()),
                        ]
                        .map(beside),
                    ]
                    .concat(),
                });
            }
        }
    }
    tidy
}
