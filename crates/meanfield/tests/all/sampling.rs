//! `exact` against networks drawn at random: the closed form holds at any width, so narrow ones must agree.

use crate::common::net;
use crate::common::sampled::{assert_agrees, difference};
use polariscope_meanfield::{ExactProbe, Readout, exact};
use polariscope_network::Scalar;

/// Standard errors of entries are near 3/√T: 5 % of the diagonal.
const NETWORKS: u64 = 4000;

fn agree(name: &str, head: &str, layers: &str) {
    let graph = net(head, layers);
    let x = vec![0.0; graph.input().len()];
    let g = exact(&graph, ExactProbe::Zero, Readout::Logit(0)).unwrap();
    let d = difference(&graph, &g, &x, Scalar::Logit(0), NETWORKS);
    println!("{name}: {d:?}");
    assert_agrees(name, &d);
    if graph.output().len() > 1 {
        let g = exact(&graph, ExactProbe::Zero, Readout::Mean).unwrap();
        let d = difference(&graph, &g, &x, Scalar::Mean, NETWORKS);
        println!("{name}, mean: {d:?}");
        assert_agrees(name, &d);
    }
}

const CONV: &str = r#"op = "conv", bias = false, padding = 1, kernel = 3"#;

#[test]
fn linear_convolution_with_global_average_pool() {
    let layers = format!(
        r#"{{ {CONV}, channels = 3 }}, {{ op = "global-avg-pool" }}, {{ op = "dense", features = 2 }}"#
    );
    agree("linear", "input = [2, 5, 5]", &layers);
}

fn resnet(norm: &str) -> String {
    format!(
        r#"{{ {CONV}, channels = 3 }}, {norm} {{ op = "gelu" }},
        {{ op = "residual", branch = [ {{ {CONV}, channels = 3 }}, {norm} {{ op = "gelu" }}, {{ {CONV}, channels = 3 }} ] }}, {{ op = "gelu" }},
        {{ op = "residual", branch = [ {{ {CONV}, stride = 2, channels = 4 }}, {norm} {{ op = "gelu" }}, {{ {CONV}, channels = 4 }} ],
           skip = [ {{ op = "conv", kernel = 1, stride = 2, channels = 4, bias = false }} ] }}, {norm} {{ op = "gelu" }},
        {{ op = "global-avg-pool" }}, {{ op = "dense", features = 2 }}"#
    )
}

#[test]
fn gelu_resnet() {
    agree("resnet", "input = [1, 6, 6]", &resnet(""));
}

/// ε = 1 makes batch norm halve every covariance: a gain taken twice or left out is seen.
#[test]
fn gelu_resnet_with_batch_norm() {
    agree(
        "resnet with batch norm",
        "input = [1, 6, 6]",
        &resnet(r#"{ op = "batch-norm", eps = 1.0 },"#),
    );
}

#[test]
fn concatenations() {
    let dense = |inner: usize| {
        format!(
            r#"{{ op = "concat", branches = [ [ {{ op = "batch-norm" }}, {{ op = "gelu" }}, {{ {CONV}, channels = {inner} }} ], [] ] }}"#
        )
    };
    let layers = format!(
        r#"{{ {CONV}, channels = 2 }}, {}, {}, {{ op = "tanh" }}, {{ op = "conv", channels = 3, kernel = 1, bias = false }},
        {{ op = "avg-pool", size = 2 }}, {}, {{ op = "global-avg-pool" }}, {{ op = "dense", features = 1 }}"#,
        dense(2),
        dense(1),
        dense(2)
    );
    agree("densenet", "input = [1, 6, 6]", &layers);
}

#[test]
fn locally_connected() {
    let local = r#"{ op = "local", channels = 2, kernel = 3, padding = "circular", bias = false }, { op = "erf" }"#;
    agree(
        "lcn",
        "input = [2, 5, 5]\nparametrisation = \"ntk\"",
        &format!(r#"{local}, {local}, {{ op = "flatten" }}, {{ op = "dense", features = 1 }}"#),
    );
}

#[test]
fn strided_dilated_grouped_and_circular() {
    let layers = r#"{ op = "conv", channels = 4, kernel = 3, stride = 2, padding = 2, bias = false }, { op = "sin" },
        { op = "conv", channels = 4, kernel = 2, dilation = 2, padding = "circular", groups = 2, bias = false }, { op = "silu" },
        { op = "global-avg-pool" }, { op = "dense", features = 2 }"#;
    agree(
        "strided",
        "input = [1, 7, 6]\nparametrisation = \"he\"",
        layers,
    );
    let depthwise = r#"{ op = "conv", channels = 4, kernel = 3, groups = 2, padding = "same", bias = false },
        { op = "global-avg-pool" }"#;
    agree("depthwise", "input = [2, 4, 5]", depthwise);
}

#[test]
fn pools_and_orthogonal_weights() {
    let layers = r#"{ op = "conv", channels = 3, kernel = 3, padding = 1, bias = false }, { op = "gelu" }, { op = "avg-pool", size = 3, stride = 2, padding = 1 },
        { op = "conv", channels = 5, kernel = 3, padding = 1, bias = false }, { op = "gelu" }, { op = "avg-pool", size = 2, stride = 1 },
        { op = "flatten" }, { op = "dense", features = 3, bias = false }, { op = "tanh" }, { op = "dropout" }, { op = "dense", features = 2 }"#;
    agree("vgg", "input = [1, 6, 6]", layers);
    agree(
        "vgg, orthogonal",
        "input = [1, 6, 6]\nparametrisation = \"orthogonal\"",
        layers,
    );
}
