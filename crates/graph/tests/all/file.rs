//! Architecture files: what each op builds, and what each mistake says. Catches: a key that is silently
//! ignored, a wrong default, an error without its place.

use polariscope_graph::{
    Activation, BiasRule, Graph, GraphError, Law, Op, Padding, Parametrisation, Shape, ZooOptions,
    load, parse_file,
};

const EXAMPLE: &str = include_str!("../example.toml");

fn parse(text: &str) -> Result<Graph, GraphError> {
    parse_file(text, "net.toml", &ZooOptions::default())
}

/// A network of the given layers.
fn layers(input: &str, layers: &str) -> Result<Graph, GraphError> {
    parse(&format!("input = {input}\nlayers = [\n{layers}\n]\n"))
}

fn message(result: Result<Graph, GraphError>) -> String {
    result.unwrap_err().to_string()
}

fn output(input: &str, text: &str) -> Shape {
    layers(input, text).unwrap().output()
}

fn image(channels: usize, height: usize, width: usize) -> Shape {
    Shape::Image {
        channels,
        height,
        width,
    }
}

#[test]
fn the_documented_example() {
    let graph = parse(EXAMPLE).unwrap();
    assert_eq!(graph.name, "net");
    assert_eq!(
        graph.parametrisation,
        Parametrisation::Ntk {
            w_std: 2f64.sqrt(),
            b_std: 0.0
        }
    );
    let params: Vec<_> = graph
        .params
        .iter()
        .map(|p| (p.name.as_str(), &p.shape[..]))
        .collect();
    let expected: [(&str, &[usize]); 13] = [
        ("0.weight", &[64, 3, 3, 3]),
        ("0.bias", &[64]),
        ("2.branch.1.weight", &[64, 64, 3, 3]),
        ("2.branch.1.bias", &[64]),
        ("3.branches.1.0.weight", &[32, 64, 3, 3]),
        ("3.branches.1.0.bias", &[32]),
        // 96 channels come in, 8×8 positions each with its own 96·9 taps.
        ("4.weight", &[16, 864, 64]),
        ("4.bias", &[16]),
        ("5.weight", &[16]),
        ("5.bias", &[16]),
        ("5.running_mean", &[16]),
        ("5.running_var", &[16]),
        ("head.weight", &[1, 256]),
    ];
    assert_eq!(params, expected);
    let shape_of = |layer: &str| {
        graph
            .nodes
            .iter()
            .rfind(|n| n.layer == layer)
            .unwrap()
            .shape
    };
    assert_eq!(shape_of("0"), image(64, 8, 8));
    assert_eq!(shape_of("2"), image(64, 8, 8));
    assert_eq!(shape_of("3"), image(96, 8, 8));
    assert_eq!(shape_of("4"), image(16, 8, 8));
    assert_eq!(shape_of("6"), image(16, 4, 4));
    assert_eq!(graph.output(), Shape::Vector { features: 1 });
    let Op::Conv { scale, window, .. } = graph.nodes[1].op else {
        panic!()
    };
    assert!((scale - (2.0f64 / 27.0).sqrt()).abs() < 1e-15);
    assert_eq!(window.padding, Padding::Circular);
}

#[test]
fn every_op_has_a_spelling() {
    let all = r#"
        { op = "conv", channels = 8, kernel = [3, 5], stride = [1, 2], dilation = 2, padding = "same", groups = 2 },
        { op = "local", channels = 4, kernel = 2, stride = 2, dilation = 1, padding = "valid", bias = false },
        { op = "bias" }, { op = "scale", by = 2 }, { op = "dropout" }, { op = "dropout", rate = 0.1 },
        { op = "identity" }, { op = "relu" }, { op = "leaky-relu", slope = 0.2 }, { op = "gelu" }, { op = "tanh" },
        { op = "erf" }, { op = "sin" }, { op = "sigmoid" }, { op = "silu" }, { op = "softplus", beta = 3 }, { op = "abs" },
        { op = "max-pool", size = 3, stride = 1, padding = 1 }, { op = "avg-pool", size = [2, 1] },
        { op = "residual", branch = [ { op = "relu" } ], skip = [ { op = "scale", by = 0.5 } ] },
        { op = "concat", branches = [ [], [] ] }, { op = "hard-sigmoid" }, { op = "hard-swish" },
        { op = "batch-norm", eps = 1e-3 }, { op = "layer-norm" }, { op = "group-norm", groups = 2 }, { op = "rms-norm" },
        { op = "layer-scale" }, { op = "layer-scale", initial = 1e-6 }, { op = "tokens" }, { op = "image", size = [2, 4] },
        { op = "patch-embed", size = [2, 1], width = 6 }, { op = "class-token" }, { op = "position" },
        { op = "attention", heads = 3 }, { op = "dense", features = 5 },
        { op = "gate", branch = [ { op = "take-token" } ] }, { op = "gate", branch = [], skip = [ { op = "tanh" } ] },
        { op = "take-token", index = 1 },
    "#;
    let graph = layers("[2, 8, 16]", all).unwrap();
    assert_eq!(graph.output(), Shape::Vector { features: 5 });
    let ops: Vec<&Op> = graph.nodes.iter().map(|n| &n.op).collect();
    assert!(ops.contains(&&Op::Activation(Activation::LeakyRelu { slope: 0.2 })));
    assert!(ops.contains(&&Op::Activation(Activation::Softplus { beta: 3.0 })));
    assert!(ops.contains(&&Op::Dropout { rate: 0.5 }));
    assert!(ops.contains(&&Op::TakeToken { index: 1 }));
    assert!(matches!(ops[1], Op::Conv { groups: 2, .. }));
    assert_eq!(graph.params[0].shape, [8, 1, 3, 5]);
    // 8×16 → stride (1,2) → 8×8 → 2×2 windows → 4×4.
    assert_eq!(graph.params[2].shape, [4, 32, 16]);
    let scale = |name: &str| {
        let found = graph.params.iter().find(|p| p.name == name).unwrap();
        (found.shape.clone(), found.law)
    };
    assert_eq!(scale("27"), (vec![8, 1, 1], Law::Constant(1.0)));
    assert_eq!(scale("28"), (vec![8, 1, 1], Law::Constant(1e-6)));
    let skip = graph.nodes.iter().find(|n| n.layer == "19.skip.0").unwrap();
    assert_eq!(skip.op, Op::Scale { by: 0.5 });
    assert!(
        matches!(layers("[4]", r#"{ op = "concat", branches = [ [], [ { op = "dense", features = 3 } ] ] }"#), Ok(g) if g.output() == Shape::Vector { features: 7 })
    );
    let over = r#"{ op = "p4-conv", channels = 5, kernel = 3, stride = 2, dilation = 1, padding = 1, bias = false },
        { op = "p4-conv", channels = 2, kernel = 1 }, { op = "group-pool" },
        { op = "p4m-conv", channels = 4, kernel = 3, padding = "same" }, { op = "group-pool", by = "mean" }"#;
    let graph = layers("[3, 8, 8]", over).unwrap();
    // Maps of 4x4 for each of 4 and 8 elements, one below the other; a number a field in the bias.
    let shapes: Vec<Shape> = graph.nodes[1..].iter().map(|node| node.shape).collect();
    let [p4, p4m] = [image(2, 16, 4), image(4, 32, 4)];
    let expected = [
        image(5, 16, 4),
        p4,
        p4,
        image(2, 4, 4),
        p4m,
        p4m,
        image(4, 4, 4),
    ];
    assert_eq!(shapes, expected);
    let params: Vec<&[usize]> = graph.params.iter().map(|p| &p.shape[..]).collect();
    let expected: [&[usize]; 5] = [&[5, 3, 3, 3], &[2, 5, 4, 1, 1], &[2], &[4, 2, 3, 3], &[4]];
    assert_eq!(params, expected);
    assert_eq!(
        output("[3, 4, 6]", r#"{ op = "global-avg-pool" }"#),
        Shape::Vector { features: 3 }
    );
    assert_eq!(
        output("[3, 4, 6]", r#"{ op = "flatten" }"#),
        Shape::Vector { features: 72 }
    );
}

#[test]
fn signals_have_one_axis() {
    let conv = r#"{ op = "conv", channels = 4, kernel = 3, stride = 2, padding = 1 }"#;
    let graph = layers("[2, 9]", conv).unwrap();
    assert_eq!(graph.params[0].shape, [4, 2, 3]);
    assert_eq!(
        graph.output(),
        Shape::Signal {
            channels: 4,
            length: 5
        }
    );
    assert_eq!(
        output("[2, 9]", r#"{ op = "max-pool", size = 3, padding = 1 }"#),
        Shape::Signal {
            channels: 2,
            length: 3
        }
    );
    assert_eq!(
        output("[2, 8]", r#"{ op = "patch-embed", size = 4, width = 5 }"#),
        Shape::Tokens { count: 2, width: 5 }
    );
    assert_eq!(
        message(layers(
            "[2, 9]",
            r#"{ op = "conv", channels = 4, kernel = [3, 3] }"#
        )),
        "net.toml:3:1: layer 0 (conv): input 2x9 is a signal, the window has two axes; it wants one number for kernel, stride and dilation"
    );
    // Depthwise: as many groups as channels.
    let depthwise = layers(
        "[6, 9]",
        r#"{ op = "conv", channels = 6, kernel = 3, groups = 6 }"#,
    );
    assert_eq!(depthwise.unwrap().params[0].shape, [6, 1, 3]);
}

#[test]
fn options_win_over_the_file() {
    let options = ZooOptions {
        input: Some(image(1, 16, 12)),
        outputs: Some(1),
        activation: Some(Activation::Erf.into()),
        parametrisation: Some(Parametrisation::Pytorch),
        bias: BiasRule::Zero,
        ..ZooOptions::default()
    };
    let graph = parse_file(EXAMPLE, "dir/net.toml", &options).unwrap();
    assert_eq!(graph.input(), image(1, 16, 12));
    assert_eq!(graph.params[0].law, Law::Uniform { bound: 1.0 / 3.0 });
    assert_eq!(graph.params[1].law, Law::Constant(0.0));
    assert!(
        graph
            .nodes
            .iter()
            .all(|n| n.op != Op::Activation(Activation::Relu))
    );
    assert!(
        graph
            .nodes
            .iter()
            .any(|n| n.op == Op::Activation(Activation::Erf))
    );

    let wrong = |change: fn(&mut ZooOptions)| {
        let mut options = ZooOptions::default();
        change(&mut options);
        message(parse_file(EXAMPLE, "net.toml", &options))
    };
    assert_eq!(
        wrong(|o| o.outputs = Some(10)),
        "net.toml: --outputs 10 does not fit: the last layer gives 1; change the file or leave the option out"
    );
    assert_eq!(
        wrong(|o| o.depth = Some(1)),
        "net.toml: --depth is not an option of architecture files; change the file"
    );
    assert!(
        wrong(|o| o.input = Some(Shape::Vector { features: 3 }))
            .starts_with("net.toml:6:3: layer 0 (conv): input 3 is a vector")
    );
}

#[test]
fn mistakes_name_their_place() {
    let cases = [
        // === text ===
        ("input = [3\nlayers = []", "net.toml:2:1: "),
        (
            "inptu = [3]\nlayers = []",
            "net.toml:1:1: unknown key `inptu` in the architecture file; did you mean `input`?",
        ),
        (
            "layers = []",
            "net.toml:1:1: the architecture file has no `input`; write for example input = [3, 32, 32]",
        ),
        (
            "input = [3]",
            "net.toml:1:1: the architecture file has no `layers`",
        ),
        (
            "input = [3]\nlayers = []",
            "net.toml:2:10: `layers` is empty",
        ),
        (
            "input = [3]\nlayers = 3",
            "net.toml:2:10: `layers` must be an array of layers, not `3`",
        ),
        (
            "input = [3]\nlayers = [3]",
            "net.toml:2:11: `layers` must be an array of tables, not `3`",
        ),
        (
            "input = [3, 4, 5, 6]\nlayers = []",
            "net.toml:1:9: `input` must be [channels, height, width]",
        ),
        (
            "input = 3\nlayers = []",
            "net.toml:1:9: `input` must be an array of whole numbers, not `3`",
        ),
        (
            "input = [-3]\nlayers = []",
            "net.toml:1:10: `input` must be a whole number not below 0, not `-3`",
        ),
        (
            "input = [0]\nlayers = [{op=\"relu\"}]",
            "net.toml:1:9: layer input (input): input 0 holds no number",
        ),
        (
            "input = [3]\nparametrisation = \"ntkk\"\nlayers = []",
            "net.toml:2:19: parametrisation `ntkk`: unknown; did you mean `ntk`?",
        ),
        (
            "input = [3]\nw_std = 1.0\nlayers = []",
            "net.toml:2:9: `w_std` has a meaning only with",
        ),
        (
            "input = [3]\nparametrisation = \"ntk\"\nw_std = -1\nlayers = []",
            "net.toml:3:9: `w_std` must be above 0",
        ),
        (
            "input = [3]\nparametrisation = \"ntk\"\nb_std = nan\nlayers = []",
            "net.toml:3:9: `b_std` must be a finite number, not `nan`",
        ),
        // === layers ===
        (
            "input = [3]\nlayers = [\n  { op = \"rleu\" } ]",
            "net.toml:3:10: unknown op `rleu`; did you mean `relu`?",
        ),
        (
            "input = [3]\nlayers = [ { name = \"a\" } ]",
            "net.toml:2:12: layer 0 has no `op`",
        ),
        (
            "input = [3]\nlayers = [ { op = 3 } ]",
            "net.toml:2:19: `op` must be a string, not `3`",
        ),
        (
            "input = [3]\nlayers = [ { op = \"dense\" } ]",
            "net.toml:2:12: layer 0 (dense) has no `features`; write for example features = 10",
        ),
        (
            "input = [3]\nlayers = [ { op = \"dense\", features = 2.5 } ]",
            "net.toml:2:39: `features` must be a whole number not below 0, not `2.5`",
        ),
        (
            "input = [3]\nlayers = [ { op = \"dense\", features = 2, bias = 1 } ]",
            "net.toml:2:49: `bias` must be true or false, not `1`",
        ),
        (
            "input = [3]\nlayers = [ { op = \"relu\", slope = 1 } ]",
            "net.toml:2:27: unknown key `slope` in layer 0 (relu); ",
        ),
        (
            "input = [3]\nlayers = [ { op = \"dense\", features = 0 } ]",
            "net.toml:2:12: layer 0 (dense): features 0 is out of range; it must be at least 1",
        ),
        (
            "input = [1, 4, 4]\nlayers = [ { op = \"max-pool\", size = [1, 2, 3] } ]",
            "net.toml:2:38: `size` must be a whole number or [height, width], not an array",
        ),
        (
            "input = [1, 4, 4]\nlayers = [ { op = \"conv\", channels = 1, kernel = 3, padding = \"sane\" } ]",
            "net.toml:2:63: unknown padding `sane`; did you mean `same`? (or a number)",
        ),
        (
            "input = [3]\nlayers = [ { op = \"relu\", name = \"a\" }, { op = \"relu\", name = \"a\" } ]",
            "net.toml:2:41: layer `a`: the name is used twice; give it another `name`",
        ),
        (
            "input = [3]\nlayers = [ { op = \"relu\", name = \"\" } ]",
            "net.toml:2:12: layer ``: a name must have",
        ),
        (
            "input = [3]\nlayers = [ { op = \"residual\", branch = [ { op = \"dense\", features = 4 } ] } ]",
            "net.toml:2:12: layer 0 (residual): input 3 is added to 4; it wants 4 on every path",
        ),
        (
            "input = [3]\nlayers = [ { op = \"concat\", branches = [ [] ] } ]",
            "net.toml:2:12: layer 0 (concat): number of paths 1 is out of range; it must be at least 2",
        ),
        (
            "input = [3]\nlayers = [ { op = \"residual\", branch = [\n { op = \"conv\", channels = 4, kernel = 3 } ] } ]",
            "net.toml:3:2: layer 0.branch.0 (conv): input 3 is a vector; it wants an image CxHxW or a signal CxL",
        ),
    ];
    for (text, start) in cases {
        let message = message(parse(text));
        assert!(message.starts_with(start), "{text}\n{message}\n{start}");
    }
}

/// Shapes that do not fit and settings out of range.
#[test]
fn layers_that_do_not_fit() {
    let cases = [
        (
            "[3, 4, 4]",
            r#"{ op = "dense", features = 2 }"#,
            "layer 0 (dense): input 3x4x4 is an image; it wants a vector or tokens, so put a flatten before it",
        ),
        (
            "[3, 4, 4]",
            r#"{ op = "conv", channels = 2, kernel = 5, padding = 0 }"#,
            "layer 0 (conv): input 3x4x4 is smaller than the 5x5 kernel with padding 0; it wants at least 5x5",
        ),
        (
            "[3, 4, 4]",
            r#"{ op = "conv", channels = 2, kernel = 3, dilation = 2 }"#,
            "layer 0 (conv): input 3x4x4 is smaller than the 3x3 kernel (dilation 2x2) with padding 0; it wants at least 5x5",
        ),
        (
            "[3, 4, 4]",
            r#"{ op = "conv", channels = 2, kernel = 11, padding = "circular" }"#,
            "layer 0 (conv): input 3x4x4 is wrapped more than once by the 11x11 kernel with circular padding; it wants at least 5 positions on each axis",
        ),
        (
            "[3, 4, 4]",
            r#"{ op = "conv", channels = 2, kernel = 0 }"#,
            "layer 0 (conv): kernel 0 is out of range; it must be between 1 and 1048576",
        ),
        (
            "[3, 4, 4]",
            r#"{ op = "conv", channels = 2, kernel = 1, stride = 0 }"#,
            "layer 0 (conv): stride 0 is out of range",
        ),
        (
            "[3, 4, 4]",
            r#"{ op = "conv", channels = 2, kernel = 1, groups = 2 }"#,
            "layer 0 (conv): groups 2 is out of range; it must be a divisor of the 3 input channels and of the 2 output channels",
        ),
        (
            "[3, 4, 4]",
            r#"{ op = "conv", channels = 2, kernel = 1, padding = 9999999 }"#,
            "layer 0 (conv): padding 9999999 is out of range; it must be at most 1048576",
        ),
        (
            "[3, 4, 4]",
            r#"{ op = "max-pool", size = 2, padding = 2 }"#,
            "layer 0 (max-pool): padding 2 is out of range; it must be at most half the size",
        ),
        (
            "[3, 4, 4]",
            r#"{ op = "max-pool", size = 2, padding = "circular" }"#,
            "layer 0 (max-pool): padding circular is out of range; it must be `same`, `valid` or a number",
        ),
        (
            "[3, 4, 4]",
            r#"{ op = "patch-embed", size = 3, width = 2 }"#,
            "layer 0 (patch-embed): input 3x4x4 is not a whole number of patches of 3x3",
        ),
        (
            "[3, 4, 4]",
            r#"{ op = "patch-embed", size = 2, width = 0 }"#,
            "layer 0 (patch-embed): width 0 is out of range",
        ),
        (
            "[3, 4, 4]",
            r#"{ op = "attention", heads = 2 }"#,
            "layer 0 (attention): input 3x4x4 is an image; it wants tokens, so put a patch-embed or tokens before it",
        ),
        (
            "[3]",
            r#"{ op = "tokens" }"#,
            "layer 0 (tokens): input 3 is a vector; it wants an image CxHxW or a signal CxL",
        ),
        (
            "[3, 4, 4]",
            r#"{ op = "tokens" }, { op = "image", size = [2, 9] }"#,
            "layer 1 (image): size 2x9 is out of range; it must be a height and a width whose product is the 16 tokens",
        ),
        (
            "[3, 4, 4]",
            r#"{ op = "patch-embed", size = 2, width = 6 }, { op = "attention", heads = 4 }"#,
            "layer 1 (attention): heads 4 is out of range; it must be a divisor of the token width 6",
        ),
        (
            "[3, 4, 4]",
            r#"{ op = "patch-embed", size = 2, width = 6 }, { op = "take-token", index = 4 }"#,
            "layer 1 (take-token): index 4 is out of range; it must be below the 4 tokens",
        ),
        (
            "[3, 4, 4]",
            r#"{ op = "patch-embed", size = 2, width = 6 }, { op = "batch-norm" }"#,
            "layer 1 (batch-norm): input 4x6 tokens is a sequence of tokens",
        ),
        (
            "[3, 4, 4]",
            r#"{ op = "group-norm", groups = 2 }"#,
            "layer 0 (group-norm): groups 2 is out of range; it must be a divisor of the 3 channels",
        ),
        (
            "[3]",
            r#"{ op = "group-norm", groups = 1 }"#,
            "layer 0 (group-norm): input 3 is a vector",
        ),
        (
            "[3]",
            r#"{ op = "global-avg-pool" }"#,
            "layer 0 (global-avg-pool): input 3 is a vector",
        ),
        (
            "[3]",
            r#"{ op = "dropout", rate = 1.0 }"#,
            "layer 0 (dropout): rate 1 is out of range; it must be at least 0 and below 1",
        ),
        (
            "[3]",
            r#"{ op = "softplus", beta = 0 }"#,
            "layer 0 (softplus): beta 0 is out of range",
        ),
        (
            "[3]",
            r#"{ op = "batch-norm", eps = -1.0 }"#,
            "layer 0 (batch-norm): eps -1 is out of range",
        ),
        (
            "[3]",
            r#"{ op = "dense", features = 1000000000000000000 }"#,
            "layer 0: the number of parameters exceeds the limit of 8589934592",
        ),
        (
            "[1, 4, 4]",
            r#"{ op = "conv", channels = 64, kernel = 1, padding = 1000000 }"#,
            "layer 0: the output of one sample exceeds the limit of 2147483648",
        ),
        (
            "[1, 4, 4]",
            r#"{ op = "concat", branches = [ [], [ { op = "max-pool", size = 2 } ] ] }"#,
            "layer 0 (concat): input 1x2x2 is joined to 1x4x4; it wants the same kind and positions on every path",
        ),
        (
            "[3, 4, 4]",
            r#"{ op = "gate", branch = [ { op = "global-avg-pool" }, { op = "dense", features = 2 } ] }"#,
            "layer 0 (gate): input 2 multiplies 3x4x4; it wants the same shape, or one number a channel",
        ),
        (
            "[3, 4, 4]",
            r#"{ op = "gate", branch = [], skip = [ { op = "global-avg-pool" } ] }"#,
            "layer 0 (gate): input 3x4x4 multiplies 3; it wants the same shape, or one number a channel",
        ),
        (
            "[3, 6, 6]",
            r#"{ op = "p4-conv", channels = 2, kernel = [3, 1] }"#,
            "layer 0 (p4-conv): kernel 3x1 is out of range; it must be square, so that it can be turned",
        ),
        (
            "[3, 6, 6]",
            r#"{ op = "p4m-conv", channels = 2, kernel = 3, stride = [1, 2] }"#,
            "layer 0 (p4m-conv): stride 1x2 is out of range; it must be square, so that it can be turned",
        ),
        (
            "[3, 6]",
            r#"{ op = "p4-conv", channels = 2, kernel = 3 }"#,
            "layer 0 (p4-conv): input 3x6 is a signal; it wants an image CxHxW",
        ),
        (
            "[3, 6, 6]",
            r#"{ op = "group-pool" }"#,
            "layer 0 (group-pool): input 3x6x6 is an image; it wants maps over a group, so put a p4-conv or a p4m-conv before it",
        ),
        (
            "[3, 6, 6]",
            r#"{ op = "p4-conv", channels = 2, kernel = 1 }, { op = "conv", channels = 2, kernel = 3 }"#,
            "layer 1 (conv): input 2x24x6 holds maps over p4; it wants p4-conv, or a group-pool before it",
        ),
        (
            "[3, 6, 6]",
            r#"{ op = "p4-conv", channels = 2, kernel = 1 }, { op = "relu" }, { op = "p4m-conv", channels = 2, kernel = 1 }"#,
            "layer 2 (p4m-conv): input 2x24x6 holds maps over p4; it wants p4-conv, or a group-pool before it",
        ),
        (
            "[3, 9, 9]",
            r#"{ op = "p4-conv", channels = 2, kernel = 1 }, { op = "batch-norm" }, { op = "max-pool", size = 2 }"#,
            "layer 2 (max-pool): input 2x36x9 holds 4 maps of 9x9 over p4, which windows of 2x2 do not tile; it wants sizes that \
             divide the maps, the same stride and no padding",
        ),
        (
            "[3, 6, 6]",
            r#"{ op = "p4-conv", channels = 2, kernel = 1 }, { op = "avg-pool", size = 3, padding = 1 }"#,
            "layer 1 (avg-pool): input 2x24x6 holds 4 maps of 6x6 over p4, which windows of 3x3 do not tile",
        ),
        (
            "[2, 6, 6]",
            r#"{ op = "residual", branch = [ { op = "p4-conv", channels = 2, kernel = 1 } ] }"#,
            "layer 0 (residual): input 2x6x6 holds maps over the plane beside maps over p4; it wants the same group on every path",
        ),
    ];
    for (input, text, expected) in cases {
        let message = message(layers(input, text));
        let rest = message
            .strip_prefix("net.toml:3:")
            .and_then(|m| m.split_once(": "));
        let (_, rest) = rest.unwrap_or_else(|| panic!("{message}"));
        assert!(rest.starts_with(expected), "{text}\n{rest}\n{expected}");
    }
}

#[test]
fn parameters_do_not_share_names() {
    let text = r#"{ op = "patch-embed", size = 2, width = 6 }, { op = "attention", heads = 2, name = "a" }, { op = "dense", features = 6, name = "a.out_proj" }"#;
    assert!(
        message(layers("[3, 4, 4]", text))
            .contains("another layer already has a parameter named `a.out_proj.weight`")
    );
}

#[test]
fn nesting_has_a_limit() {
    let nested = |depth: usize| {
        let open = "{ op = \"residual\", branch = [ ".repeat(depth);
        format!("{open}{{ op = \"relu\" }}{}", " ] }".repeat(depth))
    };
    assert!(layers("[3]", &nested(16)).is_ok());
    assert!(message(layers("[3]", &nested(17))).contains("nested more than 16 deep"));
    // Far deeper, the parser itself stops.
    assert!(layers("[3]", &nested(2000)).is_err());
    assert!(parse(&"[".repeat(100_000)).is_err());
}

#[test]
fn load_tells_names_from_files() {
    let options = ZooOptions::default();
    assert_eq!(load("lenet", &options).unwrap().name, "lenet");
    assert!(
        load("no-such-net", &options)
            .unwrap_err()
            .to_string()
            .starts_with("unknown architecture `no-such-net`")
    );
    let missing = load("missing.toml", &options).unwrap_err().to_string();
    assert!(
        missing.starts_with("missing.toml: cannot read the architecture file"),
        "{missing}"
    );
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example.toml");
    assert_eq!(load(example, &options).unwrap().name, "example");
    let binary =
        std::env::temp_dir().join(format!("polariscope-graph-{}.toml", std::process::id()));
    std::fs::write(&binary, [0xff, 0xfe, 0x00]).unwrap();
    let error = load(binary.to_str().unwrap(), &options)
        .unwrap_err()
        .to_string();
    std::fs::remove_file(&binary).unwrap();
    assert!(
        error.ends_with("an architecture file is UTF-8 text (TOML)"),
        "{error}"
    );
}
