//! `equivariance`, and `symmetry` with images: what is built in, with and without data, what is refused.
//!
//! Bug class: a transformation that nothing reads, a page without its matrix, a second vocabulary.

use std::fs;

use crate::common::{directory, refused, succeed};
use serde_json::Value;

#[test]
fn what_is_built_in_without_data() {
    let dir = directory("equivariance-built-in");
    let args = [
        "equivariance",
        "p4-cnn",
        "--input",
        "1x12x12",
        "--under",
        "turn:90,flip,cyclic:2",
        "--out",
        "run",
        "--json",
        "--quiet",
    ];
    let found: Value = serde_json::from_str(&succeed(&dir, &args)).unwrap();
    let verdicts = found["verdicts"].as_array().unwrap();
    let verdicts: Vec<(&str, &str)> = verdicts
        .iter()
        .map(|v| (v[0].as_str().unwrap(), v[1]["is"].as_str().unwrap()))
        .collect();
    assert_eq!(
        verdicts,
        [
            ("turn:90", "built-in"),
            ("flip", "not-built-in"),
            ("cyclic:2", "not-built-in")
        ]
    );
    assert!(
        found["words"].as_str().unwrap().starts_with(
            "Built in: the outputs of p4-cnn stay the same, to rounding, under turn:90."
        )
    );
    let html = fs::read_to_string(dir.join("run/report.html")).unwrap();
    assert!(html.contains("<h1>The equivariance of p4-cnn</h1>"));
    let csv = fs::read_to_string(dir.join("run/equivariance.csv")).unwrap();
    assert!(csv.starts_with("weights,under,layer") && csv.contains("initial,turn:90,act1"));
    // The same again shows what was found.
    assert!(succeed(&dir, &args[..args.len() - 2]).contains("built in"));
}

/// Tokens lie in no grid: of their layers nothing is known under what moves positions, and a finished run can be shown.
#[test]
fn a_finished_run_of_tokens_is_shown() {
    let dir = directory("equivariance-tokens");
    let args = [
        "equivariance",
        "vit",
        "--input",
        "3x16x16",
        "--images",
        "10",
        "--under",
        "shift:1,flip,colours",
        "--out",
        "run",
    ];
    assert_eq!(succeed(&dir, &args), succeed(&dir, &args));
    let csv = fs::read_to_string(dir.join("run/equivariance.csv")).unwrap();
    let rows = |under: &str| csv.lines().filter(|l| l.contains(under)).count();
    assert!(rows("colours") > rows("flip") && rows("flip") > 0);
}

/// One page: the group of the learning system, equivariance, stability.
#[test]
fn symmetry_shows_all_three_of_images() {
    let dir = directory("equivariance-symmetry");
    let data = "random?shape=1x16x16&train=40&test=40";
    let args = [
        "symmetry",
        "cnn-gap",
        "--width",
        "4",
        "--data",
        data,
        "--samples",
        "4",
        "--steps",
        "2",
        "--out",
        "run",
    ];
    let text = succeed(&dir, &args);
    assert!(
        text.contains("cyclic:1") && text.contains("Deformations of 1 pixel"),
        "{text}"
    );
    let html = fs::read_to_string(dir.join("run/report.html")).unwrap();
    for heading in [
        "<h2>Equivariance</h2>",
        "<h2>Stability</h2>",
        "Layer by layer",
    ] {
        assert!(html.contains(heading), "{heading}");
    }
    assert!(dir.join("run/equivariance.csv").exists() && dir.join("run/stability.csv").exists());
}

#[test]
fn what_is_refused() {
    let dir = directory("equivariance-refused");
    let said = |args: &[&str]| refused(&dir, &[&["equivariance"], args].concat());
    assert!(said(&["lenet", "--under", "filp"]).contains("did you mean flip?"));
    assert!(
        said(&["lenet", "--under", "shift:32"])
            .contains("shift:32 does not act on samples of 3x32x32")
    );
    assert!(said(&["lenet", "--epochs", "2"]).contains("--data SPEC"));
    assert!(said(&["mlp-1x4", "--input", "6"]).contains("images"));
    assert!(said(&["lenet", "--images", "100000000000"]).contains("--images"));
}
