//! Θ̂ → Θ as the width n grows: E ‖Θ̂ − Θ‖/‖Θ‖ over networks against n, and the fitted exponent, −½ in theory.

use polariscope_graph::{Graph, GraphError};
use polariscope_network::{Network, Weights};
use polariscope_stats::{Estimate, PowerLaw, power_law};
use serde::{Deserialize, Serialize};

use crate::{EmpiricalError, Float, MEMORY, Outputs, among};

/// Distances at every width.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Convergence {
    /// Width, and the mean of ‖Θ̂ − Θ‖/‖Θ‖ over networks.
    pub points: Vec<(usize, Estimate)>,
    /// Distance = c nᵃ; nothing for fewer than two widths.
    pub fit: Option<PowerLaw>,
}

/// Compares the kernels of networks 0, 1, … of a family with the analytic one, Θ among the samples of `x`, n × n.
/// `build` makes the network of a width; `networks` of each (at least two) are drawn from `seed`.
pub fn convergence<T: Float>(
    build: impl Fn(usize) -> Result<Graph, GraphError>,
    widths: &[usize],
    (seed, networks): (u64, u64),
    x: &[T],
    analytic: &[f64],
) -> Result<Convergence, EmpiricalError> {
    let mut points = Vec::new();
    for &width in widths {
        let network = Network::<T>::new(build(width)?);
        let samples = x.len() / network.graph().input().len();
        if analytic.len() != samples * samples {
            let length = analytic.len();
            return Err(EmpiricalError::Analytic { length, samples });
        }
        let mut distances = Vec::new();
        for index in 0..networks.max(2) {
            let weights = Weights::draw(network.graph(), seed, index);
            let kernel = among(&network, &weights, x, Outputs::Mean, MEMORY)?;
            distances.push(relative(&kernel, analytic));
        }
        if let Some(mean) = Estimate::mean(&distances) {
            points.push((width, mean));
        }
    }
    let fitted: Vec<(f64, Estimate)> = points.iter().map(|&(n, e)| (n as f64, e)).collect();
    Ok(Convergence {
        fit: power_law(&fitted),
        points,
    })
}

/// ‖a − b‖ / ‖b‖.
fn relative(a: &[f64], b: &[f64]) -> f64 {
    let difference: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
    (difference / b.iter().map(|b| b * b).sum::<f64>()).sqrt()
}
