//! How far the tangent kernel of a network lies from its mean over initial weights.

use polariscope_data::Dataset;
use polariscope_diff::Device;
use polariscope_graph::Graph;
use polariscope_landscape::Kernels;
use polariscope_network::Weights;
use polariscope_train::Samples;
use rayon::prelude::*;

use super::UNTRAINED;
use crate::lazy::first;
use crate::machine::samples;
use crate::{Lab, LandscapeExperimentsError};

/// Networks that are drawn in a run.
const DRAWS: u64 = 50;
/// Inputs that kernels are taken on.
const INPUTS: usize = 10;

/// Σ Var Θ₀ and Σ ⟨Θ₀⟩² over pairs of the first test samples.
pub(super) fn noise(
    lab: &Lab,
    graph: &Graph,
    data: &Dataset,
    run: u64,
) -> Result<[f64; UNTRAINED], LandscapeExperimentsError> {
    let inputs = first(samples(&data.test), graph.input().len(), INPUTS);
    let draw = |index: u64| kernel(graph, lab.seed, index, inputs);
    let draws = (run * DRAWS..(run + 1) * DRAWS).into_par_iter();
    let draws: Vec<Vec<f64>> = draws.map(draw).collect::<Result<_, _>>()?;
    Ok(moments(&draws))
}

/// Θ₀ of network `index` of a seed.
pub(super) fn kernel(
    graph: &Graph,
    seed: u64,
    index: u64,
    inputs: Samples,
) -> Result<Vec<f64>, LandscapeExperimentsError> {
    let weights = Weights::draw(graph, seed, index);
    let none = Samples {
        x: &[],
        y: inputs.y,
    };
    Ok(Kernels::mean(Device::Cpu, graph, &weights, (inputs, none))?.train)
}

/// Sums over entries: variances over draws, and squared means without the variance that is left in them.
pub(super) fn moments(draws: &[Vec<f64>]) -> [f64; UNTRAINED] {
    let n = draws.len() as f64;
    let entries = 0..draws.first().map_or(0, Vec::len);
    let of = |k: usize| {
        let mean = draws.iter().map(|d| d[k]).sum::<f64>() / n;
        let squares: f64 = draws.iter().map(|d| (d[k] - mean).powi(2)).sum();
        let variance = squares / (n - 1.0);
        [variance, mean * mean - variance / n]
    };
    entries
        .map(of)
        .fold([0.0; UNTRAINED], |sum, of| [sum[0] + of[0], sum[1] + of[1]])
}
