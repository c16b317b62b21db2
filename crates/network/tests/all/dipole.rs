//! The dipole gradient against plain central differences of whole outputs, for every kind of layer that is local,
//! partly local or not local at all, and every place where a patch can meet a border.
//!
//! Bug class: a patch that misses a pixel that changes (strides that leave a rest, dilation, padding on one side, a
//! ring), one that is pasted beside its place (height for width, a channel for another), an affine op counted twice
//! or not at all, a sample that reads a neighbour's patch.

use polariscope_diff::{Id, Program, vmap};
use polariscope_graph::{Graph, Role, ZooOptions, parse_file, zoo};
use polariscope_network::{Dipole, Network, NetworkError, Scalar, Weights, multiplications};

/// Relative to the largest difference: both sides sum the same f64 products in another order.
const TOLERANCE: f64 = 1e-12;

fn file(input: &str, layers: &str) -> Graph {
    let text = format!("input = {input}\nlayers = [\n{layers}\n]");
    parse_file(&text, "test", &ZooOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn named(name: &str, input: &str, options: ZooOptions) -> Graph {
    let input = Some(input.parse().unwrap());
    zoo(name, &ZooOptions { input, ..options }).unwrap()
}

/// Draws, with every running statistic, γ, β and bias away from where it starts.
fn weights(graph: &Graph) -> Weights<f64> {
    let mut weights = Weights::draw(graph, 3, 1);
    for (param, values) in graph.params.iter().zip(&mut weights.values) {
        let flat = param.shape.len() == 1;
        for (i, value) in values.iter_mut().enumerate().filter(|_| flat) {
            let wave = (1.7 * i as f64 + param.name.len() as f64).sin();
            *value += match param.role {
                Role::Buffer => 0.4 * wave,
                Role::Trainable => 0.2 * wave,
            };
        }
    }
    weights
}

fn point(graph: &Graph) -> Vec<f64> {
    let numbers = 0..graph.input().len();
    numbers.map(|i| (2.3 * i as f64 + 0.1).cos()).collect()
}

/// (f(x + h e_i) − f(x − h e_i))/2h by whole outputs.
fn differences(graph: &Graph, h: f64, scalar: Scalar) -> Vec<f64> {
    let network = Network::<f64>::new(graph.clone());
    let (x, weights) = (point(graph), weights(graph));
    let moved = (0..x.len()).flat_map(|i| [(i, h), (i, -h)]);
    let moved = moved.flat_map(|(i, h)| {
        let mut x = x.clone();
        x[i] += h;
        x
    });
    let outputs = network
        .output(&weights, &moved.collect::<Vec<_>>())
        .unwrap();
    let scalar = |row: &[f64]| match scalar {
        Scalar::Logit(k) => row[k],
        Scalar::Mean => row.iter().sum::<f64>() / row.len() as f64,
    };
    let values: Vec<f64> = outputs
        .chunks_exact(graph.output().len())
        .map(scalar)
        .collect();
    let pairs = values.chunks_exact(2);
    pairs.map(|pair| (pair[0] - pair[1]) / (2.0 * h)).collect()
}

fn gradient(graph: &Graph, h: f64, scalar: Scalar) -> Vec<f64> {
    let dipole = Dipole::new(graph, h, scalar).unwrap();
    dipole.gradient(&weights(graph), &point(graph)).unwrap()
}

/// The same as one program.
fn expressed(graph: &Graph, h: f64, scalar: Scalar) -> Vec<f64> {
    let differences = polariscope_network::differences(graph, h, scalar);
    let program = Program::new(&differences.trace, &[differences.output]);
    let (x, weights) = (point(graph), weights(graph));
    let mut leaves = vec![x.as_slice()];
    leaves.extend(weights.values.iter().map(Vec::as_slice));
    leaves.extend(differences.constants.iter().map(Vec::as_slice));
    program.evaluate(&leaves).remove(0)
}

#[track_caller]
fn check(graph: &Graph, h: f64, scalar: Scalar) {
    let want = differences(graph, h, scalar);
    let largest = want.iter().fold(0.0_f64, |m, d| m.max(d.abs()));
    assert!(largest > 1e-6, "nothing is tested: {largest}");
    for (way, found) in [
        ("patches", gradient(graph, h, scalar)),
        ("expressions", expressed(graph, h, scalar)),
    ] {
        assert_eq!(want.len(), found.len());
        for (i, (want, found)) in want.iter().zip(&found).enumerate() {
            let error = (want - found).abs() / largest;
            assert!(
                error < TOLERANCE,
                "{way}, coordinate {i}: {found} for {want}"
            );
        }
    }
}

/// Max-pool on patches of both parities, biases, the read-out on whole maps; all pixels, so all borders.
#[test]
fn lenet() {
    let graph = named(
        "lenet",
        "1x32x32",
        ZooOptions {
            outputs: Some(1),
            ..ZooOptions::default()
        },
    );
    check(&graph, 100.0, Scalar::Logit(0));
    let graph = named("lenet-avg", "2x24x20", ZooOptions::default());
    check(&graph, 3.0, Scalar::Mean);
}

/// Every padding, with strides that leave a rest, dilations, kernels of one parity or the other on the two axes.
#[test]
fn convolutions() {
    let rest = r#"{ op = "tanh" }, { op = "conv", channels = 5, kernel = 3, padding = 1 }, { op = "relu" },
        { op = "global-avg-pool" }, { op = "dense", features = 2 }"#;
    let layers = [
        r#"{ op = "conv", channels = 4, kernel = [3, 2], padding = "valid" }"#,
        r#"{ op = "conv", channels = 4, kernel = [4, 3], padding = "same" }"#,
        r#"{ op = "conv", channels = 4, kernel = 3, padding = 2, stride = [2, 3] }"#,
        r#"{ op = "conv", channels = 4, kernel = 3, padding = 0, stride = [3, 2] }"#,
        r#"{ op = "conv", channels = 4, kernel = [2, 3], padding = "same", stride = 2 }"#,
        r#"{ op = "conv", channels = 4, kernel = 3, padding = "same", dilation = [2, 3] }"#,
        r#"{ op = "conv", channels = 4, kernel = [2, 3], padding = 2, dilation = 2, stride = 2 }"#,
        r#"{ op = "conv", channels = 4, kernel = [3, 4], padding = "circular" }"#,
        r#"{ op = "conv", channels = 4, kernel = 3, padding = "circular", dilation = 2 }"#,
        r#"{ op = "conv", channels = 4, kernel = 3, padding = "circular", stride = [1, 2] }"#,
        r#"{ op = "conv", channels = 4, kernel = 3, padding = "circular", stride = [2, 3] }"#,
        r#"{ op = "conv", channels = 4, kernel = 1, stride = 2 }"#,
        r#"{ op = "conv", channels = 4, kernel = 3, padding = 1, groups = 2 }"#,
        r#"{ op = "max-pool", size = 3, stride = 2, padding = 1 }"#,
        r#"{ op = "max-pool", size = [2, 3] }"#,
        r#"{ op = "avg-pool", size = 3, stride = 2, padding = 1 }"#,
    ];
    for input in ["[2, 11, 8]", "[2, 9, 12]"] {
        for layer in layers {
            // As the first layer, and on patches of several pixels.
            let graph = file(input, &format!("{layer}, {rest}"));
            check(&graph, 100.0, Scalar::Logit(1));
            for padding in ["1", "\"circular\""] {
                let before = format!(
                    r#"{{ op = "conv", channels = 2, kernel = 3, padding = {padding} }}, {{ op = "sin" }},"#
                );
                let graph = file(input, &format!("{before}{layer}, {rest}"));
                check(&graph, 100.0, Scalar::Logit(0));
            }
        }
    }
    // One row, which a border of zeros makes three of.
    let line = r#"{ op = "conv", channels = 4, kernel = [1, 3], padding = 1 }"#;
    let graph = file("[2, 1, 12]", &format!("{line}, {rest}"));
    check(&graph, 100.0, Scalar::Logit(0));
}

/// Enough channels that whole convolutions, not changes alone, are what pays, and Winograd's algorithm.
#[test]
fn wide_convolutions() {
    let graph = file(
        "[3, 17, 14]",
        r#"{ op = "conv", channels = 32, kernel = 3, padding = 1, bias = false }, { op = "batch-norm" }, { op = "relu" },
           { op = "conv", channels = 40, kernel = 3, padding = 1 }, { op = "batch-norm" }, { op = "relu" },
           { op = "conv", channels = 36, kernel = 3, padding = 1 }, { op = "gelu" },
           { op = "conv", channels = 32, kernel = 3, padding = 1, groups = 4 }, { op = "relu" },
           { op = "conv", channels = 8, kernel = 3, padding = 1 }, { op = "relu" }, { op = "max-pool", size = 2 },
           { op = "flatten" }, { op = "dense", features = 1 }"#,
    );
    check(&graph, 100.0, Scalar::Logit(0));
}

/// Branches of different reach, a projection with a stride, norms with running statistics, an identity skip.
#[test]
fn residual() {
    let graph = file(
        "[3, 13, 16]",
        r#"{ op = "conv", channels = 6, kernel = 3, padding = 1, bias = false }, { op = "batch-norm" }, { op = "silu" },
           { op = "residual", branch = [
             { op = "conv", channels = 6, kernel = 3, padding = 1, bias = false }, { op = "batch-norm" }, { op = "relu" },
             { op = "conv", channels = 6, kernel = 3, padding = 1, bias = false }, { op = "batch-norm" } ] },
           { op = "relu" }, { op = "scale", by = 0.7 },
           { op = "residual", branch = [
             { op = "conv", channels = 8, kernel = 3, stride = 2, padding = 1, bias = false }, { op = "batch-norm" },
             { op = "relu" }, { op = "dropout" },
             { op = "conv", channels = 8, kernel = 3, padding = 1, bias = false }, { op = "batch-norm" } ],
             skip = [ { op = "conv", channels = 8, kernel = 1, stride = 2, bias = false }, { op = "batch-norm" } ] },
           { op = "relu" }, { op = "global-avg-pool" }, { op = "dense", features = 3 }"#,
    );
    check(&graph, 100.0, Scalar::Logit(2));
    check(&graph, 100.0, Scalar::Mean);
    // Around a ring.
    let ring = r#"{ op = "residual", branch = [
        { op = "conv", channels = 5, kernel = 3, padding = "circular" }, { op = "tanh" } ] }"#;
    let graph = file(
        "[1, 15, 18]",
        &format!(
            r#"{{ op = "conv", channels = 5, kernel = 3, padding = "circular" }}, {{ op = "tanh" }}, {ring}, {ring},
               {{ op = "global-avg-pool" }}, {{ op = "dense", features = 1 }}"#
        ),
    );
    check(&graph, 100.0, Scalar::Logit(0));
}

/// Gates see the whole map: patches end there, also inside one branch of a concatenation.
#[test]
fn gates() {
    let excite = r#"{ op = "gate", branch = [ { op = "global-avg-pool" }, { op = "dense", features = 4 },
        { op = "sigmoid" } ] }"#;
    let conv = r#"{ op = "conv", channels = 4, kernel = 3, padding = 1 }"#;
    let graph = file(
        "[2, 12, 10]",
        &format!(
            r#"{conv}, {{ op = "relu" }}, {conv}, {excite}, {{ op = "relu" }},
               {{ op = "concat", branches = [ [ {excite} ], [ {conv}, {{ op = "gate", branch = [ {conv} ] }} ] ] }},
               {{ op = "avg-pool", size = 2 }}, {{ op = "flatten" }}, {{ op = "dense", features = 2 }}"#
        ),
    );
    check(&graph, 100.0, Scalar::Logit(1));
    check(&graph, 100.0, Scalar::Mean);
}

/// Concatenation of branches of different reach, also of the input itself, then norms on what was joined.
#[test]
fn dense_blocks() {
    let layer = r#"{ op = "concat", branches = [ [], [ { op = "batch-norm" }, { op = "relu" },
        { op = "conv", channels = 5, kernel = 1 }, { op = "batch-norm" }, { op = "relu" },
        { op = "conv", channels = 3, kernel = 3, padding = 1 } ] ] }"#;
    let graph = file(
        "[2, 12, 10]",
        &format!(
            r#"{layer}, {layer}, {{ op = "conv", channels = 4, kernel = 1 }}, {{ op = "avg-pool", size = 2 }}, {layer},
               {{ op = "relu" }}, {{ op = "global-avg-pool" }}, {{ op = "dense", features = 2 }}"#
        ),
    );
    check(&graph, 100.0, Scalar::Logit(1));
}

/// Layers without shared weights, with and without a convolution before; norms over whole maps.
#[test]
fn not_local() {
    let options = |width| ZooOptions {
        width: Some(width),
        outputs: Some(2),
        ..ZooOptions::default()
    };
    check(&named("lcn", "2x8x7", options(5)), 100.0, Scalar::Logit(0));
    check(
        &named("cnn-gap", "1x9x8", options(6)),
        100.0,
        Scalar::Logit(0),
    );
    let before = r#"{ op = "conv", channels = 4, kernel = 3, padding = 1 }, { op = "relu" }, "#;
    let after = r#", { op = "relu" }, { op = "flatten" }, { op = "dense", features = 2 }"#;
    for layer in [
        r#"{ op = "local", channels = 3, kernel = 3, padding = "same" }"#,
        r#"{ op = "layer-norm" }"#,
        r#"{ op = "group-norm", groups = 2 }"#,
    ] {
        check(
            &file("[2, 6, 7]", &format!("{before}{layer}{after}")),
            100.0,
            Scalar::Logit(1),
        );
    }
}

/// Vectors: one column of the first matrix; also where the input is used twice, and for images read as vectors.
#[test]
fn vectors() {
    let dense = r#"{ op = "dense", features = 9 }, { op = "batch-norm" }, { op = "tanh" },"#;
    let head = r#"{ op = "dense", features = 4 }, { op = "relu" }, { op = "dense", features = 2 }"#;
    check(
        &file("[61]", &format!("{dense}{head}")),
        100.0,
        Scalar::Logit(0),
    );
    let twice =
        r#"{ op = "residual", branch = [ { op = "dense", features = 61 }, { op = "relu" } ] },"#;
    check(
        &file("[61]", &format!("{twice}{head}")),
        100.0,
        Scalar::Logit(1),
    );
    let normed = r#"{ op = "batch-norm" }, { op = "relu" },"#;
    check(
        &file("[61]", &format!("{normed}{head}")),
        2.0,
        Scalar::Logit(1),
    );
    check(
        &file(
            "[2, 5, 6]",
            &format!(r#"{{ op = "flatten" }}, {dense}{head}"#),
        ),
        100.0,
        Scalar::Logit(0),
    );
    check(
        &named("mlp-2x20", "3x6x5", ZooOptions::default()),
        100.0,
        Scalar::Mean,
    );
    check(
        &named("logreg", "2x3x4", ZooOptions::default()),
        100.0,
        Scalar::Logit(3),
    );
}

/// Signals, and a transformer behind its patch embedding.
#[test]
fn signals_and_tokens() {
    let graph = file(
        "[2, 37]",
        r#"{ op = "conv", channels = 4, kernel = 5, padding = "same", stride = 2 }, { op = "relu" },
           { op = "conv", channels = 6, kernel = 3, padding = 1 }, { op = "batch-norm" }, { op = "relu" },
           { op = "max-pool", size = 2 }, { op = "flatten" }, { op = "dense", features = 2 }"#,
    );
    check(&graph, 100.0, Scalar::Logit(1));
    let graph = file(
        "[3, 8, 12]",
        r#"{ op = "patch-embed", size = 4, width = 6 }, { op = "class-token" }, { op = "position" },
           { op = "residual", branch = [ { op = "layer-norm" }, { op = "attention", heads = 2 } ] },
           { op = "layer-norm" }, { op = "take-token" }, { op = "dense", features = 3 }"#,
    );
    check(&graph, 100.0, Scalar::Logit(0));
}

/// A network that is local to its end: the output is a map.
#[test]
fn maps_as_outputs() {
    let graph = file(
        "[1, 9, 7]",
        r#"{ op = "conv", channels = 3, kernel = 3, padding = 1 }, { op = "relu" },
           { op = "conv", channels = 2, kernel = 3, padding = 1 }"#,
    );
    check(&graph, 10.0, Scalar::Logit(5));
    check(&graph, 10.0, Scalar::Mean);
}

/// On one thread and on two, and a second time with the memory of the first.
#[test]
fn the_same_bits() {
    let graph = named("lenet", "1x32x32", ZooOptions::default());
    let x: Vec<f32> = point(&graph).iter().map(|&v| v as f32).collect();
    let dipole = Dipole::new(&graph, 100.0, Scalar::Logit(4)).unwrap();
    let run = |threads: usize, index: u64| {
        let weights = Weights::<f32>::draw(&graph, 0, index);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().unwrap();
        pool.install(|| dipole.gradient(&weights, &x).unwrap())
    };
    let first = run(1, 0);
    assert_ne!(first, run(1, 1));
    assert_eq!(first, run(2, 0));
}

#[test]
fn what_does_not_fit() {
    let graph = named("lenet", "1x32x32", ZooOptions::default());
    let x = vec![0.0_f64; 1024];
    let new = |h, scalar| Dipole::<f64>::new(&graph, h, scalar).err().unwrap();
    for h in [0.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(new(h, Scalar::Mean), NetworkError::Step { .. }));
    }
    // Finite, but not in f32.
    let step = Dipole::<f32>::new(&graph, 1e300, Scalar::Mean);
    assert!(matches!(step, Err(NetworkError::Step { .. })));
    assert!(matches!(
        new(1.0, Scalar::Logit(10)),
        NetworkError::Logit { k: 10, outputs: 10 }
    ));
    let other = named("logreg", "1x32x32", ZooOptions::default());
    let dipole = Dipole::new(&graph, 1.0, Scalar::Mean).unwrap();
    assert!(matches!(
        dipole.gradient(&Weights::draw(&other, 0, 0), &x),
        Err(NetworkError::Weights { .. })
    ));
    assert!(matches!(
        dipole.gradient(&Weights::draw(&graph, 0, 0), &x[1..]),
        Err(NetworkError::Point { length: 1023, .. })
    ));
}

/// Of ResNet-18's products on 2 × 1024 whole maps about 60 % are left, of LeNet's less than half.
#[test]
fn windows_save_work() {
    for (name, share) in [("resnet18", 0.62), ("lenet", 0.45)] {
        let graph = named(name, "1x32x32", ZooOptions::default());
        let d = polariscope_network::differences(&graph, 100.0, Scalar::Logit(0));
        let program = Program::new(&d.trace, &[d.output]);
        let products = program.steps.iter().map(|step| step.cost());
        let products =
            products.filter(|c| c.name.starts_with("conv") || c.name.starts_with("product"));
        let left: f64 = products.map(|c| c.operations).sum();
        let whole = 2.0 * 2048.0 * multiplications(&graph) as f64;
        assert!(left < share * whole, "{name}: {}", left / whole);
    }
}

/// Two networks in one program, each as it is alone.
#[test]
fn several_networks_at_once() {
    let graph = named("lenet", "1x28x28", ZooOptions::default());
    let d = polariscope_network::differences(&graph, 100.0, Scalar::Logit(0));
    let own: Vec<Id> = d.trace.leaves().take(1 + graph.params.len()).collect();
    let (many, outputs) = vmap(&d.trace, &[d.output], &own, 2);
    let networks = [4, 5].map(|index| Weights::<f64>::draw(&graph, 3, index));
    let mut leaves = vec![point(&graph).repeat(2)];
    for i in 0..graph.params.len() {
        leaves.push(networks.each_ref().map(|w| w.values[i].clone()).concat());
    }
    leaves.extend(d.constants.clone());
    let leaves: Vec<&[f64]> = leaves.iter().map(Vec::as_slice).collect();
    let found = Program::new(&many, &outputs).evaluate(&leaves).remove(0);
    let dipole = Dipole::new(&graph, 100.0, Scalar::Logit(0)).unwrap();
    let want = networks.map(|w| dipole.gradient(&w, &point(&graph)).unwrap());
    let largest = want.iter().flatten().fold(0.0_f64, |m, d| m.max(d.abs()));
    for (found, want) in found.iter().zip(want.iter().flatten()) {
        assert!((found - want).abs() < TOLERANCE * largest);
    }
}
