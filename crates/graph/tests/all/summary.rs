//! The layer table against values worked by hand.

use polariscope_graph::{Outline, Summary, ZooOptions, parse_file, zoo};

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

/// Taps times output channels times positions, by hand.
#[test]
fn multiply_adds_of_plain_networks() {
    let lenet = of("lenet");
    let convs = 6 * 3 * 25 * 28 * 28 + 16 * 6 * 25 * 10 * 10;
    let dense = 400 * 120 + 120 * 84 + 84 * 10;
    assert_eq!(lenet.multiply_adds, convs + dense);
    assert_eq!(lenet.multiply_adds, 651_720);
    let by_layer: usize = lenet.layers.iter().map(|l| l.multiply_adds).sum();
    assert_eq!(by_layer, lenet.multiply_adds);
    assert_eq!(lenet.layers[3].multiply_adds, 16 * 6 * 25 * 10 * 10);
    assert_eq!(lenet.layers[1].multiply_adds, 0);

    // 3 × 3 taps; pools halve the side after the first, second, fourth, sixth and eighth convolution.
    let convs = [
        (3, 64, 32),
        (64, 128, 16),
        (128, 256, 8),
        (256, 256, 8),
        (256, 512, 4),
        (512, 512, 4),
        (512, 512, 2),
        (512, 512, 2),
    ];
    let convs: usize = convs
        .map(|(from, to, side)| 9 * from * to * side * side)
        .iter()
        .sum();
    let dense = 512 * 512 + 512 * 512 + 512 * 10;
    assert_eq!(of("vgg11").multiply_adds, convs + dense);
}

/// The network of the paper, as torchvision builds it: 1.814 G in torchvision's table of weights.
#[test]
fn multiply_adds_of_the_published_resnet18() {
    let conv = |channels: usize, kernel: usize, stride: usize| {
        format!(
            "{{ op = \"conv\", channels = {channels}, kernel = {kernel}, stride = {stride}, padding = {}, bias = false }}, \
             {{ op = \"batch-norm\" }}",
            kernel / 2
        )
    };
    let block = |channels: usize, stride: usize, shortcut: bool| {
        let branch = format!(
            "{}, {{ op = \"relu\" }}, {}",
            conv(channels, 3, stride),
            conv(channels, 3, 1)
        );
        let shortcut = match shortcut {
            true => format!(", skip = [ {} ]", conv(channels, 1, stride)),
            false => String::new(),
        };
        format!("{{ op = \"residual\", branch = [ {branch} ]{shortcut} }}, {{ op = \"relu\" }}")
    };
    let mut layers = vec![
        conv(64, 7, 2),
        "{ op = \"relu\" }, { op = \"max-pool\", size = 3, stride = 2, padding = 1 }".to_string(),
        block(64, 1, false),
        block(64, 1, false),
    ];
    for channels in [128, 256, 512] {
        layers.extend([block(channels, 2, true), block(channels, 1, false)]);
    }
    layers.push("{ op = \"global-avg-pool\" }, { op = \"dense\", features = 1000 }".to_string());
    let text = format!("input = [3, 224, 224]\nlayers = [ {} ]", layers.join(", "));
    let summary = Summary::of(&parse_file(&text, "net.toml", &ZooOptions::default()).unwrap());
    assert_eq!(summary.parameters, 11_689_512);
    assert!((summary.multiply_adds as f64 / 1e9 - 1.814).abs() < 0.0005);
}

/// Width 192, 17 tokens, 9 layers: four projections, two products of tokens, hidden 768; patches of 8 × 8 × 3.
#[test]
fn multiply_adds_of_attention() {
    let attention = 4 * 192 * 192 * 17 + 2 * 17 * 17 * 192;
    let mlp = 2 * 192 * 768 * 17;
    let ends = 192 * 3 * 64 * 16 + 192 * 10;
    assert_eq!(of("vit").multiply_adds, 9 * (attention + mlp) + ends);
}

fn outline(name: &str) -> Outline {
    Outline::of(&zoo(name, &ZooOptions::default()).unwrap())
}

/// A basic block is two convolutions and a sum that also reads what came before the first.
#[test]
fn blocks_that_repeat_are_written_once() {
    let net = outline("resnet18");
    let words: Vec<&str> = net.steps.iter().map(|s| s.words.as_str()).collect();
    let basic = [
        "conv 64, 3x3 · batch-norm · relu",
        "conv 64, 3x3 · batch-norm",
        "add · relu",
    ];
    assert_eq!(words[..2], ["input", basic[0]]);
    assert_eq!(words[2..5], basic);
    assert_eq!(net.steps[4].reads, [3, 1]);
    let first = &net.repeats[0];
    assert_eq!((first.first, first.last, first.times), (2, 4, 2));
    assert_eq!(first.from.as_deref(), Some("layer1.0"));
    // Other stages halve the image in their first block, so no two of theirs are alike.
    assert_eq!(net.repeats.len(), 1);
    // Stem, input, 3 of the first stage, 4 + 3 of the others, pool, dense.
    assert_eq!(net.steps.len(), 2 + 3 + 3 * 7 + 2);

    let dense = outline("densenet121");
    let times: Vec<usize> = dense.repeats.iter().map(|r| r.times).collect();
    assert_eq!(times, [6, 12, 24, 16]);
    let growing = &dense.steps[dense.repeats[0].last];
    assert_eq!(growing.words, "concat");
    assert_eq!(growing.shape, "96x32x32 to 256x32x32");
    assert!(dense.steps.len() < 40, "{}", dense.steps.len());

    let vit = outline("vit");
    assert_eq!(vit.repeats.iter().map(|r| r.times).collect::<Vec<_>>(), [9]);
    let from = vit.repeats[0].from.as_deref();
    assert_eq!(from, Some("encoder.layers.encoder_layer_0"));
    // Names that count through the whole network say nothing of where.
    assert!(outline("vgg11").repeats.iter().all(|r| r.from.is_none()));
}

/// Thousands of equal layers are one box, and found at once.
#[test]
fn deep_networks_fold() {
    let options = ZooOptions {
        depth: Some(3_000),
        width: Some(2),
        ..ZooOptions::default()
    };
    let net = Outline::of(&zoo("fcn", &options).unwrap());
    assert_eq!(net.repeats.len(), 1);
    assert_eq!(net.repeats[0].times, 3_000);
    // Input, flatten, hidden, output.
    assert_eq!(net.steps.len(), 4);
}

/// Steps read steps before them, and every one but the last is read.
#[test]
fn outlines_hang_together() {
    for name in [
        "lenet",
        "mlp-3x100",
        "vgg11",
        "resnet50",
        "densenet121",
        "vit",
        "cnn-vec",
    ] {
        let net = outline(name);
        for (i, step) in net.steps.iter().enumerate() {
            assert!(step.reads.iter().all(|&read| read < i), "{name} {i}");
            assert_eq!(step.reads.is_empty(), i == 0, "{name} {i}");
            let read = net.steps.iter().any(|s| s.reads.contains(&i));
            assert!(read || i + 1 == net.steps.len(), "{name} {i}");
        }
    }
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

/// A projection reads every element of a position: it is a step of its own, behind what works number by number.
#[test]
fn a_projection_is_a_step() {
    let options = ZooOptions::with_input("1x28x28".parse().unwrap());
    let outline = Outline::of(&zoo("p4-cnn", &options).unwrap());
    let steps: Vec<&str> = outline.steps.iter().map(|s| s.words.as_str()).collect();
    let end = [
        "p4-conv 32, 3x3 · batch-norm · relu",
        "group-pool max",
        "global-avg-pool",
        "dense 10",
    ];
    assert_eq!(steps[steps.len() - 4..], end);
}
