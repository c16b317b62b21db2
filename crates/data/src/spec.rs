//! The specification of a data set: `NAME[:PATHS][?parameter=value&…]`, checked but not yet made.

use std::collections::BTreeMap;
use std::path::PathBuf;

use polariscope_graph::{Shape, nearest};

use crate::error::DataError;
use crate::generate::{Direction, Generator, Labeling};
use crate::table::{COMMON, PARAMETERS, SOURCES, SourceEntry};
use crate::transform::Transforms;

/// Median of χ² with one degree of freedom: t² exceeds it half of the time.
const CHI2_MEDIAN: f64 = 0.454_936_423_119_572_8;
/// Numbers in the inputs of one generated split: 8 GB.
const MAX_NUMBERS: usize = 1 << 31;
/// CIFAR-10's animals: bird, cat, deer, dog, frog, horse.
const ANIMALS: [u32; 6] = [2, 3, 4, 5, 6, 7];

/// Where samples come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// MNIST in a directory.
    Mnist(PathBuf),
    /// CIFAR-10 in a directory.
    Cifar10(PathBuf),
    /// Inputs and labels, and perhaps test inputs and labels.
    Npy {
        /// Inputs and labels.
        train: [PathBuf; 2],
        /// Inputs and labels to test with.
        test: Option<[PathBuf; 2]>,
    },
    /// Drawn.
    Generator {
        /// The problem.
        generator: Generator,
        /// Shape of a sample.
        shape: Shape,
    },
}

/// A checked specification.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// As typed.
    pub text: String,
    /// Where samples come from.
    pub source: Source,
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
        if name == "cifar2" {
            if !transforms.group.is_empty() || !transforms.classes.is_empty() {
                let what = "cifar2 is already grouped; use cifar10 with classes and group";
                return Err(DataError::spec(text, what));
            }
            transforms.group = ANIMALS.to_vec();
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
        let Source::Generator { shape, .. } = &self.source else {
            return Ok(());
        };
        for samples in [self.train, self.test].into_iter().flatten() {
            if samples
                .checked_mul(shape.len())
                .is_none_or(|n| n > MAX_NUMBERS)
            {
                let what = format!("{samples} samples of {shape} are more than 8 GB");
                return Err(DataError::spec(&self.text, what));
            }
        }
        Ok(())
    }
}

fn unknown(kind: &str, name: &str, known: &[&str]) -> String {
    let shown: String = name.chars().take(40).collect();
    let shown = shown.escape_debug();
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("unknown {kind} '{shown}'; did you mean '{near}'?"),
        None => format!("unknown {kind} '{shown}'; known: {}", known.join(", ")),
    }
}

fn source(
    text: &str,
    entry: &SourceEntry,
    paths: Option<&str>,
    params: &Params<'_>,
) -> Result<Source, DataError> {
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
        "mnist" => Ok(Source::Mnist(directory()?)),
        "cifar10" | "cifar2" => Ok(Source::Cifar10(directory()?)),
        "npy" => match &files[..] {
            [x, y] => Ok(Source::Npy {
                train: [x.clone(), y.clone()],
                test: None,
            }),
            [x, y, xt, yt] => Ok(Source::Npy {
                train: [x.clone(), y.clone()],
                test: Some([xt.clone(), yt.clone()]),
            }),
            _ => Err(form()),
        },
        _ if paths.is_some() => Err(form()),
        name => {
            let (generator, shape) = generator(name, params)?;
            Ok(Source::Generator { generator, shape })
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

/// The part after `?`, with names checked.
struct Params<'a> {
    text: &'a str,
    values: BTreeMap<&'a str, &'a str>,
}

impl<'a> Params<'a> {
    fn parse(text: &'a str, entry: &SourceEntry, query: &'a str) -> Result<Params<'a>, DataError> {
        let known: Vec<&str> = entry.parameters.iter().chain(COMMON).copied().collect();
        let mut values = BTreeMap::new();
        for part in query.split('&').filter(|p| !p.is_empty()) {
            let (name, value) = part
                .split_once('=')
                .map_or((part, None), |(n, v)| (n, Some(v)));
            if !known.contains(&name) {
                let kind = format!("parameter of {}", entry.name);
                return Err(DataError::spec(text, unknown(&kind, name, &known)));
            }
            let form = PARAMETERS
                .iter()
                .find(|p| p.name == name)
                .map_or("", |p| p.value);
            if value.is_some() == form.is_empty() {
                let right = if form.is_empty() {
                    format!("{name} is a flag, without a value")
                } else {
                    format!("expected {name}={form}")
                };
                return Err(DataError::spec(text, right));
            }
            if values.insert(name, value.unwrap_or("")).is_some() {
                return Err(DataError::spec(text, format!("{name} is given twice")));
            }
        }
        Ok(Params { text, values })
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.values.get(name).copied()
    }

    fn flag(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    fn wrong(&self, name: &str, what: &str) -> DataError {
        let value: String = self.get(name).unwrap_or("").chars().take(40).collect();
        DataError::spec(
            self.text,
            format!("{name}={}: {what}", value.escape_debug()),
        )
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, DataError> {
        let parse = |v: &str| {
            v.parse()
                .map_err(|_| self.wrong(name, "expected a whole number"))
        };
        self.get(name).map(parse).transpose()
    }

    fn real(&self, name: &str, default: f64) -> Result<f64, DataError> {
        let Some(text) = self.get(name) else {
            return Ok(default);
        };
        // Inputs are f32: a number beyond its range would become infinite.
        let value = text.parse().ok().filter(|x: &f64| x.abs() < 1e30);
        value.ok_or_else(|| self.wrong(name, "expected a number"))
    }

    fn non_negative(&self, name: &str, default: f64) -> Result<f64, DataError> {
        let value = self.real(name, default)?;
        if value < 0.0 {
            return Err(self.wrong(name, "must not be negative"));
        }
        Ok(value)
    }

    fn shape(&self, default: Shape) -> Result<Shape, DataError> {
        let parse = |text: &str| {
            text.parse()
                .map_err(|e| self.wrong("shape", &format!("{e}")))
        };
        self.get("shape").map_or(Ok(default), parse)
    }

    fn direction(&self, name: &str, default: usize) -> Result<Direction, DataError> {
        let Some(text) = self.get(name) else {
            return Ok(Direction::Dft(default));
        };
        let wrong = || self.wrong(name, "expected a DFT index or FILE.npy:ROW");
        match text.rsplit_once(':') {
            None => text.parse().map(Direction::Dft).map_err(|_| wrong()),
            Some(("", _)) => Err(wrong()),
            Some((file, row)) => Ok(Direction::Row {
                file: PathBuf::from(file),
                row: row.parse().map_err(|_| wrong())?,
            }),
        }
    }

    fn isotropic(&self, sigma: f64) -> Result<Generator, DataError> {
        let (labeling, eps) = match self.get("labeling") {
            None | Some("linear") => (Labeling::Linear, 0.9),
            Some("quadratic") => (Labeling::Quadratic, 2.0),
            Some("sinusoidal") => (Labeling::Sinusoidal, 2.1),
            Some(_) => {
                return Err(self.wrong("labeling", "expected linear, quadratic or sinusoidal"));
            }
        };
        let eps = self.real("eps", eps)?;
        let median = match labeling {
            Labeling::Quadratic => -CHI2_MEDIAN * eps * eps,
            Labeling::Linear | Labeling::Sinusoidal => 0.0,
        };
        Ok(Generator::Isotropic {
            u: self.direction("u", 0)?,
            eps,
            sigma,
            labeling,
            b: self.real("b", median)?,
        })
    }

    fn transforms(&self) -> Result<Transforms, DataError> {
        let noise = self.real("noise", 0.0)?;
        if !(0.0..=1.0).contains(&noise) {
            return Err(self.wrong("noise", "a probability lies between 0 and 1"));
        }
        let random_labels = match self.get("labels") {
            None => false,
            Some("random") => true,
            Some(_) => return Err(self.wrong("labels", "expected labels=random")),
        };
        let pca: Option<usize> = self.number("pca")?;
        if pca == Some(0) {
            return Err(self.wrong("pca", "expected at least 1"));
        }
        if self.flag("whiten") && pca.is_none() {
            return Err(DataError::spec(self.text, "whiten needs pca=K"));
        }
        Ok(Transforms {
            classes: self.list("classes")?,
            group: self.list("group")?,
            balanced: self.flag("balanced"),
            grey: self.flag("grey"),
            standardise: self.flag("standardise"),
            remove: self.get("remove").map(PathBuf::from),
            project: self.get("project").map(PathBuf::from),
            pca,
            whiten: self.flag("whiten"),
            normalise: self.flag("normalise"),
            random_labels,
            noise,
        })
    }

    fn list(&self, name: &str) -> Result<Vec<u32>, DataError> {
        let Some(text) = self.get(name) else {
            return Ok(Vec::new());
        };
        let mut out: Vec<u32> = Vec::new();
        for item in text.split(',') {
            let class = item.parse().ok().filter(|c| !out.contains(c));
            out.push(
                class
                    .ok_or_else(|| self.wrong(name, "expected different classes, such as 0,3,5"))?,
            );
        }
        Ok(out)
    }
}
