//! `evolution`: the linear model, whose Δ is known, and what a run leaves and refuses.
//!
//! Bug class: a Δ of the wrong sign or scale, errors that do not cover, samples other than those asked for.

use std::fs;
use std::path::Path;

use crate::common::{directory, refused, succeed};
use polariscope_data::npy;
use polariscope_linalg::covariance;
use polariscope_random::Stream;
use serde_json::Value;

fn json(dir: &Path, args: &[&str]) -> Value {
    let args = [args, &["--json", "--quiet"]].concat();
    serde_json::from_str(&succeed(dir, &args)).unwrap()
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// f = θᵀx + b, θ ~ U(±1/√D) so σ² = 1/(3D): Δ = −2σ²S, whatever the labels and the bias. With G = σ²I known in
/// closed form GSG is S up to scale. A step adds δt d dᵀ to the slope: the order is 1.
#[test]
fn a_linear_model_moves_along_the_data() {
    let dir = directory("evolution-linear");
    const DIM: usize = 5;
    const COUNT: usize = 12;
    let mut x = vec![0f32; COUNT * DIM];
    Stream::new(3, 0, "x").normal(1.0, &mut x);
    x.iter_mut()
        .enumerate()
        .for_each(|(k, x)| *x *= (k % DIM + 1) as f32);
    let y: Vec<i64> = (0..COUNT as i64).map(|i| i % 2).collect();
    fs::write(dir.join("x.npy"), npy::encode(&[COUNT, DIM], &x)).unwrap();
    fs::write(dir.join("y.npy"), npy::encode(&[COUNT], &y)).unwrap();
    let args = [
        "evolution",
        "logreg",
        "--data",
        "npy:x.npy,y.npy",
        "--samples",
        "16384",
        "--probes",
        "1",
        "--out",
        "run",
    ];
    let text = succeed(&dir, &args);
    assert!(text.contains("Corr(−Δ, S)"), "{text}");
    let shown = json(&dir, &args);
    let corr = &shown["corr_s"];
    let error = number(&corr["standard_error"]);
    assert!(error < 0.01, "{error}");
    // Beside the error, T networks leave a bias of the order of 1/T.
    assert!(
        (number(&corr["value"]) - 1.0).abs() < 4.0 * error + 1e-3,
        "{corr}"
    );
    let gsg = number(&shown["corr_gsg"]["value"]);
    assert!((gsg - number(&corr["value"])).abs() < 1e-9);
    assert_eq!(shown["geometry"], "exact");

    let delta = npy::read(&dir.join("run/delta.npy")).unwrap();
    assert_eq!(delta.shape, [DIM, DIM]);
    let s = covariance(&x, DIM);
    let want: Vec<f64> = s.iter().map(|s| -2.0 * s / (3.0 * DIM as f64)).collect();
    let square = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>().sqrt();
    let delta = delta.numbers.to_f64();
    let miss = square(&mut delta.iter().zip(&want).map(|(a, b)| a - b));
    let relative = miss / square(&mut want.iter().copied());
    let known = number(&shown["delta_error"]);
    assert!(known < 0.05 && relative < 3.0 * known, "{relative} {known}");

    // Rounding limits the shortest step to about 1e-16/1e-7 of a relative difference of 1e-7.
    assert!(
        (number(&shown["order"]["exponent"]) - 1.0).abs() < 0.01,
        "{shown}"
    );
    for file in [
        "report.html",
        "geometry.npy",
        "figures/logreg-minus.svg",
        "figures/logreg-gsg.svg",
        "figures/logreg-finite-steps.svg",
    ] {
        assert!(dir.join("run").join(file).is_file(), "{file}");
    }
    assert_eq!(succeed(&dir, &args), text);
}

/// A smooth convolutional network: finite steps converge to Δ in proportion to the step, and threads change no bit.
#[test]
fn finite_steps_of_a_smooth_network() {
    let dir = directory("evolution-smooth");
    let args = [
        "evolution",
        "lenet-gap",
        "--activation",
        "gelu",
        "--data",
        "linear?shape=1x16x16&train=8&test=2",
        "--samples",
        "32",
        "--probes",
        "2",
        "--loss",
        "cross-entropy",
    ];
    let at = |out: &'static str, threads: &'static str| {
        [&args[..], &["--out", out, "--threads", threads]].concat()
    };
    let shown = json(&dir, &at("one", "1"));
    assert!(
        (number(&shown["order"]["exponent"]) - 1.0).abs() < 0.02,
        "{shown}"
    );
    assert_eq!(shown["geometry"], "sampled");
    succeed(&dir, &at("two", "2"));
    for file in ["delta.npy", "geometry.npy"] {
        let read = |out: &str| fs::read(dir.join(out).join(file)).unwrap();
        assert!(read("one") == read("two"), "{file}");
    }
}

/// The first 256 samples unless the specification names a number.
#[test]
fn samples_are_those_asked_for() {
    let dir = directory("evolution-samples");
    let samples = |data: &str, out: &str| {
        let args = [
            "evolution",
            "logreg",
            "--data",
            data,
            "--samples",
            "16",
            "--out",
            out,
        ];
        json(&dir, &args)["samples"].as_u64().unwrap()
    };
    assert_eq!(samples("sphere?shape=3", "open"), 256);
    assert_eq!(samples("sphere?shape=3&train=300", "named"), 300);
}

#[test]
fn bad_input_is_one_line() {
    let dir = directory("evolution-bad");
    let data = ["--data", "sphere?shape=4&train=20&test=5"];
    let cases: &[(&[&str], &str)] = &[
        (&["--samples", "8"], "at least 16"),
        (&["--samples", "-1"], "--samples -1"),
        (&["--loss", "hinge"], "sse or cross-entropy"),
        (&["--probe", "somewhere"], "gauss:SIGMA"),
        (&["--logit", "5"], "--logit 5"),
        (&["--input", "5"], "the data decide"),
    ];
    for (args, mention) in cases {
        let args = [&["evolution", "logreg", "--quiet"], &data[..], *args].concat();
        let line = refused(&dir, &args);
        assert!(line.contains(mention), "{args:?}: {line}");
    }
    assert!(refused(&dir, &["evolution", "logreg"]).contains("--data"));
}
