//! The zoo against published sizes and names. Catches: a wrong kernel, stride, width, missing bias, wrong
//! order of parameters, a law that differs from the reference implementation.

use polariscope_graph::{
    Activation, BiasRule, Graph, GraphError, Law, Node, Op, Parametrisation, Role, Shape,
    ZooOptions, zoo, zoo_list,
};

fn default(name: &str) -> Graph {
    zoo(name, &ZooOptions::default()).unwrap()
}

fn with(name: &str, change: impl FnOnce(&mut ZooOptions)) -> Result<Graph, GraphError> {
    let mut options = ZooOptions::default();
    change(&mut options);
    zoo(name, &options)
}

fn names(graph: &Graph) -> Vec<&str> {
    graph.params.iter().map(|p| p.name.as_str()).collect()
}

fn image(text: &str) -> Option<Shape> {
    Some(text.parse().unwrap())
}

fn law<'g>(graph: &'g Graph, name: &str) -> &'g Law {
    let found = graph.params.iter().find(|p| p.name == name);
    &found.unwrap_or_else(|| panic!("no {name}")).law
}

/// Totals of the reference implementations on 3x32x32 with 10 outputs.
#[test]
fn published_totals() {
    assert_eq!(default("lenet").parameter_count(), 62_006);
    assert_eq!(default("lenet-avg").parameter_count(), 62_006);
    assert_eq!(default("resnet18").parameter_count(), 11_173_962);
    assert_eq!(default("resnet34").parameter_count(), 21_282_122);
    assert_eq!(default("resnet50").parameter_count(), 23_520_842);
    assert_eq!(default("vgg11").parameter_count(), 9_750_922);
    assert_eq!(default("densenet121").parameter_count(), 6_956_298);
    // torchvision's with num_classes = 10; strides change no count.
    assert_eq!(default("mobilenet").parameter_count(), 2_236_682);
    assert_eq!(default("efficientnet-b0").parameter_count(), 4_020_358);
    assert_eq!(default("convnext-tiny").parameter_count(), 27_827_818);
}

/// Totals counted by hand.
#[test]
fn totals_counted_by_hand() {
    assert_eq!(default("logreg").parameter_count(), 3072 * 10 + 10);
    // 3072→100→100→10
    assert_eq!(
        default("mlp-2x100").parameter_count(),
        307_300 + 10_100 + 1_010
    );
    // LeNet's convolutions 456 + 2416, dense 16→10.
    assert_eq!(default("lenet-gap").parameter_count(), 456 + 2_416 + 170);
    // 16 channels of 24x24 reach the dense layers.
    assert_eq!(
        default("lenet-nopool").parameter_count(),
        456 + 2_416 + (16 * 24 * 24 + 1) * 120 + 10_164 + 850
    );
    // γ and β of 64+128+2·256+4·512 channels.
    assert_eq!(default("vgg11-bn").parameter_count(), 9_750_922 + 2 * 2_752);
    // Two convolutions at 64, 128, 256 and three times two at 512 channels, then the classifier of VGG-11.
    let conv = |i: usize, o: usize| 9 * i * o + o;
    let classifier = 2 * (512 * 512 + 512) + 5_130;
    let two = conv(3, 64) + conv(64, 64) + conv(64, 128) + conv(128, 128);
    let two = two + conv(128, 256) + conv(256, 256) + conv(256, 512) + 3 * conv(512, 512);
    let more = conv(256, 256) + 2 * conv(512, 512);
    for (i, name) in ["vgg13", "vgg16", "vgg19"].into_iter().enumerate() {
        let plain = two + i * more + classifier;
        assert_eq!(default(name).parameter_count(), plain, "{name}");
        // γ and β of 2 944 channels, and of 256 + 2·512 more for each step.
        let normed = default(&format!("{name}-bn")).parameter_count();
        assert_eq!(normed, plain + 2 * (2_944 + i * 1_280), "{name}-bn");
    }
    // 256 channels of 2x2 reach the dense layers.
    let features = conv(3, 64) + conv(64, 192) + conv(192, 384) + conv(384, 256) + conv(256, 256);
    assert_eq!(
        default("alexnet").parameter_count(),
        features + 1_025 * 4_096 + 4_097 * 4_096 + 40_970
    );
    for depth in [2, 4, 6] {
        let fc = default(&format!("fc-{depth}")).parameter_count();
        assert_eq!(fc, 3_072 * 64 + (depth - 1) * 64 * 64 + 640);
    }
    // ResNet-18 has 4800 normalised channels: 64·5 + 128·5 + 256·5 + 512·5 (a shortcut in three stages, the stem in the first).
    assert_eq!(
        default("resnet18-nobn").parameter_count(),
        11_173_962 - 2 * 4_800
    );
    // Transformer layer of width W, hidden 4W: 12W²+13W.
    let w = 192;
    let vit = (192 * w + w) + w + 17 * w + 9 * (12 * w * w + 13 * w) + 2 * w + (10 * w + 10);
    assert_eq!(default("vit").parameter_count(), vit);
    assert_eq!(
        default("vit-noln").parameter_count(),
        vit - 9 * 4 * w - 2 * w
    );
    // Each block: 9·in·out + out, γ, β.
    let blocks = [
        (3, 64),
        (64, 128),
        (128, 128),
        (128, 128),
        (128, 256),
        (256, 512),
        (512, 512),
        (512, 512),
    ];
    let resnet9: usize = blocks.iter().map(|(i, o)| 9 * i * o + 3 * o).sum();
    assert_eq!(default("resnet9").parameter_count(), resnet9 + 5_130);
    // Lifting 3→O, kernels between fields 1, 4 or 8 times 9 numbers, γ and β, dense.
    let four = |[a, b, c, d]: [usize; 4], elements: usize| {
        let kernels = 27 * a + 9 * elements * (a * b + b * c + c * d);
        kernels + 2 * (a + b + c + d) + 10 * d + 10
    };
    let cnn = four([16, 32, 32, 64], 1);
    assert_eq!(default("cnn").parameter_count(), cnn);
    for (name, fields, elements) in [
        ("p4-cnn", [8, 16, 16, 32], 4),
        ("p4m-cnn", [6, 11, 12, 22], 8),
    ] {
        let count = default(name).parameter_count();
        assert_eq!(count, four(fields, elements));
        assert!(
            count.abs_diff(cnn) * 20 < cnn,
            "{name} has {count}, cnn {cnn}"
        );
    }
    // Kernel networks have no bias when b_std = 0.
    assert_eq!(
        default("fcn").parameter_count(),
        3072 * 512 + 512 * 512 + 5_120
    );
    assert_eq!(
        default("cnn-vec").parameter_count(),
        27 * 64 + 576 * 64 + 65_536 * 10
    );
    assert_eq!(
        default("cnn-gap").parameter_count(),
        27 * 64 + 576 * 64 + 640
    );
    assert_eq!(
        default("cnn-lap4").parameter_count(),
        27 * 64 + 576 * 64 + 64 * 64 * 10
    );
    assert_eq!(
        default("cnn-lap8").parameter_count(),
        27 * 64 + 576 * 64 + 64 * 16 * 10
    );
    let local = 64 * 27 * 1024 + 64 * 576 * 1024;
    assert_eq!(default("lcn").parameter_count(), local + 655_360);
}

#[test]
fn every_name_builds_and_reads_one_channel() {
    for entry in zoo_list() {
        let name = if entry.name == "mlp-LxN" {
            "mlp-3x500"
        } else {
            entry.name
        };
        let graph = with(name, |o| {
            o.input = image("1x32x32");
            o.outputs = Some(1);
        });
        let graph = graph.unwrap();
        assert_eq!(graph.output(), Shape::Vector { features: 1 }, "{name}");
        assert_eq!(graph.name, name);
        assert!(matches!(graph.nodes[0].op, Op::Input));
        for (i, node) in graph.nodes.iter().enumerate() {
            assert!(node.inputs.iter().all(|input| input.0 < i), "{name}");
        }
        assert!(!entry.description.is_empty());
    }
}

#[test]
fn lenet_names_and_shapes() {
    let graph = default("lenet");
    let expected = [
        ("conv1.weight", vec![6, 3, 5, 5]),
        ("conv1.bias", vec![6]),
        ("conv2.weight", vec![16, 6, 5, 5]),
        ("conv2.bias", vec![16]),
        ("fc1.weight", vec![120, 400]),
        ("fc1.bias", vec![120]),
        ("fc2.weight", vec![84, 120]),
        ("fc2.bias", vec![84]),
        ("fc3.weight", vec![10, 84]),
        ("fc3.bias", vec![10]),
    ];
    let found: Vec<_> = graph
        .params
        .iter()
        .map(|p| (p.name.as_str(), p.shape.clone()))
        .collect();
    assert_eq!(found, expected);
    // 28 − 4 = 24 → 12, − 4 = 8 → 4; 20 − 4 = 16 → 8, − 4 = 4 → 2.
    let other = with("lenet", |o| o.input = image("1x28x20")).unwrap();
    assert_eq!(other.params[4].shape, [120, 16 * 4 * 2]);
}

#[test]
fn resnet_names() {
    let graph = default("resnet18");
    let names = names(&graph);
    assert_eq!(
        names[..6],
        [
            "conv1.weight",
            "bn1.weight",
            "bn1.bias",
            "bn1.running_mean",
            "bn1.running_var",
            "layer1.0.conv1.weight"
        ]
    );
    assert_eq!(names[names.len() - 2..], ["linear.weight", "linear.bias"]);
    // BN follows the second convolution, then the shortcut.
    let at = names
        .iter()
        .position(|n| *n == "layer2.0.shortcut.0.weight")
        .unwrap();
    assert_eq!(names[at - 1], "layer2.0.bn2.running_var");
    assert_eq!(names[at + 1], "layer2.0.shortcut.1.weight");
    assert!(!names.iter().any(|n| n.starts_with("layer1.0.shortcut")));
    // state_dict of the reference: 122 entries, 20 of them num_batches_tracked.
    assert_eq!(names.len(), 122 - 20);
    let buffers = graph.params.iter().filter(|p| p.role == Role::Buffer);
    assert!(buffers.clone().all(|p| p.name.contains(".running_")));
    assert_eq!(buffers.count(), 40);

    let deep = default("resnet50");
    assert!(
        deep.params
            .iter()
            .any(|p| p.name == "layer1.0.conv3.weight" && p.shape == [256, 64, 1, 1])
    );
    assert!(
        deep.params
            .iter()
            .any(|p| p.name == "layer1.0.shortcut.0.weight" && p.shape == [256, 64, 1, 1])
    );
    assert!(
        deep.params
            .iter()
            .any(|p| p.name == "layer4.2.conv2.weight" && p.shape == [512, 512, 3, 3])
    );
    let bare = default("resnet18-nobn");
    assert!(bare.params.iter().all(|p| !p.name.contains("bn")));
    assert_eq!(bare.params.last().unwrap().name, "linear.bias");
}

#[test]
fn vgg_names_and_laws() {
    let weights = |name: &str| {
        let graph = default(name);
        let weights = graph
            .params
            .iter()
            .filter_map(|p| p.name.strip_suffix(".weight"));
        weights.map(str::to_owned).collect::<Vec<_>>()
    };
    let plain: Vec<String> = ["0", "3", "6", "8", "11", "13", "16", "18"]
        .iter()
        .map(|i| format!("features.{i}"))
        .collect();
    assert_eq!(weights("vgg11")[..8], plain);
    assert_eq!(
        weights("vgg11")[8..],
        ["classifier.0", "classifier.3", "classifier.6"]
    );
    // conv, bn, relu (, pool): convolutions at 0, 4, 8, 11, 15, 18, 22, 25.
    let convs: Vec<String> = weights("vgg11-bn")
        .into_iter()
        .filter(|n| n.starts_with("features"))
        .step_by(2)
        .collect();
    let expected: Vec<String> = ["0", "4", "8", "11", "15", "18", "22", "25"]
        .iter()
        .map(|i| format!("features.{i}"))
        .collect();
    assert_eq!(convs, expected);

    let graph = default("vgg11");
    let std = (2.0f64 / (9.0 * 128.0)).sqrt();
    assert_eq!(*law(&graph, "features.3.weight"), Law::Normal { std });
    assert_eq!(*law(&graph, "features.3.bias"), Law::Constant(0.0));
    let bound = 512f64.sqrt().recip();
    assert_eq!(*law(&graph, "classifier.0.bias"), Law::Uniform { bound });
    // Another parametrisation replaces the override.
    let he = with("vgg11", |o| o.parametrisation = Some(Parametrisation::He)).unwrap();
    let std = (2.0f64 / (64.0 * 9.0)).sqrt();
    assert_eq!(*law(&he, "features.3.weight"), Law::Normal { std });
}

#[test]
fn densenet_names_and_concat_order() {
    let graph = default("densenet121");
    let names = names(&graph);
    assert_eq!(names[0], "conv1.weight");
    assert_eq!(graph.params[0].shape, [64, 3, 3, 3]);
    assert_eq!(names[1..3], ["dense1.0.bn1.weight", "dense1.0.bn1.bias"]);
    assert!(names.contains(&"trans1.bn.weight") && names.contains(&"trans3.conv.weight"));
    assert_eq!(
        names[names.len() - 6..],
        [
            "bn.weight",
            "bn.bias",
            "bn.running_mean",
            "bn.running_var",
            "linear.weight",
            "linear.bias"
        ]
    );
    let concat = graph
        .nodes
        .iter()
        .find(|n| n.layer == "dense1.0.concat")
        .unwrap();
    // New channels first, then what came in.
    assert_eq!(graph.nodes[concat.inputs[0].0].layer, "dense1.0.conv2");
    assert_eq!(graph.nodes[concat.inputs[1].0].layer, "conv1");
}

#[test]
fn vit_names_order_and_laws() {
    let graph = default("vit");
    let names = names(&graph);
    let layer = "encoder.layers.encoder_layer_0";
    let first: Vec<String> = [
        "class_token",
        "conv_proj.weight",
        "conv_proj.bias",
        "encoder.pos_embedding",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain(
        [
            "ln_1.weight",
            "ln_1.bias",
            "self_attention.in_proj_weight",
            "self_attention.in_proj_bias",
            "self_attention.out_proj.weight",
            "self_attention.out_proj.bias",
            "ln_2.weight",
            "ln_2.bias",
            "mlp.0.weight",
            "mlp.0.bias",
            "mlp.3.weight",
            "mlp.3.bias",
        ]
        .map(|part| format!("{layer}.{part}")),
    )
    .collect();
    assert_eq!(names[..16], first);
    assert_eq!(
        names[names.len() - 4..],
        [
            "encoder.ln.weight",
            "encoder.ln.bias",
            "heads.head.weight",
            "heads.head.bias"
        ]
    );
    assert_eq!(graph.params[0].shape, [1, 1, 192]);
    assert_eq!(graph.params[1].shape, [192, 3, 8, 8]);
    assert_eq!(graph.params[3].shape, [1, 17, 192]);
    assert_eq!(graph.params[6].shape, [576, 192]);

    assert_eq!(*law(&graph, "class_token"), Law::Constant(0.0));
    assert_eq!(
        *law(&graph, "encoder.pos_embedding"),
        Law::Normal { std: 0.02 }
    );
    // Xavier over 576×192: √(6/768).
    let bound = (6.0f64 / 768.0).sqrt();
    assert_eq!(graph.params[6].law, Law::Uniform { bound });
    assert_eq!(graph.params[7].law, Law::Constant(0.0));
    let bound = 192f64.sqrt().recip();
    assert_eq!(graph.params[8].law, Law::Uniform { bound });
    assert_eq!(graph.params[9].law, Law::Constant(0.0));
    assert!(
        graph
            .nodes
            .iter()
            .any(|n| n.op == Op::Activation(Activation::Gelu))
    );
    assert!(
        default("vit-noln")
            .params
            .iter()
            .all(|p| !p.name.contains("ln"))
    );

    let uneven = with("vit", |o| o.input = image("3x30x32")).unwrap_err();
    assert_eq!(
        uneven.to_string(),
        "layer conv_proj (patch-embed): input 3x30x32 is not a whole number of patches of 8x8; it wants sizes that are multiples of 8x8"
    );
}

/// Torchvision's names, the laws that its constructors set, and where blocks skip.
#[test]
fn names_and_laws_of_inverted_residuals() {
    let mobile = default("mobilenet");
    let found = names(&mobile);
    assert_eq!(found[0], "features.0.0.weight");
    // A first block that does not widen, then those that do.
    for name in [
        "features.1.conv.0.0.weight",
        "features.1.conv.1.weight",
        "features.1.conv.2.running_var",
        "features.17.conv.1.0.weight",
        "features.17.conv.3.bias",
        "features.18.1.weight",
        "classifier.1.bias",
    ] {
        assert!(found.contains(&name), "{name}");
    }
    let shape = |graph: &Graph, name: &str| {
        let found = graph.params.iter().find(|p| p.name == name);
        found.unwrap_or_else(|| panic!("no {name}")).shape.clone()
    };
    assert_eq!(shape(&mobile, "features.2.conv.1.0.weight"), [96, 1, 3, 3]);
    // Fan-out is k²·out, as PyTorch counts it for depthwise convolutions too.
    let std = (2.0f64 / (9.0 * 96.0)).sqrt();
    assert_eq!(
        *law(&mobile, "features.2.conv.1.0.weight"),
        Law::Normal { std }
    );
    assert_eq!(
        *law(&mobile, "classifier.1.weight"),
        Law::Normal { std: 0.01 }
    );
    assert_eq!(*law(&mobile, "classifier.1.bias"), Law::Constant(0.0));
    // Stages of 1, 2, 3, 4, 3, 3, 1 blocks skip in all but their first.
    let adds = |graph: &Graph| graph.nodes.iter().filter(|n| n.op == Op::Add).count();
    assert_eq!(adds(&mobile), 1 + 2 + 3 + 2 + 2);

    let efficient = default("efficientnet-b0");
    // Squeezed to a quarter of what the block reads, not of what it widens that to.
    let squeeze = |name: &str| shape(&efficient, name);
    assert_eq!(squeeze("features.1.0.block.1.fc1.weight"), [8, 32, 1, 1]);
    assert_eq!(squeeze("features.2.0.block.2.fc1.weight"), [4, 96, 1, 1]);
    assert_eq!(squeeze("features.3.0.block.1.0.weight"), [144, 1, 5, 5]);
    assert_eq!(adds(&efficient), 1 + 1 + 2 + 2 + 3);
    let bound = 10f64.sqrt().recip();
    assert_eq!(
        *law(&efficient, "classifier.1.weight"),
        Law::Uniform { bound }
    );
    // The gate keeps its sigmoid when activations are replaced.
    let tanh = with("efficientnet-b0", |o| {
        o.activation = Some(Activation::Tanh.into());
    });
    let count = |of: Activation| {
        let nodes = tanh.as_ref().unwrap().nodes.iter();
        nodes.filter(|n| n.op == Op::Activation(of)).count()
    };
    assert_eq!(
        (count(Activation::Sigmoid), count(Activation::Silu)),
        (16, 0)
    );
}

#[test]
fn convnext_names_order_and_laws() {
    let graph = default("convnext-tiny");
    let names = names(&graph);
    assert_eq!(
        names[..8],
        [
            "features.0.0.weight",
            "features.0.0.bias",
            "features.0.1.weight",
            "features.0.1.bias",
            "features.1.0.layer_scale",
            "features.1.0.block.0.weight",
            "features.1.0.block.0.bias",
            "features.1.0.block.2.weight",
        ]
    );
    assert_eq!(graph.params[4].shape, [96, 1, 1]);
    assert_eq!(graph.params[4].law, Law::Constant(1e-6));
    assert_eq!(graph.params[5].shape, [96, 1, 7, 7]);
    assert_eq!(graph.params[5].law, Law::Normal { std: 0.02 });
    assert_eq!(graph.params[7].shape, [96]);
    assert_eq!(
        *law(&graph, "features.7.2.block.3.weight"),
        Law::Normal { std: 0.02 }
    );
    assert_eq!(names[names.len() - 1], "classifier.2.bias");
    // 32 → 8 → 4 → 2 → 1
    let last = graph.nodes.iter().find(|n| n.layer == "features.7.2.add");
    assert_eq!(Some(last.unwrap().shape), image("768x1x1"));
}

/// N(0,1) weights times 1/√fan_in, the last times 1/fan_in, unless something else is asked for.
#[test]
fn fc_networks_have_a_parametrisation_of_their_own() {
    let graph = default("fc-4");
    assert_eq!(
        graph.parametrisation,
        Parametrisation::MeanField {
            w_std: 1.0,
            b_std: 0.0
        }
    );
    let scales: Vec<f64> = graph
        .nodes
        .iter()
        .filter_map(|n| match n.op {
            Op::Dense { scale, .. } => Some(scale),
            _ => None,
        })
        .collect();
    let first = 3_072f64.sqrt().recip();
    assert_eq!(scales, [first, 0.125, 0.125, 0.125, 1.0 / 64.0]);
    assert!(
        graph
            .params
            .iter()
            .all(|p| p.law == Law::Normal { std: 1.0 })
    );
    let other = with("fc-2", |o| o.parametrisation = Some(Parametrisation::He)).unwrap();
    assert_eq!(other.parametrisation, Parametrisation::He);
    assert_eq!(names(&other)[1], "layer_1.bias");
    let error = with("fc-2", |o| o.width = Some(3)).unwrap_err();
    assert!(error.to_string().contains("--width is not an option"));
}

#[test]
fn mlp_names() {
    let graph = with("mlp-2x20", |o| {
        o.input = Some(Shape::Vector { features: 48 });
        o.outputs = Some(3);
        o.activation = Some(Activation::Tanh.into());
    });
    let graph = graph.unwrap();
    assert_eq!(
        names(&graph),
        [
            "layer_1.weight",
            "layer_1.bias",
            "layer_2.weight",
            "layer_2.bias",
            "classification.weight",
            "classification.bias"
        ]
    );
    assert!(graph.nodes.iter().all(|n| n.op != Op::Flatten));
    let activations = graph
        .nodes
        .iter()
        .filter(|n| matches!(n.op, Op::Activation(_)));
    assert!(
        activations
            .clone()
            .all(|n| n.op == Op::Activation(Activation::Tanh))
    );
    assert_eq!(activations.count(), 2);
}

/// fan_in of LeNet's conv2 is 6·5·5 = 150, fan_out 16·5·5 = 400.
#[test]
fn laws_and_scales_of_each_parametrisation() {
    let lenet =
        |text: &str| with("lenet", |o| o.parametrisation = Some(text.parse().unwrap())).unwrap();
    let scales = |graph: &Graph, layer: &str| {
        let nodes = graph.nodes.iter().filter(|n| n.layer == layer);
        let scales = nodes.map(|n| match n.op {
            Op::Conv { scale, .. } | Op::Dense { scale, .. } | Op::Bias { scale, .. } => scale,
            ref other => panic!("{other:?}"),
        });
        scales.collect::<Vec<f64>>()
    };
    let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-15 * b, "{a} {b}");
    let std = |law: &Law| match *law {
        Law::Normal { std } => std,
        ref other => panic!("{other:?}"),
    };
    let bound = |law: &Law| match *law {
        Law::Uniform { bound } => bound,
        ref other => panic!("{other:?}"),
    };

    let pytorch = lenet("pytorch");
    close(bound(law(&pytorch, "conv2.weight")), 1.0 / 150f64.sqrt());
    close(bound(law(&pytorch, "conv2.bias")), 1.0 / 150f64.sqrt());
    assert_eq!(scales(&pytorch, "conv2"), [1.0, 1.0]);

    let ntk = lenet("ntk:1.5,0.3");
    assert_eq!(*law(&ntk, "conv2.weight"), Law::Normal { std: 1.0 });
    assert_eq!(*law(&ntk, "conv2.bias"), Law::Normal { std: 1.0 });
    close(scales(&ntk, "conv2")[0], 1.5 / 150f64.sqrt());
    close(scales(&ntk, "fc3")[0], 1.5 / 84f64.sqrt());
    assert_eq!(scales(&ntk, "conv2")[1], 0.3);

    let mean_field = lenet("mean-field:1.5,0.3");
    close(scales(&mean_field, "conv2")[0], 1.5 / 150f64.sqrt());
    close(scales(&mean_field, "fc2")[0], 1.5 / 120f64.sqrt());
    close(scales(&mean_field, "fc3")[0], 1.5 / 84.0);

    close(
        std(law(&lenet("he"), "conv2.weight")),
        (2.0 / 150f64).sqrt(),
    );
    close(
        std(law(&lenet("lecun"), "conv2.weight")),
        (1.0 / 150f64).sqrt(),
    );
    close(
        bound(law(&lenet("xavier"), "conv2.weight")),
        (6.0 / 550f64).sqrt(),
    );
    assert_eq!(
        *law(&lenet("orthogonal"), "conv2.weight"),
        Law::Orthogonal { gain: 1.0 }
    );
    for rule in ["he", "lecun", "xavier", "orthogonal"] {
        assert_eq!(*law(&lenet(rule), "conv2.bias"), Law::Constant(0.0));
    }
    let zero = with("lenet", |o| o.bias = BiasRule::Zero).unwrap();
    assert!(
        zero.params
            .iter()
            .filter(|p| p.name.ends_with("bias"))
            .all(|p| p.law == Law::Constant(0.0))
    );
    close(bound(law(&zero, "conv2.weight")), 1.0 / 150f64.sqrt());
    let zero = with("lenet", |o| {
        o.bias = BiasRule::Zero;
        o.parametrisation = Some(Parametrisation::Ntk {
            w_std: 1.0,
            b_std: 0.3,
        });
    });
    assert_eq!(*law(&zero.unwrap(), "fc1.bias"), Law::Constant(0.0));
}

#[test]
fn kernel_networks_take_sizes() {
    let graph = with("cnn-lap4", |o| {
        o.input = image("3x8x8");
        o.depth = Some(3);
        o.width = Some(5);
        o.kernel = Some(5);
        o.parametrisation = Some("ntk:1.5,0.1".parse().unwrap());
    });
    let graph = graph.unwrap();
    assert_eq!(graph.params[0].shape, [5, 3, 5, 5]);
    assert_eq!(graph.params[1].name, "layer_1.bias");
    assert_eq!(names(&graph)[6], "classification.weight");
    assert_eq!(graph.params[6].shape, [10, 5 * 2 * 2]);
    assert_eq!(
        default("cnn-gap").parametrisation,
        Parametrisation::Ntk {
            w_std: 1.0,
            b_std: 0.0
        }
    );
    let signal = with("cnn-gap", |o| {
        o.input = Some(Shape::Signal {
            channels: 3,
            length: 12,
        })
    });
    assert_eq!(signal.unwrap().params[0].shape, [64, 3, 3]);
}

#[test]
fn errors_of_the_zoo() {
    let error =
        |name: &str, change: fn(&mut ZooOptions)| with(name, change).unwrap_err().to_string();
    assert_eq!(
        error("resnet81", |_| ()),
        "unknown architecture `resnet81`: did you mean `resnet18`?"
    );
    assert_eq!(
        error("mpl-2x100", |_| ()),
        "unknown architecture `mpl-2x100`: did you mean `mlp-2x100`?"
    );
    assert!(error("banana", |_| ()).contains("neither a name of the zoo"));
    for name in [
        "mlp",
        "mlp-",
        "mlp-2x",
        "mlp-x5",
        "mlp-0x5",
        "mlp-2x0",
        "mlp-+2x5",
        "mlp-LxN",
        "mlp-2x5x6",
    ] {
        assert!(
            error(name, |_| ()).contains("such as `mlp-2x100`"),
            "{name}"
        );
    }
    assert_eq!(
        error("lenet", |o| o.input = Some(Shape::Vector { features: 48 })),
        "lenet: input 48 does not fit; it wants an image CxHxW such as 3x32x32"
    );
    assert_eq!(
        error("lenet", |o| o.input = Some(Shape::Image {
            channels: 3,
            height: 4,
            width: 4
        })),
        "layer conv1 (conv): input 3x4x4 is smaller than the 5x5 kernel with padding 0; it wants at least 5x5"
    );
    assert_eq!(
        error("vgg11", |o| o.input = Some(Shape::Image {
            channels: 3,
            height: 16,
            width: 16
        })),
        "layer features.20 (max-pool): input 512x1x1 is smaller than the 2x2 kernel with padding 0; it wants at least 2x2"
    );
    assert!(
        error("lenet", |o| o.width = Some(3))
            .starts_with("lenet: --width is not an option of this network")
    );
    assert!(
        error("fcn", |o| o.kernel = Some(3))
            .starts_with("fcn: --kernel is not an option of this network")
    );
    assert!(error("mlp-2x3", |o| o.depth = Some(3)).contains("--depth is not an option"));
    assert_eq!(
        error("fcn", |o| o.depth = Some(0)),
        "fcn: --depth must be at least 1"
    );
    assert_eq!(
        error("lenet", |o| o.outputs = Some(0)),
        "lenet: --outputs must be at least 1"
    );
    assert!(
        error("logreg", |o| o.input = Some(Shape::Vector { features: 0 }))
            .contains("holds no number")
    );
    assert!(
        error("fcn", |o| o.input = Some(Shape::Image {
            channels: 1 << 40,
            height: 1 << 40,
            width: 1 << 40
        }))
        .contains("exceeds the limit")
    );
}

/// Absurd sizes are refused before anything of that size is made.
#[test]
fn absurd_sizes_are_errors() {
    let error = |name: &str| default_error(name).to_string();
    assert!(
        error("mlp-2x1000000000000000000")
            .contains("the number of parameters exceeds the limit of 8589934592")
    );
    assert!(error("mlp-1000000000x5").contains("the number of layers exceeds the limit of 10000"));
    assert!(error("mlp-2x99999999999999999999999999").contains("such as `mlp-2x100`"));
    assert!(error("mlp-3x200000").contains("the number of parameters"));
    let outputs = with("logreg", |o| o.outputs = Some(usize::MAX)).unwrap_err();
    assert!(outputs.to_string().contains("the number of parameters"));
    let kernel = with("cnn-gap", |o| o.kernel = Some(usize::MAX)).unwrap_err();
    assert!(
        kernel
            .to_string()
            .contains("kernel 18446744073709551615 is out of range")
    );
}

fn default_error(name: &str) -> GraphError {
    zoo(name, &ZooOptions::default()).unwrap_err()
}

/// A normalised activation is a scale behind the activation: layers and parameters keep their names.
#[test]
fn normalised_activations_add_scales_only() {
    for name in ["mlp-2x7", "lenet", "resnet18", "vgg11", "vit", "cnn-gap"] {
        let with = |activation: &str| {
            let options = ZooOptions {
                activation: Some(activation.parse().unwrap()),
                ..ZooOptions::default()
            };
            zoo(name, &options).unwrap()
        };
        let (plain, normalised) = (with("tanh"), with("normalised:tanh"));
        assert_eq!(plain.params, normalised.params);
        let (scales, others): (Vec<_>, Vec<_>) = normalised
            .nodes
            .iter()
            .partition(|n| n.layer.ends_with(".normalised"));
        for node in &scales {
            let Op::Scale { by } = node.op else {
                panic!("{name}: {node:?}")
            };
            // 1/√(E tanh(Z)²)
            assert!((by - 1.592_54).abs() < 5e-6);
            let behind = &normalised.nodes[node.inputs[0].0];
            assert_eq!(behind.op, Op::Activation(Activation::Tanh));
            assert_eq!(node.layer, format!("{}.normalised", behind.layer));
        }
        let layers = |nodes: &[&Node]| nodes.iter().map(|n| n.layer.clone()).collect::<Vec<_>>();
        assert_eq!(
            layers(&others),
            layers(&plain.nodes.iter().collect::<Vec<_>>())
        );
        let activations = |n: &&&Node| matches!(n.op, Op::Activation(_));
        assert_eq!(scales.len(), others.iter().filter(activations).count());
    }
}
