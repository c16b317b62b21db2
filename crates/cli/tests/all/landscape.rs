//! `landscape`: networks that flow and networks that do not, files, a finished run, what is refused.
//!
//! Bug class: options that nothing reads, files that do not say what the words say, a page without its figures.

use std::fs;
use std::path::Path;

use crate::common::{directory, refused, run, succeed};
use polariscope_data::npy;
use serde_json::Value;

const DATA: &str = "stripe?shape=3&train=60&test=100";

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

fn lines(dir: &Path, file: &str) -> Vec<String> {
    let text = fs::read_to_string(dir.join(file)).unwrap();
    text.lines().map(String::from).collect()
}

/// 3·8 + 8·8 + 8 weights, 17 biases, 16 units with a free scale.
#[test]
fn a_small_network_with_kinks() {
    let dir = directory("landscape-kinks");
    let args = [
        "landscape",
        "mlp-2x8",
        "--data",
        DATA,
        "--networks",
        "4",
        "--out",
        "run",
    ];
    let shown = succeed(&dir, &[&args[..], &["--json", "--quiet"]].concat());
    let found: Value = serde_json::from_str(&shown).unwrap();
    let parameters = &found["parameters"];
    let counts = ["all", "weights", "scalable"].map(|key| number(&parameters[key]));
    assert_eq!(counts, [113.0, 96.0, 16.0]);
    let words = found["words"].as_array().unwrap();
    let first = words[0].as_str().unwrap();
    assert!(
        first.starts_with("4 networks learn 60 samples by full-batch Adam (rate 0.001)"),
        "{first}"
    );
    assert!(first.contains("(relu) has a kink"), "{first}");
    let s = &found["statistics"];
    for key in [
        "effective",
        "dead",
        "kernel",
        "weights",
        "alignment_before",
        "alignment_after",
        "error",
        "frozen_start",
        "frozen_end",
        "ensemble",
        "limit",
        "variance",
        "disagreement",
        "distance_overall",
        "largest",
        "smallest",
        "negative",
    ] {
        let number = |end: &str| number(&s[key][end]);
        assert!(
            number("low") <= number("value") && number("value") <= number("high"),
            "{key}: {}",
            s[key]
        );
        assert_eq!(number("samples"), 4.0, "{key}");
    }
    assert!(number(&s["effective"]["value"]) <= 113.0 - 16.0);

    // Files say what the record says.
    let out = dir.join("run");
    let outputs = npy::read(&out.join("outputs.npy")).unwrap();
    assert_eq!(outputs.shape, [4, 100, 1]);
    // Class 0 is the negative sign.
    let positive = outputs
        .numbers
        .to_f64()
        .iter()
        .filter(|f| **f > 0.0)
        .count();
    assert!(positive > 0 && positive < 400);
    let networks = lines(&out, "networks.csv");
    assert_eq!(networks.len(), 5);
    assert!(
        networks[0].starts_with("network,steps,fitted,"),
        "{}",
        networks[0]
    );
    let ensemble = lines(&out, "ensemble.csv");
    assert_eq!(
        (ensemble.len(), ensemble[0].as_str()),
        (5, "networks,test_error,standard_error")
    );
    let last: Vec<f64> = ensemble[4].split(',').map(|x| x.parse().unwrap()).collect();
    assert_eq!(last[1], number(&s["ensemble"]["value"]));
    assert_eq!(lines(&out, "layers.csv").len(), 4);
    assert_eq!(lines(&out, "dead.csv")[0], "network,layer,unit");
    assert_eq!(lines(&out, "history.csv")[0], "network,step,not_met");
    for figure in ["test-errors", "ensembles", "layers", "fitting"] {
        assert!(
            out.join(format!("figures/mlp-2x8-{figure}.svg")).exists(),
            "{figure}"
        );
    }
    let html = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(
        html.matches("<svg").count() >= 4 && html.contains("<span>landscape</span>"),
        "page"
    );

    // Again: shown, not computed; the numbers are the same.
    let again = run(&dir, &[&args[..], &["--json"]].concat());
    assert!(again.status.success());
    assert!(
        String::from_utf8_lossy(&again.stderr).contains("finished"),
        "{again:?}"
    );
    assert_eq!(String::from_utf8(again.stdout).unwrap(), shown);
    let text = succeed(&dir, &args);
    for part in [
        "full-batch Adam",
        "effective, N_eff",
        "‖ΔΘ‖/‖Θ₀‖",
        "95 % interval",
        "report.html in run",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn a_smooth_network_flows() {
    let dir = directory("landscape-smooth");
    let args = [
        "landscape",
        "mlp-1x6",
        "--activation",
        "softplus:5",
        "--data",
        "stripe?shape=3",
    ];
    let args = [
        &args[..],
        &[
            "--networks",
            "2",
            "--train",
            "16",
            "--test",
            "30",
            "--margin",
            "0.5",
            "--json",
            "--quiet",
        ],
    ]
    .concat();
    let found: Value = serde_json::from_str(&succeed(&dir, &args)).unwrap();
    let first = found["words"][0].as_str().unwrap();
    assert!(
        first.contains("learn 16 samples by gradient flow until every y F is at least 0.5"),
        "{first}"
    );
    assert_eq!(
        (&found["train_samples"], &found["test_samples"]),
        (&16.into(), &30.into())
    );
    assert_eq!(found["training"]["method"], "flow");
    // Two networks have no error of the extrapolation.
    assert!(found["statistics"]["limit"].is_null());
    assert!(found["missing"].to_string().contains("needs four networks"));
}

#[test]
fn training_that_is_cut_short_says_so() {
    let dir = directory("landscape-short");
    let args = [
        "landscape",
        "mlp-1x6",
        "--data",
        DATA,
        "--networks",
        "2",
        "--steps",
        "2",
        "--quiet",
    ];
    let text = succeed(&dir, &args);
    assert!(
        text.contains("None of them fits: training stopped after 2 steps"),
        "{text}"
    );
}

#[test]
fn bad_usage() {
    let dir = directory("landscape-bad");
    let net = ["landscape", "mlp-1x4"];
    for (args, wanted) in [
        (&[][..], &["--data"][..]),
        (
            &["--data", "stripe?shape=3&train=20&test=0"],
            &["no test samples"],
        ),
        (
            &["--data", DATA, "--networks", "1"],
            &["--networks 1", "two"],
        ),
        (&["--data", DATA, "--networks", "0"], &["--networks"]),
        (&["--data", DATA, "--alpha", "-1"], &["--alpha"]),
        (&["--data", DATA, "--margin", "x"], &["--margin"]),
        (&["--data", DATA, "--rate", "0"], &["--rate"]),
        (&["--data", DATA, "--steps", "0"], &["--steps"]),
        (
            &["--data", DATA, "--activation", "rleu"],
            &["--activation", "relu"],
        ),
        (&["--data", "strype"], &["stripe"]),
        (&["--data", "stripe?shape=3&train=20&tset=9"], &["test"]),
        (&["--data", DATA, "--network", "2"], &["--network"]),
    ] {
        let line = refused(&dir, &[&net[..], args, &["--quiet"]].concat());
        assert!(wanted.iter().all(|w| line.contains(w)), "{args:?}: {line}");
    }
    let line = refused(&dir, &["landscape", "mlq-1x4", "--data", DATA]);
    assert!(line.contains("mlq-1x4"), "{line}");
    assert_eq!(
        fs::read_dir(&dir).unwrap().count(),
        0,
        "a refused command wrote files"
    );
}
