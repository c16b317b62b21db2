//! Changes of inputs and labels. Statistics (means, variances, principal axes) come from the training set
//! and are applied to both; of pooled sets they come from all samples.

use std::path::PathBuf;

use polariscope_graph::Shape;
use polariscope_random::Stream;
use rayon::prelude::*;

use crate::dataset::{Dataset, Labels};
use crate::deform::{Convention, DeformError, Deformations, Interpolation, ModeRule};
use crate::error::DataError;
use crate::generate::to_sphere;
use crate::projection::{Pca, Projection, mean};

/// What to do to a data set after reading or drawing it, in this order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transforms {
    /// Classes to keep, relabelled 0, 1, … in this order; empty: all.
    pub classes: Vec<u32>,
    /// Classes that become class 1, all others class 0; empty: no grouping.
    pub group: Vec<u32>,
    /// Equally many samples of each class, classes taking turns.
    pub balanced: bool,
    /// Training and test samples are one set until its inputs have been changed.
    pub pooled: bool,
    /// One channel from three.
    pub grey: bool,
    /// Side of the squares of pixels that are averaged into one.
    pub pool: Option<usize>,
    /// Displacement in pixels and cutoff of a random deformation of each image.
    pub deform: Option<(f64, usize)>,
    /// Mean 0 and variance 1 in each channel.
    pub standardise: bool,
    /// .npy file of directions to project out.
    pub remove: Option<PathBuf>,
    /// .npy file of directions whose coordinates become the input.
    pub project: Option<PathBuf>,
    /// Number of principal components to keep.
    pub pca: Option<usize>,
    /// Principal components divided by their standard deviations.
    pub whiten: bool,
    /// Every sample minus the training mean, scaled to length √d.
    pub normalise: bool,
    /// Labels replaced by uniformly random ones.
    pub random_labels: bool,
    /// Probability that a training label is replaced by another class.
    pub noise: f64,
}

impl Transforms {
    /// Whether some samples are left out by their class.
    pub(crate) fn selects(&self) -> bool {
        self.balanced || !self.classes.is_empty()
    }

    /// Whether anything is done that real targets do not allow.
    pub(crate) fn need_classes(&self) -> bool {
        self.selects() || !self.group.is_empty() || self.random_labels || self.noise > 0.0
    }

    /// Applies what changes inputs.
    pub(crate) fn change_inputs(&self, data: &mut Dataset, seed: u64) -> Result<(), DataError> {
        if self.grey {
            grey(data)?;
        }
        if let Some(side) = self.pool {
            pool(data, side)?;
        }
        if let Some((displacement, cutoff)) = self.deform {
            deform(data, displacement, cutoff, seed).map_err(|e| {
                let what = format!("deform={displacement},{cutoff}: {e}");
                DataError::spec(&data.name, what)
            })?;
        }
        if self.standardise {
            standardise(data);
        }
        if let Some(file) = &self.remove {
            let projection = Projection::read(file, data.shape.len())?;
            for split in [&mut data.train, &mut data.test] {
                projection.remove(&mut split.x);
            }
        }
        if let Some(file) = &self.project {
            let projection = Projection::read(file, data.shape.len())?;
            map_inputs(data, projection.count(), |x| projection.coordinates(x));
        }
        if let Some(components) = self.pca {
            let pca = Pca::fit(&data.train.x, data.shape.len(), components)?;
            map_inputs(data, components, |x| pca.apply(x, self.whiten));
        }
        if self.normalise {
            normalise(data);
        }
        Ok(())
    }

    /// Applies what changes the labels of the samples that are kept.
    pub(crate) fn change_labels(&self, data: &mut Dataset, seed: u64) {
        if self.random_labels {
            for (name, split) in [("train", &mut data.train), ("test", &mut data.test)] {
                let mut cursor =
                    Stream::new(seed, 0, &format!("data.{name}.random-labels")).cursor();
                if let Labels::Classes(y) = &mut split.y {
                    y.iter_mut()
                        .for_each(|y| *y = cursor.below(data.classes as u64) as u32);
                }
            }
        }
        if self.noise > 0.0 {
            label_noise(data, self.noise, seed);
        }
    }
}

fn map_inputs(data: &mut Dataset, features: usize, f: impl Fn(&[f32]) -> Vec<f32>) {
    for split in [&mut data.train, &mut data.test] {
        split.x = f(&split.x);
    }
    data.shape = Shape::Vector { features };
}

/// Luminance 0.299 R + 0.587 G + 0.114 B (ITU-R BT.601).
pub fn grey(data: &mut Dataset) -> Result<(), DataError> {
    let Shape::Image {
        channels: 3,
        height,
        width,
    } = data.shape
    else {
        let what = format!("grey needs images of 3 channels, these are {}", data.shape);
        return Err(DataError::spec(&data.name, what));
    };
    let plane = height * width;
    for split in [&mut data.train, &mut data.test] {
        let luminance = |x: &[f32]| -> Vec<f32> {
            (0..plane)
                .map(|i| 0.299 * x[i] + 0.587 * x[plane + i] + 0.114 * x[2 * plane + i])
                .collect()
        };
        split.x = split
            .x
            .par_chunks_exact(3 * plane)
            .flat_map_iter(luminance)
            .collect();
    }
    data.shape = Shape::Image {
        channels: 1,
        height,
        width,
    };
    Ok(())
}

/// Averages squares of `side` × `side` pixels.
pub fn pool(data: &mut Dataset, side: usize) -> Result<(), DataError> {
    let (channels, height, width) = match data.shape {
        Shape::Image {
            channels,
            height,
            width,
        } if side > 0 && height.is_multiple_of(side) && width.is_multiple_of(side) => {
            (channels, height, width)
        }
        shape => {
            let what = format!("pool={side} needs images whose sides {side} divides, not {shape}");
            return Err(DataError::spec(&data.name, what));
        }
    };
    let (rows, columns) = (height / side, width / side);
    let share = 1.0 / (side * side) as f32;
    for split in [&mut data.train, &mut data.test] {
        let plane = |x: &[f32]| -> Vec<f32> {
            let mut small = vec![0.0; rows * columns];
            for (i, x) in x.iter().enumerate() {
                small[i / width / side * columns + i % width / side] += share * x;
            }
            small
        };
        let planes = split.x.par_chunks_exact(height * width);
        split.x = planes.flat_map_iter(plane).collect();
    }
    data.shape = Shape::Image {
        channels,
        height: rows,
        width: columns,
    };
    Ok(())
}

/// Deforms every image by a field of its own.
fn deform(
    data: &mut Dataset,
    displacement: f64,
    cutoff: usize,
    seed: u64,
) -> Result<(), DeformError> {
    let deformations = Deformations::of(data.shape, cutoff, ModeRule::Strict)?;
    let t = deformations.temperature(displacement, Convention::Exact)?;
    deformations.check(t, Convention::Exact)?;
    let channels = data.shape.len() / deformations.n().pow(2);
    for (name, split) in [("train", &mut data.train), ("test", &mut data.test)] {
        let name = format!("data.{name}.deform");
        let stream = |index: usize| Stream::new(seed, index as u64, &name);
        let mut out = vec![0.0; split.x.len()];
        let by = Interpolation::Bilinear;
        deformations.apply_all(t, stream, by, channels, &split.x, &mut out);
        split.x = out;
    }
    Ok(())
}

/// Mean 0 and variance 1 in each channel (each feature of a vector); a constant channel is only centred.
/// Returns the means and standard deviations of the training set.
pub fn standardise(data: &mut Dataset) -> Vec<(f64, f64)> {
    let channels = data.shape.dims().first().copied().unwrap_or(1).max(1);
    let dim = data.shape.len();
    let positions = dim / channels;
    let statistics: Vec<(f64, f64)> = (0..channels)
        .into_par_iter()
        .map(|c| {
            let values = || {
                let samples = data.train.x.chunks_exact(dim);
                samples
                    .flat_map(|x| &x[c * positions..(c + 1) * positions])
                    .map(|&x| f64::from(x))
            };
            let n = (data.train.len() * positions).max(1) as f64;
            let mean = values().sum::<f64>() / n;
            let variance = values().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
            (mean, variance.sqrt())
        })
        .collect();
    for split in [&mut data.train, &mut data.test] {
        split.x.par_chunks_exact_mut(dim).for_each(|x| {
            for (x, &(mean, std)) in x.chunks_exact_mut(positions).zip(&statistics) {
                let scale = if std > 0.0 { 1.0 / std } else { 1.0 };
                x.iter_mut()
                    .for_each(|x| *x = ((f64::from(*x) - mean) * scale) as f32);
            }
        });
    }
    statistics
}

/// Subtracts the training mean from every sample and scales it to length √d.
pub fn normalise(data: &mut Dataset) {
    let dim = data.shape.len();
    let mean = mean(&data.train.x, dim);
    for split in [&mut data.train, &mut data.test] {
        split.x.par_chunks_exact_mut(dim).for_each(|x| {
            x.iter_mut()
                .zip(&mean)
                .for_each(|(x, m)| *x = (f64::from(*x) - m) as f32);
        });
        to_sphere(&mut split.x, dim, (dim as f64).sqrt());
    }
}

fn label_noise(data: &mut Dataset, probability: f64, seed: u64) {
    let mut cursor = Stream::new(seed, 0, "data.label-noise").cursor();
    let classes = data.classes as u64;
    let Labels::Classes(y) = &mut data.train.y else {
        return;
    };
    for y in y.iter_mut() {
        let struck = f64::from(cursor.unit()) < probability;
        if struck && classes > 1 {
            // One of the other classes: 1 to classes − 1 steps further round.
            *y = ((u64::from(*y) + 1 + cursor.below(classes - 1)) % classes) as u32;
        }
    }
}
