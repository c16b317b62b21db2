//! What is asked of poses.

use polariscope_data::Dataset;
use polariscope_diff::Place;
use polariscope_experiment::{About, Data, Failure, Numbers, Ready, Settings, Size, Study};
use serde::{Deserialize, Serialize};

use super::{Pose, Poses};
use crate::SymmetryExperimentsError;
use crate::entries::Symmetry;

/// In the list.
pub(crate) const ENTRY: Symmetry = Symmetry {
    about: About {
        name: "poses",
        lens: "symmetry",
        source: "symmetry spec 12.3, as the tables of Cohen et al. 2018",
        line: "accuracy by train pose and test pose: symmetries that are built in, learnt or missing",
        architecture: Some("cnn,p4-cnn,mlp-2x40"),
        images: true,
        data: Data::Images,
        minutes: 10.0,
        options: &["architecture", "data", "runs", "train", "test", "poses"],
        numbers: &[Numbers::F32],
        gpu: true,
    },
    make,
};

/// Bytes of a network that trains, with its samples, about.
const BYTES: f64 = 1e9;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Asked {
    architecture: Option<String>,
    data: Option<String>,
    runs: Option<u64>,
    train: Option<usize>,
    test: Option<usize>,
    poses: Vec<String>,
}

/// How much is trained.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sizes {
    /// Runs, each with its own samples, poses and weights.
    pub runs: u64,
    /// Training samples a run.
    pub train: usize,
    /// Test samples a run.
    pub test: usize,
    /// Passes over the training samples.
    pub epochs: u64,
}

/// What the result depends on.
#[derive(Serialize)]
struct Named<'a> {
    #[serde(flatten)]
    sizes: &'a Sizes,
    architectures: &'a [String],
    poses: Vec<String>,
    data: &'a str,
}

fn make(settings: &Settings, place: Place) -> Result<Box<dyn Study>, Failure> {
    if settings.numbers != Numbers::F32 {
        let name = ENTRY.about.name;
        return Err(SymmetryExperimentsError::Numbers { name }.into());
    }
    let asked: Asked = settings.read()?;
    let (experiment, configuration) = experiment(&asked, settings, place)?;
    let ready = Ready::new(Box::new(experiment), configuration, BYTES, settings)?;
    Ok(Box::new(ready))
}

fn experiment(
    asked: &Asked,
    settings: &Settings,
    place: Place,
) -> Result<(Poses, toml::Table), SymmetryExperimentsError> {
    let about = ENTRY.about;
    let name = about.name;
    let (train, test, epochs, poses): (_, _, _, &[&str]) = match settings.scale {
        Size::Small => (1000, 1000, 20, &["upright", "turn:90"]),
        Size::Paper => (12_000, 10_000, 30, &["upright", "turn:90", "turn:1"]),
    };
    let sizes = Sizes {
        runs: asked.runs.unwrap_or(3),
        train: asked.train.unwrap_or(train),
        test: asked.test.unwrap_or(test),
        epochs,
    };
    let spec = asked.data.as_deref();
    let spec = spec.ok_or(SymmetryExperimentsError::NoData { name })?;
    let data = Dataset::load(spec)?;
    crate::samples::check(name, &data, sizes.train, sizes.test)?;
    let poses: Vec<String> = match asked.poses.is_empty() {
        true => poses.iter().map(|pose| pose.to_string()).collect(),
        false => asked.poses.clone(),
    };
    let poses = poses.iter().map(|pose| pose.parse());
    let poses: Vec<Pose> = poses.collect::<Result<_, _>>()?;
    if poses.iter().all(|pose| *pose == Pose::Upright) {
        return Err(SymmetryExperimentsError::OnePose);
    }
    let architectures = asked.architecture.as_deref().or(about.architecture);
    let architectures: Vec<String> = architectures
        .unwrap_or_default()
        .split(',')
        .map(String::from)
        .collect();
    let named = Named {
        sizes: &sizes,
        architectures: &architectures,
        poses: poses.iter().map(Pose::to_string).collect(),
        data: spec,
    };
    // Every number and list of text has a form in TOML.
    let configuration = toml::Table::try_from(&named).unwrap_or_default();
    let experiment = Poses::new(data, &architectures, &poses, sizes, (settings.seed, place))?;
    Ok((experiment, configuration))
}
