//! What comes of a run.

use polariscope_report::Axis;
use polariscope_train::{FlowRow, Row, csv, flow_csv};
use serde::{Deserialize, Serialize};

use super::{Descended, Flowed, Followed, Scores};

/// What came of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// What learnt.
    pub network: String,
    /// What it learnt.
    pub data: String,
    /// In a few numbers.
    pub summary: Summary,
    /// What is made small, as the curves call it.
    pub loss: String,
    /// Row by row.
    pub history: History,
    /// The tangent kernel, where it was followed.
    pub tangent: Option<Followed>,
    /// The weights at the end, as safetensors.
    pub weights: Vec<u8>,
}

/// A run in a few numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Summary {
    /// Of SGD or Adam.
    Descent(Descended),
    /// Of gradient flow.
    Flow(Flowed),
}

impl Summary {
    /// Losses and accuracies at the end.
    pub fn scores(&self) -> &Scores {
        match self {
            Summary::Descent(d) => &d.scores,
            Summary::Flow(f) => &f.scores,
        }
    }

    /// For people, in tables of at most `width` columns.
    pub fn text(&self, width: usize) -> String {
        let effort = match self {
            Summary::Descent(d) => d.effort(),
            Summary::Flow(f) => f.effort(),
        };
        let scores = self.scores();
        let chance = scores.at_chance.as_ref();
        let chance = chance.map_or(String::new(), |c| format!("{}\n", c.words()));
        format!("{}\n{chance}{effort}", scores.table().to_text(width))
    }

    /// The finding.
    pub(super) fn sentence(&self) -> String {
        match self {
            Summary::Descent(d) => d.sentence(),
            Summary::Flow(f) => f.sentence(),
        }
    }
}

impl Answer {
    /// Tables and weights, by the names of their files.
    pub fn files(&self) -> Vec<(&'static str, Vec<u8>)> {
        let mut files = vec![
            ("history.csv", self.history.csv().into_bytes()),
            ("weights.safetensors", self.weights.clone()),
        ];
        if let Some(tangent) = &self.tangent {
            files.push(("ntk.csv", tangent.csv().into_bytes()));
        }
        files
    }
}

/// Losses and accuracies on the way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum History {
    /// Epoch by epoch.
    Descent(Vec<Row>),
    /// Over flow time.
    Flow(Vec<FlowRow>),
}

/// A row of either history.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// Epoch or flow time.
    pub x: f64,
    pub train_loss: f64,
    pub train_accuracy: Option<f64>,
    pub test_loss: Option<f64>,
    pub test_accuracy: Option<f64>,
}

impl History {
    /// The table as comma-separated values.
    pub fn csv(&self) -> String {
        match self {
            History::Descent(rows) => csv(rows),
            History::Flow(rows) => flow_csv(rows),
        }
    }

    /// What rows are plotted over.
    pub(super) fn axis(&self) -> Axis {
        match self {
            History::Descent(_) => Axis::linear("epoch"),
            History::Flow(_) => Axis::log("flow time"),
        }
    }

    /// When the numbers were taken.
    pub(super) fn caption(&self) -> &'static str {
        match self {
            History::Descent(_) => {
                "Training numbers are means over the epoch as the run met its batches, before each update; \
                 test numbers are of the weights at the end of the epoch. One run."
            }
            History::Flow(_) => "Both sets at the same weights. One run.",
        }
    }

    /// Row by row.
    pub(super) fn points(&self) -> Vec<Point> {
        match self {
            History::Descent(rows) => rows.iter().map(Point::from).collect(),
            History::Flow(rows) => rows.iter().map(Point::from).collect(),
        }
    }
}

impl From<&Row> for Point {
    fn from(row: &Row) -> Self {
        Self {
            x: row.epoch as f64,
            train_loss: row.train_loss,
            train_accuracy: row.train_accuracy,
            test_loss: row.test_loss,
            test_accuracy: row.test_accuracy,
        }
    }
}

impl From<&FlowRow> for Point {
    fn from(row: &FlowRow) -> Self {
        Self {
            x: row.time,
            train_loss: row.train_loss,
            train_accuracy: row.train_accuracy,
            test_loss: row.test_loss,
            test_accuracy: row.test_accuracy,
        }
    }
}
