//! What is asked of the law.

use std::path::PathBuf;

use polariscope_data::Dataset;
use polariscope_diff::Place;
use polariscope_experiment::{
    About, Data, Experiment, Failure, Numbers, Ready, Settings, Size, Study, known,
};
use serde::Deserialize;

use super::Law;
use crate::SymmetryExperimentsError;
use crate::entries::Symmetry;

/// In the list.
pub(crate) const ENTRY: Symmetry = Symmetry {
    about: About {
        name: "stability-law",
        lens: "symmetry",
        source: "Petrini et al. 2021, Figs 3 to 6, 16",
        line: "test error against D, G and R over architectures, R over samples and depth",
        architecture: Some("fc-2,fc-4,lenet,cnn"),
        images: true,
        data: Data::Images,
        minutes: 6.0,
        options: &["architecture", "data", "runs", "train", "accuracies"],
        numbers: &[Numbers::F32],
        gpu: true,
    },
    make,
};

/// Architectures of the source, and some beside.
const PAPER: &str = "fc-2,fc-4,fc-6,lenet,alexnet,vgg11,vgg11-bn,vgg16-bn,vgg19-bn,resnet18,resnet34,efficientnet-b0,mobilenet,convnext-tiny";
/// Test samples at least: fewer have no interval.
const LEAST: usize = 20;
/// Bytes of a network that trains, with its samples, about.
const BYTES: f64 = 2e9;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Asked {
    architecture: Option<String>,
    data: Option<String>,
    runs: Option<u64>,
    train: Option<usize>,
    accuracies: Vec<PathBuf>,
}

fn make(settings: &Settings, place: Place) -> Result<Box<dyn Study>, Failure> {
    let name = ENTRY.about.name;
    if settings.numbers != Numbers::F32 {
        return Err(SymmetryExperimentsError::Numbers { name }.into());
    }
    let asked: Asked = settings.read()?;
    let spec = asked
        .data
        .as_deref()
        .ok_or(SymmetryExperimentsError::NoData { name })?;
    let (own, counts, compared) = match settings.scale {
        Size::Small => ("fc-2,fc-4,lenet,cnn", vec![500, 2000], vec![500, 2000]),
        Size::Paper => (PAPER, vec![1000, 5000, 50_000], vec![5000, 50_000]),
    };
    let data = Dataset::load(spec).map_err(SymmetryExperimentsError::from)?;
    let counts = asked.train.map_or(counts, |p| vec![p]);
    let compared = asked.train.map_or(compared, |p| vec![p]);
    let most = counts.iter().copied().max().unwrap_or(0);
    crate::samples::check(name, &data, most, LEAST)?;
    let architectures = asked.architecture.as_deref().unwrap_or(own);
    let mut law = Law {
        data,
        architectures: architectures.split(',').map(String::from).collect(),
        counts,
        compared,
        runs: asked.runs.unwrap_or(match settings.scale {
            Size::Small => 2,
            Size::Paper => 3,
        }),
        seed: settings.seed,
        place,
        known: Vec::new(),
    };
    // A name that does not exist is refused before anything is written.
    for name in &law.architectures {
        law.graph(name)?;
    }
    let mut configuration = toml::Table::new();
    let mut set = |key: &str, value: toml::Value| configuration.insert(key.into(), value);
    set("scale", settings.scale.name().into());
    set("architectures", law.architectures.clone().into());
    set("runs", toml::Value::Integer(law.runs as i64));
    set("data", spec.into());
    let counts = law.counts.iter().map(|&p| toml::Value::Integer(p as i64));
    set("train", counts.collect::<Vec<_>>().into());
    if !asked.accuracies.is_empty() {
        let (rows, names) =
            known(&asked.accuracies, &law.design()).map_err(SymmetryExperimentsError::from)?;
        law.known = rows;
        set("accuracies", names.into());
    }
    let ready = Ready::new(Box::new(law), configuration, BYTES, settings)?;
    Ok(Box::new(ready))
}
