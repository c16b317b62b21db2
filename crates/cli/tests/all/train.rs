//! `train`: what it learns, what it leaves, and that interruptions and threads change nothing.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{directory, one_line, program, refused, run, succeed};
use polariscope_data::npy;
use serde_json::Value;

const STRIPE: &str = "linear?shape=6&train=400&test=200&sigma=0.1";

fn read(dir: &Path, name: &str) -> Vec<u8> {
    fs::read(dir.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// The history, whose columns must be `heading`.
fn rows(dir: &Path, run: &str, heading: &str) -> Vec<Vec<String>> {
    let text = String::from_utf8(read(dir, &format!("{run}/history.csv"))).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(heading));
    lines
        .map(|l| l.split(',').map(str::to_string).collect())
        .collect()
}

/// Runs once to the end, once killed at its first checkpoint and started again: all must be as if nothing had been.
fn survives_a_kill(dir: &Path, args: &[&str]) {
    let at = |out: &'static str| [args, &["--threads", "1", "--out", out]].concat();
    succeed(dir, &at("whole"));
    let mut child = program(dir, &at("killed")).spawn().unwrap();
    let started = Instant::now();
    while !dir.join("killed/partial/state").exists() && child.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < Duration::from_secs(60), "no checkpoint");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        !dir.join("killed/history.csv").exists(),
        "killed too late to test anything"
    );
    let output = run(dir, &at("killed"));
    let note = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{note}");
    assert!(note.contains("resuming"), "{note}");
    for file in ["history.csv", "weights.safetensors"] {
        assert!(
            read(dir, &format!("whole/{file}")) == read(dir, &format!("killed/{file}")),
            "{file}"
        );
    }
    assert!(!dir.join("killed/partial").exists());
}

#[test]
fn a_separable_problem_is_learnt() {
    let dir = directory("train-learns");
    let args = [
        "train",
        "mlp-1x16",
        "--data",
        STRIPE,
        "--epochs",
        "8",
        "--learning-rate",
        "0.1",
        "--out",
        "run",
    ];
    let text = succeed(&dir, &args);
    assert!(text.contains("8 epochs, 56 steps"), "{text}");
    let heading = "epoch,train_loss,train_accuracy,test_loss,test_accuracy";
    let rows = rows(&dir, "run", heading);
    assert_eq!(rows.len(), 8);
    let number = |row: usize, column: usize| rows[row][column].parse::<f64>().unwrap();
    // Class means lie 2ε apart and the noise along the cue is 0: every sample can be told.
    assert_eq!(number(7, 4), 1.0);
    assert!(number(7, 1) < number(0, 1) / 2.0);
    let record: toml::Table =
        toml::from_str(&String::from_utf8(read(&dir, "run/run.toml")).unwrap()).unwrap();
    assert_eq!(record["result"]["test_accuracy"].as_float(), Some(1.0));
    assert_eq!(
        record["configuration"]["training"]["learning-rate"].as_float(),
        Some(0.1)
    );
    // Two classes take one output; the data decide the input.
    assert_eq!(record["configuration"]["output"].as_str(), Some("1"));
    assert_eq!(record["configuration"]["input"].as_str(), Some("6"));
    for file in [
        "report.html",
        "figures/mlp-1x16-loss.svg",
        "figures/mlp-1x16-accuracy.svg",
    ] {
        assert!(dir.join("run").join(file).is_file(), "{file}");
    }
    // The weights are those of the network: eval takes them.
    fs::write(dir.join("x.npy"), npy::encode(&[1, 6], &[0.5_f32; 6])).unwrap();
    let eval = [
        "eval",
        "mlp-1x16",
        "--weights",
        "run/weights.safetensors",
        "--x",
        "x.npy",
        "--json",
    ];
    let shown: Value = serde_json::from_str(&succeed(&dir, &eval)).unwrap();
    assert_eq!(shown["outputs"], 1);
    // The same command shows the result again.
    assert_eq!(succeed(&dir, &args), text);
    let json = succeed(&dir, &[&args[..], &["--json"]].concat());
    let shown: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&shown["epochs"], &shown["test_accuracy"]),
        (&8.into(), &1.0.into())
    );
}

#[test]
fn threads_change_nothing() {
    let dir = directory("train-threads");
    for threads in ["1", "2"] {
        let args = [
            "train",
            "lenet-avg",
            "--data",
            "linear?shape=1x16x16&train=96&test=40",
            "--epochs",
            "2",
            "--threads",
            threads,
            "--out",
            threads,
        ];
        succeed(&dir, &args);
    }
    for file in ["history.csv", "weights.safetensors"] {
        assert!(
            read(&dir, &format!("1/{file}")) == read(&dir, &format!("2/{file}")),
            "{file}"
        );
    }
}

#[test]
fn a_killed_run_ends_as_if_it_had_not_been() {
    let args = [
        "train",
        "mlp-2x64",
        "--data",
        "linear?shape=64&train=4000&test=500",
        "--epochs",
        "120",
        "--batch-size",
        "32",
        "--optimiser",
        "adam",
        "--ntk",
        "8",
    ];
    let dir = directory("train-kill");
    survives_a_kill(&dir, &args);
    assert!(read(&dir, "whole/ntk.csv") == read(&dir, "killed/ntk.csv"));
}

/// What `train` says of the tangent kernel, from the kernels that `kernel` gives at both ends.
#[test]
fn the_tangent_kernel_is_followed() {
    let dir = directory("train-ntk");
    let (n, inputs) = (12, 3);
    // Data sets are f32: numbers that it holds exactly.
    let round = |x: f64| (64.0 * x).round() / 64.0;
    let x: Vec<f64> = (0..n * inputs)
        .map(|i| round((1.7 * i as f64).sin()))
        .collect();
    let y: Vec<f64> = (0..n).map(|i| (i % 3 % 2) as f64).collect();
    npy::write(&dir.join("x.npy"), &[n, inputs], &x).unwrap();
    npy::write(&dir.join("y.npy"), &[n], &y).unwrap();
    let args = [
        "train",
        "mlp-1x8",
        "--data",
        "npy:x.npy,y.npy",
        "--dtype",
        "f64",
    ];
    let more = ["--epochs", "5", "--ntk", "12", "--out", "run"];
    succeed(&dir, &[&args[..], &more].concat());
    let mut ends = Vec::new();
    for which in [["--finite", "0"], ["--weights", "run/weights.safetensors"]] {
        let kernel = [
            "kernel",
            "mlp-1x8",
            "--input",
            "3",
            "--outputs",
            "1",
            "--dtype",
            "f64",
        ];
        let rest = ["--x1", "x.npy", "--out", which[1].get(..1).unwrap()];
        succeed(&dir, &[&kernel[..], &which, &rest].concat());
        let file = dir.join(which[1].get(..1).unwrap()).join("ntk.npy");
        ends.push(npy::read(&file).unwrap().numbers.to_f64());
    }
    let norm = |a: &[f64]| a.iter().map(|a| a * a).sum::<f64>().sqrt();
    let moved: Vec<f64> = ends[1].iter().zip(&ends[0]).map(|(b, a)| b - a).collect();
    let mean = y.iter().sum::<f64>() / n as f64;
    let labels: Vec<f64> = (0..n * n)
        .map(|k| (y[k / n] - mean) * (y[k % n] - mean))
        .collect();
    let aligned = |kernel: &[f64]| {
        let sum: f64 = kernel.iter().zip(&labels).map(|(a, b)| a * b).sum();
        sum / (norm(kernel) * norm(&labels))
    };
    let text = String::from_utf8(read(&dir, "run/ntk.csv")).unwrap();
    let rows: Vec<Vec<f64>> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(|v| v.parse().unwrap()).collect())
        .collect();
    let trace = |kernel: &[f64]| (0..n).map(|i| kernel[i * (n + 1)]).sum::<f64>() / n as f64;
    assert_eq!(rows.len(), 6);
    for (row, kernel, change) in [
        (&rows[0], &ends[0], 0.0),
        (&rows[5], &ends[1], norm(&moved) / norm(&ends[0])),
    ] {
        let wanted = [change, aligned(kernel), trace(kernel)];
        for (found, wanted) in row[1..].iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-12, "{row:?}: {wanted}");
        }
    }
    let flow = [
        "--optimiser",
        "flow",
        "--activation",
        "tanh",
        "--max-time",
        "0.5",
    ];
    let more = ["--ntk", "3", "--out", "flow"];
    succeed(&dir, &[&args[..], &flow, &more].concat());
    let times = |file: &str, column: usize| -> Vec<String> {
        let text = String::from_utf8(read(&dir, file)).unwrap();
        let lines = text.lines().skip(1);
        lines
            .map(|l| l.split(',').nth(column).unwrap().to_owned())
            .collect()
    };
    assert_eq!(times("flow/ntk.csv", 1), times("flow/history.csv", 2));
}

/// A linear network with f₀ = f(w₀) under sse: F(t) does not depend on α, so neither does the table but for the
/// factor 1/α² on the losses.
#[test]
fn gradient_flow_follows_the_alpha_model() {
    let dir = directory("train-flow");
    let losses = |alpha: &'static str| {
        let args = [
            "train",
            "logreg",
            "--data",
            STRIPE,
            "--optimiser",
            "flow",
            "--loss",
            "sse",
            "--origin",
            "initial",
            "--max-time",
            "0.01",
            "--dtype",
            "f64",
            "--alpha",
            alpha,
            "--out",
            alpha,
        ];
        let text = succeed(&dir, &args);
        assert!(
            text.contains("flow time 0.01,") && text.contains("(max-time)"),
            "{text}"
        );
        assert_eq!(succeed(&dir, &args), text);
        let heading = "step,rejected,time,dt,train_loss,train_accuracy,test_loss,test_accuracy";
        let rows = rows(&dir, alpha, heading);
        assert_eq!((rows[0][0].as_str(), rows[0][2].as_str()), ("0", "0"));
        let steps: Vec<u64> = rows.iter().map(|r| r[0].parse().unwrap()).collect();
        let (last, others) = steps.split_last().unwrap();
        assert!(others.iter().zip(0..).all(|(&step, i)| step == 10 * i) && *last > others[1]);
        let last = rows.last().unwrap();
        assert_eq!(last[2], "0.01");
        [4, 6].map(|column| last[column].parse::<f64>().unwrap())
    };
    let (one, ten) = (losses("1"), losses("10"));
    for (a, b) in one.iter().zip(ten) {
        assert!((b * 100.0 / a - 1.0).abs() < 1e-9, "{a} {b}");
    }
    // 400 training samples of squared error 1 at F = 0, halved; the flow has fitted some of it.
    assert!(one[0] < 200.0);
    let record = String::from_utf8(read(&dir, "10/run.toml")).unwrap();
    let record: toml::Table = toml::from_str(&record).unwrap();
    let training = &record["configuration"]["training"];
    assert_eq!(training["optimiser"]["kind"].as_str(), Some("flow"));
    assert_eq!(training["margin"].as_float(), Some(f64::INFINITY));
    assert_eq!(record["result"]["stopped"].as_str(), Some("time"));
    for file in [
        "report.html",
        "figures/logreg-loss.svg",
        "weights.safetensors",
    ] {
        assert!(dir.join("10").join(file).is_file(), "{file}");
    }
}

#[test]
fn a_killed_flow_ends_as_if_it_had_not_been() {
    let args = [
        "train",
        "mlp-2x64",
        "--activation",
        "softplus:5",
        "--data",
        "linear?shape=64&train=300&test=300",
        "--optimiser",
        "flow",
        "--origin",
        "initial",
        "--alpha",
        "5",
        "--ntk",
        "4",
    ];
    let dir = directory("train-flow-kill");
    survives_a_kill(&dir, &args);
    assert!(read(&dir, "whole/ntk.csv") == read(&dir, "killed/ntk.csv"));
}

#[test]
fn a_stalled_flow_says_why() {
    let dir = directory("train-flow-stalls");
    let args = [
        "train",
        "mlp-2x64",
        "--data",
        "doughnut?shape=20&train=100&test=10",
        "--optimiser",
        "flow",
    ];
    let line = one_line(&dir, &args, 1);
    assert!(
        line.contains("stalled") && line.contains("softplus"),
        "{line}"
    );
}

#[test]
fn seeds_of_weights_and_batches_are_apart() {
    let dir = directory("train-seeds");
    let history = |out: &'static str, seeds: &[&str]| {
        let args = [
            "train", "mlp-1x8", "--data", STRIPE, "--epochs", "1", "--out", out,
        ];
        succeed(&dir, &[&args[..], seeds].concat());
        read(&dir, &format!("{out}/history.csv"))
    };
    let base = history("a", &["--seed", "3"]);
    assert!(base == history("b", &["--init-seed", "3", "--batch-seed", "3"]));
    assert!(base != history("c", &["--seed", "3", "--init-seed", "4"]));
    assert!(base != history("d", &["--seed", "3", "--batch-seed", "4"]));
}

#[test]
fn divergence_is_diagnosed() {
    let dir = directory("train-diverges");
    let args = [
        "train",
        "mlp-2x8",
        "--data",
        STRIPE,
        "--loss",
        "mse",
        "--learning-rate",
        "1e6",
        "--out",
        "run",
    ];
    let line = one_line(&dir, &args, 1);
    assert!(
        line.contains("diverged at step") && line.contains("learning rate of"),
        "{line}"
    );
    assert!(!dir.join("run/weights.safetensors").exists());
}

#[test]
fn bad_input_is_one_line() {
    let dir = directory("train-bad");
    fs::write(
        dir.join("x.npy"),
        npy::encode(&[2, 3], &[1.0, 2.0, 3.0, 4.0, f32::NAN, 6.0]),
    )
    .unwrap();
    fs::write(dir.join("y.npy"), npy::encode(&[2], &[0_i64, 1])).unwrap();
    fs::write(dir.join("empty.npy"), npy::encode::<f32>(&[0, 3], &[])).unwrap();
    fs::write(dir.join("none.npy"), npy::encode::<i64>(&[0], &[])).unwrap();
    fs::write(dir.join("cut.npy"), &read(&dir, "x.npy")[..60]).unwrap();
    let cases: &[(&[&str], &[&str])] = &[
        (&["--data", "linaer"], &["linaer", "linear"]),
        (&["--data", "linear?epz=1"], &["epz"]),
        (
            &["--data", "linear?shape=1x4000x4000"],
            &["more than 8 GB", "train=N"],
        ),
        (&["--data", "mnist:nowhere"], &["nowhere"]),
        (&["--data", "npy:x.npy,y.npy"], &["x.npy", "NaN"]),
        (&["--data", "npy:empty.npy,none.npy"], &["no samples"]),
        (&["--data", "npy:cut.npy,y.npy"], &["cut.npy"]),
        (
            &["--data", STRIPE, "--input", "7"],
            &["--input says 7", "6"],
        ),
        (&["--data", STRIPE, "--input", "3x32"], &["--input 3x32"]),
        (&["--data", STRIPE, "--epochs", "0"], &["--epochs 0"]),
        (
            &["--data", STRIPE, "--epochs", "2", "--steps", "2"],
            &["--steps"],
        ),
        (
            &["--data", STRIPE, "--learning-rate", "-1"],
            &["learning rate -1"],
        ),
        (&["--data", STRIPE, "--momentum", "1"], &["momentum 1"]),
        (
            &["--data", STRIPE, "--optimiser", "adam", "--momentum", "0.5"],
            &["--momentum", "sgd"],
        ),
        (&["--data", STRIPE, "--beta1", "0.5"], &["--beta1", "adam"]),
        (
            &["--data", STRIPE, "--alpha", "2"],
            &["--alpha", "flow", "sgd"],
        ),
        (
            &["--data", STRIPE, "--optimiser", "flow", "--epochs", "2"],
            &["--epochs", "sgd or adam", "flow"],
        ),
        (
            &["--data", STRIPE, "--optimiser", "flow", "--alpha", "0"],
            &["alpha 0"],
        ),
        (
            &["--data", STRIPE, "--optimiser", "flow", "--origin", "here"],
            &["--origin here", "initial"],
        ),
        (
            &["--data", STRIPE, "--optimiser", "flwo"],
            &["flwo", "flow"],
        ),
        (
            &["--data", STRIPE, "--batch-size", "0"],
            &["--batch-size 0"],
        ),
        (&["--data", STRIPE, "--loss", "hing"], &["hing", "hinge"]),
        (
            &["--data", STRIPE, "--label-noise", "2"],
            &["label noise 2"],
        ),
        (
            &["--data", STRIPE, "--crop", "2"],
            &["crops and flips are of images"],
        ),
        (
            &["--data", STRIPE, "--optimiser", "flow", "--flip"],
            &["--flip", "sgd or adam", "flow"],
        ),
        (&["--data", STRIPE, "--crop", "0"], &["--crop 0"]),
        (&["--data", STRIPE, "--out", "x.npy/run"], &["x.npy/run"]),
        (&[], &["--data"]),
    ];
    for (args, mentions) in cases {
        let line = refused(&dir, &[&["train", "mlp-1x4"], *args].concat());
        for mention in *mentions {
            assert!(
                line.contains(mention),
                "{args:?} should mention {mention}: {line}"
            );
        }
    }
    assert!(refused(&dir, &["train", "lenet", "--data", STRIPE]).contains("lenet"));
    assert_eq!(
        fs::read_dir(&dir).unwrap().count(),
        5,
        "a refused run left something"
    );
}
