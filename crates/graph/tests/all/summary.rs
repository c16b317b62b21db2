//! The layer table against values worked by hand.

use polariscope_graph::{Summary, ZooOptions, parse_file, zoo};

fn of(name: &str) -> Summary {
    Summary::of(&zoo(name, &ZooOptions::default()).unwrap())
}

fn field<'s>(summary: &'s Summary, layer: &str) -> &'s [usize] {
    let row = summary.layers.iter().find(|l| l.name == layer);
    &row.unwrap_or_else(|| panic!("no {layer}")).receptive_field
}

#[test]
fn lenet_table() {
    let summary = of("lenet");
    assert_eq!(summary.parameters, 62_006);
    assert_eq!(summary.buffers, 0);
    let names: Vec<&str> = summary.layers.iter().map(|l| l.name.as_str()).collect();
    let expected = [
        "conv1", "act1", "pool1", "conv2", "act2", "pool2", "flatten", "fc1", "act3", "fc2",
        "act4", "fc3",
    ];
    assert_eq!(names, expected);
    let conv2 = &summary.layers[3];
    assert_eq!(conv2.op, "conv 16, 5x5 + bias");
    assert_eq!(conv2.output.to_string(), "16x10x10");
    assert_eq!(conv2.parameters, 2_416);
    // 1/√150 = 0.08165.
    assert_eq!(conv2.law, "weight U(±0.08165), bias U(±0.08165)");
    // 5; pool 6, jump 2; conv 6+4·2 = 14; pool 14+2 = 16; then everything.
    for (layer, seen) in [
        ("conv1", 5),
        ("pool1", 6),
        ("conv2", 14),
        ("pool2", 16),
        ("flatten", 16),
        ("fc1", 32),
    ] {
        assert_eq!(field(&summary, layer), [seen, seen], "{layer}");
    }
    assert_eq!(
        summary.layers.iter().map(|l| l.parameters).sum::<usize>(),
        62_006
    );
}

#[test]
fn fields_through_skips_and_strides() {
    let summary = of("resnet18");
    // Stem 3; each 3×3 of jump 1 adds 2: 5 and 7 after the first block, 9 and 11 after the second.
    assert_eq!(field(&summary, "layer1.0.add"), [7, 7]);
    assert_eq!(field(&summary, "layer1.1.conv2"), [11, 11]);
    // Stride 2: 13, then jump 2: 17. The shortcut alone sees 11.
    assert_eq!(field(&summary, "layer2.0.conv2"), [17, 17]);
    assert_eq!(field(&summary, "layer2.0.shortcut.0"), [11, 11]);
    assert_eq!(field(&summary, "layer2.0.add"), [17, 17]);
    // Never more than the image.
    assert_eq!(field(&summary, "layer4.1.add"), [32, 32]);
    assert_eq!(summary.buffers, 2 * 4_800);
    let total: usize = summary.layers.iter().map(|l| l.parameters).sum();
    assert_eq!(total, summary.parameters);
}

#[test]
fn fields_of_tokens_vectors_and_rectangles() {
    let vit = of("vit");
    assert_eq!(field(&vit, "conv_proj"), [8, 8]);
    assert_eq!(field(&vit, "encoder.layers.encoder_layer_0.ln_1"), [8, 8]);
    assert_eq!(
        field(&vit, "encoder.layers.encoder_layer_0.self_attention"),
        [32, 32]
    );

    let text = r#"
        input = [1, 9, 20]
        layers = [
            { op = "conv", channels = 2, kernel = [3, 5], dilation = [1, 2], stride = [2, 3], padding = "same" },
            { op = "avg-pool", size = 2 },
            { op = "layer-norm" },
        ]
    "#;
    let graph = parse_file(text, "net.toml", &ZooOptions::default()).unwrap();
    let summary = Summary::of(&graph);
    // Height 3, width 4·2+1 = 9; the pool adds one jump: 3+2 and 9+3; layer norm sees all.
    assert_eq!(field(&summary, "0"), [3, 9]);
    assert_eq!(field(&summary, "1"), [5, 12]);
    assert_eq!(field(&summary, "2"), [9, 20]);
    assert_eq!(
        summary.layers[0].op,
        "conv 2, 3x5, stride 2x3, dilation 1x2, padding same + bias"
    );

    let text = "input = [2, 9]\nlayers = [ { op = \"conv\", channels = 1, kernel = 3, padding = 1 }, { op = \"flatten\" }, { op = \"dense\", features = 1 } ]";
    let summary = Summary::of(&parse_file(text, "net.toml", &ZooOptions::default()).unwrap());
    assert_eq!(field(&summary, "0"), [3]);
    assert_eq!(field(&summary, "2"), [9]);
    assert_eq!(summary.layers[0].op, "conv 1, 3, padding 1 + bias");

    let options = ZooOptions {
        input: Some("7".parse().unwrap()),
        ..ZooOptions::default()
    };
    let summary = Summary::of(&zoo("logreg", &options).unwrap());
    assert_eq!(field(&summary, "classification"), [7]);
}

#[test]
fn scales_show_in_laws() {
    let options = ZooOptions {
        parametrisation: Some("ntk:1.5,0.25".parse().unwrap()),
        ..ZooOptions::default()
    };
    let summary = Summary::of(&zoo("lenet", &options).unwrap());
    // 1.5/√75 = 0.1732.
    assert_eq!(
        summary.layers[0].law,
        "weight 0.1732 · N(0, 1²), bias 0.25 · N(0, 1²)"
    );
    assert_eq!(summary.parametrisation, "ntk:1.5,0.25");
    let vit = of("vit");
    let class = vit.layers.iter().find(|l| l.name == "class_token").unwrap();
    assert_eq!(class.law, "value 0");
}

/// What a name leaves open is said: torchvision's VGG starts with normal weights, the others uniform.
#[test]
fn initial_values_are_those_of_the_network() {
    let of = |name: &str, rule: Option<&str>| {
        let parametrisation = rule.map(|r| r.parse().unwrap());
        let options = ZooOptions {
            parametrisation,
            ..ZooOptions::default()
        };
        Summary::of(&zoo(name, &options).unwrap()).initialisation
    };
    assert_eq!(of("lenet", None), "pytorch (uniform)");
    let vgg = of("vgg11", None);
    assert!(
        vgg.starts_with("pytorch (conv normal with biases 0"),
        "{vgg}"
    );
    assert!(!vgg.contains("conv uniform"), "{vgg}");
    assert_eq!(of("lenet", Some("he")), "he (normal with biases 0)");
    assert_eq!(
        of("vgg11", Some("orthogonal")),
        "orthogonal (orthogonal with biases 0)"
    );
    assert_eq!(of("cnn-gap", Some("ntk:1,0.5")), "ntk:1,0.5 (normal)");
}
