//! Images of a run.

use polariscope_data::Split;
use polariscope_linalg::covariance;
use polariscope_random::Stream;

use crate::lab::SIDE;
use crate::{GeometryExperimentsError, Lab};

/// Of CIFAR-10.
pub(crate) const CHANNELS: usize = 3;

/// Training images that runs draw from, and the test images of all of them.
#[derive(Debug)]
pub(crate) struct Images {
    pub train: Split,
    pub test: Split,
    /// Numbers in an image.
    pub dim: usize,
    count: usize,
}

impl Images {
    /// Loads twice as many training images as a run takes, where there are so many.
    pub fn load(
        lab: &Lab,
        experiment: &'static str,
        name: &str,
        [train, test]: [usize; 2],
        options: &str,
    ) -> Result<Self, GeometryExperimentsError> {
        let more = (2 * train).min(50_000);
        let [pool, test] = lab.images((experiment, name), [more, test], options)?;
        Ok(Images {
            dim: pool.x.len() / pool.len().max(1),
            train: pool,
            test,
            count: train,
        })
    }

    /// The training images of a run, drawn from (seed, run), and the test images.
    pub fn run(&self, seed: u64, run: u64) -> [Split; 2] {
        let stream = Stream::new(seed, run, "trial.images");
        let mut rows = stream.cursor().permutation(self.train.len());
        rows.truncate(self.count);
        [self.train.select(self.dim, &rows), self.test.clone()]
    }

    /// S = Σ x xᵀ of the training images that runs draw from.
    pub fn covariance(&self) -> Vec<f64> {
        covariance(&self.train.x, self.dim)
    }
}

/// Pixels from 0 to 1 brought to mean 0 and variance 1, with the usual constants of CIFAR-10.
pub(crate) fn normalised(mut split: Split) -> Split {
    const MEAN: [f32; CHANNELS] = [0.4914, 0.4822, 0.4465];
    const STD: [f32; CHANNELS] = [0.247, 0.243, 0.261];
    for (i, channel) in split.x.chunks_exact_mut(SIDE * SIDE).enumerate() {
        let (mean, std) = (MEAN[i % CHANNELS], STD[i % CHANNELS]);
        channel.iter_mut().for_each(|x| *x = (*x - mean) / std);
    }
    split
}
