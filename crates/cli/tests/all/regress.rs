//! `regress` through the real program: answers that can be worked out by hand, limits that must meet, a kill that
//! leaves no trace, and refusals.
//!
//! Bug class: test and training samples mixed up, times or ridges that do nothing, tiles lost in an interruption.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{directory, program, refused, run, succeed};
use polariscope_data::npy;

/// f(x) = w·x/√2 with w ~ N(0, 1): both kernels are x·x'/2.
const LINEAR: &str = "input = [2]\nparametrisation = \"ntk\"\nlayers = [ { op = \"dense\", features = 1, bias = false } ]\n";

fn save(dir: &Path, name: &str, shape: &[usize], values: &[f64]) {
    fs::write(dir.join(name), npy::encode(shape, values)).unwrap();
}

fn array(dir: &Path, name: &str) -> (Vec<usize>, Vec<f64>) {
    let npy::Array { shape, numbers } = npy::read(&dir.join(name)).unwrap();
    (shape, numbers.to_f64())
}

fn result(dir: &Path, run: &str) -> toml::Table {
    let text = fs::read_to_string(dir.join(run).join("run.toml")).unwrap();
    let table: toml::Table = text.parse().unwrap();
    table["result"].as_table().unwrap().clone()
}

/// Largest difference.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let worst = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    worst.fold(0.0, f64::max)
}

/// One training sample (2, 0) with target 3, test samples (1, 0) and (0, 1): Θ = 2, Θ* = (1, 0), K** = (½, ½).
#[test]
fn one_sample_by_hand() {
    let dir = directory("regress-hand");
    fs::write(dir.join("net.toml"), LINEAR).unwrap();
    save(&dir, "x.npy", &[1, 2], &[2.0, 0.0]);
    save(&dir, "y.npy", &[1], &[3.0]);
    save(&dir, "xt.npy", &[2, 2], &[1.0, 0.0, 0.0, 1.0]);
    save(&dir, "yt.npy", &[2], &[1.0, 0.0]);
    let predictions = |out: &str, more: &[&str]| {
        let args = [
            "regress",
            "net.toml",
            "--data",
            "npy:x.npy,y.npy,xt.npy,yt.npy",
        ];
        succeed(
            &dir,
            &[&args[..], &["--dtype", "f64", "--out", out], more].concat(),
        );
        let (shape, values) = array(&dir, &format!("{out}/predictions.npy"));
        assert_eq!(shape, [2, 1]);
        values
    };
    assert!(distance(&predictions("ridgeless", &[]), &[1.5, 0.0]) < 1e-14);
    assert!(distance(&predictions("ridge", &["--ridge", "2"]), &[0.75, 0.0]) < 1e-14);
    // ηt = ½ is the last of both times: f = Θ*/Θ (1 − e^{−1}) 3.
    let early = predictions("early", &["--time", "0.25,0.01", "--rate", "2"]);
    assert!(distance(&early, &[1.5 * (1.0 - (-1f64).exp()), 0.0]) < 1e-14);
    let csv = fs::read_to_string(dir.join("early/learning.csv")).unwrap();
    let times: Vec<&str> = csv.lines().map(|l| l.split(',').next().unwrap()).collect();
    assert_eq!(times, ["time", "0.02", "0.5"]);
    // With a ridge the exponent is Θ + λ = 4: f = 1/4 (1 − e^{−2}) 3.
    let both = predictions("both", &["--time", "0.5", "--ridge", "2"]);
    assert!(distance(&both, &[0.75 * (1.0 - (-2f64).exp()), 0.0]) < 1e-14);
    // K** − K*²/(K + λ) with λ = 2: ½ − ¼, and the whole prior where nothing was learnt.
    let mean = predictions("nngp", &["--kind", "nngp", "--ridge", "2"]);
    assert!(distance(&mean, &[0.75, 0.0]) < 1e-14);
    let (shape, variance) = array(&dir, "nngp/variance.npy");
    assert_eq!(shape, [2]);
    assert!(distance(&variance, &[0.25, 0.5]) < 1e-14);
    let deviation = result(&dir, "nngp")["deviation"].as_float().unwrap();
    assert!((deviation - (0.5 + 0.5f64.sqrt()) / 2.0).abs() < 1e-14);
    // Errors (½)² and 0 against targets 1 and 0 of variance ¼: MSE ⅛, R² = ½.
    let found = result(&dir, "ridgeless");
    let test = found["test"].as_table().unwrap();
    assert!((test["mse"]["value"].as_float().unwrap() - 0.125).abs() < 1e-14);
    assert!((test["r_squared"].as_float().unwrap() - 0.5).abs() < 1e-13);
}

/// The noise of D(v) is orthogonal to v, so every sample can be told; the samples far outnumber the directions.
#[test]
fn a_separable_problem_is_learnt() {
    let dir = directory("regress-linear");
    let args = [
        "regress",
        "fcn",
        "--data",
        "linear?shape=6&sigma=0.5",
        "--train",
        "120",
        "--test",
        "300",
        "--out",
        "run",
    ];
    let text = succeed(&dir, &args);
    assert!(
        text.contains("from 120 samples") && text.contains("chance is 50"),
        "{text}"
    );
    let accuracy = result(&dir, "run")["test"]["accuracy"]["value"].as_float();
    assert!(accuracy.unwrap() >= 0.99, "{text}");
    let (shape, predictions) = array(&dir, "run/predictions.npy");
    assert_eq!(shape, [300, 2]);
    // Centred targets: the outputs of a sample add up to 0.
    let worst = predictions.chunks_exact(2).map(|f| (f[0] + f[1]).abs());
    assert!(worst.fold(0.0, f64::max) < 1e-9);
    // Thirty times and the limit.
    let csv = fs::read_to_string(dir.join("run/learning.csv")).unwrap();
    assert_eq!(csv.lines().count(), 32);
    assert!(csv.lines().last().unwrap().starts_with("inf,"));
    for file in [
        "confusion.csv",
        "figures/fcn-accuracy.svg",
        "figures/fcn-eigenvalues.svg",
    ] {
        assert!(dir.join("run").join(file).is_file(), "{file}");
    }
    assert_eq!(succeed(&dir, &args), text);
}

/// Tested by what it learnt from: ridgeless regression meets every target, whatever they are, and is sure of it.
#[test]
fn training_samples_are_met() {
    let dir = directory("regress-meets");
    let x: Vec<f64> = (0..40 * 5).map(|i| f64::from(i * i % 97).sin()).collect();
    let y: Vec<f64> = (0..40 * 2).map(|i| f64::from(i * 7 % 13) - 6.0).collect();
    save(&dir, "x.npy", &[40, 5], &x);
    save(&dir, "y.npy", &[40, 2], &y);
    for kind in ["ntk", "nngp"] {
        let data = "npy:x.npy,y.npy,x.npy,y.npy";
        let args = [
            "regress", "fcn", "--data", data, "--dtype", "f64", "--kind", kind, "--out", kind,
        ];
        succeed(&dir, &args);
        let (_, predictions) = array(&dir, &format!("{kind}/predictions.npy"));
        // Rounding times a condition number of some thousands times targets up to 6.
        assert!(distance(&predictions, &y) < 1e-9, "{kind}");
    }
    let (_, variance) = array(&dir, "nngp/variance.npy");
    assert!(variance.iter().all(|v| *v < 1e-12), "{variance:?}");
}

/// 1 − e^{−μt} is 1 long before this time, for every eigenvalue μ.
#[test]
fn long_training_is_ridgeless_regression() {
    let dir = directory("regress-limit");
    let args = [
        "regress",
        "fcn",
        "--data",
        "stripe?train=80&test=50",
        "--dtype",
        "f64",
        "--out",
    ];
    succeed(&dir, &[&args[..], &["limit"]].concat());
    succeed(&dir, &[&args[..], &["long", "--time", "1e9"]].concat());
    let (_, limit) = array(&dir, "limit/predictions.npy");
    let (_, long) = array(&dir, "long/predictions.npy");
    assert!(distance(&limit, &long) < 1e-8);
    // A short time is something else.
    succeed(&dir, &[&args[..], &["short", "--time", "0.1"]].concat());
    let (_, short) = array(&dir, "short/predictions.npy");
    assert!(distance(&limit, &short) > 0.1);
}

#[test]
fn a_killed_run_ends_as_if_it_had_not_been() {
    let dir = directory("regress-kill");
    let at = |out: &'static str, threads: &'static str| {
        [
            "regress",
            "cnn-gap",
            "--data",
            "isotropic?shape=3x16x16&train=80&test=8",
            "--threads",
            threads,
            "--out",
            out,
        ]
    };
    succeed(&dir, &at("whole", "2"));
    let mut child = program(&dir, &at("killed", "1")).spawn().unwrap();
    let started = Instant::now();
    while !dir.join("killed/partial/state").exists() && child.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < Duration::from_secs(60), "no checkpoint");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        !dir.join("killed/predictions.npy").exists(),
        "killed too late to test anything"
    );
    let output = run(&dir, &at("killed", "1"));
    let note = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{note}");
    assert!(note.contains("resuming"), "{note}");
    for file in ["predictions.npy", "eigenvalues.npy", "learning.csv"] {
        let read = |run: &str| fs::read(dir.join(run).join(file)).unwrap();
        assert!(read("whole") == read("killed"), "{file}");
    }
    assert!(!dir.join("killed/partial").exists());
}

#[test]
fn bad_questions_are_refused() {
    let dir = directory("regress-refused");
    save(&dir, "x.npy", &[3, 2], &[1.0, 2.0, f64::NAN, 4.0, 5.0, 6.0]);
    save(&dir, "y.npy", &[3], &[1.0, 2.0, 3.0]);
    let small = "stripe?train=20&test=10";
    let cases: [(&[&str], &str); 11] = [
        (&["--data", "strip"], "unknown data set"),
        (&["--data", "npy:x.npy,y.npy,x.npy,y.npy"], "sample 1"),
        (&["--data", small, "--train", "30"], "given twice"),
        (
            &["--data", "stripe?train=20&test=0"],
            "0 samples to test by",
        ),
        (&["--data", small, "--time", "1,0"], "above 0"),
        (&["--data", small, "--time", "-1"], "above 0"),
        (
            &["--data", small, "--time", "1e300", "--rate", "1e300"],
            "out of range",
        ),
        (&["--data", small, "--rate", "2"], "--time"),
        (&["--data", small, "--ridge", "-1"], "at least 0"),
        (
            &["--data", small, "--kind", "nngp", "--time", "1"],
            "--kind ntk",
        ),
        (&["--data", small, "--kind", "gp"], "nngp"),
    ];
    for (args, mention) in cases {
        let line = refused(&dir, &[&["regress", "fcn"], args].concat());
        assert!(line.contains(mention), "{mention}: {line}");
    }
    // The engine says what has no kernel.
    let line = refused(
        &dir,
        &[
            "regress",
            "resnet18",
            "--data",
            "isotropic?shape=3x32x32&train=4&test=4",
        ],
    );
    assert!(line.contains("batch"), "{line}");
    assert!(!dir.join("runs").exists(), "a refusal left a run directory");
}
