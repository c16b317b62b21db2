//! Data, and the architecture that they decide.

use polariscope_data::{Dataset, Labels};

use crate::args::ArchitectureArgs;
use crate::error::CliError;
use crate::verbs::train::problem::{Problem, fitted};

/// An architecture fitted to a data set.
pub struct Subject {
    /// What was typed, with input and outputs as the data have them.
    pub architecture: ArchitectureArgs,
    /// The network and the data.
    pub problem: Problem,
}

impl Subject {
    /// The data decide the input, and the outputs where they are left open.
    pub fn new(architecture: &ArchitectureArgs, data: Dataset) -> Result<Self, CliError> {
        let architecture = fitted(architecture, &data)?;
        let graph = architecture.graph()?;
        Ok(Self {
            architecture,
            problem: Problem { graph, data },
        })
    }

    /// The data for `run.toml`.
    pub fn configure(&self, table: &mut toml::Table) {
        let data = &self.problem.data;
        table.insert("data".into(), data.name.clone().into());
        let samples = toml::Value::Integer(data.train.len() as i64);
        table.insert("data_samples".into(), samples);
        table.insert("data_fingerprint".into(), self.problem.fingerprint().into());
    }

    /// What people call the data: the specification without paths and parameters.
    pub fn data_name(&self) -> &str {
        let text = self.problem.data.name.as_str();
        text.split([':', '?']).next().unwrap_or(text)
    }

    /// The label of a training sample, in words.
    pub fn label(&self, sample: usize) -> String {
        match &self.problem.data.train.y {
            Labels::Classes(y) => y[sample].to_string(),
            Labels::Targets { values, width } => {
                let own = &values[sample * width..][..*width];
                let own: Vec<String> = own.iter().map(f32::to_string).collect();
                own.join(" ")
            }
        }
    }
}
