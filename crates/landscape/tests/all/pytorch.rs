//! The Hessian and its parts against PyTorch in f64 (`bench/hessian_fixtures`).
//!
//! Bug class: a split, a weight of the mean or a block of the matrix that is self-consistent and wrong.

use std::path::PathBuf;

use polariscope_graph::{Graph, Role, ZooOptions, parse_file, zoo};
use polariscope_landscape::hessian::dense;
use polariscope_lens::Quiet;
use polariscope_linalg::symmetric_eigenvalues;
use polariscope_network::Weights;
use polariscope_train::{Loss, LossHessian, Matrix};
use serde_json::Value;

/// Relative to the norm of the array.
const TOLERANCE: f64 = 1e-9;

fn fixture(name: &str) -> Value {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// sin(a i² + b i + a).
fn sine(n: usize, a: f64, b: f64) -> impl Iterator<Item = f64> {
    (0..n).map(move |i| (a * (i * i) as f64 + b * i as f64 + a).sin())
}

/// As `fill` in the script.
fn filled(graph: &Graph) -> Weights<f64> {
    let mut weights = Weights::zeros(graph);
    for (t, i) in graph.trainable().enumerate() {
        let param = &graph.params[i];
        let fan = match param.shape.len() {
            1 => 1,
            _ => param.len() / param.shape[0],
        };
        let numbers = sine(param.len(), 0.01 * (t + 1) as f64, 0.7);
        let scale = 1.3 / (fan as f64).sqrt();
        weights.values[i] = numbers.map(|x| scale * x).collect();
    }
    weights
}

fn compare(what: &str, expected: &Value, found: &[f64]) {
    let norm = expected["norm"].as_f64().unwrap();
    let own = found.iter().map(|x| x * x).sum::<f64>().sqrt();
    assert!(
        norm > 0.0 && (own - norm).abs() <= TOLERANCE * norm,
        "{what}: {own} for {norm}"
    );
    let at = expected["indices"].as_array().unwrap();
    let values = expected["values"].as_array().unwrap();
    assert_eq!((at.len(), values.len()), (40, 40));
    for (i, value) in at.iter().zip(values) {
        let (i, value) = (i.as_u64().unwrap() as usize, value.as_f64().unwrap());
        assert!(
            (found[i] - value).abs() <= TOLERANCE * norm,
            "{what}[{i}]: {} for {value}",
            found[i]
        );
    }
    if let Some(trace) = expected["trace"].as_f64() {
        let n = (found.len() as f64).sqrt() as usize;
        let own: f64 = found.iter().step_by(n + 1).sum();
        assert!(
            (own - trace).abs() <= TOLERANCE * norm,
            "{what}: trace {own} for {trace}"
        );
    }
}

/// The graph, the targets and the inputs of a fixture.
fn subject(fixture: &Value, graph: Graph) -> (LossHessian<f64>, Weights<f64>) {
    let samples = fixture["samples"].as_u64().unwrap() as usize;
    let loss: Loss = fixture["loss"].as_str().unwrap().parse().unwrap();
    let (sample, outputs) = (graph.input().len(), graph.output().len());
    let x: Vec<f64> = sine(samples * sample, 0.003, 1.1)
        .map(|x| 1.5 * x)
        .collect();
    let mut y = vec![0.0; samples * outputs];
    for (i, row) in y.chunks_mut(outputs).enumerate() {
        loss.targets((i % outputs.max(2)) as u32, row);
    }
    let weights = filled(&graph);
    (LossHessian::new(&graph, loss, &x, &y).unwrap(), weights)
}

fn perceptron(name: &str) {
    let fixture = fixture(name);
    let lines = fixture["file"].as_array().unwrap();
    let text: Vec<&str> = lines.iter().map(|l| l.as_str().unwrap()).collect();
    let graph = parse_file(&text.join("\n"), "net", &ZooOptions::default()).unwrap();
    let (hessian, weights) = subject(&fixture, graph);
    let found = dense(&hessian, &weights, &mut Quiet).unwrap();
    let value = fixture["value"].as_f64().unwrap();
    assert!(
        (found.loss - value).abs() < 1e-12 * value,
        "{} for {value}",
        found.loss
    );
    for (what, matrix) in [
        ("hessian", &found.hessian()),
        ("gauss_newton", &found.gauss_newton),
        ("curvature", &found.curvature),
        ("fisher", &found.fisher),
    ] {
        compare(&format!("{name} {what}"), &fixture[what], matrix);
    }
    let eigenvalues = symmetric_eigenvalues(&found.hessian(), found.parameters).unwrap();
    let extremes = fixture["extremes"].as_array().unwrap();
    for (found, expected) in [eigenvalues[eigenvalues.len() - 1], eigenvalues[0]]
        .iter()
        .zip(extremes)
    {
        let expected = expected.as_f64().unwrap();
        assert!(
            (found - expected).abs() < TOLERANCE * eigenvalues[0],
            "{found} for {expected}"
        );
    }
}

#[test]
fn perceptrons() {
    for name in ["tanh-3-classes", "relu-hinge", "relu-squares"] {
        perceptron(name);
    }
}

/// Convolutions and pools, 62,006 parameters: products.
#[test]
fn lenet() {
    let fixture = fixture("lenet");
    let (hessian, weights) = subject(&fixture, zoo("lenet", &ZooOptions::default()).unwrap());
    let graph = hessian.graph();
    let mut v = Weights::<f64>::zeros(graph);
    let mut numbers = sine(graph.parameter_count(), 0.0007, 0.9);
    for (values, param) in v.values.iter_mut().zip(&graph.params) {
        assert_eq!(param.role, Role::Trainable);
        values
            .iter_mut()
            .zip(&mut numbers)
            .for_each(|(v, x)| *v = x);
    }
    let apply = |matrix| hessian.apply(matrix, &weights, &v).unwrap().values.concat();
    let whole = apply(Matrix::Hessian);
    compare("hessian", &fixture["hessian"], &whole);
    let gauss_newton = apply(Matrix::GaussNewton);
    compare("gauss_newton", &fixture["gauss_newton"], &gauss_newton);
    compare("fisher", &fixture["fisher"], &apply(Matrix::Fisher));
    let rest: Vec<f64> = whole
        .iter()
        .zip(&gauss_newton)
        .map(|(h, g)| h - g)
        .collect();
    let norm = rest.iter().map(|r| r * r).sum::<f64>().sqrt();
    for (a, b) in apply(Matrix::Curvature).iter().zip(&rest) {
        assert!((a - b).abs() < 1e-11 * norm, "{a} for {b}");
    }
}
