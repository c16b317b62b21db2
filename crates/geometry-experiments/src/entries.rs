//! The experiments on geometry, as a list has them.

use std::path::PathBuf;

use polariscope_data::{DataSource, Spec};
use polariscope_diff::Place;
use polariscope_experiment::{About, Data, Failure, Numbers, Ready, Settings, Study, known};
use serde::Deserialize;

use crate::{EXPERIMENTS, Entry, GeometryExperimentsError, Lab, Trial};

/// Bytes of a trained network with its samples, about.
const BYTES: f64 = 1e9;

/// Options as they are given.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Asked {
    architecture: Option<String>,
    data: Option<String>,
    runs: Option<u64>,
    sigma: Option<f64>,
    accuracies: Vec<PathBuf>,
}

impl Entry {
    /// What it takes: an architecture and runs, images where it needs them, its own.
    fn options(&self) -> &'static [&'static str] {
        match (self.images, self.own.is_empty()) {
            (true, _) => &["architecture", "data", "runs"],
            (false, true) => &["architecture", "runs"],
            (false, false) => &["architecture", "runs", "sigma", "accuracies"],
        }
    }

    /// The settings.
    fn lab(
        &self,
        asked: &Asked,
        settings: &Settings,
        place: Place,
    ) -> Result<Lab, GeometryExperimentsError> {
        let cifar = match (&asked.data, self.images) {
            (Some(spec), _) => Some(cifar10(spec)?),
            (None, true) => return Err(GeometryExperimentsError::NoData { name: self.name }),
            (None, false) => None,
        };
        let lab = Lab {
            architecture: match &asked.architecture {
                Some(name) => name.clone(),
                None => self.architecture.into(),
            },
            scale: settings.scale,
            runs: asked.runs,
            seed: settings.seed,
            place,
            cifar,
            sigma: asked.sigma,
            known: Vec::new(),
        };
        // A name that does not exist is refused before anything is written.
        lab.binary()?;
        Ok(lab)
    }

    fn ready(&self, settings: &Settings, place: Place) -> Result<Ready<dyn Trial>, Failure> {
        let asked: Asked = settings.read()?;
        let mut lab = self.lab(&asked, settings, place)?;
        let mut configuration = configuration(&lab);
        if !asked.accuracies.is_empty() {
            let trial: Box<dyn Trial> = (self.make)(&lab)?;
            let (known, names) = known(&asked.accuracies, &trial.design())
                .map_err(GeometryExperimentsError::from)?;
            lab.known = known;
            configuration.insert("accuracies".into(), names.into());
        }
        Ready::new((self.make)(&lab)?, configuration, BYTES, settings)
    }
}

impl polariscope_experiment::Entry for Entry {
    fn about(&self) -> About {
        About {
            name: self.name,
            lens: "geometry",
            source: self.source,
            line: self.line,
            architecture: Some(self.architecture),
            images: self.images,
            data: match self.images {
                true => Data::Cifar10,
                false => Data::Own,
            },
            minutes: self.minutes,
            options: self.options(),
            numbers: &[Numbers::F32],
            gpu: true,
        }
    }

    fn make(&self, settings: &Settings, place: Place) -> Result<Box<dyn Study>, Failure> {
        if settings.numbers != Numbers::F32 {
            return Err(GeometryExperimentsError::Numbers.into());
        }
        settings.refuse(self.name, self.options())?;
        let unchosen = !settings.options.contains_key("sigma");
        if self.own.contains(&"sigma") && !settings.only.is_empty() && unchosen {
            return Err(GeometryExperimentsError::Part { name: self.name }.into());
        }
        Ok(Box::new(self.ready(settings, place)?))
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
    set("architecture", lab.architecture.as_str().into());
    set("scale", lab.scale.name().into());
    if let Some(runs) = lab.runs {
        set("runs", toml::Value::Integer(runs as i64));
    }
    if let Some(sigma) = lab.sigma {
        set("sigma", sigma.into());
    }
    if let Some(cifar) = &lab.cifar {
        set("data", format!("cifar10:{}", cifar.display()).into());
    }
    table
}

/// The directory of `cifar10:DIR`.
pub fn cifar10(spec: &str) -> Result<PathBuf, GeometryExperimentsError> {
    match Spec::parse(spec)?.source {
        DataSource::Cifar10(path) if !spec.contains('?') => Ok(path),
        _ => Err(GeometryExperimentsError::Cifar { spec: spec.into() }),
    }
}
