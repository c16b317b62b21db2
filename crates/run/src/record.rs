//! `run.toml`: what a run is, and how far it is.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Options, Request, RunError, files};

/// Its name in the directory.
pub(crate) const FILE: &str = "run.toml";

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Under way, or interrupted.
    Unfinished,
    /// Every result is there.
    Finished,
}

/// The content of `run.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// How far the run is.
    pub status: Status,
    /// Version of the program.
    pub version: String,
    /// Seconds of work, interrupted processes included.
    pub wall_seconds: f64,
    /// Threads used; the result does not depend on them.
    pub threads: usize,
    /// Files that the run wrote, relative to the directory.
    #[serde(default)]
    pub files: Vec<String>,
    /// Everything the result depends on: verb, architecture, seed, device and all options, resolved.
    pub configuration: toml::Table,
    /// The numbers that the run ended with.
    #[serde(default)]
    pub result: toml::Table,
}

impl Record {
    /// The record of a run that starts now.
    pub(crate) fn begin(request: &Request, options: &Options) -> Self {
        Self {
            status: Status::Unfinished,
            version: env!("CARGO_PKG_VERSION").to_string(),
            wall_seconds: 0.0,
            threads: options.threads,
            files: Vec::new(),
            configuration: request.configuration.clone(),
            result: toml::Table::new(),
        }
    }

    /// The record in a directory, if there is one.
    pub fn read(directory: &Path) -> Result<Option<Self>, RunError> {
        let path = directory.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            // A file where the directory should be is found when the directory is made.
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(source) => return Err(RunError::Read { path, source }),
        };
        toml::from_str(&text)
            .map(Some)
            .map_err(|e: toml::de::Error| RunError::NoRecord {
                path,
                reason: e.message().to_string(),
            })
    }

    /// The result, as the verb that wrote it has it.
    pub fn result<R: DeserializeOwned>(&self, directory: &Path) -> Result<R, RunError> {
        let result = toml::Value::Table(self.result.clone());
        result
            .try_into()
            .map_err(|e: toml::de::Error| RunError::NoResult {
                directory: directory.into(),
                reason: e.message().to_string(),
            })
    }

    pub(crate) fn write(&self, directory: &Path) -> Result<(), RunError> {
        let text = toml::to_string(self).map_err(|e| RunError::Toml {
            what: "the run",
            reason: e.to_string(),
        })?;
        files::write_atomically(&directory.join(FILE), text.as_bytes())
    }

    /// Whether this version can go on from here: a finished run needs nothing, an unfinished one must
    /// end bitwise as it would have without the interruption.
    pub(crate) fn usable(&self) -> bool {
        self.status == Status::Finished || self.version == env!("CARGO_PKG_VERSION")
    }

    /// Refuses a run that is not the one asked for.
    pub(crate) fn check(&self, directory: &Path, request: &Request) -> Result<(), RunError> {
        if let Some(difference) = difference(&self.configuration, &request.configuration) {
            return Err(RunError::Another {
                directory: directory.into(),
                difference,
            });
        }
        if !self.usable() {
            return Err(RunError::Version {
                directory: directory.into(),
                version: self.version.clone(),
            });
        }
        Ok(())
    }
}

/// The first setting in which two configurations differ, in words.
fn difference(old: &toml::Table, new: &toml::Table) -> Option<String> {
    let shown = |value: Option<&toml::Value>| {
        let text = value.map_or("unset".to_string(), toml::Value::to_string);
        let mut short: String = text.chars().take(40).collect();
        if short.len() < text.len() {
            short.push('…');
        }
        short
    };
    let keys = new.keys().chain(old.keys());
    let key = keys
        .into_iter()
        .find(|key| old.get(*key) != new.get(*key))?;
    Some(format!(
        "its {key} is {}, not {}",
        shown(old.get(key)),
        shown(new.get(key))
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> toml::Table {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn differences_are_named() {
        let old = table("seed = 1\nverb = \"show\"");
        assert_eq!(difference(&old, &old), None);
        assert_eq!(
            difference(&old, &table("seed = 2\nverb = \"show\"")).unwrap(),
            "its seed is 1, not 2"
        );
        assert_eq!(
            difference(&old, &table("seed = 1")).unwrap(),
            "its verb is \"show\", not unset"
        );
    }
}
