//! The experiments on the landscape, as a list has them.

use polariscope_diff::Place;
use polariscope_experiment::{About, Data, Failure, Numbers, Ready, Settings, Study};
use serde::Deserialize;

use crate::{EXPERIMENTS, Entry, Lab, LandscapeExperimentsError, Trial};

/// Bytes of a few small networks with their samples, about.
const BYTES: f64 = 2e8;

/// Those whose networks are trained on a GPU where one is asked for.
const ON_A_GPU: [&str; 1] = ["jamming"];

/// Options as they are given.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Asked {
    architecture: Option<String>,
    data: Option<String>,
    runs: Option<u64>,
}

impl Entry {
    /// What it takes.
    fn options(&self) -> &'static [&'static str] {
        match (self.architecture, self.data) {
            (None, None) => &["runs"],
            (None, Some(_)) => &["data", "runs"],
            (Some(_), None) => &["architecture", "runs"],
            (Some(_), Some(_)) => &["architecture", "data", "runs"],
        }
    }

    fn lab(&self, settings: &Settings, place: Place) -> Result<Lab, Failure> {
        let asked: Asked = settings.read()?;
        let or = |given: Option<String>, own: Option<&str>| {
            given.unwrap_or_else(|| own.unwrap_or_default().to_string())
        };
        Ok(Lab {
            architecture: or(asked.architecture, self.architecture),
            data: or(asked.data, self.data),
            scale: settings.scale,
            runs: asked.runs,
            seed: settings.seed,
            place,
        })
    }

    fn ready(&self, lab: &Lab, settings: &Settings) -> Result<Ready<dyn Trial>, Failure> {
        let trial: Result<Box<dyn Trial>, LandscapeExperimentsError> = (self.make)(lab);
        Ready::new(trial?, configuration(lab), BYTES, settings)
    }
}

impl polariscope_experiment::Entry for Entry {
    fn about(&self) -> About {
        About {
            name: self.name,
            lens: "landscape",
            source: self.source,
            line: self.line,
            architecture: self.architecture,
            images: false,
            data: Data::Own,
            minutes: self.minutes,
            options: self.options(),
            numbers: &[Numbers::F64],
            gpu: ON_A_GPU.contains(&self.name),
        }
    }

    fn make(&self, settings: &Settings, place: Place) -> Result<Box<dyn Study>, Failure> {
        settings.refuse(self.name, self.options())?;
        let lab = self.lab(settings, place)?;
        Ok(Box::new(self.ready(&lab, settings)?))
    }
}

/// Every experiment of the lens.
pub fn entries() -> impl Iterator<Item = &'static dyn polariscope_experiment::Entry> {
    EXPERIMENTS
        .iter()
        .map(|entry| entry as &dyn polariscope_experiment::Entry)
}

/// What the result depends on.
fn configuration(lab: &Lab) -> toml::Table {
    let mut table = toml::Table::new();
    let mut set = |key: &str, value: toml::Value| table.insert(key.into(), value);
    set("scale", lab.scale.name().into());
    for (key, value) in [("architecture", &lab.architecture), ("data", &lab.data)] {
        if !value.is_empty() {
            set(key, value.as_str().into());
        }
    }
    if let Some(runs) = lab.runs {
        set("runs", toml::Value::Integer(runs as i64));
    }
    table
}
