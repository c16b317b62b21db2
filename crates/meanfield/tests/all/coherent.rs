//! The coherent geometry in closed form: networks solved by hand, one input taken twice, pairs of inputs against their
//! average, activations at tiny inputs.
//!
//! Bug class: a covariance of the wrong input, a transposed pair, a mean of the other input, a slope of one input alone.

use std::f64::consts::{PI, TAU};

use crate::common::net;
use polariscope_graph::{BiasRule, ZooOptions, zoo};
use polariscope_meanfield::{
    Covariance, ExactProbe, Inputs, Readout, coherent, coherent_and_local, exact, mean_field,
};
use polariscope_random::Stream;

const LOGIT: Readout = Readout::Logit(0);

fn normal(n: usize, index: u64) -> Vec<f64> {
    let mut x = vec![0f32; n];
    Stream::new(3, index, "test").normal(1.0, &mut x);
    x.into_iter().map(f64::from).collect()
}

fn dense(g: &Covariance) -> Vec<f64> {
    let n = g.dimension();
    (0..n * n).map(|k| g.get(k / n, k % n)).collect()
}

fn corr(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[track_caller]
fn assert_close(found: &[f64], wanted: &[f64], tolerance: f64) {
    let size = wanted.iter().fold(0f64, |m, v| m.max(v.abs()));
    for (i, (f, w)) in found.iter().zip(wanted).enumerate() {
        let off = (f - w).abs() / size;
        assert!(off < tolerance, "entry {i}: {f:e} instead of {w:e}");
    }
}

/// Two hidden layers of relus without biases. Independent inputs meet the first with correlation 0 (slope ¼), the
/// second with E[φφ']/E[φ²] = (q/2π)/(q/2) = 1/π, slope (π − arccos 1/π)/2π; one input has the slope ½ at both.
#[test]
fn relus_of_independent_inputs() {
    let graph = net(
        "input = [8]",
        r#"{ op = "dense", features = 5, bias = false }, { op = "relu" },
        { op = "dense", features = 7, bias = false }, { op = "relu" }, { op = "dense", features = 1 }"#,
    );
    for sigma in [0.2, 1.0, 30.0] {
        let [g, local] = coherent_and_local(&graph, sigma, LOGIT).unwrap();
        let wanted = 0.25 * (PI - (1.0 / PI).acos()) / TAU / 0.25;
        let found = g.get(3, 3) / local.get(3, 3);
        assert!((found - wanted).abs() < 1e-14, "{found} {wanted}");
        let alone = coherent(&graph, Inputs::White { sigma }, LOGIT).unwrap();
        assert_eq!(alone, g);
        assert!(g.get(0, 1).abs() < 1e-18);
    }
}

/// A bias of variance b is common to both inputs: the first layer has correlation b/(q + b), q = σ²·Var(w)·D = σ²/3 and
/// b = 1/3D for PyTorch's weights.
#[test]
fn biases_are_shared() {
    let graph = net(
        "input = [12]",
        r#"{ op = "dense", features = 5 }, { op = "relu" }, { op = "dense", features = 1 }"#,
    );
    let [g, local] = coherent_and_local(&graph, 1.0, LOGIT).unwrap();
    let (q, b) = (1.0 / 3.0, 1.0 / 36.0);
    let wanted = (PI - f64::acos(b / (q + b))) / TAU / 0.5;
    let found = g.get(0, 0) / local.get(0, 0);
    assert!((found - wanted).abs() < 1e-14, "{found} {wanted}");
}

/// Without activations all gradients are the same, so all three geometries are.
#[test]
fn linear_networks_have_one_geometry() {
    for name in ["resnet18", "lenet-avg"] {
        let options = ZooOptions {
            input: Some("1x16x16".parse().unwrap()),
            activation: Some("identity".parse().unwrap()),
            ..ZooOptions::default()
        };
        let options = match name {
            "lenet-avg" => ZooOptions {
                input: Some("1x32x32".parse().unwrap()),
                ..options
            },
            _ => options,
        };
        let graph = zoo(name, &options).unwrap();
        let wanted = dense(&exact(&graph, ExactProbe::Anywhere, LOGIT).unwrap());
        let [g, local] = coherent_and_local(&graph, 1.0, LOGIT).unwrap();
        assert_close(&dense(&g), &wanted, 1e-13);
        assert_close(&dense(&local), &wanted, 1e-13);
    }
}

/// φ is linear at inputs of size σ up to terms of order σ², so that coherent = local = exact there.
#[test]
fn smooth_activations_at_tiny_inputs() {
    for (name, input) in [
        ("resnet18", "1x16x16"),
        ("lenet-avg", "1x32x32"),
        ("mlp-2x100", "1x8x8"),
    ] {
        let options = ZooOptions {
            input: Some(input.parse().unwrap()),
            activation: Some("gelu".parse().unwrap()),
            bias: BiasRule::Zero,
            ..ZooOptions::default()
        };
        let graph = zoo(name, &options).unwrap();
        let wanted = dense(&exact(&graph, ExactProbe::Zero, LOGIT).unwrap());
        for sigma in [1e-3, 1e-5] {
            let [g, local] = coherent_and_local(&graph, sigma, LOGIT).unwrap();
            // Pre-activations are at most about σ here, gelu' grows by 0.8 for each unit, and what is carried is squares:
            // a term of order σ² for each of up to 17 activations.
            let tolerance = 30.0 * sigma * sigma + 1e-12;
            assert_close(&dense(&g), &wanted, tolerance);
            assert_close(&dense(&local), &wanted, tolerance);
        }
    }
}

const SMALL: &str = r#"{ op = "conv", channels = 4, kernel = 3, padding = "same" }, { op = "relu" },
    { op = "conv", channels = 4, kernel = 3, stride = 2, padding = "same" }, { op = "relu" },
    { op = "avg-pool", size = 2 }, { op = "flatten" }, { op = "dense", features = 1 }"#;

/// Both inputs the same: the pair's matrices must be those of one input, whatever form they are kept in.
#[test]
fn an_input_with_itself_is_the_local_geometry() {
    let gelu = SMALL.replace("relu", "gelu");
    for layers in [SMALL, &gelu] {
        let graph = net("input = [2, 8, 6]", layers);
        let x = normal(96, 0);
        let wanted = mean_field(&graph, &x, LOGIT).unwrap();
        let found = coherent(&graph, Inputs::Given([&x, &x]), LOGIT).unwrap();
        assert_close(&dense(&found), &dense(&wanted), 1e-12);
    }
}

/// E[∇f(x)∇f(x')ᵀ] is the transpose of E[∇f(x')∇f(x)ᵀ], and not symmetric; skips, means and max pools included.
#[test]
fn inputs_that_change_places_transpose() {
    let skips = r#"{ op = "conv", channels = 4, kernel = 3, padding = "same" }, { op = "relu" },
        { op = "max-pool", size = 2 },
        { op = "residual", branch = [ { op = "conv", channels = 4, kernel = 3, padding = "same" } ] }, { op = "relu" },
        { op = "residual", branch = [ { op = "conv", channels = 4, kernel = 3, padding = "same" } ] }, { op = "relu" },
        { op = "global-avg-pool" }, { op = "dense", features = 1 }"#;
    let graph = net("input = [1, 6, 8]", skips);
    let [x, y] = [0, 1].map(|i| normal(48, i));
    let xy = dense(&coherent(&graph, Inputs::Given([&x, &y]), LOGIT).unwrap());
    let yx = dense(&coherent(&graph, Inputs::Given([&y, &x]), LOGIT).unwrap());
    let transposed: Vec<f64> = (0..48 * 48).map(|k| yx[k % 48 * 48 + k / 48]).collect();
    assert_close(&xy, &transposed, 1e-13);
    let asymmetric = xy
        .iter()
        .zip(&yx)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max);
    assert!(asymmetric > 1e-3 * xy.iter().fold(0f64, |m, v| m.max(v.abs())));
}

/// Averaged over pairs of inputs drawn from N(0, I) the geometry of given inputs is that of the average input: shapes
/// agree; fluctuations of the 9 numbers under a kernel leave some percent in the trace.
#[test]
fn pairs_average_to_white_inputs() {
    for layers in [SMALL.to_string(), SMALL.replace("avg-pool", "max-pool")] {
        let graph = net("input = [1, 8, 8]", &layers);
        let white = dense(&coherent(&graph, Inputs::White { sigma: 1.0 }, LOGIT).unwrap());
        let mut sum = vec![0.0; white.len()];
        for i in 0..300 {
            let [x, y] = [2 * i, 2 * i + 1].map(|i| normal(64, i));
            let g = dense(&coherent(&graph, Inputs::Given([&x, &y]), LOGIT).unwrap());
            sum.iter_mut().zip(&g).for_each(|(s, g)| *s += g / 300.0);
        }
        let trace = |g: &[f64]| (0..64).map(|i| g[i * 65]).sum::<f64>();
        let ratio = trace(&sum) / trace(&white);
        assert!(corr(&sum, &white) > 0.995, "{}", corr(&sum, &white));
        assert!((0.9..1.1).contains(&ratio), "{ratio}");
    }
}
