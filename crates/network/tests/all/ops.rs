//! Every op against PyTorch in f64 and f32: output, input gradient of logit 0, and its tangent along other weights.
//!
//! A fixture holds a small architecture file and what PyTorch makes of it; `bench/fixtures` interprets the same
//! file with a reader of its own, so names, shapes, defaults and forward factors are compared too.
//!
//! Bug class: an op, a setting of it (asymmetric padding, groups, a stride that leaves a rest, the axes of a norm)
//! or one of its derivatives that is self-consistent but is not what the description says.

use std::collections::BTreeMap;
use std::path::PathBuf;

use polariscope_graph::{Activation, Graph, Op, Padding, Role, Shape, ZooOptions, parse_file};
use polariscope_network::{Network, Scalar, Weights};
use serde_json::Value;

/// In f64, relative to the norm of the vector.
const TOLERANCE: f64 = 1e-9;

/// In f32: some tens of roundings of 6e-8.
const TOLERANCE_F32: f64 = 1e-5;

/// Every fixture with its graph, by name.
fn fixtures() -> BTreeMap<String, (Value, Graph)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/ops");
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let fixture: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let lines = fixture["file"].as_array().unwrap();
        let lines: Vec<&str> = lines.iter().map(|line| line.as_str().unwrap()).collect();
        let graph = parse_file(&lines.join("\n"), &name, &ZooOptions::default());
        let graph = graph.unwrap_or_else(|error| panic!("{error}"));
        (name, (fixture, graph))
    };
    std::fs::read_dir(folder).unwrap().map(read).collect()
}

/// As `wave` in bench/fixtures: 0.5 sin k, k = (i² + 31 i + 101 draw + c) mod 1009, c the sum of the name's bytes.
fn wave(name: &str, draw: usize, i: usize) -> f64 {
    let c: usize = name.bytes().map(usize::from).sum();
    0.5 * (((i * i + 31 * i + 101 * draw + c) % 1009) as f64).sin()
}

/// As `statistic` there: mean_i = 0.3 sin(i + 1), variance_i = 1 + 0.5 cos(i); waves elsewhere.
fn weights(graph: &Graph, draw: usize) -> Weights<f64> {
    let mut weights = Weights::zeros(graph);
    for (param, values) in graph.params.iter().zip(&mut weights.values) {
        for (i, value) in values.iter_mut().enumerate() {
            *value = if param.name.ends_with("running_mean") {
                0.3 * (i as f64 + 1.0).sin()
            } else if param.name.ends_with("running_var") {
                1.0 + 0.5 * (i as f64).cos()
            } else {
                wave(&param.name, draw, i)
            };
        }
    }
    weights
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Largest error of the norm and of the entries that were kept, relative to the norm.
fn error(expected: &Value, found: &[f64]) -> f64 {
    let size = expected["norm"].as_f64().unwrap();
    let indices = expected["indices"].as_array().unwrap();
    let values = expected["values"].as_array().unwrap();
    assert_eq!((indices.len(), values.len()), (12, 12));
    let entries = indices.iter().zip(values).map(|(i, value)| {
        (found[i.as_u64().unwrap() as usize] - value.as_f64().unwrap()).abs() / size
    });
    entries.fold((norm(found) - size).abs() / size, worse)
}

/// The larger one; NaN is the worst.
fn worse(a: f64, b: f64) -> f64 {
    if a >= b || a.is_nan() { a } else { b }
}

fn output_error(expected: &Value, found: &[f64]) -> f64 {
    let expected = expected.as_array().unwrap().iter();
    let expected: Vec<f64> = expected.map(|v| v.as_f64().unwrap()).collect();
    assert_eq!(found.len(), expected.len());
    let difference: Vec<f64> = found.iter().zip(&expected).map(|(a, b)| a - b).collect();
    norm(&difference) / norm(&expected)
}

/// Errors of output, gradient and tangent.
fn errors<T: polariscope_diff::Number>(fixture: &Value, graph: &Graph) -> [f64; 3] {
    let sample = graph.input().len();
    let samples = fixture["samples"].as_u64().unwrap() as usize;
    let x: Vec<T> = (0..samples * sample)
        .map(|i| T::from_f64((8.0 * wave("x", i / sample, i % sample)).round() / 4.0))
        .collect();
    let (w, v) = (weights(graph, 0).convert(), weights(graph, 1).convert());
    let wide = |values: Vec<T>| -> Vec<f64> { values.iter().map(|x| x.to_f64()).collect() };
    let network = Network::<T>::new(graph.clone());
    let logit = Scalar::Logit(0);
    let output = network.output(&w, &x).unwrap();
    let gradient = network.input_gradient(&w, &x, logit).unwrap();
    let tangent = network.input_gradient_tangent(&w, &v, &x, logit).unwrap();
    [
        output_error(&fixture["output"], &wide(output)),
        error(&fixture["gradient"], &wide(gradient)),
        error(&fixture["tangent"], &wide(tangent)),
    ]
}

fn agrees<T: polariscope_diff::Number>(tolerance: f64) {
    let mut wrong = Vec::new();
    for (name, (fixture, graph)) in fixtures() {
        let what = ["output", "gradient", "tangent"];
        for (what, error) in what.into_iter().zip(errors::<T>(&fixture, &graph)) {
            if error.is_nan() || error > tolerance {
                wrong.push(format!("{name}: {what} off by {error:e} of its norm"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_op_agrees_in_f64() {
    agrees::<f64>(TOLERANCE);
}

#[test]
fn every_op_agrees_in_f32() {
    agrees::<f32>(TOLERANCE_F32);
}

#[test]
fn names_and_shapes_are_those_of_a_state_dict() {
    for (name, (fixture, graph)) in fixtures() {
        let expected = fixture["parameters"].as_object().unwrap().iter();
        let expected: BTreeMap<String, String> = expected
            .map(|(name, shape)| (name.clone(), shape.as_str().unwrap().to_owned()))
            .collect();
        let found: BTreeMap<String, String> = graph
            .params
            .iter()
            .map(|p| {
                let sizes: Vec<String> = p.shape.iter().map(usize::to_string).collect();
                (p.name.clone(), sizes.join("x"))
            })
            .collect();
        assert_eq!(found, expected, "{name}");
        for param in &graph.params {
            let buffer = param.name.contains("running_");
            assert_eq!(param.role == Role::Buffer, buffer, "{name}: {}", param.name);
        }
    }
}

/// What a node exercises. No catch-all arm: a new op has to be given a name here, and then a fixture.
fn case(op: &Op, shape: Shape) -> String {
    let border = |padding| match padding {
        Padding::Same => "same",
        Padding::Valid => "valid",
        Padding::Circular => "circular",
        Padding::Zeros(_) => "zeros",
    };
    let on = match shape {
        Shape::Vector { .. } => "vector",
        Shape::Signal { .. } => "signal",
        Shape::Image { .. } => "image",
        Shape::Tokens { .. } => "tokens",
    };
    match op {
        Op::Input => format!("input {on}"),
        Op::Dense { .. } => format!("dense {on}"),
        Op::Conv { window, .. } => format!("conv {on} {}", border(window.padding)),
        Op::Local { window, .. } => format!("local {on} {}", border(window.padding)),
        Op::GroupConv { window, .. } => format!("{} {}", op.name(), border(window.padding)),
        Op::GroupPool { .. } => op.facts().words.into_owned(),
        Op::Bias { .. } => format!("bias {on}"),
        Op::Scale { .. } => "scale".to_owned(),
        Op::Dropout { .. } => "dropout".to_owned(),
        Op::Activation(activation) => activation.name().to_owned(),
        Op::MaxPool(window) => format!("max-pool {on} {}", border(window.padding)),
        Op::AvgPool(window) => format!("avg-pool {on} {}", border(window.padding)),
        Op::GlobalAvgPool => "global-avg-pool".to_owned(),
        Op::Flatten => "flatten".to_owned(),
        Op::Add => format!("add {on}"),
        Op::Gate => format!("gate {on}"),
        Op::Concat => format!("concat {on}"),
        Op::BatchNorm { .. } => format!("batch-norm {on}"),
        Op::LayerNorm { .. } => format!("layer-norm {on}"),
        Op::GroupNorm { .. } => format!("group-norm {on}"),
        Op::RmsNorm { .. } => format!("rms-norm {on}"),
        Op::LayerScale { .. } => format!("layer-scale {on}"),
        Op::ToTokens => "to-tokens".to_owned(),
        Op::ToImage => "to-image".to_owned(),
        Op::ClassToken { .. } => "class-token".to_owned(),
        Op::Position { .. } => "position".to_owned(),
        Op::TakeToken { .. } => "take-token".to_owned(),
        Op::Attention { .. } => "attention".to_owned(),
    }
}

/// Bug class: an op, or an op on a kind of shape, that no fixture reaches.
#[test]
fn the_fixtures_cover_every_op() {
    let mut wanted: Vec<String> = Activation::NAMES.map(str::to_owned).to_vec();
    let single = "scale dropout global-avg-pool flatten to-tokens to-image class-token position take-token attention";
    wanted.extend(single.split(' ').map(str::to_owned));
    let pairs = |ops: &str, shapes: &str, borders: &str| -> Vec<String> {
        let mut pairs = Vec::new();
        for op in ops.split(' ') {
            for shape in shapes.split(' ') {
                for border in borders.split(' ') {
                    pairs.push(format!("{op} {shape} {border}").trim_end().to_owned());
                }
            }
        }
        pairs
    };
    wanted.extend(pairs("input batch-norm", "vector signal image", ""));
    wanted.extend(pairs("dense", "vector tokens", ""));
    wanted.extend(pairs(
        "conv local",
        "signal image",
        "same circular zeros valid",
    ));
    wanted.extend(pairs("p4-conv p4m-conv", "same circular zeros valid", ""));
    wanted.extend(pairs("group-pool", "max mean", ""));
    wanted.extend(pairs(
        "max-pool avg-pool",
        "signal image",
        "same zeros valid",
    ));
    wanted.extend(pairs(
        "bias layer-scale add gate concat layer-norm rms-norm",
        "vector signal image tokens",
        "",
    ));
    wanted.extend(pairs("group-norm", "signal image", ""));
    let covered: Vec<String> = fixtures()
        .values()
        .flat_map(|(_, graph)| graph.nodes.iter())
        .map(|node| case(&node.op, node.shape))
        .collect();
    wanted.retain(|case| !covered.contains(case));
    assert!(wanted.is_empty(), "no fixture has: {}", wanted.join(", "));
}
