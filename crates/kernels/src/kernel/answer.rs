//! What comes of it: the numbers of a record, and the matrices themselves.

use polariscope_report::{Align, Table, grouped};
use serde::{Deserialize, Serialize};

use super::{Kind, Survey};

/// Kernels that were computed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// Whose they are.
    pub network: String,
    /// In a few numbers.
    pub summary: Summary,
    /// What a page shows of each kernel.
    pub surveys: Vec<Survey>,
    /// Every number, where they were computed into memory.
    pub matrices: Vec<Entries>,
}

/// Every number of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entries {
    /// Which kernel.
    pub kind: Kind,
    /// Samples of the rows, times outputs where every pair of them was asked for.
    pub rows: usize,
    /// The same of the columns.
    pub columns: usize,
    /// Row by row.
    pub numbers: Vec<f64>,
}

/// Kernels in a few numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Samples of the rows.
    pub rows: usize,
    /// Samples of the columns.
    pub columns: usize,
    /// What is approximate beyond infinite width.
    #[serde(default)]
    pub approximations: Vec<String>,
    /// One for each kernel.
    pub kernels: Vec<Numbers>,
}

/// A kernel matrix in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Numbers {
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

impl Summary {
    /// For people, in tables of at most `width` columns.
    pub fn text(&self, width: usize) -> String {
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
        let mut text = table.to_text(width);
        for approximation in &self.approximations {
            text += &format!("approximate: {approximation}\n");
        }
        text + &format!(
            "{} x {} entries",
            grouped(self.rows as u64),
            grouped(self.columns as u64)
        )
    }
}

/// What a shard computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

impl Part {
    /// For people.
    pub fn text(&self) -> String {
        format!(
            "{} of {} x {} entries",
            grouped(self.entries as u64),
            grouped(self.rows as u64),
            grouped(self.columns as u64)
        )
    }
}
