//! The samples of a run: drawn without replacement from the data by (seed, run).
//!
//! A smaller training set of the same run is the beginning of a larger one, so learning curves are nested.

use polariscope_data::{Dataset, Labels, Split};
use polariscope_graph::Shape;
use polariscope_random::Stream;

use super::ExperimentError;
use crate::inference::centred_targets;
use crate::symmetry::Element;

/// Data that runs draw from.
#[derive(Clone, Debug)]
pub struct Problem {
    name: String,
    shape: Shape,
    classes: usize,
    train: Split,
    test: Split,
    counts: [usize; 2],
    seed: u64,
}

/// Samples with the targets that regression learns.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// N × sample.
    pub x: Vec<f64>,
    /// Classes.
    pub labels: Vec<u32>,
    /// One-hot − 1/C, N × C.
    pub targets: Vec<f64>,
}

impl Problem {
    /// Runs with `train` and `test` samples each.
    pub fn new(
        data: Dataset,
        (train, test): (usize, usize),
        seed: u64,
    ) -> Result<Self, ExperimentError> {
        let shape = data.shape;
        if !matches!(shape, Shape::Image { height, width, .. } if height * width > 1) {
            return Err(ExperimentError::Shape { shape });
        }
        if data.classes < 2 {
            let classes = data.classes;
            return Err(ExperimentError::Classes { classes });
        }
        for (part, wanted, split) in [("training", train, &data.train), ("test", test, &data.test)]
        {
            let there = split.len();
            if wanted > there {
                return Err(ExperimentError::Samples {
                    part,
                    wanted,
                    there,
                });
            }
        }
        Ok(Problem {
            name: data.name,
            shape,
            classes: data.classes,
            train: data.train,
            test: data.test,
            counts: [train, test],
            seed,
        })
    }

    /// What the data are called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Shape of a sample.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Training samples of a run.
    pub fn train_count(&self) -> usize {
        self.counts[0]
    }

    /// Test samples of a run.
    pub fn test_count(&self) -> usize {
        self.counts[1]
    }

    /// Seed of everything that runs draw.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The first `count` training samples of a run.
    pub fn train(&self, run: u64, count: usize) -> Result<Part, ExperimentError> {
        self.draw(&self.train, "experiment.train", run, count)
    }

    /// The test samples of a run: the first of those that [`Problem::more_tests`] counts.
    pub fn test(&self, run: u64) -> Result<Part, ExperimentError> {
        self.test_first(run, self.counts[1])
    }

    /// The first `count` test samples of a run.
    pub fn test_first(&self, run: u64, count: usize) -> Result<Part, ExperimentError> {
        self.draw(&self.test, "experiment.test", run, count)
    }

    /// Test samples of a run where each costs little: `factor` times as many, or all there are.
    pub fn more_tests(&self, factor: usize) -> usize {
        self.test.len().min(factor * self.counts[1])
    }

    fn draw(
        &self,
        split: &Split,
        name: &str,
        run: u64,
        count: usize,
    ) -> Result<Part, ExperimentError> {
        let mut rows = Stream::new(self.seed, run, name)
            .cursor()
            .permutation(split.len());
        rows.truncate(count);
        let chosen = split.select(self.shape.len(), &rows);
        let labels = match chosen.y {
            Labels::Classes(labels) => labels,
            Labels::Targets { .. } => return Err(ExperimentError::Classes { classes: 0 }),
        };
        Ok(Part {
            x: chosen.x.into_iter().map(f64::from).collect(),
            targets: centred_targets(&labels, self.classes)?,
            labels,
        })
    }
}

impl Part {
    /// Number of samples.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The samples transformed by τ.
    pub fn moved(&self, tau: &Element) -> Result<Part, ExperimentError> {
        Ok(Part {
            x: tau.apply(&self.x)?,
            ..self.clone()
        })
    }

    /// Twice as many: every image and its mirror image.
    pub fn with_flips(&self, shape: Shape) -> Part {
        let width = shape.dims().last().copied().unwrap_or(1);
        let mirrored = self.x.chunks_exact(width).flat_map(|row| row.iter().rev());
        Part {
            x: self.x.iter().chain(mirrored).copied().collect(),
            labels: [&self.labels[..], &self.labels].concat(),
            targets: [&self.targets[..], &self.targets].concat(),
        }
    }
}
