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
use polariscope_experiment::{Cell, Claim, Design, Experiment, Row, Select, Table, Wanted, level};
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
    minutes: 0.1,
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

/// Rows of a regime.
fn at(regime: &str) -> Select {
    Select::of(&[("regime", regime)])
}

/// The measure of a kernel and a number of eigenvectors.
fn share(kernel: &str, k: usize) -> String {
    format!("{kernel}{k}")
}

impl Experiment for KernelPca {
    type Error = LandscapeExperimentsError;

    fn design(&self) -> Design {
        let sums = ["before", "after"].map(|kernel| FIRST.map(|k| share(kernel, k)));
        let measures: Vec<&str> = sums.iter().flatten().map(String::as_str).collect();
        let measures = [&ERRORS[..], &["fitted"], &measures].concat();
        let factors = [("regime", &text(REGIMES.map(|r| r.0))[..])];
        grid(&factors, self.lab.runs(5, 20), &measures)
    }

    fn claims(&self) -> Vec<Claim> {
        let zero = |tolerance| Wanted::Near {
            value: 0.0,
            tolerance,
        };
        let claim = |words: String, measure, regime, wanted| {
            Claim::new(
                format!("{regime}: {words}"),
                level(measure, at(regime), wanted),
            )
        };
        vec![
            claim(
                format!("the first {TOP} eigenvectors hold more of the labels after training"),
                "turn",
                "feature",
                Wanted::Positive,
            ),
            claim(
                format!("the first {TOP} hold the same share before and after, to 0.01"),
                "turn",
                "lazy",
                zero(0.01),
            ),
            claim(
                "the final kernel, frozen, has the network's test error to 2 points".into(),
                "by-final",
                "feature",
                zero(0.02),
            ),
            claim(
                "the initial kernel, frozen, has a higher test error".into(),
                "by-initial",
                "feature",
                Wanted::Positive,
            ),
            claim(
                "the initial kernel, frozen, has the network's test error to 1 point".into(),
                "by-initial",
                "lazy",
                zero(0.01),
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
        Ok(Some(compared(table)))
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

/// The table with what is compared: `turn`, by how much the share of the first eigenvectors grows, and by how much the frozen
/// kernels are worse than the network, `by-initial` and `by-final`.
fn compared(table: &Table) -> Table {
    let design = Design {
        factors: table.factors().to_vec().into(),
        measures: [table.measures(), &text(["turn", "by-initial", "by-final"])].concat(),
        cells: Vec::new(),
    };
    let mut compared = Table::new(&design);
    let place = |name: &str| table.measures().iter().position(|m| m == name);
    for row in &table.rows {
        let value = |name: &str| place(name).map_or(f64::NAN, |i| row.values[i]);
        let [net, initial, last] = ERRORS.map(value);
        let turn = value(&share("after", TOP)) - value(&share("before", TOP));
        compared.rows.push(Row {
            levels: row.levels.clone(),
            run: row.run,
            values: [&row.values[..], &[turn, initial - net, last - net]].concat(),
        });
    }
    compared
}
