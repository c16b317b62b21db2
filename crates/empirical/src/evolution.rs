//! How training moves the kernel: ‖Θ̂_t − Θ̂_0‖/‖Θ̂_0‖, and its alignment with the labels,
//! ⟨Θ̂_t, YYᵀ⟩ / (‖Θ̂_t‖ ‖YYᵀ‖) with centred targets Y.

use polariscope_diff::Device;
use polariscope_graph::Graph;
use polariscope_network::{Network, Weights};
use polariscope_train::{Config, Labels, Samples, State, TrainError, Trainer};
use serde::{Deserialize, Serialize};

use crate::{EmpiricalError, Float, MEMORY, Outputs, among};

/// The kernel after some steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Updates made.
    pub step: u64,
    /// ‖Θ̂_t − Θ̂_0‖/‖Θ̂_0‖.
    pub change: f64,
    /// Cosine between Θ̂_t and YYᵀ.
    pub alignment: f64,
    /// tr Θ̂_t/n.
    pub mean_diagonal: f64,
}

/// Looks at the kernel of one network on the first training samples, as its weights move.
pub struct Follower<T> {
    network: Network<T>,
    x: Vec<T>,
    /// YYᵀ.
    targets: Vec<f64>,
    /// Θ̂_0.
    start: Vec<f64>,
    samples: usize,
}

impl<T: Float> Follower<T> {
    /// From initial weights on, on the first `points` samples.
    pub fn new(
        device: Device,
        graph: &Graph,
        weights: &Weights<T>,
        samples: Samples<'_>,
        points: usize,
    ) -> Result<Self, EmpiricalError> {
        let n = points.clamp(1, samples.len());
        let x = samples.x[..n * graph.input().len()].iter();
        let mut follower = Follower {
            network: Network::on(graph.clone(), device),
            x: x.map(|&x| T::from_f64(f64::from(x))).collect(),
            targets: outer(samples.y, n)?,
            start: Vec::new(),
            samples: n,
        };
        follower.start = follower.kernel(weights)?;
        Ok(follower)
    }

    /// Samples it looks at.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// The kernel of the initial weights.
    pub fn first(&self) -> Snapshot {
        self.snapshot(&self.start, 0)
    }

    /// The kernel of weights that some steps have led to.
    pub fn look(&self, weights: &Weights<T>, step: u64) -> Result<Snapshot, EmpiricalError> {
        Ok(self.snapshot(&self.kernel(weights)?, step))
    }

    fn snapshot(&self, kernel: &[f64], step: u64) -> Snapshot {
        let n = self.samples;
        Snapshot {
            step,
            change: change(kernel, &self.start),
            alignment: inner(kernel, &self.targets) / (norm(kernel) * norm(&self.targets)),
            mean_diagonal: (0..n).map(|i| kernel[i * n + i]).sum::<f64>() / n as f64,
        }
    }

    fn kernel(&self, weights: &Weights<T>) -> Result<Vec<f64>, EmpiricalError> {
        among(&self.network, weights, &self.x, Outputs::Mean, MEMORY)
    }
}

/// Trains network `index` of a configuration and looks at its kernel on the first `points` training samples, before the
/// first step and after each of the `steps` (those within the run, in order).
pub fn evolution<T: Float>(
    graph: &Graph,
    config: &Config,
    samples: Samples<'_>,
    index: u64,
    points: usize,
    steps: &[u64],
) -> Result<Vec<Snapshot>, EmpiricalError> {
    let state = State::<T>::new(graph, config, index);
    let follower = Follower::new(Device::Cpu, graph, &state.weights, samples, points)?;
    let mut trainer = Trainer::new(graph, config, samples, None, state)?;
    let mut wanted: Vec<u64> = steps.to_vec();
    wanted.push(0);
    wanted.retain(|&step| step <= trainer.total_steps());
    wanted.sort_unstable();
    wanted.dedup();
    let mut found = Vec::with_capacity(wanted.len());
    for step in wanted {
        while trainer.state().step < step {
            trainer.step()?;
        }
        found.push(follower.look(&trainer.state().weights, step)?);
    }
    Ok(found)
}

/// YYᵀ of the first n samples with centred targets: the mean over them is taken away.
fn outer(labels: Labels<'_>, n: usize) -> Result<Vec<f64>, TrainError> {
    let (mut y, width) = match labels {
        Labels::Targets { values, width } => {
            let y = values[..n * width].iter().map(|&y| f64::from(y));
            (y.collect::<Vec<f64>>(), width)
        }
        Labels::Classes(classes) => {
            let width = classes.iter().max().map_or(1, |&c| c as usize + 1);
            let mut y = vec![0.0; n * width];
            let rows = y.chunks_exact_mut(width).zip(classes);
            rows.for_each(|(row, &c)| row[c as usize] = 1.0);
            (y, width)
        }
    };
    for k in 0..width {
        let mean = (0..n).map(|i| y[i * width + k]).sum::<f64>() / n as f64;
        (0..n).for_each(|i| y[i * width + k] -= mean);
    }
    let row = |i: usize| &y[i * width..(i + 1) * width];
    let all: Vec<f64> = (0..n * n).map(|k| inner(row(k / n), row(k % n))).collect();
    match norm(&all) > 0.0 {
        true => Ok(all),
        false => Err(TrainError::Unfit {
            what: "all samples looked at have the same label".to_owned(),
            wanted: "take more of them: alignment needs labels that differ",
        }),
    }
}

/// ‖Θ − Θ₀‖/‖Θ₀‖.
pub fn change(kernel: &[f64], start: &[f64]) -> f64 {
    let pairs = kernel.iter().zip(start);
    let change: Vec<f64> = pairs.map(|(a, b)| a - b).collect();
    norm(&change) / norm(start)
}

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    inner(a, a).sqrt()
}
