//! Geometries that are known at any width.
//!
//! With weights of variance σ² in each layer and no biases:
//!
//! ```text
//! f = θᵀx                               G = σ² I,  Δ = −2σ² S           (print drops the 2 of "+ transpose")
//! f = θᵀρ(Φx), n hidden units           G = (n/2) σ_θ²σ_Φ² I            (NAD Ex. 3: the box omits D and I)
//! f of L hidden ReLU layers             G = Π(n_l/2) Πσ_l² I            (GIH Thm A.2)
//! conv, ReLU, flatten, dense            G = (c/2) σ_k²σ_θ² diag(taps that see the pixel)
//! ```
//!
//! The last is c·I only with circular padding and stride 1; the theorem claims it for every CNN.

use polariscope_graph::{Activation, Builder, ConvSpec, Graph, HasBias, Padding, Shape};
use polariscope_linalg::covariance;
use polariscope_network::{Network, Scalar, Weights};
use polariscope_random::Stream;
use polariscope_train::{Labels, Loss, Samples};

use super::{Agreement, builder, normal, scaled_identity};
use crate::evolution::{Groups, Rows, by_groups, gather};
use crate::{EvolutionConfig, GeometryError, Output, Probe};

/// Dimensions of the linear model.
const LINEAR: usize = 8;

/// Agreement of G with σ²I and of Δ with −2σ²S for the linear model.
pub fn linear_model(networks: u64) -> Result<(Agreement, Agreement), GeometryError> {
    let mut net = builder(Shape::Vector { features: LINEAR })?;
    net.dense(Builder::INPUT, "read", 1, HasBias::No)?;
    let x = normal("linear model", 3 * LINEAR);
    let s = covariance(&x, LINEAR);
    let config = EvolutionConfig {
        seed: 0,
        networks,
        probes: 1,
        probe: Probe::Zero,
        output: Output::Logit(0),
        loss: Loss::Sse,
    };
    let y = Labels::Classes(&[0, 1, 1]);
    let network = Network::<f64>::new(net.finish());
    let samples = Samples { x: &x, y };
    let (_, groups) = by_groups(&network, &config, samples, None, &mut |_, _| {})?;
    let variance = 1.0 / LINEAR as f64;
    let delta: Vec<f64> = s.iter().map(|s| -2.0 * variance * s).collect();
    Ok((
        Agreement::geometry(&groups, &scaled_identity(LINEAR, variance), LINEAR),
        Agreement::delta(&groups, &delta, LINEAR),
    ))
}

/// Agreement of G with Π ½ · I/D for ReLU layers of the given widths with weights N(0, 1/fan_in), at one point x:
/// each layer's n σ²/2 is ½, the first one's σ² is 1/D.
pub fn relu_mlp(dim: usize, widths: &[usize], networks: u64) -> Result<Agreement, GeometryError> {
    let mut net = builder(Shape::Vector { features: dim })?;
    let mut x = Builder::INPUT;
    for (layer, &width) in widths.iter().enumerate() {
        x = net.dense(x, &format!("hidden{layer}"), width, HasBias::No)?;
        x = net.activation(x, &format!("relu{layer}"), Activation::Relu)?;
    }
    net.dense(x, "read", 1, HasBias::No)?;
    let groups = sampled(net.finish(), networks, Where::Fixed)?;
    let level = 0.5f64.powi(widths.len() as i32) / dim as f64;
    Ok(Agreement::geometry(
        &groups,
        &scaled_identity(dim, level),
        dim,
    ))
}

/// Side of the image of [`flatten_cnn`].
pub const SIDE: usize = 6;

/// Taps of a 3 × 3 kernel with stride 1 that see each pixel of a 6 × 6 image.
pub fn taps(padding: Padding) -> Vec<f64> {
    let line: Vec<f64> = (0..SIDE)
        .map(|p| match padding {
            // Outputs p−1, p, p+1 see pixel p.
            Padding::Circular => 3.0,
            Padding::Same => 3.0 - f64::from(u8::from(p == 0 || p == SIDE - 1)),
            // Outputs 0 … side − 3 sit at their first pixel.
            _ => (p + 1).min(3).min(SIDE - p) as f64,
        })
        .collect();
    line.iter()
        .flat_map(|a| line.iter().map(move |b| a * b))
        .collect()
}

/// Agreement of G with ½σ_k²σ_θ²c · diag(taps) for conv 3 × 3, ReLU, flatten, dense on a 6 × 6 image.
pub fn flatten_cnn(padding: Padding, networks: u64) -> Result<Agreement, GeometryError> {
    let mut net = builder(Shape::Image {
        channels: 1,
        height: SIDE,
        width: SIDE,
    })?;
    let spec = ConvSpec::new(4, [3, 3]).padding(padding).bias(HasBias::No);
    let x = net.conv(Builder::INPUT, "conv", spec)?;
    let x = net.activation(x, "relu", Activation::Relu)?;
    let x = net.flatten(x, "flatten")?;
    let features = net.shape(x).len() as f64;
    net.dense(x, "read", 1, HasBias::No)?;
    let groups = sampled(net.finish(), networks, Where::Fixed)?;
    let level = 0.5 * 4.0 / 9.0 / features;
    let dim = SIDE * SIDE;
    let mut prediction = vec![0.0; dim * dim];
    for (pixel, count) in taps(padding).into_iter().enumerate() {
        prediction[pixel * (dim + 1)] = level * count;
    }
    Ok(Agreement::geometry(&groups, &prediction, dim))
}

/// Where gradients are taken.
#[derive(Clone, Copy)]
pub(super) enum Where {
    /// At x = 0.
    Zero,
    /// At one point for all networks.
    Fixed,
    /// At another standard normal point for every network.
    Anew,
}

/// G of output 0 by groups of networks.
pub(super) fn sampled(graph: Graph, networks: u64, probe: Where) -> Result<Groups, GeometryError> {
    let dim = graph.input().len();
    let network = Network::<f64>::new(graph);
    let rows = |index: u64| {
        let weights = Weights::draw(network.graph(), 0, index);
        let at = match probe {
            Where::Zero | Where::Fixed => 0,
            Where::Anew => index,
        };
        let std = match probe {
            Where::Zero => 0.0,
            Where::Fixed | Where::Anew => 1.0,
        };
        let mut x = vec![0.0; dim];
        Stream::new(1, at, "probe").normal(std, &mut x);
        let x: Vec<f64> = x.into_iter().map(f64::from).collect();
        let gradients = network.input_gradient(&weights, &x, Scalar::Logit(0))?;
        Ok(Rows {
            gradients,
            tangents: Vec::new(),
        })
    };
    gather(dim, networks, &rows, &mut |_, _| {})
}
