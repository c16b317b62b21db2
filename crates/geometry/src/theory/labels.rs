//! Δ does not depend on the labels (GIH Prop. A.1): squared error, a last layer symmetric about 0.
//!
//! θ̇ is linear in y, so Δ = Δ₀ + Δ_y. Under ω → −ω of the last layer g changes its sign and the part of d that comes
//! from y does not, so Δ_y(ω) + Δ_y(−ω) = 0 for every pair of networks, and E Δ_y = 0 without any sampling.

use polariscope_graph::{Activation, Builder, HasBias, Shape};
use polariscope_network::{Network, Scalar, Weights};
use polariscope_train::{Labels, Loss, Samples};

use super::{builder, normal};
use crate::GeometryError;
use crate::evolution::Flow;

/// ‖Δ_y(ω) + Δ_y(−ω)‖ / ‖Δ_y(ω)‖ for a network with two hidden GELU layers: 0.
pub fn antithetic() -> Result<f64, GeometryError> {
    const DIM: usize = 10;
    const SAMPLES: usize = 5;
    let mut net = builder(Shape::Vector { features: DIM })?;
    let x = net.dense(Builder::INPUT, "first", 12, HasBias::No)?;
    let x = net.activation(x, "gelu1", Activation::Gelu)?;
    let x = net.dense(x, "second", 9, HasBias::No)?;
    let x = net.activation(x, "gelu2", Activation::Gelu)?;
    net.dense(x, "read", 1, HasBias::No)?;
    let network = Network::<f64>::new(net.finish());
    let x = normal("labels", SAMPLES * DIM);
    let y = normal("targets", SAMPLES);
    let opposite: Vec<f32> = y.iter().map(|y| -y).collect();
    let flow = |y: &[f32]| {
        let y = Labels::Targets {
            values: y,
            width: 1,
        };
        Flow::new(&network, Loss::Sse, Samples { x: &x, y })
    };
    let (with, without) = (flow(&y)?, flow(&opposite)?);
    let probe: Vec<f64> = normal("probe", DIM).into_iter().map(f64::from).collect();
    // Δ_y from half the difference of the flows towards y and −y.
    let part = |weights: &Weights<f64>| -> Result<Vec<f64>, GeometryError> {
        let mut v = with.velocity(weights)?;
        let other = without.velocity(weights)?;
        for (v, o) in v.values.iter_mut().zip(&other.values) {
            v.iter_mut().zip(o).for_each(|(v, o)| *v = 0.5 * (*v - o));
        }
        let logit = Scalar::Logit(0);
        let g = network.input_gradient(weights, &probe, logit)?;
        let d = network.input_gradient_tangent(weights, &v, &probe, logit)?;
        Ok((0..DIM * DIM)
            .map(|at| d[at / DIM] * g[at % DIM] + g[at / DIM] * d[at % DIM])
            .collect())
    };
    let weights = Weights::<f64>::draw(network.graph(), 0, 0);
    let mut mirrored = weights.clone();
    if let Some(last) = mirrored.values.last_mut() {
        last.iter_mut().for_each(|w| *w = -*w);
    }
    let (a, b) = (part(&weights)?, part(&mirrored)?);
    let sum: f64 = a.iter().zip(&b).map(|(a, b)| (a + b).powi(2)).sum();
    Ok((sum / a.iter().map(|a| a * a).sum::<f64>()).sqrt())
}
