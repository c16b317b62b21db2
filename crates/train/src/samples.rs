//! Samples as borrowed slices, checked against the network that will learn them.

use polariscope_diff::Real;
use polariscope_graph::Graph;
use polariscope_random::Stream;

use crate::{Loss, TrainError};

/// What the samples are to be mapped to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Labels<'a> {
    /// A class for each sample.
    Classes(&'a [u32]),
    /// `width` numbers for each sample.
    Targets {
        /// Sample by sample.
        values: &'a [f32],
        /// Numbers for each sample.
        width: usize,
    },
}

/// Inputs, N × sample in C,H,W order, and what they map to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Samples<'a> {
    /// Inputs.
    pub x: &'a [f32],
    /// Labels or targets.
    pub y: Labels<'a>,
}

impl Samples<'_> {
    /// Number of samples.
    pub fn len(&self) -> usize {
        match self.y {
            Labels::Classes(y) => y.len(),
            Labels::Targets { values, width } => values.len() / width.max(1),
        }
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Checks that the network can read the inputs and has outputs for the labels.
    pub fn check(&self, graph: &Graph, part: &'static str) -> Result<(), TrainError> {
        let (sample, outputs) = (graph.input().len(), graph.output().len());
        if self.is_empty() {
            return Err(TrainError::Empty { part });
        }
        if self.x.len() != sample * self.len() {
            let (numbers, labels) = (self.x.len(), self.len());
            return Err(TrainError::Counts {
                part,
                numbers,
                labels,
                sample,
            });
        }
        match self.y {
            Labels::Classes(y) => {
                let last = classes(outputs) - 1;
                match y.iter().position(|&class| class as usize > last) {
                    None => Ok(()),
                    Some(row) => Err(TrainError::Class {
                        part,
                        row,
                        class: y[row],
                        outputs,
                        last,
                    }),
                }
            }
            Labels::Targets { width, .. } if width == outputs => Ok(()),
            Labels::Targets { width, .. } => Err(TrainError::TargetWidth {
                part,
                width,
                outputs,
            }),
        }
    }

    /// Targets of all samples, N × outputs.
    pub fn targets<T: Real>(&self, loss: Loss, outputs: usize) -> Vec<T> {
        match self.y {
            Labels::Targets { values, .. } => values.iter().map(|&y| widen(y)).collect(),
            Labels::Classes(classes) => {
                let mut targets = vec![T::ZERO; classes.len() * outputs];
                for (&class, row) in classes.iter().zip(targets.chunks_mut(outputs)) {
                    loss.targets(class, row);
                }
                targets
            }
        }
    }
}

/// Classes that this many outputs tell apart.
fn classes(outputs: usize) -> usize {
    outputs.max(2)
}

pub(crate) fn widen<T: Real>(x: f32) -> T {
    T::from_f64(f64::from(x))
}

/// Number of samples whose class the outputs give: the largest output, or the sign of a single one.
pub(crate) fn correct<T: Real>(f: &[T], outputs: usize, classes: impl Iterator<Item = u32>) -> u64 {
    let rows = f.chunks(outputs).zip(classes);
    let right = rows.filter(|(row, class)| match row {
        [f] => u32::from(*f > T::ZERO) == *class,
        _ => {
            let best = (1..row.len()).fold(0, |best, k| if row[k] > row[best] { k } else { best });
            best == *class as usize
        }
    });
    right.count() as u64
}

/// Gives ⌊fraction·N + ½⌋ samples, chosen by the seed, another class: one of the others, each equally likely.
///
/// `outputs` is the number of outputs of the network; a single one tells two classes apart.
pub fn label_noise(y: &[u32], outputs: usize, fraction: f64, seed: u64) -> Vec<u32> {
    let mut noisy = y.to_vec();
    let classes = classes(outputs) as u32;
    let wrong = (fraction.clamp(0.0, 1.0) * y.len() as f64).round() as usize;
    let mut cursor = Stream::new(seed, 0, "label-noise").cursor();
    for row in cursor.permutation(y.len()).into_iter().take(wrong) {
        let shift = 1 + cursor.below(u64::from(classes) - 1) as u32;
        noisy[row] = (noisy[row] % classes + shift) % classes;
    }
    noisy
}
