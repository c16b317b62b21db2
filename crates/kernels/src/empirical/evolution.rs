//! How training moves the kernel: ‖Θ̂_t − Θ̂_0‖/‖Θ̂_0‖, and its alignment with the labels,
//! ⟨Θ̂_t, YYᵀ⟩ / (‖Θ̂_t‖ ‖YYᵀ‖) with centred targets Y.

use polariscope_graph::Graph;
use polariscope_network::Network;
use polariscope_train::{Config, Labels, Samples, State, TrainError, Trainer};
use serde::{Deserialize, Serialize};

use super::{EmpiricalError, Float, MEMORY, Outputs, among};

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
    let network = Network::<T>::new(graph.clone());
    let state = State::<T>::new(graph, config, index);
    let mut trainer = Trainer::new(graph, config, samples, None, state)?;
    let n = points.clamp(1, samples.len());
    let x: Vec<T> = samples.x[..n * graph.input().len()]
        .iter()
        .map(|&x| T::from_f64(f64::from(x)))
        .collect();
    let targets = outer(samples.y, n)?;
    let mut wanted: Vec<u64> = steps.to_vec();
    wanted.push(0);
    wanted.retain(|&step| step <= trainer.total_steps());
    wanted.sort_unstable();
    wanted.dedup();
    let mut first: Option<Vec<f64>> = None;
    let mut found = Vec::with_capacity(wanted.len());
    for step in wanted {
        while trainer.state().step < step {
            trainer.step()?;
        }
        let kernel = among(
            &network,
            &trainer.state().weights,
            &x,
            Outputs::Mean,
            MEMORY,
        )?;
        let start = first.get_or_insert_with(|| kernel.clone());
        let change: Vec<f64> = kernel
            .iter()
            .zip(start.iter())
            .map(|(a, b)| a - b)
            .collect();
        found.push(Snapshot {
            step,
            change: norm(&change) / norm(start),
            alignment: inner(&kernel, &targets) / (norm(&kernel) * norm(&targets)),
            mean_diagonal: (0..n).map(|i| kernel[i * n + i]).sum::<f64>() / n as f64,
        });
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

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    inner(a, a).sqrt()
}
