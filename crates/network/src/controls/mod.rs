//! Controls of the foundation: generator, network, derivatives.

mod derivatives;
pub mod device;
mod draws;
mod networks;

use polariscope_diff::Number;
use polariscope_graph::{Graph, ZooOptions, parse_file, zoo};
use polariscope_lens::{Control, Fault, Group, control};
use polariscope_random::Stream;

use crate::{Network, Weights};

/// Draws behind each moment.
const DRAWS: f64 = draws::COUNT as f64;

/// What needs no GPU.
pub const CONTROLS: Group = Group {
    name: "core",
    controls: TABLE,
};

/// The table. Moments may be off by five standard errors; differences by what their step allows; everything
/// else by rounding.
#[rustfmt::skip]
const TABLE: &[Control] = &[
    // Var z² = 2, Var z⁴ = 96, Var u² = 4/45; the generator is deterministic, so these never fail by chance.
    control("generator: variance of the normal distribution", 1.0, 5.0 * sqrt(2.0 / DRAWS), draws::normal_variance),
    control("generator: fourth moment of the normal distribution", 3.0, 5.0 * sqrt(96.0 / DRAWS), draws::normal_kurtosis),
    control("generator: variance of the uniform distribution on [−1, 1]", 1.0 / 3.0, 5.0 * sqrt(4.0 / 45.0 / DRAWS), draws::uniform_variance),
    control("network 3 alone and after 0, 1, 2: numbers that differ", 0.0, 0.0, draws::order),
    control("weights and gradients on 1 and 2 threads: numbers that differ", 0.0, 0.0, networks::threads),
    control("linear network: distance of ∇f from w₂W₁", 0.0, 1e-13, networks::linear),
    control("ReLU network without biases: f(2x)/f(x)", 2.0, 1e-12, networks::homogeneous),
    control("circular conv, stride 2: error of f(shift² x) = shift f(x)", 0.0, 1e-13, networks::equivariant),
    control("self-attention: error of f(permuted patches) = f(patches)", 0.0, 1e-12, networks::permutation),
    control("ResNet-18: distance of f32 from f64 gradients", 0.0, 1e-4, networks::precisions),
    control("LeNet, GELU: distance of ∇f from central differences", 0.0, 1e-8, derivatives::gradient),
    control("LeNet, GELU: distance of the tangent of ∇f from differences", 0.0, 1e-7, derivatives::tangent),
    control("second derivatives: |uᵀHv − vᵀHu| / |uᵀHv|", 0.0, 1e-10, derivatives::symmetry),
    control("tangent kernel: uᵀJJᵀu / ‖Jᵀu‖²", 1.0, 1e-12, derivatives::kernel),
    control("cross-entropy: distance of the gradient from softmax(f) − y", 0.0, 1e-14, derivatives::cross_entropy),
];

/// √x for the constants above, by Newton's iteration (the library's is not const).
const fn sqrt(x: f64) -> f64 {
    let mut root = 1.0;
    let mut i = 0;
    while i < 60 {
        root = 0.5 * (root + x / root);
        i += 1;
    }
    root
}

/// A network of the zoo.
fn named(name: &str, options: ZooOptions) -> Result<Graph, Fault> {
    Ok(zoo(name, &options)?)
}

/// A network from the text of an architecture file.
fn written(text: &str) -> Result<Graph, Fault> {
    Ok(parse_file(text, "control", &ZooOptions::default())?)
}

/// The network with its first draw.
fn drawn<T: Number>(graph: Graph) -> (Network<T>, Weights<T>) {
    let weights = Weights::draw(&graph, 0, 0);
    (Network::new(graph), weights)
}

/// Standard normal numbers that have nothing to do with the weights.
fn normal(name: &str, count: usize) -> Vec<f64> {
    let mut numbers = vec![0.0; count];
    Stream::new(1, 0, name).normal(1.0, &mut numbers);
    numbers.into_iter().map(f64::from).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// ‖a − b‖ / ‖b‖
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    (dot(&difference, &difference) / dot(b, b)).sqrt()
}

#[cfg(test)]
mod tests {
    #[test]
    fn square_roots() {
        for x in [2.0, 1e-6, 96.0 / (1 << 20) as f64] {
            assert!((super::sqrt(x) - f64::sqrt(x)).abs() <= 1e-15 * f64::sqrt(x));
        }
    }
}
