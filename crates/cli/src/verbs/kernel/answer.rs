//! What `kernel` says at the end.

use polariscope_report::{Align, Table, grouped};
use serde::{Deserialize, Serialize};

use crate::output;
use crate::run::Shown;

/// The `[result]` of `run.toml`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// Samples of the rows.
    pub rows: usize,
    /// Samples of the columns.
    pub columns: usize,
    /// What is approximate beyond infinite width.
    #[serde(default)]
    pub approximations: Vec<String>,
    /// One for each kernel.
    pub kernels: Vec<Summary>,
}

/// A kernel matrix in numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// nngp or ntk.
    pub kind: String,
    /// Mean of K(x, x), where rows and columns are the same samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagonal: Option<f64>,
    /// Mean over pairs of different samples (all pairs of two lists).
    pub mean: f64,
    /// Smallest of those.
    pub min: f64,
    /// Largest of those.
    pub max: f64,
    /// Largest over smallest eigenvalue, where they were computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<f64>,
}

impl Shown for Answer {
    fn text(&self, directory: &str) -> String {
        use Align::{Left, Right};
        let mut table = Table::new([
            ("kernel", Left),
            ("mean of k(x,x)", Right),
            ("mean of k(x,x')", Right),
            ("min", Right),
            ("max", Right),
            ("condition", Right),
        ]);
        for k in &self.kernels {
            table.push([
                k.kind.clone().into(),
                k.diagonal.into(),
                k.mean.into(),
                k.min.into(),
                k.max.into(),
                k.condition.into(),
            ]);
        }
        let mut text = table.to_text(output::WIDTH);
        for approximation in &self.approximations {
            text += &format!("approximate: {approximation}\n");
        }
        text += &format!(
            "{} x {} entries; arrays and report.html in {directory}\n",
            grouped(self.rows as u64),
            grouped(self.columns as u64)
        );
        text
    }
}

/// The `[result]` of a shard.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Part {
    /// Samples of the rows of the whole.
    pub rows: usize,
    /// Samples of the columns of the whole.
    pub columns: usize,
    /// Entries that this shard computed.
    pub entries: usize,
    /// Operations a pair, from which the tiles follow.
    pub operations: f64,
}

impl Shown for Part {
    fn text(&self, directory: &str) -> String {
        format!(
            "{} of {} x {} entries in {directory}; `polariscope merge` joins the shards\n",
            grouped(self.entries as u64),
            grouped(self.rows as u64),
            grouped(self.columns as u64)
        )
    }
}
