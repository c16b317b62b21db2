//! A network at its first weights and at those that it has learnt: what the lenses on symmetry look at.

use std::path::PathBuf;

use clap::Args;
use polariscope_data::Dataset;
use polariscope_learning::eval::Number;
use polariscope_learning::weights::read;
use polariscope_lens::afford;
use polariscope_symmetry::{Learnt, Subject, noise};
use polariscope_train::{Config, Length, Problem};

use super::subject;
use crate::args::{ArchitectureArgs, Common, count};
use crate::error::CliError;
use crate::run::fingerprint_bytes;

/// What the network has learnt.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Weights")]
pub struct LearntArgs {
    /// Weights as safetensors, beside the initial ones
    #[arg(long, value_name = "FILE")]
    pub weights: Option<PathBuf>,
    /// Train for so many epochs, as `train` does, and look at what comes of it
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true, conflicts_with = "weights")]
    pub epochs: Option<usize>,
}

/// The subject of a lens, and what `run.toml` says of it. Without data the network is shown `drawn` samples of normal numbers.
pub fn subject<T: Number>(
    architecture: &ArchitectureArgs,
    data: Option<&str>,
    learnt: &LearntArgs,
    drawn: usize,
    common: &Common,
) -> Result<(Subject<T>, toml::Table), CliError> {
    let (architecture, problem, mut configuration) = match data {
        Some(spec) => {
            let found = subject::Subject::new(architecture, Dataset::load(spec)?)?;
            let mut configuration = found.architecture.configuration(&found.problem.graph)?;
            found.configure(&mut configuration);
            (found.architecture, found.problem, configuration)
        }
        None => {
            let graph = architecture.graph()?;
            let configuration = architecture.configuration(&graph)?;
            let bytes = 4.0 * drawn as f64 * graph.input().len() as f64;
            afford(bytes, "give fewer ‹images›")?;
            let data = noise(graph.input(), drawn, common.seed);
            (architecture.clone(), Problem { graph, data }, configuration)
        }
    };
    let Problem { graph, data: set } = problem;
    let (graph, learnt) = match (&learnt.weights, learnt.epochs) {
        (None, None) => (graph, Learnt::Nothing),
        (Some(path), _) => {
            let bytes = read(path)?;
            configuration.insert("weights".into(), fingerprint_bytes(&bytes).into());
            let (graph, weights) = architecture.fit(graph, &bytes, path)?;
            (graph, Learnt::Given(weights))
        }
        (None, Some(_)) if data.is_none() => {
            return Err(CliError::Usage(
                "--epochs trains, and there is nothing to learn: add --data SPEC".into(),
            ));
        }
        (None, Some(epochs)) => {
            configuration.insert("epochs".into(), toml::Value::Integer(epochs as i64));
            let config = Config {
                length: Length::Epochs(epochs as u64),
                init_seed: common.seed,
                batch_seed: common.seed,
                ..Config::default()
            };
            (graph, Learnt::Train(config))
        }
    };
    let problem = Problem { graph, data: set };
    Ok((Subject { problem, learnt }, configuration))
}
