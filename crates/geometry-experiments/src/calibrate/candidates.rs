//! Directions at which a network may be trained.

use std::sync::Arc;

use polariscope_data::{Direction, Phase, dft_basis, dft_frequencies};
use polariscope_geometry::{Expansion, Predictor, Spectrum};
use polariscope_graph::Shape;
use serde::{Deserialize, Serialize};

use super::AS_PURE;
use crate::GeometryExperimentsError;

/// The Fourier basis of images, channel by channel; of other inputs the eigenvectors of G.
pub struct Candidates {
    expansion: Expansion,
    /// The half that is nearest to eigenvectors of G, smallest uᵀGu first.
    order: Vec<usize>,
    /// Rows of the eigenvectors; none for images.
    vectors: Vec<f64>,
    shape: Shape,
}

/// Numbers over the frequencies of an H × W image, zero in the middle: row i is i − ⌊H/2⌋ periods down, column j is
/// j − ⌊W/2⌋ periods across.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrequencyMap {
    /// H.
    pub height: usize,
    /// W.
    pub width: usize,
    /// Row by row.
    pub values: Vec<f64>,
}

impl Candidates {
    /// Those of an input.
    pub fn new(
        predictor: &Predictor,
        spectrum: &Spectrum,
        shape: Shape,
    ) -> Result<Self, GeometryExperimentsError> {
        let dim = shape.len();
        let (expansion, vectors) = match shape {
            Shape::Image {
                channels,
                height,
                width,
            } => (
                predictor.expand(&fourier(channels, height, width))?,
                Vec::new(),
            ),
            Shape::Signal { .. } | Shape::Vector { .. } | Shape::Tokens { .. } => {
                let rows: Vec<f64> = (0..dim).flat_map(|i| spectrum.direction(i)).collect();
                (predictor.expand(&rows)?, rows)
            }
        };
        let (weights, purities) = (expansion.weights(), expansion.purities());
        let mut sorted = purities.to_vec();
        sorted.sort_by(f64::total_cmp);
        let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
        let pure = |&i: &usize| purities[i] >= median - AS_PURE;
        let mut order: Vec<usize> = (0..expansion.len()).filter(pure).collect();
        order.sort_by(|&a, &b| weights[a].total_cmp(&weights[b]));
        Ok(Self {
            expansion,
            order,
            vectors,
            shape,
        })
    }

    /// How many ranks there are.
    pub(super) fn ranks(&self) -> usize {
        self.order.len()
    }

    /// All of them, as the geometry sees them.
    pub fn expansion(&self) -> &Expansion {
        &self.expansion
    }

    /// The candidate of a rank; rank 0 has the smallest uᵀGu.
    pub(super) fn ranked(&self, rank: usize) -> usize {
        self.order[rank]
    }

    /// A candidate, for a generator.
    pub fn direction(&self, candidate: usize) -> Direction {
        match self.vectors.chunks_exact(self.shape.len()).nth(candidate) {
            Some(vector) => Direction::Given(Arc::from(vector)),
            None => Direction::Dft(candidate),
        }
    }

    /// One number a candidate over spatial frequencies, the mean over sine, cosine and channels; `None` where the input is
    /// no image.
    pub fn map(&self, values: &[f64]) -> Option<FrequencyMap> {
        let Shape::Image { height, width, .. } = self.shape else {
            return None;
        };
        let frequencies = dft_frequencies(height, width);
        let mut sums = vec![(0.0, 0.0); height * width];
        let place = |k: isize, n: usize| (k + (n / 2) as isize).rem_euclid(n as isize) as usize;
        for (value, f) in values.iter().zip(frequencies.iter().cycle()) {
            let [here, there] =
                [1, -1].map(|s| place(s * f.a, height) * width + place(s * f.b, width));
            sums[here].0 += value;
            sums[here].1 += 1.0;
            if there != here {
                sums[there].0 += value;
                sums[there].1 += 1.0;
            }
        }
        Some(FrequencyMap {
            height,
            width,
            values: sums.into_iter().map(|(sum, count)| sum / count).collect(),
        })
    }

    /// What a candidate is, in words.
    pub fn name(&self, candidate: usize) -> String {
        match self.shape {
            Shape::Image { height, width, .. } => {
                let plane = height * width;
                let f = dft_frequencies(height, width)[candidate % plane];
                let wave = match f.phase {
                    Phase::Cos => "cosine",
                    Phase::Sin => "sine",
                };
                format!("{wave}, {} down, {} across", f.a, f.b)
            }
            Shape::Signal { .. } | Shape::Vector { .. } | Shape::Tokens { .. } => {
                format!("direction {candidate} of G")
            }
        }
    }
}

/// The vectors of [`Direction::Dft`], one a row.
fn fourier(channels: usize, height: usize, width: usize) -> Vec<f64> {
    let (plane, basis) = (height * width, dft_basis(height, width));
    let mut rows = vec![0.0; channels * plane * channels * plane];
    for (k, row) in rows.chunks_exact_mut(channels * plane).enumerate() {
        let (channel, index) = (k / plane, k % plane);
        row[channel * plane..][..plane].copy_from_slice(&basis[index * plane..][..plane]);
    }
    rows
}
