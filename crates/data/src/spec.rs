//! The specification of a data set: `NAME[:PATHS][?parameter=value&…]`, checked but not yet made.

use std::path::PathBuf;

use polariscope_graph::Shape;

use crate::error::DataError;
use crate::generate::Generator;
use crate::params::{Params, unknown};
use crate::table::{SOURCES, SourceEntry};
use crate::transform::Transforms;

/// Samples a generator draws where none are asked for.
pub(crate) const DEFAULT_SAMPLES: usize = 10_000;
/// Numbers in the inputs of one generated or decoded split: 8 GB.
pub(crate) const MAX_NUMBERS: usize = 1 << 31;
/// CIFAR-10's animals: bird, cat, deer, dog, frog, horse.
pub(crate) const ANIMALS: [u32; 6] = [2, 3, 4, 5, 6, 7];

/// Where samples come from.
#[derive(Clone, Debug, PartialEq)]
pub enum DataSource {
    /// MNIST in a directory.
    Mnist(PathBuf),
    /// Fashion-MNIST in a directory.
    FashionMnist(PathBuf),
    /// CIFAR-10 in a directory.
    Cifar10(PathBuf),
    /// Inputs and labels, and perhaps test inputs and labels.
    Npy {
        /// Inputs and labels.
        train: [PathBuf; 2],
        /// Inputs and labels to test with.
        test: Option<[PathBuf; 2]>,
    },
    /// Images in a directory, a folder a class.
    Folder {
        /// Where.
        directory: PathBuf,
        /// Rows and columns they are brought to.
        size: usize,
    },
    /// Tables of numbers as text.
    Csv {
        /// To learn from.
        train: PathBuf,
        /// To judge by.
        test: Option<PathBuf>,
        /// Name or number of the column of labels; `None`: the last.
        label: Option<String>,
    },
    /// Drawn.
    Generator {
        /// The problem.
        generator: Generator,
        /// Shape of a sample.
        shape: Shape,
    },
}

/// MNIST's even digits.
pub(crate) const EVEN: [u32; 5] = [0, 2, 4, 6, 8];

/// A checked specification.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// As typed.
    pub text: String,
    /// Where samples come from.
    pub source: DataSource,
    /// Training samples to keep or draw.
    pub train: Option<usize>,
    /// Test samples to keep or draw.
    pub test: Option<usize>,
    /// Seed of everything random.
    pub seed: u64,
    /// What is done to the samples.
    pub transforms: Transforms,
}

impl Spec {
    /// Checks a specification.
    pub fn parse(text: &str) -> Result<Spec, DataError> {
        let (head, query) = text.split_once('?').unwrap_or((text, ""));
        let (name, paths) = match head.split_once(':') {
            Some((name, paths)) => (name, Some(paths)),
            None => (head, None),
        };
        let Some(entry) = SOURCES.iter().find(|s| s.name == name) else {
            let names: Vec<&str> = SOURCES.iter().map(|s| s.name).collect();
            return Err(DataError::spec(text, unknown("data set", name, &names)));
        };
        let params = Params::parse(text, entry, query)?;
        let source = source(text, entry, paths, &params)?;
        let mut transforms = params.transforms()?;
        let grouped = match name {
            "cifar2" => Some(("cifar10", &ANIMALS[..])),
            "mnist-parity" => Some(("mnist", &EVEN[..])),
            _ => None,
        };
        if let Some((whole, group)) = grouped {
            if !transforms.group.is_empty() || !transforms.classes.is_empty() {
                let what = format!("{name} is already grouped; use {whole} with classes and group");
                return Err(DataError::spec(text, what));
            }
            transforms.group = group.to_vec();
        }
        if name == "mnist-parity" {
            transforms.pooled = true;
            transforms.balanced = true;
            transforms.whiten = transforms.pca.is_some();
            transforms.normalise = true;
        }
        let spec = Spec {
            text: text.to_owned(),
            source,
            train: params.number("train")?,
            test: params.number("test")?,
            seed: params.number("seed")?.unwrap_or(0),
            transforms,
        };
        spec.check_size()?;
        Ok(spec)
    }

    fn check_size(&self) -> Result<(), DataError> {
        if self.train == Some(0) {
            return Err(DataError::spec(
                &self.text,
                "train=0 leaves nothing to learn from",
            ));
        }
        let DataSource::Generator { shape, .. } = &self.source else {
            return Ok(());
        };
        for samples in [self.train, self.test] {
            let samples = samples.unwrap_or(DEFAULT_SAMPLES);
            if samples
                .checked_mul(shape.len())
                .is_none_or(|n| n > MAX_NUMBERS)
            {
                let what = format!(
                    "{samples} samples of {shape} are more than 8 GB; give fewer with train=N and test=N"
                );
                return Err(DataError::spec(&self.text, what));
            }
        }
        Ok(())
    }
}

fn source(
    text: &str,
    entry: &SourceEntry,
    paths: Option<&str>,
    params: &Params<'_>,
) -> Result<DataSource, DataError> {
    let form = || DataError::spec(text, format!("expected {}", entry.form));
    let files: Vec<PathBuf> = match paths {
        Some(paths) => paths.split(',').map(PathBuf::from).collect(),
        None => Vec::new(),
    };
    if files.iter().any(|f| f.as_os_str().is_empty()) {
        return Err(form());
    }
    let directory = || {
        paths
            .filter(|p| !p.is_empty())
            .map(PathBuf::from)
            .ok_or_else(form)
    };
    match entry.name {
        "mnist" | "mnist-parity" => Ok(DataSource::Mnist(directory()?)),
        "fashion-mnist" => Ok(DataSource::FashionMnist(directory()?)),
        "cifar10" | "cifar2" => Ok(DataSource::Cifar10(directory()?)),
        "folder" => Ok(DataSource::Folder {
            directory: directory()?,
            size: params.size()?,
        }),
        "csv" => {
            let (train, test) = match &files[..] {
                [train] => (train, None),
                [train, test] => (train, Some(test.clone())),
                _ => return Err(form()),
            };
            Ok(DataSource::Csv {
                train: train.clone(),
                test,
                label: params.get("label").map(str::to_owned),
            })
        }
        "npy" => match &files[..] {
            [x, y] => Ok(DataSource::Npy {
                train: [x.clone(), y.clone()],
                test: None,
            }),
            [x, y, xt, yt] => Ok(DataSource::Npy {
                train: [x.clone(), y.clone()],
                test: Some([xt.clone(), yt.clone()]),
            }),
            _ => Err(form()),
        },
        _ if paths.is_some() => Err(form()),
        name => {
            let (generator, shape) = generator(name, params)?;
            Ok(DataSource::Generator { generator, shape })
        }
    }
}

fn generator(name: &str, params: &Params<'_>) -> Result<(Generator, Shape), DataError> {
    let image = Shape::Image {
        channels: 1,
        height: 32,
        width: 32,
    };
    let vector = Shape::Vector { features: 10 };
    let sigma = || params.non_negative("sigma", 1.0);
    let outer = || params.non_negative("outer", 3.0);
    let inner = || params.non_negative("inner", 0.25);
    Ok(match name {
        "linear" => {
            let generator = Generator::Linear {
                v: params.direction("v", 0)?,
                eps: params.real("eps", 1.0)?,
                sigma: sigma()?,
            };
            (generator, params.shape(image)?)
        }
        "doughnut" => {
            let generator = Generator::Doughnut {
                u: [params.direction("u1", 0)?, params.direction("u2", 1)?],
                outer: outer()?,
                inner: inner()?,
                sigma: sigma()?,
            };
            (generator, params.shape(image)?)
        }
        "cue" => {
            let generator = Generator::Cue {
                u: [
                    params.direction("u1", 0)?,
                    params.direction("u2", 1)?,
                    params.direction("u3", 2)?,
                ],
                eps: params.real("eps", 1.0)?,
                outer: outer()?,
                inner: inner()?,
                sigma: sigma()?,
            };
            (generator, params.shape(image)?)
        }
        "isotropic" => (params.isotropic(sigma()?)?, params.shape(image)?),
        "gaussian" => {
            let file = params.get("covariance").filter(|f| !f.is_empty());
            let file =
                file.ok_or_else(|| params.wrong("covariance", "expected covariance=FILE.npy"))?;
            let generator = Generator::Gaussian {
                covariance: PathBuf::from(file),
            };
            (generator, params.shape(image)?)
        }
        "sphere" => {
            let radius = match params.get("radius") {
                None => None,
                Some(_) => Some(params.non_negative("radius", 1.0)?),
            };
            (Generator::Sphere { radius }, params.shape(vector)?)
        }
        "spheres" => {
            let count: usize = params.number("count")?.unwrap_or(4);
            let dimension: usize = params.number("dimension")?.unwrap_or(3);
            let features = count
                .checked_mul(dimension)
                .filter(|n| (1..=1 << 24).contains(n));
            let features = features.ok_or_else(|| {
                params.wrong("count", "count times dimension must be 1 to 16777216")
            })?;
            (
                Generator::Spheres { count, dimension },
                Shape::Vector { features },
            )
        }
        "mixture" => {
            let count: usize = params.number("count")?.unwrap_or(10);
            if !(2..=1 << 12).contains(&count) {
                return Err(params.wrong("count", "a mixture has 2 to 4096 Gaussians"));
            }
            let eps = params.non_negative("eps", 0.7)?;
            (Generator::Mixture { count, eps }, params.shape(vector)?)
        }
        "stripe" => {
            let (low, high) = (params.real("low", -0.3)?, params.real("high", 1.18549)?);
            if low >= high {
                return Err(params.wrong("low", "low must be below high"));
            }
            (Generator::Stripe { low, high }, params.shape(vector)?)
        }
        _ => (Generator::Random, params.shape(vector)?),
    })
}
