//! What was typed, as settings of an experiment.

use polariscope_experiment::{Failure, Numbers, Settings};

use super::ExperimentArgs;
use crate::args::{Common, Dtype};
use crate::error::{CliError, flags};

impl ExperimentArgs {
    /// The settings; only what was typed is in them.
    pub fn settings(&self, common: &Common) -> Settings {
        Settings {
            scale: self.scale.size(),
            seed: common.seed,
            numbers: match common.dtype {
                Dtype::F32 => Numbers::F32,
                Dtype::F64 => Numbers::F64,
            },
            only: self.only.clone(),
            options: self.options(),
        }
    }

    fn options(&self) -> toml::Table {
        let number = |n: usize| toml::Value::Integer(n as i64);
        let list = |names: &[String]| (!names.is_empty()).then(|| names.to_vec().into());
        let widths = || self.width.iter().map(|&n| number(n)).collect();
        let paths = self.accuracies.iter().map(|p| p.display().to_string());
        let given: [(&str, Option<toml::Value>); 14] = [
            ("architecture", self.architecture.as_deref().map(Into::into)),
            ("data", self.data.as_deref().map(Into::into)),
            ("runs", self.runs.map(number)),
            ("train", self.train.map(number)),
            ("test", self.test.map(number)),
            ("depth", self.depth.map(number)),
            (
                "width",
                (!self.width.is_empty()).then(|| toml::Value::Array(widths())),
            ),
            ("steps", self.steps.map(number)),
            ("training", list(&self.training)),
            ("systems", list(&self.systems)),
            ("poses", list(&self.poses)),
            ("sigma", self.sigma.map(Into::into)),
            ("accuracies", list(&paths.collect::<Vec<_>>())),
            ("flips", self.flips.then_some(true.into())),
        ];
        let permutations = self.no_permutations.then_some(true.into());
        given
            .into_iter()
            .chain([("no-permutations", permutations)])
            .filter_map(|(name, value)| Some((name.to_string(), value?)))
            .collect()
    }
}

impl From<Failure> for CliError {
    fn from(e: Failure) -> Self {
        // The architecture is the one setting that is no flag.
        let message = flags(&e.to_string().replace("‹architecture›", "ARCH"));
        match e {
            Failure::Asked(_) => CliError::Usage(message),
            Failure::Work(_) | Failure::Kept(_) | Failure::Stopped(_) => CliError::Failed(message),
        }
    }
}
