//! Data, and the architecture that they decide.

use polariscope_data::{Dataset, Labels};
use polariscope_train::Problem;

use crate::args::ArchitectureArgs;
use crate::error::CliError;

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
}

/// The architecture with the input of the data, and their outputs unless `--outputs` or an architecture file says
/// otherwise: one for two classes, else one a class, or one a target.
pub fn fitted(
    architecture: &ArchitectureArgs,
    data: &Dataset,
) -> Result<ArchitectureArgs, CliError> {
    let mut architecture = architecture.clone();
    match architecture.options.input {
        Some(input) if input != data.shape => {
            return Err(CliError::Usage(format!(
                "data '{}' has samples of {}, but --input says {input}; leave --input out, the data decide",
                data.name, data.shape
            )));
        }
        Some(_) => {}
        None => {
            architecture = architecture.reading(data.shape, &format!("data '{}'", data.name))?
        }
    }
    if architecture.options.outputs.is_none() && !architecture.is_file() {
        architecture.options.outputs = Some(match &data.train.y {
            Labels::Targets { width, .. } => *width,
            Labels::Classes(_) if data.classes <= 2 => 1,
            Labels::Classes(_) => data.classes,
        });
    }
    Ok(architecture)
}
