//! Settings of a run, as they are logged.

use std::f64::consts::PI;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Augment, Loss, Optimiser, TrainError};

/// How long to train.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Length {
    /// Passes over the training set.
    Epochs(u64),
    /// Updates; the last epoch may be cut short.
    Steps(u64),
}

/// Samples an update. Prints back what it parses: `64`, `full`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "NumberOrWord", into = "NumberOrWord")]
pub enum BatchSize {
    /// The whole training set.
    Full,
    /// This many; the last batch of an epoch takes what is left.
    Of(usize),
}

impl BatchSize {
    /// Samples an update on a training set of `samples`.
    pub fn on(self, samples: usize) -> usize {
        match self {
            BatchSize::Full => samples.max(1),
            BatchSize::Of(size) => size.clamp(1, samples.max(1)),
        }
    }
}

impl FromStr for BatchSize {
    type Err = TrainError;

    fn from_str(text: &str) -> Result<Self, TrainError> {
        match (text, text.parse()) {
            ("full", _) => Ok(BatchSize::Full),
            (_, Ok(size)) if size > 0 => Ok(BatchSize::Of(size)),
            _ => Err(TrainError::Unfit {
                what: "the batch size is neither `full` nor a number above 0".to_owned(),
                wanted: "write for example 64",
            }),
        }
    }
}

impl fmt::Display for BatchSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BatchSize::Full => f.write_str("full"),
            BatchSize::Of(size) => write!(f, "{size}"),
        }
    }
}

/// How a batch size stands in a file.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum NumberOrWord {
    Number(usize),
    Word(String),
}

impl TryFrom<NumberOrWord> for BatchSize {
    type Error = TrainError;

    fn try_from(value: NumberOrWord) -> Result<Self, TrainError> {
        match value {
            NumberOrWord::Number(size) => size.to_string().parse(),
            NumberOrWord::Word(word) => word.parse(),
        }
    }
}

impl From<BatchSize> for NumberOrWord {
    fn from(size: BatchSize) -> Self {
        match size {
            BatchSize::Full => NumberOrWord::Word("full".to_owned()),
            BatchSize::Of(size) => NumberOrWord::Number(size),
        }
    }
}

/// The learning rate as a function of the step t = 0, …, T−1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// η
    Constant,
    /// η (1 − t/T)
    LinearDecay,
    /// η/2 (1 + cos(π t/T))
    Cosine,
}

/// A training run.
///
/// Samples of epoch e come in an order drawn from (`batch_seed`, e) alone, so the first steps of a long run
/// are those of a short one (under a constant schedule).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Config {
    /// What is made small.
    pub loss: Loss,
    /// Update rule.
    pub optimiser: Optimiser,
    /// η at the first step.
    pub learning_rate: f64,
    /// How η changes.
    pub schedule: Schedule,
    /// Gradients of a larger global norm are scaled down to this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<f64>,
    /// Samples an update.
    pub batch_size: BatchSize,
    /// When to stop.
    pub length: Length,
    /// Epochs a row of the history.
    pub row_every: u64,
    /// Seed of the initial weights.
    pub init_seed: u64,
    /// Seed of the order of samples, of their augmentation, of dropout and of label noise.
    pub batch_seed: u64,
    /// Fraction of the training labels that are made wrong.
    pub label_noise: f64,
    /// How training images are changed.
    #[serde(skip_serializing_if = "Augment::is_none")]
    pub augment: Augment,
}

impl Default for Config {
    /// Settings that suit LeNet on MNIST and CIFAR-10.
    fn default() -> Self {
        Config {
            loss: Loss::CrossEntropy,
            optimiser: Optimiser::Sgd {
                momentum: 0.9,
                weight_decay: 5e-4,
            },
            learning_rate: 0.03,
            schedule: Schedule::LinearDecay,
            clip: None,
            batch_size: BatchSize::Of(64),
            length: Length::Epochs(10),
            row_every: 1,
            init_seed: 0,
            batch_seed: 0,
            label_noise: 0.0,
            augment: Augment::default(),
        }
    }
}

impl Config {
    /// The learning rate of Adam where none is given; its steps have a size of their own.
    pub const ADAM_RATE: f64 = 1e-3;

    /// Adam in the place of SGD.
    pub fn adam() -> Self {
        Config {
            optimiser: Optimiser::ADAM,
            learning_rate: Config::ADAM_RATE,
            ..Config::default()
        }
    }

    /// Checks every number.
    pub fn check(&self) -> Result<(), TrainError> {
        let require = |right: bool, setting, value, wanted| match right {
            true => Ok(()),
            false => Err(TrainError::Setting {
                setting,
                value,
                wanted,
            }),
        };
        let positive = |x: f64| x.is_finite() && x > 0.0;
        let above = "a finite number above 0";
        self.loss.check()?;
        self.optimiser.check()?;
        require(
            positive(self.learning_rate),
            "learning rate",
            self.learning_rate,
            above,
        )?;
        let clip = self.clip.unwrap_or(1.0);
        require(positive(clip), "gradient clip", clip, above)?;
        let empty = self.batch_size == BatchSize::Of(0);
        require(!empty, "batch size", 0.0, "at least 1")?;
        let (Length::Epochs(length) | Length::Steps(length)) = self.length;
        require(
            length > 0,
            "number of epochs or steps",
            length as f64,
            "at least 1",
        )?;
        require(self.row_every > 0, "epochs a row", 0.0, "at least 1")?;
        let noise = self.label_noise;
        require(
            (0.0..=1.0).contains(&noise),
            "label noise",
            noise,
            "between 0 and 1",
        )
    }

    /// Updates per epoch on `samples` training samples.
    pub fn steps_an_epoch(&self, samples: usize) -> u64 {
        samples.div_ceil(self.batch_size.on(samples)).max(1) as u64
    }

    /// Updates of the whole run.
    pub fn total_steps(&self, samples: usize) -> u64 {
        match self.length {
            Length::Epochs(epochs) => epochs.saturating_mul(self.steps_an_epoch(samples)),
            Length::Steps(steps) => steps,
        }
    }

    /// η of step t of `total`.
    pub fn rate(&self, t: u64, total: u64) -> f64 {
        let passed = t as f64 / total.max(1) as f64;
        match self.schedule {
            Schedule::Constant => self.learning_rate,
            Schedule::LinearDecay => self.learning_rate * (1.0 - passed),
            Schedule::Cosine => self.learning_rate / 2.0 * (1.0 + (PI * passed).cos()),
        }
    }
}
