//! Every refusal names the op, its layer and a way out.

use crate::common::net;
use polariscope_graph::{
    Activation, Builder, ConvSpec, HasBias, Law, Parametrisation, Shape, ZooOptions, zoo,
};
use polariscope_meanfield::{ExactProbe, Readout, approximations, exact, mean_field};

fn refused<T: std::fmt::Debug, E: std::fmt::Display>(result: Result<T, E>, words: &[&str]) {
    let message = result.map_err(|e| e.to_string()).unwrap_err();
    for word in words {
        assert!(message.contains(word), "`{message}` does not say `{word}`");
    }
    assert!(!message.contains('\n'));
}

fn zero<'a>(graph: &polariscope_graph::Graph, words: &'a [&'a str]) {
    refused(exact(graph, ExactProbe::Zero, Readout::Logit(0)), words);
}

#[test]
fn biases_and_offsets_move_activations() {
    let lenet = zoo(
        "lenet-avg",
        &ZooOptions {
            activation: Some(Activation::Gelu.into()),
            ..ZooOptions::default()
        },
    )
    .unwrap();
    zero(
        &lenet,
        &[
            "biases of conv1",
            "act1",
            "gelu",
            "‹bias zero›",
            "‹method sample›",
        ],
    );
    let sigmoid = net(
        "input = [4]",
        r#"{ op = "dense", features = 4, bias = false }, { op = "sigmoid", name = "s" }, { op = "dense", features = 4, bias = false }, { op = "tanh", name = "t" }"#,
    );
    zero(
        &sigmoid,
        &[
            "sigmoid(0)",
            "of s",
            "activation t (tanh)",
            "gelu",
            "‹method sample›",
        ],
    );
}

#[test]
fn the_last_bias_and_zero_biases_never_matter() {
    let last = net(
        "input = [4]",
        r#"{ op = "dense", features = 4, bias = false }, { op = "tanh" }, { op = "dense", features = 2 }"#,
    );
    assert!(exact(&last, ExactProbe::Zero, Readout::Mean).is_ok());
    let options = ZooOptions {
        activation: Some(Activation::Gelu.into()),
        bias: "zero".parse().unwrap(),
        ..ZooOptions::default()
    };
    assert!(
        exact(
            &zoo("lenet-avg", &options).unwrap(),
            ExactProbe::Zero,
            Readout::Mean
        )
        .is_ok()
    );
}

#[test]
fn kinks_and_probes() {
    let resnet = zoo("resnet18", &ZooOptions::default()).unwrap();
    zero(
        &resnet,
        &["relu", "act1", "kink", "gelu", "meanfield", "sample"],
    );
    let abs = net("input = [4]", r#"{ op = "abs", name = "fold" }"#);
    zero(&abs, &["abs", "fold", "gelu"]);
    let leaky = net("input = [4]", r#"{ op = "leaky-relu", name = "leak" }"#);
    zero(&leaky, &["leaky-relu", "leak"]);
    let tanh = net("input = [4]", r#"{ op = "tanh", name = "t" }"#);
    refused(
        exact(&tanh, ExactProbe::Anywhere, Readout::Logit(0)),
        &["tanh", "layer t", "x = 0", "sample"],
    );
}

#[test]
fn ops_without_a_closed_form() {
    let max = net(
        "input = [1, 4, 4]",
        r#"{ op = "max-pool", size = 2, name = "pool" }, { op = "flatten" }"#,
    );
    zero(&max, &["exact", "max-pool", "pool", "avg-pool", "sample"]);
    for (op, extra) in [
        ("layer-norm", ""),
        ("rms-norm", ""),
        ("group-norm", ", groups = 1"),
    ] {
        let layers = format!(
            r#"{{ op = "conv", channels = 2, kernel = 1, bias = false }}, {{ op = "{op}", name = "norm"{extra} }}, {{ op = "flatten" }}"#
        );
        let graph = net("input = [1, 4, 4]", &layers);
        zero(&graph, &["exact", op, "norm", "‹method sample›"]);
        refused(
            mean_field(&graph, &[0.5; 16], Readout::Logit(0)),
            &["meanfield", op, "norm", "‹method sample›"],
        );
    }
    // Also where both factors come from one node: the reason is the product.
    for branch in [
        r#"{ op = "sigmoid" }"#,
        r#"{ op = "global-avg-pool" }, { op = "dense", features = 2 }"#,
    ] {
        let layers = format!(
            r#"{{ op = "conv", channels = 2, kernel = 1, bias = false }}, {{ op = "gate", name = "excite", branch = [ {branch} ] }}, {{ op = "flatten" }}"#
        );
        let graph = net("input = [1, 4, 4]", &layers);
        let words = [
            "gate",
            "excite",
            "product",
            "not Gaussian",
            "‹method sample›",
        ];
        zero(&graph, &words);
        refused(mean_field(&graph, &[0.5; 16], Readout::Logit(0)), &words);
    }
    let vit = zoo(
        "vit",
        &ZooOptions {
            activation: Some(Activation::Gelu.into()),
            ..ZooOptions::default()
        },
    )
    .unwrap();
    zero(&vit, &["tokens", "conv_proj", "‹method sample›"]);
    refused(
        mean_field(&vit, &[0.5; 3072], Readout::Logit(0)),
        &["tokens", "‹method sample›"],
    );
}

#[test]
fn paths_without_weights() {
    let conv =
        r#"{ op = "conv", channels = 2, kernel = 3, padding = "same", bias = false, name = "c" }"#;
    let end = r#"{ op = "global-avg-pool" }, { op = "dense", features = 1 }"#;
    let twice = format!(
        r#"{conv}, {{ op = "residual", name = "r", branch = [ {{ op = "scale", by = 0.5 }} ] }}, {end}"#
    );
    zero(
        &net("input = [1, 4, 4]", &twice),
        &["add", "layer r", "paths from c", "sample"],
    );
    let same = format!(r#"{conv}, {{ op = "residual", name = "r", branch = [] }}, {end}"#);
    zero(
        &net("input = [1, 4, 4]", &same),
        &["add", "layer r", "paths from c", "sample"],
    );
    // A weight on one side is enough.
    let weighted = format!(
        r#"{conv}, {{ op = "residual", name = "r", branch = [ {} ] }}, {end}"#,
        conv.replace("\"c\"", "\"d\"")
    );
    assert!(
        exact(
            &net("input = [1, 4, 4]", &weighted),
            ExactProbe::Zero,
            Readout::Logit(0)
        )
        .is_ok()
    );
    // Sides of a concatenation meet different weights, but the mean over outputs adds them.
    let side = |end: &str| {
        net(
            "input = [1, 4, 4]",
            &format!(
                r#"{conv}, {{ op = "concat", name = "k", branches = [ [], [ {{ op = "tanh" }} ] ] }}, {end}"#
            ),
        )
    };
    assert!(exact(&side(end), ExactProbe::Zero, Readout::Mean).is_ok());
    let open = side(r#"{ op = "flatten" }"#);
    assert!(exact(&open, ExactProbe::Zero, Readout::All).is_ok());
    refused(
        exact(&open, ExactProbe::Zero, Readout::Mean),
        &["concat", "layer k", "sample"],
    );
    let bare = net("input = [2, 4]", r#"{ op = "global-avg-pool" }"#);
    refused(
        exact(&bare, ExactProbe::Zero, Readout::Mean),
        &["mean over outputs", "sample"],
    );
    // Average of channel 1 alone: 1/16 everywhere in it.
    let g = exact(&bare, ExactProbe::Zero, Readout::Logit(1)).unwrap();
    assert_eq!(
        [g.get(0, 0), g.get(4, 7), g.get(3, 4)],
        [0.0, 1.0 / 16.0, 0.0]
    );
    let layouts = net(
        "input = [1, 2, 2]",
        r#"{ op = "residual", name = "r", skip = [ { op = "flatten" } ], branch = [ { op = "flatten" }, { op = "dense", features = 4 } ] }"#,
    );
    zero(&layouts, &["add", "layer r", "flatten", "sample"]);
}

#[test]
fn what_mean_field_refuses() {
    let unmixed = net(
        "input = [4]",
        r#"{ op = "tanh", name = "t" }, { op = "dense", features = 1 }"#,
    );
    refused(
        mean_field(&unmixed, &[1.0; 4], Readout::Logit(0)),
        &["tanh", "layer t", "Gaussian", "‹method sample›"],
    );
    // Two means in one sum are no obstacle.
    let means = net(
        "input = [4]",
        r#"{ op = "dense", features = 4 }, { op = "relu" }, { op = "residual", name = "r", branch = [ { op = "dense", features = 4 }, { op = "relu" } ] }, { op = "dense", features = 1 }"#,
    );
    assert!(mean_field(&means, &[1.0; 4], Readout::Logit(0)).is_ok());
    let mlp = zoo("mlp-1x4", &ZooOptions::default()).unwrap();
    refused(
        mean_field(&mlp, &[1.0; 4], Readout::Logit(0)),
        &["4 numbers", "3072"],
    );
}

#[test]
fn laws_sizes_and_outputs() {
    let constant = Law::Constant(0.5);
    let input = Shape::Signal {
        channels: 1,
        length: 4,
    };
    let mut b = Builder::new(
        "n",
        input,
        Parametrisation::Pytorch,
        "default".parse().unwrap(),
    )
    .unwrap();
    let spec = ConvSpec::new(1, [1, 2])
        .pytorch_laws(constant, constant)
        .bias(HasBias::Yes);
    b.conv(Builder::INPUT, "c", spec).unwrap();
    let graph = b.finish();
    zero(
        &graph,
        &["c.weight", "constant", "mean 0", "‹method sample›"],
    );
    refused(
        mean_field(&graph, &[1.0; 4], Readout::Logit(0)),
        &["c.bias", "constant", "‹method sample›"],
    );

    let dense = net("input = [4]", r#"{ op = "dense", features = 3 }"#);
    refused(
        exact(&dense, ExactProbe::Zero, Readout::Logit(3)),
        &["output 3", "has 3"],
    );
    let large = net(
        "input = [1, 200, 200]",
        r#"{ op = "conv", channels = 1, kernel = 3, name = "c" }, { op = "global-avg-pool" }"#,
    );
    zero(&large, &["40000 positions", "16384", "sample"]);
}

#[test]
fn approximations_are_named() {
    let of = |name: &str| approximations(&zoo(name, &ZooOptions::default()).unwrap());
    assert_eq!(of("mlp-3x500"), [""; 0]);
    assert_eq!(of("lcn"), [""; 0]);
    assert_eq!(
        of("cnn-gap"),
        ["slopes of activations taken independent of the weights"]
    );
    assert_eq!(of("densenet121").len(), 1);
    let resnet = of("resnet18");
    assert_eq!(resnet.len(), 2);
    assert!(
        resnet[0].contains("layer1.0.act2") && resnet[0].contains("Gaussian with their mean"),
        "{}",
        resnet[0]
    );
    let erf = ZooOptions {
        activation: Some(Activation::Erf.into()),
        ..ZooOptions::default()
    };
    assert_eq!(approximations(&zoo("mlp-2x10", &erf).unwrap()).len(), 1);
    let linear = ZooOptions {
        activation: Some(Activation::Identity.into()),
        ..ZooOptions::default()
    };
    assert_eq!(approximations(&zoo("resnet18", &linear).unwrap()), [""; 0]);
}
