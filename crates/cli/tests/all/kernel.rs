//! `kernel`: what it writes against kernels worked out by hand, whole against killed and sharded runs, bad input.

use std::f64::consts::PI;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{directory, program, refused, succeed};
use polariscope_data::npy::{self, Numbers};

fn write(path: &Path, shape: &[usize], numbers: &[f64]) {
    npy::write(path, shape, numbers).unwrap();
}

fn read(path: &Path) -> (Vec<usize>, Vec<f64>) {
    let array = npy::read(path).unwrap();
    let is_f64 = matches!(array.numbers, Numbers::F64(_));
    assert!(is_f64, "--dtype f64 was asked for");
    (array.shape, array.numbers.to_f64())
}

/// Points that fill the plane evenly enough.
fn points(n: usize, dim: usize) -> Vec<f64> {
    (0..n * dim)
        .map(|i| ((i * i + 3 * i) as f64 * 0.37).sin())
        .collect()
}

/// One hidden relu layer, w_std = 1, no bias (Cho and Saul 2009): with q = x·x'/2 and angle θ between the samples,
/// K = √(qq')(sin θ + (π−θ) cos θ)/2π and Θ = K + q_xx' (π−θ)/2π.
fn by_hand(x: &[f64], y: &[f64]) -> [f64; 2] {
    let dot =
        |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / a.len() as f64;
    let (p, c, q) = (dot(x, x), dot(x, y), dot(y, y));
    let theta = (c / (p * q).sqrt()).clamp(-1.0, 1.0).acos();
    let k = (p * q).sqrt() * (theta.sin() + (PI - theta) * theta.cos()) / (2.0 * PI);
    [k, k + c * (PI - theta) / (2.0 * PI)]
}

#[test]
fn both_kernels_of_one_hidden_layer() {
    let dir = directory("kernel-by-hand");
    let (x1, x2) = (points(5, 3), points(9, 3));
    write(&dir.join("a.npy"), &[5, 3], &x1);
    write(&dir.join("b.npy"), &[9, 3], &x2);
    let run = [
        "kernel", "fcn", "--depth", "1", "--dtype", "f64", "--x1", "a.npy",
    ];
    let text = succeed(
        &dir,
        &[&run[..], &["--x2", "b.npy", "--out", "ab"]].concat(),
    );
    assert!(text.contains("5 x 9 entries"), "{text}");
    succeed(
        &dir,
        &[&run[..], &["--kind", "ntk", "--out", "aa"]].concat(),
    );
    assert!(!dir.join("aa/nngp.npy").exists(), "it was not asked for");
    let files = [
        ("ab/nngp.npy", 0, &x2),
        ("ab/ntk.npy", 1, &x2),
        ("aa/ntk.npy", 1, &x1),
    ];
    for (file, kind, columns) in files {
        let (shape, numbers) = read(&dir.join(file));
        let wide = columns.len() / 3;
        assert_eq!(shape, [5, wide]);
        for (i, k) in numbers.iter().enumerate() {
            let (x, y) = (&x1[3 * (i / wide)..][..3], &columns[3 * (i % wide)..][..3]);
            // acos of the reference loses half of the digits where the samples agree.
            let tolerance = if x == y { 1e-7 } else { 1e-13 };
            assert!((k - by_hand(x, y)[kind]).abs() < tolerance, "{file} {i}");
        }
    }
    assert!(dir.join("aa/report.html").exists());
}

/// f = (w·x)/√D has Θ̂ = x·x'/D whatever its weights, for each output and none across.
#[test]
fn finite_networks() {
    let dir = directory("kernel-finite");
    let x = points(3, 4);
    write(&dir.join("x.npy"), &[3, 4], &x);
    let file = "input = [4]\nparametrisation = \"ntk\"\nlayers = [ { op = \"dense\", features = 2, bias = false } ]\n";
    std::fs::write(dir.join("linear.toml"), file).unwrap();
    let run = [
        "kernel",
        "linear.toml",
        "--x1",
        "x.npy",
        "--dtype",
        "f64",
        "--finite",
        "5",
    ];
    succeed(&dir, &[&run[..], &["--out", "mean"]].concat());
    succeed(&dir, &[&run[..], &["--full", "--out", "full"]].concat());
    let (shape, mean) = read(&dir.join("mean/ntk.npy"));
    assert_eq!(shape, [3, 3]);
    let (shape, full) = read(&dir.join("full/ntk.npy"));
    assert_eq!(shape, [6, 6]);
    for (i, k) in full.iter().enumerate() {
        let (row, column) = (i / 6, i % 6);
        let pair = x[4 * (row / 2)..][..4]
            .iter()
            .zip(&x[4 * (column / 2)..][..4]);
        let dot = pair.map(|(a, b)| a * b).sum::<f64>() / 4.0;
        let want = if row % 2 == column % 2 { dot } else { 0.0 };
        assert!((k - want).abs() < 1e-15, "{row} {column}");
        assert!((mean[row / 2 * 3 + column / 2] - dot).abs() < 1e-15);
    }
    let line = refused(&dir, &["kernel", "linear.toml", "--x1", "x.npy", "--full"]);
    assert!(line.contains("--finite I or --weights FILE"), "{line}");
}

#[test]
fn killed_and_sharded_runs_end_with_the_bytes_of_a_whole_one() {
    let dir = directory("kernel-resume");
    write(&dir.join("x.npy"), &[400, 2, 6, 6], &points(400, 72));
    let run = [
        "kernel",
        "cnn-gap",
        "--x1",
        "x.npy",
        "--quiet",
        "--dtype",
        "f64",
        "--threads",
        "1",
    ];
    let with = |more: &[&'static str]| [&run[..], more].concat();
    let mut child = program(&dir, &with(&["--out", "killed"])).spawn().unwrap();
    let started = Instant::now();
    while !dir.join("killed/partial/state").exists() && child.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < Duration::from_secs(60), "no checkpoint");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let early = !dir.join("killed/ntk.npy").exists();
    assert!(early, "killed too late to test anything");
    succeed(&dir, &with(&["--out", "killed"]));
    for (shard, out) in [("1/3", "one"), ("2/3", "two"), ("3/3", "three")] {
        let text = succeed(&dir, &with(&["--shard", shard, "--out", out]));
        assert!(text.contains("merge"), "{text}");
    }
    succeed(
        &dir,
        &["merge", "one", "three", "two", "--out", "merged", "--quiet"],
    );
    for file in ["nngp.npy", "ntk.npy"] {
        let bytes = |run: &str| std::fs::read(dir.join(run).join(file)).unwrap();
        assert!(bytes("killed") == bytes("merged"), "{file}");
    }
    let missing = refused(&dir, &["merge", "one", "three", "--out", "x"]);
    assert!(missing.contains("2/3 is missing"), "{missing}");
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let dir = directory("kernel-bad");
    write(&dir.join("a.npy"), &[2, 3, 4, 4], &points(2, 48));
    write(&dir.join("b.npy"), &[2, 3, 5, 5], &points(2, 75));
    let mut holes = points(2, 48);
    holes[50] = f64::NAN;
    write(&dir.join("nan.npy"), &[2, 3, 4, 4], &holes);
    let huge = points(2, 48).iter().map(|x| 1e200 * x).collect::<Vec<_>>();
    write(&dir.join("huge.npy"), &[2, 3, 4, 4], &huge);
    write(&dir.join("c.npy"), &[1, 3, 32, 32], &points(1, 3072));
    let cases: [(&[&str], &str); 8] = [
        (
            &["fcn", "--x1", "a.npy", "--x2", "b.npy"],
            "both must have one shape",
        ),
        (&["fcn", "--x1", "nan.npy"], "every number must be finite"),
        (&["fcn", "--x1", "huge.npy", "--dtype", "f64"], "not finite"),
        (&["fcn", "--x1", "a.npy", "--w-std", "inf"], "finite"),
        (&["lenet", "--x1", "c.npy"], "max-pool"),
        (&["resnet18", "--x1", "c.npy"], "batch-norm"),
        (
            &["fcn", "--x1", "a.npy", "--kind", "nngpp"],
            "nngp, ntk or nngp,ntk",
        ),
        (&["fcn"], "--x1"),
    ];
    for (args, want) in cases {
        let line = refused(&dir, &[&["kernel"], args].concat());
        assert!(line.contains(want), "{args:?}: {line}");
    }
}
