//! Data, and the architecture that they decide.

use std::path::Path;

use polariscope_data::{Dataset, Labels};
use polariscope_graph::stated_input;
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

/// Refuses an architecture file made for another input than the data's.
fn agree(architecture: &ArchitectureArgs, data: &Dataset) -> Result<(), CliError> {
    let file = &architecture.architecture;
    if !Path::new(file).is_file() || !architecture.is_file() {
        return Ok(());
    }
    match stated_input(file)? {
        Some(stated) if stated != data.shape => Err(CliError::Usage(format!(
            "{file} states an input of {stated}, but data '{}' has samples of {}; change its `input` or leave it out, the \
             data decide",
            data.name, data.shape
        ))),
        _ => Ok(()),
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
            agree(&architecture, data)?;
            architecture.options.input = Some(data.shape);
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
