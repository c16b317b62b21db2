//! What the experiments that learn from images are asked, and what they take where nothing is said.

use polariscope_data::{Dataset, Labels, Split};
use polariscope_experiment::{Numbers, Settings};
use polariscope_lens::afford;
use polariscope_lens::fingerprint;
use serde::{Deserialize, Serialize};

use super::{ExperimentError, Problem, System, Training};

/// Both precisions.
pub(super) const NUMBERS: &[Numbers] = &[Numbers::F32, Numbers::F64];

/// Options as they are given.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub(super) struct Asked {
    pub data: Option<String>,
    pub runs: Option<u64>,
    pub train: Option<usize>,
    pub test: Option<usize>,
    pub depth: Option<usize>,
    pub width: Vec<usize>,
    pub steps: Option<u64>,
    pub training: Vec<String>,
    pub systems: Vec<String>,
    pub no_permutations: bool,
    pub flips: bool,
}

/// Sizes of an experiment on images.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// Runs.
    pub runs: u64,
    /// Training samples a run.
    pub train: usize,
    /// Test samples a run.
    pub test: usize,
    /// Hidden layers.
    pub depth: usize,
    /// Widths of finite networks, smallest first.
    pub widths: Vec<usize>,
    /// Updates of finite networks.
    pub steps: u64,
    /// How rotations trains.
    pub training: Vec<Training>,
    /// Networks that symmetry-breaking averages over.
    pub networks: u64,
}

impl Default for Sizes {
    /// Those of rotations in minutes on two cores.
    fn default() -> Self {
        Sizes {
            runs: 3,
            train: 400,
            test: 400,
            depth: 2,
            widths: vec![32],
            steps: 400,
            training: vec![Training::Ntk],
            networks: 1,
        }
    }
}

impl Sizes {
    /// As in the source, but for widths and networks.
    pub(super) fn paper(widths: &[usize], networks: u64) -> Self {
        Sizes {
            train: 50_000,
            test: 10_000,
            depth: 5,
            widths: widths.to_vec(),
            steps: 20_000,
            networks,
            ..Sizes::default()
        }
    }

    /// With what is asked in their place.
    pub(super) fn with(self, asked: &Asked) -> Result<Self, ExperimentError> {
        let mut widths = match asked.width.is_empty() {
            true => self.widths,
            false => asked.width.clone(),
        };
        widths.sort_unstable();
        widths.dedup();
        Ok(Sizes {
            runs: asked.runs.unwrap_or(self.runs),
            train: asked.train.unwrap_or(self.train),
            test: asked.test.unwrap_or(self.test),
            depth: asked.depth.unwrap_or(self.depth),
            widths,
            steps: asked.steps.unwrap_or(self.steps),
            training: match asked.training.is_empty() {
                true => self.training,
                false => chosen(&asked.training, &Training::ALL)?,
            },
            networks: self.networks,
        })
    }

    /// The width of an experiment that takes one.
    pub(super) fn width(&self, name: &'static str) -> Result<usize, ExperimentError> {
        match self.widths[..] {
            [width] => Ok(width),
            _ => Err(ExperimentError::OneWidth { name }),
        }
    }

    /// Bytes of the Gram matrix of a cell, its factor and what is between.
    pub(super) fn bytes(&self) -> f64 {
        8.0 * 3.0 * (self.train as f64).powi(2)
    }

    /// The data of an experiment, with what names them.
    pub(super) fn problem(
        &self,
        name: &'static str,
        asked: &Asked,
        settings: &Settings,
    ) -> Result<(Problem, Named), ExperimentError> {
        let spec = asked.data.as_ref();
        let spec = spec.ok_or(ExperimentError::NoData { name })?;
        let data = Dataset::load(spec)?;
        let named = Named {
            sizes: self.clone(),
            data: spec.clone(),
            data_fingerprint: name_of(&data),
        };
        let problem = Problem::new(data, (self.train, self.test), settings.seed)?;
        let (m, n) = (self.train as f64, self.test as f64);
        afford(
            8.0 * (3.0 * m * m + 2.0 * m * n),
            "give smaller ‹train› and ‹test›",
        )?;
        Ok((problem, named))
    }
}

/// Sizes and data: what the result of an experiment on images depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Named {
    #[serde(flatten)]
    pub sizes: Sizes,
    pub data: String,
    pub data_fingerprint: String,
}

/// As a run keeps its settings.
pub(super) fn configuration(settings: &impl Serialize) -> Result<toml::Table, ExperimentError> {
    Ok(toml::Table::try_from(settings)?)
}

/// Those of `all` that are named, in its order.
pub(super) fn chosen<T>(names: &[String], all: &[T]) -> Result<Vec<T>, ExperimentError>
where
    T: Copy + PartialEq + std::str::FromStr<Err = ExperimentError>,
{
    let named = names.iter().map(|name| name.parse());
    let named = named.collect::<Result<Vec<T>, _>>()?;
    Ok(all.iter().copied().filter(|t| named.contains(t)).collect())
}

/// The systems that are asked for; all where none is.
pub(super) fn systems(asked: &Asked) -> Result<Vec<System>, ExperimentError> {
    match asked.systems.is_empty() {
        true => Ok(System::ALL.to_vec()),
        false => chosen(&asked.systems, &System::ALL),
    }
}

/// Names the numbers of a data set.
fn name_of(data: &Dataset) -> String {
    let split = |split: &Split| -> Vec<u64> {
        let labels: Vec<u64> = match &split.y {
            Labels::Classes(y) => y.iter().map(|&y| u64::from(y)).collect(),
            Labels::Targets { values, .. } => {
                values.iter().map(|y| u64::from(y.to_bits())).collect()
            }
        };
        let x = split.x.iter().map(|x| u64::from(x.to_bits()));
        [split.len() as u64]
            .into_iter()
            .chain(labels)
            .chain(x)
            .collect()
    };
    fingerprint(split(&data.train).into_iter().chain(split(&data.test)))
}
