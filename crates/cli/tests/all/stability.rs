//! `stability`: initial, given and trained weights, options, files, what is refused.
//!
//! Bug class: weights of the file that are not those looked at, an option that nothing reads, an error of several lines.

use std::fs;
use std::path::Path;

use crate::common::{directory, refused, succeed};
use serde_json::Value;

const DATA: &str = "random?shape=1x16x16&train=40&test=60";

fn json(dir: &Path, args: &[&str]) -> Value {
    let args = [
        &["stability", "lenet-gap", "--data", DATA],
        args,
        &["--json", "--quiet"],
    ]
    .concat();
    serde_json::from_str(&succeed(dir, &args)).unwrap()
}

fn relative(found: &Value, network: usize) -> f64 {
    let network = &found["networks"][network];
    let asked = network["asked"].as_u64().unwrap() as usize;
    network["sweep"][asked]["relative"]["value"]
        .as_f64()
        .unwrap()
}

#[test]
fn initial_weights_and_options() {
    let dir = directory("stability-initial");
    let found = json(&dir, &["--out", "run"]);
    assert_eq!(found["images"], 60);
    assert!(
        found["words"]
            .as_str()
            .unwrap()
            .contains("at its initial weights")
    );
    let html = fs::read_to_string(dir.join("run/report.html")).unwrap();
    assert!(
        html.contains("<h1>The stability of lenet-gap</h1>") && html.contains("Layer by layer")
    );
    let csv = fs::read_to_string(dir.join("run/layers.csv")).unwrap();
    // Two activations, two pools and the mean over positions, the output, a header.
    assert_eq!(csv.lines().count(), 7, "{csv}");
    let one = relative(&found, 0);
    for options in [
        &["--average", "mean"][..],
        &["--radius", "own"],
        &["--compat"],
        &["--interpolation", "gaussian"],
        &["--cutoff", "4"],
        &["--displacement", "0.7"],
        &["--seed", "1"],
    ] {
        assert_ne!(relative(&json(&dir, options), 0), one, "{options:?}");
    }
    // Distances cancel in R and not in D.
    let all = json(&dir, &["--pairs", "all"]);
    let d = |found: &Value| found["networks"][0]["sweep"][0]["deformation"]["value"].as_f64();
    assert!(relative(&all, 0) == one && d(&all) > d(&found));
}

#[test]
fn given_and_trained_weights() {
    let dir = directory("stability-learnt");
    let init = [
        "init",
        "lenet-gap",
        "--input",
        "1x16x16",
        "--outputs",
        "1",
        "--seed",
        "3",
        "--out",
        "w.safetensors",
    ];
    succeed(&dir, &init);
    let given = json(&dir, &["--weights", "w.safetensors"]);
    assert_eq!(given["networks"][1]["weights"], "given");
    // The weights of seed 3, shown what seed 0 draws.
    assert_ne!(relative(&given, 1), relative(&given, 0));
    let trained = json(&dir, &["--epochs", "1"]);
    assert_eq!(trained["networks"][1]["weights"], "trained");
    assert!(trained["change"]["relative"]["low"].is_number());
    assert_eq!(relative(&trained, 0), relative(&given, 0));
}

#[test]
fn what_is_refused() {
    let dir = directory("stability-refused");
    let said = |args: &[&str]| refused(&dir, &[&["stability"], args].concat());
    let of = |more: &[&str]| said(&[&["lenet-gap", "--data", DATA], more].concat());
    assert!(of(&["--displacement", "9"]).contains("above its upper limit"));
    assert!(of(&["--cutoff", "40"]).contains("smaller than a mode"));
    assert!(of(&["--images", "5"]).contains("--images 5"));
    assert!(of(&["--average", "medain"]).contains("did you mean median?"));
    assert!(said(&["mlp-1x4", "--data", "linear?shape=6&train=4&test=40"]).contains("images"));
}
