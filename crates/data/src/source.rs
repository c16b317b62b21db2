//! What a source has, before its samples are chosen.

use std::path::{Path, PathBuf};

use polariscope_graph::Shape;

use crate::dataset::{Labels, Split, select};
use crate::error::DataError;
use crate::files::csv::{Classes, Table};
use crate::files::{Images, arrays, cifar, directory, folder};
use crate::generate::{Generator, Part};
use crate::order::order;
use crate::spec::{DEFAULT_SAMPLES, DataSource, MAX_NUMBERS, Spec};

/// Fashion-MNIST's classes.
const FASHION: [&str; 10] = [
    "T-shirt/top",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
];

/// The samples of a source.
pub(crate) struct Source {
    /// Shape of one.
    pub shape: Shape,
    /// What each class is called; empty for real targets.
    pub names: Vec<String>,
    /// To learn from.
    pub train: Set,
    /// To judge by; `None` if they are to be held out of the first set.
    pub test: Option<Set>,
}

/// Inputs and what they map to.
pub(crate) struct Set {
    pub x: Inputs,
    pub y: Labels,
}

/// Inputs, read or to be read.
pub(crate) enum Inputs {
    /// Sample by sample.
    Numbers(Vec<f32>),
    /// Images that become squares.
    Images(Vec<PathBuf>),
}

impl Inputs {
    /// The chosen samples, one after another.
    pub fn rows(&self, shape: Shape, rows: &[usize], text: &str) -> Result<Vec<f32>, DataError> {
        match self {
            Inputs::Numbers(x) => Ok(select(x, shape.len(), rows)),
            Inputs::Images(files) => {
                let numbers = rows.len().checked_mul(shape.len());
                if numbers.is_none_or(|n| n > MAX_NUMBERS) {
                    let what = format!(
                        "{} images of {shape} are more than 8 GB; give fewer with train=N and test=N, or a smaller size=N",
                        rows.len()
                    );
                    return Err(DataError::spec(text, what));
                }
                let Shape::Image { width, .. } = shape else {
                    return Ok(Vec::new());
                };
                let files: Vec<&Path> = rows.iter().map(|&i| files[i].as_path()).collect();
                folder::read(&files, width)
            }
        }
    }

    /// [`Inputs::rows`] without a copy where all are chosen.
    pub fn into_rows(
        self,
        shape: Shape,
        rows: &[usize],
        text: &str,
    ) -> Result<Vec<f32>, DataError> {
        match self {
            Inputs::Numbers(x)
                if rows.len() * shape.len() == x.len()
                    && rows.iter().enumerate().all(|(i, &row)| i == row) =>
            {
                Ok(x)
            }
            other => other.rows(shape, rows, text),
        }
    }
}

impl From<Split> for Set {
    fn from(split: Split) -> Set {
        Set {
            x: Inputs::Numbers(split.x),
            y: split.y,
        }
    }
}

impl Source {
    /// Reads or draws what a specification names; images of a folder are only found.
    pub fn new(spec: &Spec) -> Result<Source, DataError> {
        match &spec.source {
            DataSource::Mnist(path) => Ok(images(1, numbers(10), directory::mnist(path)?)),
            DataSource::FashionMnist(path) => {
                let names = FASHION.map(str::to_owned).into();
                Ok(images(1, names, directory::mnist(path)?))
            }
            DataSource::Cifar10(path) => {
                let names = cifar::NAMES.map(str::to_owned).into();
                Ok(images(3, names, directory::cifar10(path)?))
            }
            DataSource::Folder { directory, size } => folder_of(directory, *size, spec.seed),
            DataSource::Csv { train, test, label } => {
                table(train, test.as_deref(), label.as_deref(), spec.seed)
            }
            DataSource::Npy { train, test } => {
                let (shape, classes, splits) = arrays::read(spec, train, test.as_ref())?;
                Ok(Source::of(shape, numbers(classes), splits))
            }
            DataSource::Generator { generator, shape } => drawn(generator, *shape, spec),
        }
    }

    fn of(shape: Shape, names: Vec<String>, [train, test]: [Split; 2]) -> Source {
        Source {
            shape,
            names,
            train: train.into(),
            test: Some(test.into()),
        }
    }
}

/// Names of classes that have none.
fn numbers(classes: usize) -> Vec<String> {
    (0..classes).map(|c| c.to_string()).collect()
}

fn drawn(generator: &Generator, shape: Shape, spec: &Spec) -> Result<Source, DataError> {
    let part = |name, samples: Option<usize>| Part {
        name,
        samples: samples.unwrap_or(DEFAULT_SAMPLES),
        seed: spec.seed,
    };
    let parts = [part("train", spec.train), part("test", spec.test)];
    let splits = generator.draw(shape, parts)?;
    Ok(Source::of(shape, numbers(2), splits))
}

fn images(channels: usize, names: Vec<String>, splits: [Images; 2]) -> Source {
    let shape = Shape::Image {
        channels,
        height: 32,
        width: 32,
    };
    let split = |images: Images| Split {
        x: images
            .pixels
            .iter()
            .map(|&p| f32::from(p) / 255.0)
            .collect(),
        y: Labels::Classes(images.labels),
    };
    Source::of(shape, names, splits.map(split))
}

fn folder_of(directory: &Path, size: usize, seed: u64) -> Result<Source, DataError> {
    let found = folder::list(directory)?;
    let set = |name: &str, images: Vec<folder::Labelled>| {
        let y = Labels::Classes(images.iter().map(|&(_, class)| class).collect());
        let rows = order(&y, seed, name);
        let files = rows.iter().map(|&i| images[i].0.clone());
        Set {
            x: Inputs::Images(files.collect()),
            y: y.select(&rows),
        }
    };
    Ok(Source {
        shape: Shape::Image {
            channels: 3,
            height: size,
            width: size,
        },
        names: found.names,
        train: set("train", found.train),
        test: found.test.map(|images| set("test", images)),
    })
}

fn table(
    train: &Path,
    test: Option<&Path>,
    label: Option<&str>,
    seed: u64,
) -> Result<Source, DataError> {
    let set = |name: &str, table: Table, y: Labels| {
        let rows = order(&y, seed, name);
        Set::from(Split { x: table.x, y }.select(table.features, &rows))
    };
    let first = Table::read(train, label)?;
    let (y, classes) = first.labels(None)?;
    let features = first.features;
    let test = match test {
        None => None,
        Some(path) => {
            let table = Table::read(path, label)?;
            table.check_like(&first)?;
            let (y, _) = table.labels(Some(&classes))?;
            Some(set("test", table, y))
        }
    };
    Ok(Source {
        shape: Shape::Vector { features },
        names: match classes {
            Classes::Targets => Vec::new(),
            Classes::Named(names) => names,
        },
        train: set("train", first, y),
        test,
    })
}
