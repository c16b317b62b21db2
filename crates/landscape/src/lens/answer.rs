//! What comes of it: the numbers of a record, tables, files.

use polariscope_data::npy;
use polariscope_report::{Align, Cell, Table, counted, grouped};
use serde::{Deserialize, Serialize};

use super::{Dynamics, Network, Sampled, Statistics};
use crate::effective::{Effective, Parameters};
use crate::spread::Curve;

/// What was found.
#[derive(Clone, Debug)]
pub struct Answer {
    /// In words and numbers.
    pub summary: Summary,
    /// Steps of each network, and margins that were not met then.
    pub histories: Vec<Vec<(u64, usize)>>,
    /// F of each network on the test samples.
    pub outputs: Vec<Vec<f64>>,
}

/// What was found, in words and numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The architecture.
    pub network: String,
    /// What it learnt.
    pub data: String,
    /// The findings.
    pub words: Vec<String>,
    /// What is not told, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Samples learnt.
    pub train_samples: usize,
    /// Samples judged by.
    pub test_samples: usize,
    /// Outputs of the network.
    pub outputs: usize,
    /// How it was trained.
    pub training: Dynamics,
    /// Parameters by convention.
    pub parameters: Parameters,
    /// Networks that meet every margin.
    pub fitted: usize,
    /// Over networks.
    pub statistics: Statistics,
    /// ε(m).
    pub curve: Curve,
    /// Each network.
    pub networks: Vec<Network>,
}

/// A row of the table: what, and the number.
type Row = (&'static str, Option<Sampled>);

impl Summary {
    /// Margins to be met.
    pub fn constraints(&self) -> usize {
        self.train_samples * self.outputs
    }

    /// Ranks that were found.
    pub(super) fn effective(&self) -> impl Iterator<Item = &Effective> {
        self.networks.iter().filter_map(|n| n.effective.as_ref())
    }

    /// Parameters by every convention.
    pub(super) fn conventions(&self) -> Table {
        use Align::{Left, Right};
        let mut table = Table::new([("parameters", Left), ("number", Right), ("", Left)]);
        let mut row = |name: &str, number: String, what: String| {
            table.push([name.into(), Cell::Text(number), what.into()]);
        };
        let Parameters {
            all,
            weights,
            scalable,
        } = self.parameters;
        row(
            "all",
            grouped(all as u64),
            "everything that is trained".into(),
        );
        let matrices = "matrices and kernels, without biases and norms";
        row("weights", grouped(weights as u64), matrices.into());
        let found: Vec<&Effective> = self.effective().collect();
        match found.first() {
            Some(first) => {
                let rank = match self.statistics.effective {
                    Some(ranks) if ranks.estimate.standard_error > 0.0 => ranks.estimate.pair(),
                    _ => grouped(first.rank as u64),
                };
                let sharp = found.iter().all(|found| found.is_clear());
                let what = format!(
                    "rank on {}, {}{}",
                    counted(first.samples as u64, "sample"),
                    counted(found.len() as u64, "network"),
                    if sharp { "" } else { ", not sharp" }
                );
                row("effective, N_eff", rank, what);
            }
            None if scalable > 0 => row(
                "effective, N_eff",
                format!("≤ {}", grouped(self.parameters.bound() as u64)),
                format!(
                    "{} can be scaled up in one map and down in the next",
                    counted(scalable as u64, "unit")
                ),
            ),
            None => {}
        }
        let constraints = format!(
            "{} × {}",
            counted(self.train_samples as u64, "sample"),
            counted(self.outputs as u64, "output")
        );
        row("margins", grouped(self.constraints() as u64), constraints);
        table
    }

    /// Numbers over networks.
    pub(super) fn table(&self) -> Table {
        use Align::{Left, Right};
        let mut table = Table::new([
            ("over networks", Left),
            ("mean", Right),
            ("95 % interval", Right),
            ("networks", Right),
        ]);
        for (name, sampled) in self.rows() {
            if let Some(sampled) = sampled {
                let [value, interval, count] = sampled.cells();
                table.push([name.into(), value, interval, count]);
            }
        }
        table
    }

    fn rows(&self) -> Vec<Row> {
        let s = &self.statistics;
        vec![
            ("steps", s.steps),
            ("margins not met, N_Δ", s.unsatisfied),
            ("training samples misclassified", s.misclassified),
            ("dead units", s.dead),
            ("‖ΔΘ‖/‖Θ₀‖", s.kernel),
            ("‖Δw‖/‖w₀‖", s.weights),
            ("largest eigenvalue of the Hessian", s.largest),
            ("smallest eigenvalue", s.smallest),
            ("share of negative eigenvalues", s.negative),
            ("rank of H₀", s.rank),
            ("H_p: negative over positive", s.balance),
            ("alignment with labels, before", s.alignment_before),
            ("alignment with labels, after", s.alignment_after),
            ("test error of a network, ε", s.error),
            ("… kernel frozen at the start", s.frozen_start),
            ("… kernel frozen at the end", s.frozen_end),
            ("… mean output of all networks", s.ensemble),
            ("… of infinitely many, ε̄_∞", s.limit),
            ("what noise adds, ε − ε̄_∞", s.noise),
            ("variance, Var F", s.variance),
            ("decided unlike the ensemble", s.disagreement),
            ("distance of boundaries, δ", s.distance),
            ("δ from mean squares", s.distance_overall),
        ]
    }

    /// For people, in tables of at most `width` columns.
    pub fn text(&self, width: usize) -> String {
        format!(
            "{}\n{}",
            self.conventions().to_text(width),
            self.table().to_text(width)
        )
    }

    /// A row a network.
    pub(super) fn each(&self) -> Table {
        use Align::{Left, Right};
        let mut table = Table::new([
            ("network", Right),
            ("steps", Right),
            ("fitted", Left),
            ("not met", Right),
            ("misclassified", Right),
            ("dead samples", Right),
            ("dead units", Right),
            ("N_eff", Right),
            ("kernel change", Right),
            ("weight change", Right),
            ("test error", Right),
            ("frozen start", Right),
            ("frozen end", Right),
            ("λ largest", Right),
            ("λ smallest", Right),
        ]);
        for n in &self.networks {
            let frozen = |f: fn(&super::FrozenPair) -> f64| n.frozen.as_ref().map(f).into();
            let curvature = |f: fn(&super::Curvature) -> f64| n.curvature.as_ref().map(f).into();
            table.push([
                Cell::Count(n.index),
                Cell::Count(n.steps),
                if n.fitted { "yes" } else { "no" }.into(),
                n.gaps.unsatisfied.into(),
                n.gaps.misclassified.into(),
                n.dead_patterns.into(),
                n.dead_units.iter().map(|d| d.1.len()).sum::<usize>().into(),
                n.effective.as_ref().map(|e| e.rank as f64).into(),
                n.kernel.map(|k| k.change).into(),
                n.moved.into(),
                n.test_error.into(),
                frozen(|f| f.start.test_error),
                frozen(|f| f.end.test_error),
                curvature(|c| c.largest),
                curvature(|c| c.smallest),
            ]);
        }
        table
    }
}

impl Answer {
    /// Arrays and tables, by the names of their files.
    pub fn files(&self) -> Vec<(&'static str, Vec<u8>)> {
        use Align::Right;
        let summary = &self.summary;
        let mut curve = Table::new([
            ("networks", Right),
            ("test_error", Right),
            ("standard_error", Right),
        ]);
        for (m, e) in &summary.curve.points {
            curve.push([(*m).into(), e.value.into(), e.standard_error.into()]);
        }
        let mut history = Table::new([("network", Right), ("step", Right), ("not_met", Right)]);
        for (n, rows) in summary.networks.iter().zip(&self.histories) {
            for (step, unsatisfied) in rows {
                history.push([
                    Cell::Count(n.index),
                    Cell::Count(*step),
                    (*unsatisfied).into(),
                ]);
            }
        }
        let shape = [self.outputs.len(), summary.test_samples, summary.outputs];
        let mut files = vec![
            ("networks.csv", summary.each().to_csv().into_bytes()),
            ("ensemble.csv", curve.to_csv().into_bytes()),
            ("history.csv", history.to_csv().into_bytes()),
            ("outputs.npy", npy::encode(&shape, &self.outputs.concat())),
        ];
        let mut layers = Table::new([
            ("layer", Align::Left),
            ("weight_change", Right),
            ("standard_error", Right),
        ]);
        for layer in &summary.statistics.layers {
            let e = layer.moved.estimate;
            layers.push([
                layer.name.as_str().into(),
                e.value.into(),
                e.standard_error.into(),
            ]);
        }
        files.push(("layers.csv", layers.to_csv().into_bytes()));
        let mut dead = Table::new([("network", Right), ("layer", Align::Left), ("unit", Right)]);
        for n in &summary.networks {
            for (layer, units) in &n.dead_units {
                for &unit in units {
                    dead.push([Cell::Count(n.index), layer.as_str().into(), unit.into()]);
                }
            }
        }
        files.push(("dead.csv", dead.to_csv().into_bytes()));
        files
    }
}
