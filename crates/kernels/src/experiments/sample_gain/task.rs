//! Samples, invariant targets, and regression of them.

use polariscope_linalg::Cholesky;
use polariscope_random::Stream;
use rayon::prelude::*;

use super::super::{ExperimentError, mean_square};
use crate::averaged::{Permutations, laplace, symmetrize};
use crate::inference::{InferenceError, Posterior};

/// Added to the diagonal of a kernel matrix, whose entries there are 1 for the plain kernel.
const RIDGE: f64 = 1e-9;
/// Waves in a smooth target.
const WAVES: usize = 100;
/// Targets that are drawn on the samples of a run; errors are means over them.
const DRAWS: usize = 16;
/// Their phases are spread over many turns.
const PHASE: f64 = 10.0;

/// Kernels that learn.
pub(super) const KERNELS: [&str; 2] = ["plain", "averaged"];
/// Targets that are learnt: a draw of the Gaussian process of K_G, and a sum of waves averaged over the group.
pub(super) const TARGETS: [&str; 2] = ["rough", "smooth"];

/// A group and what it acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// As a table has it.
    pub name: &'static str,
    act: Act,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Shifts(usize),
    Flips(usize),
    Turns(usize),
}

impl Group {
    /// Those that are compared.
    pub const ALL: [Group; 7] = [
        Group {
            name: "shifts of 4",
            act: Act::Shifts(4),
        },
        Group {
            name: "shifts of 6",
            act: Act::Shifts(6),
        },
        Group {
            name: "shifts of 8",
            act: Act::Shifts(8),
        },
        Group {
            name: "flips 3×3",
            act: Act::Flips(3),
        },
        Group {
            name: "turns 3×3",
            act: Act::Turns(3),
        },
        Group {
            name: "flips 4×4",
            act: Act::Flips(4),
        },
        Group {
            name: "turns 4×4",
            act: Act::Turns(4),
        },
    ];

    /// The group of a name.
    pub fn of(name: &str) -> Group {
        let found = Group::ALL.into_iter().find(|g| g.name == name);
        found.unwrap_or(Group::ALL[0])
    }

    /// Whether it shifts numbers in a circle.
    pub fn is_shift(&self) -> bool {
        matches!(self.act, Act::Shifts(_))
    }

    /// Which groups it is drawn with.
    pub fn kind(&self) -> &'static str {
        match self.act {
            Act::Shifts(_) => "shifts",
            Act::Flips(3) | Act::Turns(3) => "3×3",
            Act::Flips(_) | Act::Turns(_) => "4×4",
        }
    }

    /// Its elements.
    pub fn permutations(self) -> Permutations {
        match self.act {
            Act::Shifts(n) => Permutations::shifts(n),
            Act::Flips(n) => Permutations::flips(n),
            Act::Turns(n) => Permutations::turns(n),
        }
    }

    /// Numbers in a sample.
    pub fn dimension(self) -> usize {
        match self.act {
            Act::Shifts(n) => n,
            Act::Flips(n) | Act::Turns(n) => n * n,
        }
    }
}

/// Samples with invariant targets, training samples first.
pub(super) struct Task {
    /// The group under which the target is invariant.
    pub group: Permutations,
    x: Vec<f64>,
    /// DRAWS targets of every sample.
    y: Vec<f64>,
    dimension: usize,
    train: usize,
}

impl Task {
    /// Draws training samples, test samples and target from streams of their own.
    pub fn draw(
        group: Group,
        target: &str,
        (train, test): (usize, usize),
        (seed, run): (u64, u64),
    ) -> Result<Task, ExperimentError> {
        let dimension = group.dimension();
        let normal = |index: u64, name: &str, count: usize| -> Vec<f64> {
            let mut x = vec![0.0_f32; count];
            Stream::new(seed, index, name).normal(1.0, &mut x);
            x.into_iter().map(f64::from).collect()
        };
        let x = [
            normal(run, "sample-gain.train", train * dimension),
            normal(run, "sample-gain.test", test * dimension),
        ];
        let mut task = Task {
            group: group.permutations(),
            x: x.concat(),
            y: Vec::new(),
            dimension,
            train,
        };
        let factor = match target {
            "rough" => {
                let factor = Cholesky::new(&task.averaged(), train + test, RIDGE);
                Some(factor.map_err(InferenceError::from)?)
            }
            _ => None,
        };
        let draws = (0..DRAWS as u64).map(|draw| {
            let index = run * DRAWS as u64 + draw;
            let normal = |name, count| normal(index, name, count);
            match factor.as_ref() {
                Some(factor) => factor.colour(&normal("sample-gain.process", train + test)),
                None => task.waves(&normal("sample-gain.waves", WAVES * (dimension + 1))),
            }
        });
        let draws: Vec<Vec<f64>> = draws.collect();
        let all = 0..train + test;
        task.y = all.flat_map(|i| draws.iter().map(move |y| y[i])).collect();
        Ok(task)
    }

    /// Waves cos(w·x + b) with w ~ N(0, 1/d), averaged over the group.
    fn waves(&self, normal: &[f64]) -> Vec<f64> {
        let scale = 1.0 / (self.dimension as f64).sqrt();
        let wave = |x: &[f64]| -> f64 {
            let each = normal.chunks_exact(self.dimension + 1).map(|wave| {
                let (b, w) = (wave[self.dimension], &wave[..self.dimension]);
                let phase: f64 = w.iter().zip(x).map(|(w, x)| w * x).sum();
                (scale * phase + PHASE * b).cos()
            });
            each.sum()
        };
        let samples = self.x.par_chunks_exact(self.dimension);
        samples
            .map(|x| self.group.images(x).map(|gx| wave(&gx)).sum())
            .collect()
    }

    /// ℓ: the root mean square distance of two samples.
    fn laplace(&self) -> impl Fn(&[f64], &[f64]) -> f64 + Sync {
        let length = (2.0 * self.dimension as f64).sqrt();
        move |x, y| laplace(x, y, length)
    }

    /// K between all samples.
    pub fn plain(&self) -> Vec<f64> {
        self.matrix(self.laplace())
    }

    /// K_G between all samples.
    pub fn averaged(&self) -> Vec<f64> {
        self.matrix(symmetrize(self.laplace(), &self.group))
    }

    fn matrix(&self, kernel: impl Fn(&[f64], &[f64]) -> f64 + Sync) -> Vec<f64> {
        let all = self.x.par_chunks_exact(self.dimension);
        all.flat_map_iter(|x| {
            let others = self.x.chunks_exact(self.dimension);
            others.map(|y| kernel(x, y)).collect::<Vec<f64>>()
        })
        .collect()
    }

    /// Test error of regression with a kernel, given between all samples, on the first P training samples for every P: the mean
    /// square of what is wrong over the variance of the targets.
    pub fn errors(&self, kernel: &[f64], sizes: &[usize]) -> Result<Vec<f64>, ExperimentError> {
        let all = self.y.len() / DRAWS;
        let unseen = &self.y[self.train * DRAWS..];
        let error = |&size: &usize| {
            let block = |rows: std::ops::Range<usize>| -> Vec<f64> {
                rows.flat_map(|i| kernel[i * all..][..size].iter().copied())
                    .collect()
            };
            let posterior = Posterior::new(&block(0..size), size, RIDGE)?;
            let found = posterior.mean(&block(self.train..all), &self.y[..size * DRAWS])?;
            Ok(mean_square(&found, unseen) / variance(unseen))
        };
        sizes.iter().map(error).collect()
    }
}

/// Mean over targets of their variance over samples.
fn variance(y: &[f64]) -> f64 {
    let count = (y.len() / DRAWS) as f64;
    let mean = |draw: usize| y.iter().skip(draw).step_by(DRAWS).sum::<f64>() / count;
    let means: Vec<f64> = (0..DRAWS).map(mean).collect();
    mean_square(y, &means.repeat(y.len() / DRAWS))
}
