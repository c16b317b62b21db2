//! What is asked of an experiment beside its name.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Failure;

/// How large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// Minutes on two cores.
    #[default]
    Small,
    /// As in the source.
    Paper,
}

impl Size {
    /// As it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Size::Small => "small",
            Size::Paper => "paper",
        }
    }
}

/// Numbers that networks and kernels are computed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Numbers {
    /// Single precision.
    #[default]
    F32,
    /// Double precision.
    F64,
}

/// What is asked; what is left out is up to the experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// How large.
    pub scale: Size,
    /// Seed of every random number.
    pub seed: u64,
    /// Numbers that are computed with.
    pub numbers: Numbers,
    /// Conditions that are kept, each as FACTOR=LEVEL,…; all where there is none.
    pub only: Vec<String>,
    /// Options by name, of those that the experiment takes.
    pub options: toml::Table,
}

impl Settings {
    /// The options as the experiment has them.
    ///
    /// ```
    /// use polariscope_experiment::Settings;
    /// #[derive(serde::Deserialize)]
    /// struct Own {
    ///     runs: Option<u64>,
    /// }
    /// let settings: Settings = toml::from_str("options = { runs = 3 }")?;
    /// assert_eq!(settings.read::<Own>()?.runs, Some(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        let options = toml::Value::Table(self.options.clone());
        options
            .try_into()
            .map_err(|e: toml::de::Error| Failure::asked(e.message().trim().to_string()))
    }

    /// Refuses options that the experiment does not take.
    pub fn refuse(&self, name: &str, takes: &[&str]) -> Result<(), Failure> {
        match self.options.keys().find(|k| !takes.contains(&k.as_str())) {
            None => Ok(()),
            Some(option) => Err(Failure::asked(format!(
                "‹{option}› is not an option of {name}; leave it out"
            ))),
        }
    }
}
