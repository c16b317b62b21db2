//! What was found.

use polariscope_data::npy;
use polariscope_graph::Shape;
use polariscope_report::{Align, Table, counted};
use serde::{Deserialize, Serialize};

use super::job::norms;
use super::{Number, Spread};
use crate::Inputs;

/// What was found, sample by sample.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer<T> {
    /// What answered.
    pub network: String,
    /// Shape of a sample.
    pub shape: Shape,
    /// Number of samples, then the dimensions of a sample.
    pub dims: Vec<usize>,
    /// In a few numbers.
    pub summary: Summary,
    /// N × outputs.
    pub output: Vec<T>,
    /// N × sample.
    pub gradient: Option<Vec<T>>,
    /// N × sample.
    pub tangent: Option<Vec<T>>,
}

/// What was found, in a few numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Samples.
    pub samples: usize,
    /// Outputs of the network.
    pub outputs: usize,
    /// Of all outputs of all samples.
    pub output: Spread,
    /// Of the gradient's Euclidean norm over samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gradient_norm: Option<Spread>,
    /// Of the tangent's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gradient_tangent_norm: Option<Spread>,
}

impl<T: Number> Answer<T> {
    /// Arrays, by the names of their files.
    pub fn files(&self) -> Vec<(&'static str, Vec<u8>)> {
        let outputs = [self.summary.samples, self.summary.outputs];
        let mut files = vec![("output.npy", npy::encode(&outputs, &self.output))];
        for (name, values) in [
            ("gradient.npy", &self.gradient),
            ("gradient_tangent.npy", &self.tangent),
        ] {
            if let Some(values) = values {
                files.push((name, npy::encode(&self.dims, values)));
            }
        }
        files
    }
}

impl Summary {
    pub(super) fn new<T: Number>(
        inputs: &Inputs<T>,
        output: &[T],
        gradient: Option<&Vec<T>>,
        tangent: Option<&Vec<T>>,
    ) -> Self {
        let (samples, sample) = (inputs.count(), inputs.shape.len());
        let norm = |values: Option<&Vec<T>>| values.map(|v| Spread::of(&norms(v, sample)));
        let outputs: Vec<f64> = output.iter().map(|x| x.to_f64()).collect();
        Self {
            samples,
            outputs: output.len() / samples.max(1),
            output: Spread::of(&outputs),
            gradient_norm: norm(gradient),
            gradient_tangent_norm: norm(tangent),
        }
    }

    /// For people, in tables of at most `width` columns.
    pub fn text(&self, width: usize) -> String {
        format!(
            "{}\n{}, {}",
            self.table().to_text(width),
            counted(self.samples as u64, "sample"),
            counted(self.outputs as u64, "output"),
        )
    }

    fn table(&self) -> Table {
        use Align::{Left, Right};
        let mut table = Table::new([
            ("quantity", Left),
            ("mean", Right),
            ("std", Right),
            ("min", Right),
            ("max", Right),
        ]);
        let rows = [
            ("output", Some(self.output)),
            ("‖gradient‖", self.gradient_norm),
            ("‖gradient tangent‖", self.gradient_tangent_norm),
        ];
        for (name, spread) in rows {
            if let Some(s) = spread {
                table.push([
                    name.into(),
                    s.mean.into(),
                    s.std.into(),
                    s.min.into(),
                    s.max.into(),
                ]);
            }
        }
        table
    }
}
