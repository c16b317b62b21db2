//! Sums that carry activations: means through every op by hand, and residual networks against sampling.

use crate::common::net;
use polariscope_graph::{Activation, Graph};
use polariscope_meanfield::dual::{Pair, Shifted, dual};
use polariscope_meanfield::{Covariance, Readout, mean_field};
use polariscope_network::{Network, Scalar, Weights};

fn trace(g: &Covariance) -> f64 {
    (0..g.dimension()).map(|i| g.get(i, i)).sum()
}

/// E|∇f|² over networks and its standard error.
fn sampled_trace(graph: &Graph, x: &[f64], networks: u64) -> (f64, f64) {
    let network = Network::<f64>::new(graph.clone());
    let mut weights = Weights::zeros(graph);
    let (mut sum, mut squares) = (0.0, 0.0);
    for index in 0..networks {
        weights.redraw(graph, 7, index);
        let gradient = network
            .input_gradient(&weights, x, Scalar::Logit(0))
            .unwrap();
        let square: f64 = gradient.iter().map(|g| g * g).sum();
        sum += square;
        squares += square * square;
    }
    let n = networks as f64;
    let mean = sum / n;
    (mean, ((squares / n - mean * mean) / (n - 1.0)).sqrt())
}

fn probe(n: usize) -> Vec<f64> {
    (0..n).map(|i| 1.4 * (2.1 * i as f64 + 0.4).sin()).collect()
}

fn variance(q: f64) -> Pair {
    Pair {
        q11: q,
        q12: q,
        q22: q,
    }
}

/// σ(u) + σ(v) with means of ½ each: E[(σ + σ')²] has the product ½ between them, and sin reads it through a weight.
#[test]
fn two_means_multiply_in_a_sum() {
    let graph = net(
        "input = [4]\nparametrisation = \"ntk\"\nw_std = 1.5\nb_std = 0.0",
        r#"{ op = "dense", features = 3 }, { op = "sigmoid" }, { op = "residual", branch = [ { op = "dense", features = 3 }, { op = "sigmoid" } ] },
        { op = "dense", features = 3 }, { op = "sin" }, { op = "dense", features = 1 }"#,
    );
    let x = [0.3, -0.7, 1.1, 0.4];
    let w2 = 2.25;
    let first = dual(
        Activation::Sigmoid,
        variance(w2 * x.iter().map(|x| x * x).sum::<f64>() / 4.0),
    );
    let branch = dual(Activation::Sigmoid, variance(w2 * first.value));
    let sum = first.value + branch.value + 2.0 * 0.5 * 0.5;
    let last = dual(Activation::Sin, variance(w2 * sum));
    let wanted = w2 / 4.0 * w2 * w2 * last.slope * (1.0 + w2 * branch.slope) * first.slope;
    let g = mean_field(&graph, &x, Readout::Logit(0)).unwrap();
    assert_eq!((g.channels, g.positions), (4, 1));
    // The logistic mixture is good to 7e-10.
    assert!(
        (g.factor[0] / wanted - 1.0).abs() < 1e-8,
        "{} {wanted}",
        g.factor[0]
    );
}

/// Equal positions: pool, batch norm (by ½) and scale (by −2) leave −relu(z), of mean −1/√(2π) and variance
/// ½ − 1/2π a unit; the next relu is on with the probability Φ(mean/deviation) for all pairs at once.
#[test]
fn means_go_through_pools_and_gains() {
    let start = r#"{ op = "conv", channels = 2, kernel = 1, bias = false }, { op = "relu" }, { op = "avg-pool", size = 2 },
        { op = "batch-norm", eps = 3.0 }, { op = "scale", by = -2.0 },"#;
    let end = r#"{ op = "global-avg-pool" }, { op = "dense", features = 1 }"#;
    let head = "input = [1, 4, 4]\nparametrisation = \"ntk\"";
    let x = [1.3; 16];
    let with = |middle: &str| {
        let graph = net(head, &format!("{start} {middle} {end}"));
        mean_field(&graph, &x, Readout::Logit(0)).unwrap()
    };
    let (open, gated) = (with(""), with(r#"{ op = "relu" },"#));
    let tau = std::f64::consts::TAU;
    let (mean, variance) = (-1.0 / tau.sqrt(), 0.5 - 1.0 / tau);
    let on = Shifted::new(Activation::Relu, &[mean], &[variance]).slope(0);
    // Φ(−0.6833) from a table.
    assert!((on - 0.2472).abs() < 1e-4);
    for i in 0..16 {
        for j in 0..16 {
            let wanted = on * open.get(i, j);
            assert!((gated.get(i, j) - wanted).abs() < 1e-13 * open.get(0, 0));
        }
    }
}

const CONV: &str = r#"op = "conv", kernel = 3, padding = 1, bias = false"#;

fn residual_mlp(activation: &str, width: usize, blocks: usize) -> Graph {
    let dense = format!(r#"{{ op = "dense", features = {width}, bias = false }}"#);
    let act = format!(r#"{{ op = "{activation}" }}"#);
    let block = format!(r#"{{ op = "residual", branch = [ {dense}, {act}, {dense} ] }}, {act},"#);
    let layers = format!(
        r#"{dense}, {act}, {} {{ op = "dense", features = 1 }}"#,
        block.repeat(blocks)
    );
    net("input = [24]", &layers)
}

/// relu after three skips, PyTorch's laws: Var w = 1/(3·fan-in), so a weighted layer hands on ⅓, a branch 1/18.
/// Slopes of ½ throughout give (1/9)·½·(½·19/18)³, five times too little: once on, a unit stays on.
#[test]
fn wide_residual_relu_networks_agree() {
    let graph = residual_mlp("relu", 256, 3);
    let x = probe(24);
    let g = trace(&mean_field(&graph, &x, Readout::Logit(0)).unwrap());
    let (sampled, error) = sampled_trace(&graph, &x, 400);
    println!("relu: {:.4} ± {:.4}", sampled / g, error / g);
    assert!(error < 0.025 * g);
    // Gaussian closure costs a few per cent.
    assert!((sampled / g - 1.0).abs() < 0.06 + 3.0 * error / g);
    let centred = 0.5 / 9.0 * (19.0 / 36.0f64).powi(3);
    assert!(sampled / centred > 4.5, "{}", sampled / centred);
}

/// A convolutional one with a stage of two skips and one that starts with a weight.
#[test]
fn residual_convolutions_agree() {
    let block = format!(
        r#"{{ op = "residual", branch = [ {{ {CONV}, channels = 32 }}, {{ op = "relu" }}, {{ {CONV}, channels = 32 }} ] }}, {{ op = "relu" }},"#
    );
    let layers = format!(
        r#"{{ {CONV}, channels = 32 }}, {{ op = "relu" }}, {block} {block}
        {{ op = "residual", branch = [ {{ {CONV}, stride = 2, channels = 32 }}, {{ op = "relu" }}, {{ {CONV}, channels = 32 }} ],
           skip = [ {{ op = "conv", kernel = 1, stride = 2, channels = 32, bias = false }} ] }}, {{ op = "relu" }},
        {{ op = "flatten" }}, {{ op = "dense", features = 1 }}"#
    );
    let graph = net("input = [1, 6, 6]", &layers);
    let x = probe(36);
    let g = trace(&mean_field(&graph, &x, Readout::Logit(0)).unwrap());
    let (sampled, error) = sampled_trace(&graph, &x, 300);
    println!("conv: {:.4} ± {:.4}", sampled / g, error / g);
    assert!(error < 0.03 * g);
    // Closure and a width of 32.
    assert!((sampled / g - 1.0).abs() < 0.1 + 3.0 * error / g);
}
