//! What is to be learnt as numbers, and how near to it predictions come.
//!
//! A sample's error is the mean over its outputs of (f − y)²; R² = 1 − Σ(f − y)²/Σ(y − ȳ)² with ȳ the mean of each
//! output over the test samples.

use polariscope_data::{Dataset, Labels, Split};
use polariscope_stats::Estimate;
use serde::{Deserialize, Serialize};

use crate::KernelsError;
use crate::inference::{accuracy, argmax, centred_targets};

/// Targets of both sets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Targets {
    /// Numbers of a sample.
    pub width: usize,
    /// Training targets, sample by sample.
    pub train: Vec<f64>,
    /// Test targets.
    pub test: Vec<f64>,
    /// Where they stand for classes.
    pub classes: Option<Classes>,
}

/// The classes behind the targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Classes {
    /// What they are called.
    pub names: Vec<String>,
    /// Of the training samples.
    pub train: Vec<u32>,
    /// Of the test samples.
    pub test: Vec<u32>,
}

/// How well predictions do on samples that were not learnt.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Mean squared error.
    pub mse: Estimate,
    /// Share of samples put into their class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<Estimate>,
    /// Share of the variance of real targets that is explained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r_squared: Option<f64>,
}

/// How well they do on those that were.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// Mean squared error.
    pub mse: f64,
    /// Share of samples put into their class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
}

impl Targets {
    /// Of a data set with samples to test by.
    pub fn new(data: &Dataset) -> Result<Self, KernelsError> {
        if data.test.len() < 2 {
            return Err(KernelsError::Data(format!(
                "data '{}' has {} to test by; give at least 2 with ‹test›, or npy:X,Y,XTEST,YTEST",
                data.name,
                polariscope_report::counted(data.test.len() as u64, "sample")
            )));
        }
        let classes = match (&data.train.y, &data.test.y) {
            (Labels::Classes(train), Labels::Classes(test)) => Some(Classes {
                names: data.class_names.clone(),
                train: train.clone(),
                test: test.clone(),
            }),
            _ => None,
        };
        let numbers = |split: &Split| match &split.y {
            Labels::Classes(y) => centred_targets(y, data.classes),
            Labels::Targets { values, .. } => Ok(values.iter().map(|&y| f64::from(y)).collect()),
        };
        Ok(Self {
            width: match &data.train.y {
                Labels::Classes(_) => data.classes,
                Labels::Targets { width, .. } => *width,
            },
            train: numbers(&data.train)?,
            test: numbers(&data.test)?,
            classes,
        })
    }

    /// Training and test samples.
    pub fn samples(&self) -> (usize, usize) {
        (self.train.len() / self.width, self.test.len() / self.width)
    }

    /// The error of every sample.
    pub fn errors(&self, predictions: &[f64]) -> Vec<f64> {
        errors(predictions, &self.test, self.width)
    }

    /// Judges predictions for the test samples.
    pub fn score(&self, predictions: &[f64]) -> Score {
        let errors = self.errors(predictions);
        // At least two samples are there, so a mean has an error.
        let mse = Estimate::mean(&errors).unwrap_or(Estimate {
            value: f64::NAN,
            standard_error: f64::NAN,
            samples: 0,
        });
        let classes = self.classes.as_ref();
        Score {
            mse,
            accuracy: classes.and_then(|c| accuracy(&argmax(predictions, self.width), &c.test)),
            r_squared: match classes {
                Some(_) => None,
                None => self.variance().map(|variance| 1.0 - mse.value / variance),
            },
        }
    }

    /// Judges predictions for the training samples.
    pub fn fit(&self, predictions: &[f64]) -> Fit {
        let errors = errors(predictions, &self.train, self.width);
        let share = |classes: &Classes| {
            let predicted = argmax(predictions, self.width);
            let right = predicted.iter().zip(&classes.train).filter(|(a, b)| a == b);
            right.count() as f64 / classes.train.len() as f64
        };
        Fit {
            mse: errors.iter().sum::<f64>() / errors.len() as f64,
            accuracy: self.classes.as_ref().map(share),
        }
    }

    /// Mean of (y − ȳ)² over test samples and outputs; `None` where nothing varies.
    fn variance(&self) -> Option<f64> {
        let samples = (self.test.len() / self.width) as f64;
        let mut mean = vec![0.0; self.width];
        for y in self.test.chunks_exact(self.width) {
            mean.iter_mut().zip(y).for_each(|(m, y)| *m += y / samples);
        }
        let square = |(i, y): (usize, &f64)| (y - mean[i % self.width]).powi(2);
        let sum: f64 = self.test.iter().enumerate().map(square).sum();
        (sum > 0.0).then(|| sum / self.test.len() as f64)
    }

    /// Test samples of class i (row) that were taken for class j (column); `None` for real targets.
    pub fn confusion(&self, predictions: &[f64]) -> Option<Vec<Vec<u64>>> {
        let classes = self.classes.as_ref()?;
        let mut counts = vec![vec![0; self.width]; self.width];
        for (&own, taken) in classes.test.iter().zip(argmax(predictions, self.width)) {
            counts[own as usize][taken as usize] += 1;
        }
        Some(counts)
    }

    /// Share of test samples in the commonest class of the training set: what a guess that never looks gets right.
    pub fn commonest(&self) -> Option<f64> {
        let classes = self.classes.as_ref()?;
        let count = |of: &[u32], class: u32| of.iter().filter(|&&y| y == class).count();
        let class = (0..self.width as u32).max_by_key(|&class| count(&classes.train, class))?;
        Some(count(&classes.test, class) as f64 / classes.test.len() as f64)
    }
}

fn errors(predictions: &[f64], targets: &[f64], width: usize) -> Vec<f64> {
    let rows = predictions
        .chunks_exact(width)
        .zip(targets.chunks_exact(width));
    rows.map(|(f, y)| {
        let squares = f.iter().zip(y).map(|(f, y)| (f - y).powi(2));
        squares.sum::<f64>() / width as f64
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(width: usize, test: Vec<f64>, classes: Option<Vec<u32>>) -> Targets {
        Targets {
            width,
            train: test.clone(),
            test,
            classes: classes.map(|y| Classes {
                names: ["a", "b"].map(String::from).into(),
                train: y.clone(),
                test: y,
            }),
        }
    }

    /// Errors 1, 0, 1, 0 against targets 0, 1, 2, 3: MSE ½, variance 5/4, R² = 1 − 2/5.
    #[test]
    fn real_targets_by_hand() {
        let score = targets(1, vec![0.0, 1.0, 2.0, 3.0], None).score(&[1.0, 1.0, 1.0, 3.0]);
        assert_eq!(score.mse.value, 0.5);
        assert!((score.r_squared.unwrap() - 0.6).abs() < 1e-15);
        assert_eq!(score.accuracy, None);
    }

    /// Three samples of class 0 and one of class 1; one of class 0 is taken for 1.
    #[test]
    fn classes_by_hand() {
        let y = vec![0, 0, 0, 1];
        let numbers = centred_targets(&y, 2).unwrap();
        let targets = targets(2, numbers, Some(y));
        let predictions = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0];
        assert_eq!(
            targets.confusion(&predictions),
            Some(vec![vec![2, 1], vec![0, 1]])
        );
        assert_eq!(targets.score(&predictions).accuracy.unwrap().value, 0.75);
        assert_eq!(targets.fit(&predictions).accuracy, Some(0.75));
        assert_eq!(targets.commonest(), Some(0.75));
    }
}
