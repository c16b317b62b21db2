//! `hessian`: matrices of small networks, products of larger ones, weights of a training run, what is refused.
//!
//! Bug class: weights of the file that are not those looked at, a sentence without its number, an option that nothing reads.

use std::fs;
use std::path::Path;

use crate::common::{directory, refused, succeed};
use serde_json::Value;

const DATA: &str = "random?shape=6&train=80&test=0";

fn json(dir: &Path, args: &[&str]) -> Value {
    let args = [&["hessian"], args, &["--json", "--quiet"]].concat();
    serde_json::from_str(&succeed(dir, &args)).unwrap()
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// 6·8 + 8 + 8·8 + 8 + 8 + 1 parameters, 16 of whose scales are free.
#[test]
fn matrices_of_a_small_network() {
    let dir = directory("hessian-matrices");
    let args = [
        "mlp-2x8",
        "--data",
        DATA,
        "--loss",
        "hinge:2,0.5",
        "--out",
        "run",
    ];
    let found = json(&dir, &args);
    let numbers = &found["matrices"];
    assert_eq!(
        (&found["parameters"], &numbers["effective"]),
        (&137.into(), &121.into())
    );
    let row = |i: usize| &numbers["spectra"][i];
    for i in 0..4 {
        let counts = ["negative", "zero", "positive"].map(|key| number(&row(i)[key]));
        assert_eq!(counts.iter().sum::<f64>(), 137.0);
    }
    let rank = number(&row(1)["positive"]);
    assert!(rank > 40.0 && rank <= number(&numbers["constraints"]).min(121.0));
    assert_eq!(
        (&row(2)["matrix"], number(&row(2)["trace"])),
        (&"curvature".into(), 0.0)
    );
    let words = found["words"].as_str().unwrap();
    assert!(
        words.contains("at its initial weights") && words.contains("exactly 0"),
        "{words}"
    );
    assert!(words.contains("--weights FILE"), "{words}");
    let csv = fs::read_to_string(dir.join("run/eigenvalues.csv")).unwrap();
    assert_eq!(
        csv.lines().next(),
        Some("hessian,gauss-newton,curvature,fisher")
    );
    assert_eq!(csv.lines().count(), 138);
    let html = fs::read_to_string(dir.join("run/report.html")).unwrap();
    assert!(
        html.matches("<svg").count() >= 4
            && html.contains("<span>hessian</span> <span>mlp-2x8</span>")
    );
}

/// Weights of a run, a smooth activation: other sentences.
#[test]
fn weights_of_a_file() {
    let dir = directory("hessian-weights");
    let network = ["mlp-1x8", "--activation", "tanh", "--data", DATA];
    let train = [
        &["train"],
        &network[..],
        &["--epochs", "3", "--out", "trained", "--quiet"],
    ]
    .concat();
    succeed(&dir, &train);
    let weights = ["--weights", "trained/weights.safetensors"];
    let found = json(&dir, &[&network[..], &weights].concat());
    let words = found["words"].as_str().unwrap();
    assert!(
        words.contains("at the given weights") && !words.contains("initial"),
        "{words}"
    );
    assert!(!words.contains("exactly 0"), "{words}");
    // The loss that training ended with, in f32.
    let history = fs::read_to_string(dir.join("trained/history.csv")).unwrap();
    assert!(history.lines().count() == 4);
    let initial = json(&dir, &network);
    assert!(number(&found["loss"]) < number(&initial["loss"]));
}

/// More than 5,000 parameters: ends and a density, of the matrix asked for.
#[test]
fn products_of_a_larger_network() {
    let dir = directory("hessian-products");
    let args = [
        "lenet",
        "--data",
        "random?shape=3x32x32&train=12&test=0",
        "--matrix",
        "gauss-newton",
    ];
    let few = [
        "--top", "2", "--probes", "3", "--steps", "6", "--out", "run",
    ];
    let found = json(&dir, &[&args[..], &few].concat());
    let products = &found["products"];
    assert_eq!(
        (&products["matrix"], &products["converged"]),
        (&"gauss-newton".into(), &true.into())
    );
    let largest = products["largest"].as_array().unwrap();
    assert!(largest.len() == 2 && number(&largest[0]["value"]) > number(&largest[1]["value"]));
    assert!(products["smallest"].as_array().unwrap().is_empty() && products["negative"].is_null());
    let csv = fs::read_to_string(dir.join("run/density.csv")).unwrap();
    assert!(csv.starts_with("eigenvalue,density,standard_error\n") && csv.lines().count() > 100);
    assert!(
        fs::read_to_string(dir.join("run/report.html"))
            .unwrap()
            .contains("<svg")
    );
}

#[test]
fn bad_usage() {
    let dir = directory("hessian-bad");
    for (args, wanted) in [
        (&["mlp-1x4"][..], &["--data"][..]),
        (
            &["mlp-1x4", "--data", DATA, "--matrix", "hesian"],
            &["--matrix", "did you mean hessian?"],
        ),
        (
            &["mlp-1x4", "--data", DATA, "--probes", "9"],
            &["--probes", "5000"],
        ),
        (
            &["mlp-1x4", "--data", DATA, "--loss", "hing"],
            &["--loss", "hinge"],
        ),
        (&["mlp-1x4", "--data", DATA, "--weights", "none"], &["none"]),
        (
            &["mlp-1x4", "--data", DATA, "--samples", "0"],
            &["--samples"],
        ),
        (
            &[
                "lenet",
                "--data",
                "random?shape=3x32x32&train=9",
                "--probes",
                "1",
            ],
            &["--probes", "at least 2"],
        ),
    ] {
        let line = refused(&dir, &[&["hessian"], args, &["--quiet"]].concat());
        assert!(wanted.iter().all(|w| line.contains(w)), "{line}");
    }
}
