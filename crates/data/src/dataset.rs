//! Samples with labels or targets.

use std::ffi::OsStr;
use std::path::Path;

use polariscope_graph::Shape;
use rayon::prelude::*;

use crate::error::DataError;

/// What the samples of a split are to be mapped to.
#[derive(Clone, Debug, PartialEq)]
pub enum Labels {
    /// A class for each sample. Where a generator speaks of y = ±1, class 1 is y = +1 and class 0 is y = −1.
    Classes(Vec<u32>),
    /// `width` real numbers for each sample.
    Targets {
        /// Sample by sample.
        values: Vec<f32>,
        /// Numbers for each sample.
        width: usize,
    },
}

impl Labels {
    /// Number of samples.
    pub fn len(&self) -> usize {
        match self {
            Labels::Classes(y) => y.len(),
            Labels::Targets { values, width } => values.len() / (*width).max(1),
        }
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The labels of chosen samples.
    pub fn select(&self, rows: &[usize]) -> Labels {
        match self {
            Labels::Classes(y) => Labels::Classes(rows.iter().map(|&i| y[i]).collect()),
            Labels::Targets { values, width } => Labels::Targets {
                values: select(values, *width, rows),
                width: *width,
            },
        }
    }
}

/// Inputs and what they map to.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// N × sample numbers, each sample in C,H,W order.
    pub x: Vec<f32>,
    /// N labels or targets.
    pub y: Labels,
}

impl Split {
    /// Number of samples.
    pub fn len(&self) -> usize {
        self.y.len()
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.y.is_empty()
    }

    /// Adds the samples of another split.
    pub(crate) fn append(&mut self, other: Split) {
        self.x.extend(other.x);
        match (&mut self.y, other.y) {
            (Labels::Classes(y), Labels::Classes(more)) => y.extend(more),
            (Labels::Targets { values, .. }, Labels::Targets { values: more, .. }) => {
                values.extend(more);
            }
            // A source has labels of one kind.
            _ => {}
        }
    }

    /// Chosen samples of `dim` numbers each, in the given order.
    pub fn select(&self, dim: usize, rows: &[usize]) -> Split {
        Split {
            x: select(&self.x, dim, rows),
            y: self.y.select(rows),
        }
    }
}

pub(crate) fn select(values: &[f32], width: usize, rows: &[usize]) -> Vec<f32> {
    let mut out = Vec::with_capacity(rows.len() * width);
    for &i in rows {
        out.extend_from_slice(&values[i * width..(i + 1) * width]);
    }
    out
}

/// Training and test samples of one problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// The specification it came from.
    pub name: String,
    /// Shape of one sample.
    pub shape: Shape,
    /// Number of classes; 0 for real targets.
    pub classes: usize,
    /// What each class is called: a name where its source has one, else its number.
    pub class_names: Vec<String>,
    /// To learn from.
    pub train: Split,
    /// To judge by; may be empty.
    pub test: Split,
}

impl Dataset {
    /// What people call it: the specification without paths and parameters, or the folder or file that it names.
    pub fn title(&self) -> &str {
        let head = self.name.split('?').next().unwrap_or_default();
        let Some((name, paths)) = head.split_once(':') else {
            return head;
        };
        let path = Path::new(paths.split(',').next().unwrap_or_default());
        let title = match name {
            "folder" => Path::new(paths).file_name(),
            "csv" => path.file_stem(),
            _ => None,
        };
        title.and_then(OsStr::to_str).unwrap_or(name)
    }

    /// Checks what every consumer relies on: samples to train on, finite inputs, labels below `classes`,
    /// as many labels as inputs.
    pub fn check(&self) -> Result<(), DataError> {
        if self.train.is_empty() {
            return Err(DataError::Empty {
                what: format!("data '{}'", self.name),
            });
        }
        for (part, split) in [("training", &self.train), ("test", &self.test)] {
            let file = format!("data '{}', {part} set", self.name);
            check_split(split, self.shape.len(), self.classes, &file)?;
        }
        Ok(())
    }
}

fn check_split(split: &Split, dim: usize, classes: usize, file: &str) -> Result<(), DataError> {
    let inputs = split.x.len() / dim.max(1);
    if inputs != split.len() || inputs * dim != split.x.len() {
        return Err(DataError::Counts {
            x: file.into(),
            inputs,
            y: "its label set".into(),
            labels: split.len(),
        });
    }
    check_finite(&split.x, dim, file)?;
    match &split.y {
        Labels::Targets { values, width } => check_finite(values, *width, file),
        Labels::Classes(y) => match y.iter().position(|&y| y as usize >= classes) {
            None => Ok(()),
            Some(row) => Err(DataError::Label {
                file: file.into(),
                label: i64::from(y[row]),
                row,
                last: (classes as u32).saturating_sub(1),
            }),
        },
    }
}

/// Names the first sample of `width` numbers that holds NaN or infinity.
pub(crate) fn check_finite(values: &[f32], width: usize, file: &str) -> Result<(), DataError> {
    let found = values.par_iter().position_first(|x| !x.is_finite());
    match found {
        None => Ok(()),
        Some(i) => Err(DataError::NotFinite {
            file: file.into(),
            row: i / width.max(1),
            value: values[i],
        }),
    }
}
