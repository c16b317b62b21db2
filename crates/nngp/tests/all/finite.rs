//! Wide networks, sampled: catches a kernel that is consistent but not that of the network.
//!
//! The means over networks of f f' and of ∇f·∇f' miss the kernels by a sampling error and by O(1/width), where norms
//! read Gaussians and the logits of attention are 0: there the approximations are exact at infinite width.

use crate::common::{graph, numbers};
use polariscope_graph::{Graph, Op, ZooOptions, zoo};
use polariscope_network::{Network, Scalar, Weights};
use polariscope_nngp::{Kernel, Wanted};

const WIDTH: usize = 128;
const OUTPUTS: usize = 64;
const NETWORKS: usize = 240;

fn net(input: &str, layers: &str) -> Graph {
    let out = format!(r#"{{ op = "dense", features = {OUTPUTS} }}"#);
    graph(input, &format!("{layers}, {out}"))
}

/// Queries and keys become 0, so that every logit is.
fn silence(graph: &Graph, weights: &mut Weights<f64>) {
    for node in &graph.nodes {
        if let Op::Attention {
            in_weight, in_bias, ..
        } = &node.op
        {
            let ids = std::iter::once(*in_weight).chain(*in_bias);
            for id in ids {
                let values = &mut weights.values[id.0];
                let two_thirds = values.len() / 3 * 2;
                values[..two_thirds].fill(0.0);
            }
        }
    }
}

/// Mean and its standard error.
fn mean(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
    (mean, (square / (n - 1.0) / n).sqrt())
}

/// K and Θ of (x, x), (x, x') within five standard errors and `finite`/width.
fn samples_to(graph: Graph, finite: f64) {
    let kernel = Kernel::new(&graph).unwrap();
    let n = kernel.inputs();
    let x = numbers(2 * n, 21);
    let values = kernel.among(Wanted::Both, &x).unwrap();
    let network = Network::<f64>::new(graph);
    let (mut products, mut gradients) = ([vec![], vec![]], [vec![], vec![]]);
    for index in 0..NETWORKS as u64 {
        let mut weights = Weights::draw(network.graph(), 3, index);
        silence(network.graph(), &mut weights);
        let f = network.output(&weights, &x).unwrap();
        let g = network
            .sample_gradients(&weights, &x, Scalar::Logit(0))
            .unwrap();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (left, right) = f.split_at(OUTPUTS);
        products[0].push(dot(left, left) / OUTPUTS as f64);
        products[1].push(dot(left, right) / OUTPUTS as f64);
        gradients[0].push(dot(&g[0], &g[0]));
        gradients[1].push(dot(&g[0], &g[1]));
    }
    let theta = values.ntk.unwrap();
    for pair in 0..2 {
        for (name, sampled, exact, size) in [
            ("K", &products[pair], values.nngp[pair], values.nngp[0]),
            ("Θ", &gradients[pair], theta[pair], theta[0]),
        ] {
            let (mean, error) = mean(sampled);
            let allowed = 5.0 * error + finite / WIDTH as f64 * size;
            assert!(
                (mean - exact).abs() < allowed,
                "{name} of pair {pair}: {exact}, sampled {mean} ± {error}"
            );
            // The test can fail: what it allows is small.
            assert!(allowed < 0.15 * size, "{name}: {allowed} of {size}");
        }
    }
}

#[test]
fn norms_of_vectors() {
    let dense = format!(r#"{{ op = "dense", features = {WIDTH} }}"#);
    for norm in ["layer-norm", "rms-norm"] {
        let one = format!(r#"{dense}, {{ op = "{norm}", eps = 0.1 }}, {{ op = "relu" }}"#);
        samples_to(net("[3]", &format!("{one}, {one}")), 2.0);
    }
}

#[test]
fn hard_activations() {
    for activation in ["hard-sigmoid", "hard-swish"] {
        let layers = format!(
            r#"{{ op = "dense", features = {WIDTH} }}, {{ op = "scale", by = 3.0 }}, {{ op = "{activation}" }}"#
        );
        samples_to(net("[4]", &layers), 2.0);
    }
}

#[test]
fn norms_of_images() {
    let conv =
        format!(r#"{{ op = "conv", channels = {WIDTH}, kernel = 3, padding = "circular" }}"#);
    for norm in [
        r#"{ op = "layer-norm", eps = 0.1 }"#,
        r#"{ op = "group-norm", groups = 1, eps = 0.1 }"#,
    ] {
        let layers = format!(r#"{conv}, {norm}, {{ op = "relu" }}, {{ op = "global-avg-pool" }}"#);
        samples_to(net("[1, 3, 3]", &layers), 2.0);
    }
}

/// With nothing nonlinear behind it a grouped convolution is exact at any number of channels.
#[test]
fn depthwise_convolutions() {
    let conv = |groups: usize| {
        format!(
            r#"{{ op = "conv", channels = {WIDTH}, kernel = 3, padding = "same", groups = {groups} }}"#
        )
    };
    let layers = format!(
        r#"{}, {{ op = "relu" }}, {}, {{ op = "flatten" }}"#,
        conv(1),
        conv(WIDTH)
    );
    samples_to(net("[1, 3, 3]", &layers), 2.0);
}

#[test]
fn transformers_with_silent_logits() {
    let dense = format!(r#"{{ op = "dense", features = {WIDTH} }}"#);
    let norm = r#"{ op = "layer-norm", eps = 0.1 }"#;
    let layers = format!(
        r#"{{ op = "patch-embed", size = 2, width = {WIDTH} }}, {{ op = "class-token" }}, {{ op = "position" }},
        {{ op = "residual", branch = [ {norm}, {{ op = "attention", heads = 4 }} ] }},
        {{ op = "residual", branch = [ {norm}, {dense}, {{ op = "relu" }}, {dense} ] }},
        {norm}, {{ op = "take-token", index = 0 }}"#
    );
    samples_to(net("[2, 4, 4]", &layers), 2.0);
}

/// Every zoo transformer has symmetric kernels without a negative eigenvalue, and says what they leave out.
#[test]
fn zoo_transformers() {
    for (name, count) in [("vit", 2), ("vit-noln", 1)] {
        let options = ZooOptions {
            input: Some("3x16x16".parse().unwrap()),
            ..ZooOptions::default()
        };
        let kernel = Kernel::new(&zoo(name, &options).unwrap()).unwrap();
        let said = kernel.approximations();
        assert_eq!(said.len(), count, "{said:?}");
        assert!(
            said.iter()
                .any(|s| s.starts_with("attention weights taken uniform"))
        );
        assert_eq!(said.iter().any(|s| s.starts_with("norms")), name == "vit");
        let n = 5;
        let x = numbers(n * kernel.inputs(), 22);
        let values = kernel.between(Wanted::Both, &x, &x).unwrap();
        for k in [values.nngp, values.ntk.unwrap()] {
            for (i, v) in k.iter().enumerate() {
                let error = (v - k[i % n * n + i / n]).abs();
                assert!(error <= 1e-12 * v.abs(), "{name}: {error}");
            }
            // Every pivot of K = LDLᵀ is positive.
            let mut a = k.clone();
            for p in 0..n {
                assert!(a[p * n + p] > 1e-9 * k[p * n + p], "{name}: pivot {p}");
                for i in p + 1..n {
                    let factor = a[i * n + p] / a[p * n + p];
                    for j in p + 1..n {
                        a[i * n + j] -= factor * a[p * n + j];
                    }
                }
            }
        }
    }
}
