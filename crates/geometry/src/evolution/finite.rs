//! Δ against a step of finite time: (G(θ + δt θ̇) − G(θ)) / δt → Δ, with an error that falls linearly in δt for a
//! smooth network.

use polariscope_diff::Number;
use polariscope_network::{Network, Weights};
use polariscope_train::Samples;
use serde::{Deserialize, Serialize};

use super::flow::Flow;
use super::{EvolutionConfig, points, scalars};
use crate::GeometryError;

/// One step size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FiniteStep {
    /// δt, in units of the time ‖θ‖/‖θ̇‖ in which the weights would move by their own size.
    pub step: f64,
    /// ‖(G^{δt} − G)/δt − Δ‖ / ‖Δ‖, averaged over the networks.
    pub error: f64,
}

/// Compares Δ of networks 0 … `networks` − 1 with steps of finite time.
pub fn finite_steps<T: Number>(
    network: &Network<T>,
    config: &EvolutionConfig,
    samples: Samples<'_>,
    networks: u64,
    steps: &[f64],
) -> Result<Vec<FiniteStep>, GeometryError> {
    let dim = network.graph().input().len();
    let scalars = scalars(network, config.output)?;
    let flow = Flow::new(network, config.loss, samples)?;
    let mut errors = vec![0.0; steps.len()];
    for index in 0..networks {
        let weights = Weights::draw(network.graph(), config.seed, index);
        let velocity = flow.velocity(&weights)?;
        let x = points::<T>(config, dim, index)?;
        let time = size(&weights) / size(&velocity);
        let gradients = |weights: &Weights<T>| -> Result<Vec<f64>, GeometryError> {
            let mut rows = Vec::new();
            for &scalar in &scalars {
                let g = network.input_gradient(weights, &x, scalar)?;
                rows.extend(g.into_iter().map(T::to_f64));
            }
            Ok(rows)
        };
        let before = gradients(&weights)?;
        let mut tangents = Vec::new();
        for &scalar in &scalars {
            let d = network.input_gradient_tangent(&weights, &velocity, &x, scalar)?;
            tangents.extend(d.into_iter().map(T::to_f64));
        }
        let delta = symmetric_sum(&tangents, &before, dim, 2.0);
        for (error, &step) in errors.iter_mut().zip(steps) {
            let mut moved = weights.clone();
            let dt = T::from_f64(step * time);
            for (w, v) in moved.values.iter_mut().zip(&velocity.values) {
                w.iter_mut().zip(v).for_each(|(w, &v)| *w += dt * v);
            }
            let after = gradients(&moved)?;
            // g'g'ᵀ − ggᵀ = (g' − g)(g' + g)ᵀ, symmetrised: no cancellation of large numbers.
            let change: Vec<f64> = after.iter().zip(&before).map(|(a, b)| a - b).collect();
            let sum: Vec<f64> = after.iter().zip(&before).map(|(a, b)| a + b).collect();
            let slope = symmetric_sum(&change, &sum, dim, 1.0 / (step * time));
            *error += distance(&slope, &delta) / networks as f64;
        }
    }
    let pairs = steps.iter().zip(errors);
    Ok(pairs
        .map(|(&step, error)| FiniteStep { step, error })
        .collect())
}

/// factor · the symmetric part of Σ a bᵀ over rows.
fn symmetric_sum(a: &[f64], b: &[f64], dim: usize, factor: f64) -> Vec<f64> {
    let mut sum = vec![0.0; dim * dim];
    for (a, b) in a.chunks_exact(dim).zip(b.chunks_exact(dim)) {
        for i in 0..dim {
            for j in 0..dim {
                sum[i * dim + j] += 0.5 * factor * (a[i] * b[j] + a[j] * b[i]);
            }
        }
    }
    sum
}

/// ‖a − b‖ / ‖b‖.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let difference: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
    (difference / b.iter().map(|b| b * b).sum::<f64>()).sqrt()
}

fn size<T: Number>(weights: &Weights<T>) -> f64 {
    let squares = weights.values.iter().flatten().map(|w| w.to_f64().powi(2));
    squares.sum::<f64>().sqrt()
}
