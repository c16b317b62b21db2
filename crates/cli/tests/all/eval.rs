//! `eval`: answers that can be worked out by hand, shapes, precision, records.
//!
//! Bug class: the wrong network for a file, numbers of another sample, arrays in another order or type.

use std::fs;
use std::path::Path;

use crate::common::{directory, one_line, refused, succeed};
use polariscope_data::npy::{self, Numbers};
use polariscope_graph::{Graph, ZooOptions, load, zoo};
use polariscope_network::{Network, Scalar, Weights};
use serde_json::Value;

/// f(x) = W x + b with 3 inputs and 2 outputs.
const LINEAR: &str =
    "input = [3]\nlayers = [ { op = \"dense\", features = 2, name = \"head\" } ]\n";

fn graph(dir: &Path, text: &str) -> Graph {
    let path = dir.join("net.toml");
    fs::write(&path, text).unwrap();
    load(path.to_str().unwrap(), &ZooOptions::default()).unwrap()
}

fn save(dir: &Path, name: &str, shape: &[usize], values: &[f64]) {
    fs::write(dir.join(name), npy::encode(shape, values)).unwrap();
}

fn array(dir: &Path, name: &str) -> (Vec<usize>, Vec<f64>) {
    let array = npy::read(&dir.join(name)).unwrap();
    let Numbers::F64(values) = array.numbers else {
        panic!("{name} is not f64")
    };
    (array.shape, values)
}

#[test]
fn a_linear_network_by_hand() {
    let dir = directory("eval-linear");
    let graph = graph(&dir, LINEAR);
    let save_weights = |name: &str, values: [Vec<f64>; 2]| {
        let weights = Weights {
            values: values.to_vec(),
        };
        weights.write(&graph, &dir.join(name)).unwrap();
    };
    let w = vec![1.0, 2.0, 3.0, -1.0, 0.5, 0.0];
    save_weights("w", [w, vec![10.0, 20.0]]);
    let v = vec![0.5, 0.25, 0.0, 9.0, 9.0, 9.0];
    save_weights("v", [v, vec![7.0, 7.0]]);
    save(&dir, "x.npy", &[2, 3], &[1.0, 1.0, 1.0, 2.0, 0.0, -1.0]);
    let args = [
        "eval",
        "net.toml",
        "--weights",
        "w",
        "--x",
        "x.npy",
        "--gradient",
        "--tangent",
        "v",
        "--dtype",
        "f64",
        "--out",
        "run",
    ];
    let text = succeed(&dir, &args);
    assert!(text.contains("2 samples, 2 outputs"), "{text}");
    // W x + b for both samples.
    let expected = (vec![2, 2], vec![16.0, 19.5, 9.0, 18.0]);
    assert_eq!(array(&dir, "run/output.npy"), expected);
    // ∇ of logit 0 is the first row of W, its tangent the first row of v.
    let expected = (vec![2, 3], vec![1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
    assert_eq!(array(&dir, "run/gradient.npy"), expected);
    let expected = (vec![2, 3], vec![0.5, 0.25, 0.0, 0.5, 0.25, 0.0]);
    assert_eq!(array(&dir, "run/gradient_tangent.npy"), expected);
    let record: toml::Table =
        toml::from_str(&fs::read_to_string(dir.join("run/run.toml")).unwrap()).unwrap();
    assert_eq!(record["status"].as_str(), Some("finished"));
    let result = &record["result"];
    assert_eq!(result["samples"].as_integer(), Some(2));
    assert_eq!(result["output"]["max"].as_float(), Some(19.5));
    let norm = result["gradient_norm"]["mean"].as_float().unwrap();
    assert!((norm - 14f64.sqrt()).abs() < 1e-14);
    let page = fs::read_to_string(dir.join("run/report.html")).unwrap();
    assert!(page.contains("net evaluated") && page.contains("3.742"));
}

#[test]
fn the_files_decide_shape_and_outputs() {
    let dir = directory("eval-shapes");
    let options = ZooOptions {
        input: Some("1x32x32".parse().unwrap()),
        outputs: Some(3),
        ..ZooOptions::default()
    };
    let graph = zoo("lenet", &options).unwrap();
    let weights = Weights::<f32>::draw(&graph, 8, 0);
    weights.write(&graph, &dir.join("w")).unwrap();
    let x: Vec<f64> = (0..2 * 1024).map(|i| f64::from(i).sin()).collect();
    save(&dir, "x.npy", &[2, 1, 32, 32], &x);
    let args = [
        "eval",
        "lenet",
        "--weights",
        "w",
        "--x",
        "x.npy",
        "--gradient",
        "--json",
    ];
    let shown: Value = serde_json::from_str(&succeed(&dir, &args)).unwrap();
    assert_eq!(
        (&shown["samples"], &shown["outputs"]),
        (&2.into(), &3.into())
    );
    assert_eq!(shown["directory"], "runs/eval-lenet-1");
    let gradient = npy::read(&dir.join("runs/eval-lenet-1/gradient.npy")).unwrap();
    assert_eq!(gradient.shape, [2, 1, 32, 32]);
    let x: Vec<f32> = x.iter().map(|&x| x as f32).collect();
    let network = Network::new(graph);
    let expected = network.input_gradient(&weights, &x, Scalar::Logit(0));
    assert_eq!(gradient.numbers, Numbers::F32(expected.unwrap()));
    let figures = ["lenet-gradient-map.svg"];
    for figure in figures {
        assert!(dir.join("runs/eval-lenet-1/figures").join(figure).is_file());
    }
    // A number of outputs that was asked for is not given up silently.
    let line = refused(&dir, &[&args[..], &["--outputs", "10"]].concat());
    assert!(
        line.contains("fc3.weight") && line.contains("3x84"),
        "{line}"
    );
    // Of a wrong network the first tensor that does not fit is named, not the read-out.
    let line = refused(
        &dir,
        &[
            "eval",
            "lenet",
            "--weights",
            "w",
            "--x",
            "x.npy",
            "--width",
            "3",
        ],
    );
    assert!(line.contains("--width"), "{line}");
    let big: Vec<f64> = vec![0.5; 2 * 3 * 1024];
    save(&dir, "rgb.npy", &[2, 3, 32, 32], &big);
    let line = refused(&dir, &["eval", "lenet", "--weights", "w", "--x", "rgb.npy"]);
    assert!(
        line.contains("conv1.weight") && line.contains("6x1x5x5"),
        "{line}"
    );
}

#[test]
fn weights_are_drawn_where_none_are_given() {
    let dir = directory("eval-drawn");
    save(
        &dir,
        "x.npy",
        &[3, 12],
        &(0..36).map(|i| f64::from(i).cos()).collect::<Vec<_>>(),
    );
    let eval = [
        "eval", "mlp-1x5", "--x", "x.npy", "--seed", "4", "--dtype", "f64",
    ];
    succeed(
        &dir,
        &[&eval[..], &["--index", "2", "--out", "drawn"]].concat(),
    );
    let init = [
        "init", "mlp-1x5", "--input", "12", "--seed", "4", "--index", "2", "--out", "w",
    ];
    succeed(&dir, &init);
    succeed(
        &dir,
        &[&eval[..], &["--weights", "w", "--out", "read"]].concat(),
    );
    let first = array(&dir, "drawn/output.npy");
    assert_eq!(first.0, [3, 10]);
    assert_eq!(first, array(&dir, "read/output.npy"));
    succeed(
        &dir,
        &[&eval[..], &["--index", "1", "--out", "other"]].concat(),
    );
    assert_ne!(first, array(&dir, "other/output.npy"));
}

#[test]
fn long_inputs_and_threads_leave_no_trace() {
    let dir = directory("eval-batches");
    // mlp-1x4 takes 256 samples a task and 16 tasks a batch: 5000 samples are two batches and a rest.
    let x: Vec<f64> = (0..5000 * 6).map(|i| f64::from(i % 977).sin()).collect();
    save(&dir, "x.npy", &[5000, 6], &x);
    for threads in ["1", "2"] {
        let args = [
            "eval",
            "mlp-1x4",
            "--x",
            "x.npy",
            "--gradient",
            "--dtype",
            "f64",
            "--threads",
            threads,
            "--out",
            threads,
        ];
        succeed(&dir, &args);
    }
    assert!(array(&dir, "1/output.npy") == array(&dir, "2/output.npy"));
    let (shape, gradient) = array(&dir, "1/gradient.npy");
    assert!((shape, gradient.clone()) == array(&dir, "2/gradient.npy"));
    // The last sample alone.
    save(&dir, "last.npy", &[1, 6], &x[4999 * 6..]);
    let args = [
        "eval",
        "mlp-1x4",
        "--x",
        "last.npy",
        "--gradient",
        "--dtype",
        "f64",
        "--out",
        "last",
    ];
    succeed(&dir, &args);
    let (_, last) = array(&dir, "last/gradient.npy");
    for (a, b) in last.iter().zip(&gradient[4999 * 6..]) {
        assert!((a - b).abs() <= 1e-14, "{a} {b}");
    }
}

#[test]
fn a_finished_run_is_shown_and_changed_inputs_are_another_run() {
    let dir = directory("eval-again");
    save(&dir, "x.npy", &[1, 4], &[1.0, 2.0, 3.0, 4.0]);
    let args = ["eval", "logreg", "--x", "x.npy", "--out", "run"];
    let first = succeed(&dir, &args);
    fs::remove_file(dir.join("run/output.npy")).unwrap();
    assert_eq!(succeed(&dir, &args), first);
    assert!(
        !dir.join("run/output.npy").exists(),
        "a finished run was run again"
    );
    save(&dir, "x.npy", &[1, 4], &[1.0, 2.0, 3.0, 5.0]);
    let line = refused(&dir, &args);
    assert!(
        line.contains("its x is") && line.contains("--force"),
        "{line}"
    );
    succeed(&dir, &[&args[..], &["--force"]].concat());
}

#[test]
fn an_overflow_is_diagnosed() {
    let dir = directory("eval-overflow");
    let text = "input = [3]\nlayers = [ { op = \"dense\", features = 2, name = \"small\" },
        { op = \"dense\", features = 2, name = \"large\" }, { op = \"relu\" }, { op = \"dense\", features = 2, name = \"head\" } ]\n";
    let graph = graph(&dir, text);
    let mut weights = Weights::<f64>::draw(&graph, 0, 0);
    let large = graph
        .params
        .iter()
        .position(|p| p.name == "large.weight")
        .unwrap();
    weights.values[large].fill(3e38);
    weights.write(&graph, &dir.join("w")).unwrap();
    save(&dir, "x.npy", &[2, 3], &[0.0, 0.0, 0.0, 9e2, 9e2, -9e2]);
    let args = [
        "eval",
        "net.toml",
        "--weights",
        "w",
        "--x",
        "x.npy",
        "--out",
        "run",
    ];
    let line = one_line(&dir, &args, 1);
    for mention in [
        "sample 1",
        "layer large",
        "3e38 in large.weight",
        "--dtype f64",
    ] {
        assert!(line.contains(mention), "{mention}: {line}");
    }
    assert!(!dir.join("run/output.npy").exists());
    // In f64 there is room.
    succeed(&dir, &[&args[..], &["--dtype", "f64", "--force"]].concat());
}
