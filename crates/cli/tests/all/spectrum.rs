//! `spectrum`: numbers that theory fixes, what a run leaves, what is refused.
//!
//! Bug class: options that do not reach the kernel, levels in the wrong order, a Gram spectrum of the wrong
//! kernel.

use std::fs;

use crate::common::{directory, refused, succeed};
use polariscope_data::npy;
use serde_json::Value;

fn json(dir: &std::path::Path, args: &[&str]) -> Value {
    let args = [&["spectrum"], args, &["--json", "--quiet"]].concat();
    serde_json::from_str(&succeed(dir, &args)).unwrap()
}

fn column(shown: &Value, name: &str) -> Vec<f64> {
    let levels = shown["levels"].as_array().unwrap();
    levels.iter().map(|l| l[name].as_f64().unwrap()).collect()
}

/// k = exp, p = 4, d0 = 3, s = 2: the numbers of the theory, to the digits that were published with them.
#[test]
fn published_levels() {
    let dir = directory("spectrum-exp");
    let exp = ["--kind", "exp", "--samples", "0", "--order", "2"];
    for (system, counts) in [
        ("vec", [1.0, 12.0, 20.0, 36.0]),
        ("gap", [1.0, 3.0, 5.0, 9.0]),
    ] {
        let shown = json(&dir, &[&[system], &exp[..]].concat());
        for (found, known) in column(&shown, "eigenvalue")
            .iter()
            .zip([1.0862, 0.08904, 0.00884, 0.0073])
        {
            assert!((found - known).abs() < 5.1e-5, "{found} {known}");
        }
        assert_eq!(column(&shown, "multiplicity"), counts);
        assert!(shown["plateaus"].as_array().unwrap().is_empty());
    }
}

/// Everything that a checked run writes; the same bits on any number of threads.
#[test]
fn a_checked_run() {
    let dir = directory("spectrum-run");
    let args = ["gap", "--samples", "200", "--train", "60", "--order", "4"];
    let at = |out: &'static str, threads: &'static str| {
        [
            &["spectrum"],
            &args[..],
            &["--out", out, "--threads", threads],
        ]
        .concat()
    };
    let text = succeed(&dir, &at("one", "1"));
    succeed(&dir, &at("two", "2"));
    assert!(text.contains("agree with theory in"), "{text}");
    assert!(text.contains("never learns order 3"), "{text}");
    for file in ["levels.csv", "eigenvalues.npy"] {
        let read = |run: &str| fs::read(dir.join(run).join(file)).unwrap();
        assert!(read("one") == read("two"), "{file}");
    }
    let values = npy::read(&dir.join("one/eigenvalues.npy")).unwrap();
    assert_eq!(values.shape, [200]);
    assert!(values.numbers.to_f64().is_sorted_by(|a, b| a >= b));
    for file in ["report.html", "figures/gap-decay.svg"] {
        assert!(dir.join("one").join(file).is_file(), "{file}");
    }
    // The finished run is shown again.
    assert_eq!(succeed(&dir, &at("one", "1")), text);
}

/// One linear layer has K(x, x') = x·x'/D: as many eigenvalues as dimensions, and the trace is the mean square.
#[test]
fn the_gram_spectrum_of_a_linear_network() {
    let dir = directory("spectrum-gram");
    let x: Vec<f64> = (0..12 * 5).map(|i| f64::from(i * i % 17) - 8.0).collect();
    fs::write(dir.join("x.npy"), npy::encode(&[12, 5], &x)).unwrap();
    let args = [
        "fcn",
        "--x1",
        "x.npy",
        "--depth",
        "1",
        "--activation",
        "identity",
        "--kind",
        "nngp",
        "--outputs",
        "1",
    ];
    let shown = json(&dir, &[&args[..], &["--out", "run"]].concat());
    let mean = x.iter().map(|x| x * x).sum::<f64>() / 60.0;
    let trace = shown["trace"].as_f64().unwrap();
    assert!((trace / mean - 1.0).abs() < 1e-9, "{trace} {mean}");
    let values = npy::read(&dir.join("run/eigenvalues.npy")).unwrap();
    let values = values.numbers.to_f64();
    assert!(values[4] > 1e-6 * values[0] && values[5].abs() < 1e-12 * values[0]);
}

#[test]
fn bad_input_is_one_line() {
    let dir = directory("spectrum-bad");
    let cases: &[(&[&str], &str)] = &[
        (&["gap", "--s", "5"], "s must be at most p"),
        (&["gap", "--p", "0"], "--p 0"),
        (&["gap", "--depth", "2"], "--depth belongs to"),
        (
            &["vec", "--kind", "exp", "--activation", "relu"],
            "--kind exp",
        ),
        (&["cnn-gap"], "--data or --x1"),
        (&["gap", "--x1", "x.npy"], "cnn-gap"),
        (
            &["vec", "--p", "60", "--s", "60", "--order", "12"],
            "lower order",
        ),
        (&["cnn-vec", "--x1", "none.npy"], "none.npy"),
        (
            &[
                "fcn",
                "--data",
                "sphere?shape=4&train=9&test=1",
                "--order",
                "2",
            ],
            "--order",
        ),
        (&["gap", "--kind", "nkt"], "ntk"),
    ];
    for (args, mention) in cases {
        let line = refused(&dir, &[&["spectrum"], *args, &["--quiet"]].concat());
        assert!(line.contains(mention), "{args:?}: {line}");
    }
}
