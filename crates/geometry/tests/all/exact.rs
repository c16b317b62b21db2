//! The closed form against random networks of the zoo, at x = 0.
//!
//! Entries of G are correlated, so they are tested in G's own directions: for an eigenvector u with eigenvalue λ,
//! (u·g)²/λ has mean 1, and for different u these are uncorrelated. Their standardised means add to a χ² with one
//! degree of freedom a direction; the trace is tested beside. Bug class: a wrong factor or a missing path anywhere in
//! the backward propagation of a real architecture.

use polariscope_geometry::{Output, Probe, Spectrum, exact};
use polariscope_graph::{BiasRule, Graph, ZooOptions, zoo};
use polariscope_network::{Network, Scalar, Weights};
use polariscope_stats::Estimate;
use rayon::prelude::*;

/// Directions tested, spread evenly over the first half of the spectrum.
const DIRECTIONS: usize = 24;

fn network(name: &str, input: &str, activation: &str) -> Graph {
    let options = ZooOptions {
        input: Some(input.parse().unwrap()),
        outputs: Some(1),
        activation: Some(activation.parse().unwrap()),
        bias: BiasRule::Zero,
        width: matches!(name, "lcn" | "cnn-vec").then_some(8),
        ..ZooOptions::default()
    };
    zoo(name, &options).unwrap()
}

/// z of a mean that should be 1.
fn z(samples: &[f64]) -> f64 {
    let mean = Estimate::mean(samples).unwrap();
    (mean.value - 1.0) / mean.standard_error
}

fn agree(name: &str, input: &str, activation: &str, networks: u64) {
    let graph = network(name, input, activation);
    let g = exact(&graph, &Probe::Zero, Output::Logit(0)).unwrap();
    let spectrum = Spectrum::of(&g).unwrap();
    let (dim, trace) = (g.dim(), g.trace());
    let chosen: Vec<usize> = (0..DIRECTIONS)
        .map(|i| i * dim / (2 * DIRECTIONS))
        .collect();
    let directions: Vec<Vec<f64>> = chosen.iter().map(|&i| spectrum.direction(i)).collect();
    let net = Network::<f32>::new(graph);
    let x = vec![0.0; dim];
    let rows: Vec<Vec<f64>> = (0..networks)
        .into_par_iter()
        .map(|index| {
            let weights = Weights::draw(net.graph(), 11, index);
            let gradient = net.input_gradient(&weights, &x, Scalar::Logit(0)).unwrap();
            let gradient: Vec<f64> = gradient.into_iter().map(f64::from).collect();
            let dot = |u: &[f64]| -> f64 { u.iter().zip(&gradient).map(|(u, g)| u * g).sum() };
            let along = |(u, i): (&Vec<f64>, &usize)| dot(u).powi(2) / spectrum.values[*i];
            let mut row: Vec<f64> = directions.iter().zip(&chosen).map(along).collect();
            row.push(dot(&gradient) / trace);
            row
        })
        .collect();
    let column = |k: usize| rows.iter().map(|row| row[k]).collect::<Vec<f64>>();
    let chi2: f64 = (0..DIRECTIONS).map(|k| z(&column(k)).powi(2)).sum();
    let of_trace = z(&column(DIRECTIONS));
    // Mean 24, deviation √48 = 6.9 for normal z; means of χ²₁-like numbers are skewed, so their tails are fatter.
    assert!(chi2 < 24.0 + 5.0 * 6.9, "{name}: χ² = {chi2}");
    assert!(
        of_trace.abs() < 3.5,
        "{name}: the trace lies {of_trace} errors off"
    );
}

#[test]
fn linear_convolutions_with_global_average_pool() {
    agree("lenet-gap", "2x16x16", "identity", 2000);
}

#[test]
fn residual_networks_with_and_without_batch_norm() {
    agree("resnet18", "1x8x8", "gelu", 128);
    agree("resnet18-nobn", "1x8x8", "gelu", 128);
}

#[test]
fn densenet() {
    agree("densenet121", "1x32x32", "gelu", 48);
}

#[test]
fn locally_connected() {
    agree("lcn", "1x8x8", "gelu", 3000);
}

#[test]
fn circular_convolutions() {
    agree("cnn-vec", "1x8x8", "tanh", 3000);
}

#[test]
fn average_pools() {
    agree("lenet-avg", "1x20x20", "gelu", 2000);
}
