//! `deform`: patterns and images of a data set, the published code's rules, what is refused.
//!
//! Bug class: an option that nothing reads, a temperature of another displacement, an error without what would be right.

use std::fs;
use std::path::Path;

use crate::common::{directory, refused, succeed};
use serde_json::Value;

fn json(dir: &Path, args: &[&str]) -> Value {
    let args = [&["deform"], args, &["--json", "--quiet", "--fields", "50"]].concat();
    serde_json::from_str(&succeed(dir, &args)).unwrap()
}

fn close(value: &Value, wanted: f64) {
    let value = value.as_f64().unwrap();
    assert!((value - wanted).abs() < 1e-3 * wanted, "{value} {wanted}");
}

/// T of 1 pixel, exact and nominal: 2/(n² Σ 1/(i² + j²)) and 4/(π n² ln c).
#[test]
fn patterns_and_data() {
    let dir = directory("deform-patterns");
    let found = json(&dir, &["--out", "run"]);
    let asked = &found["temperatures"][1];
    close(&asked["t"], 2.0 / 1024.0 / 1.025);
    close(&asked["exact"], 1.0);
    assert_eq!(found["data"], "patterns");
    let html = fs::read_to_string(dir.join("run/report.html")).unwrap();
    assert!(html.contains("<h1>Deformations of patterns</h1>") && html.contains("max Ξ &lt; 1"));
    assert_eq!(
        fs::read_to_string(dir.join("run/limits.csv"))
            .unwrap()
            .lines()
            .count(),
        24
    );
    // Other seeds, other fields; the temperature is the same.
    let other = json(&dir, &["--seed", "1"]);
    assert_eq!(other["temperatures"][1]["t"], asked["t"]);
    assert_ne!(other["temperatures"][1]["measured"], asked["measured"]);

    let data = "random?shape=3x16x16&train=5&test=0";
    let args = [
        "--data",
        data,
        "--compat",
        "--interpolation",
        "gaussian",
        "--out",
        "code",
    ];
    let found = json(&dir, &args);
    let asked = &found["temperatures"][1];
    close(&asked["t"], 4.0 / std::f64::consts::PI / 256.0 / 3f64.ln());
    close(&asked["nominal"], 1.0);
    assert_eq!(
        (&found["data"], &found["mode_count"]),
        (&"random".into(), &6.into())
    );
    let html = fs::read_to_string(dir.join("code/report.html")).unwrap();
    assert!(html.contains("The Gaussian blurs"));
    // The same command shows the same run again.
    let again = json(&dir, &args);
    assert_eq!(again["words"], found["words"]);
}

#[test]
fn refusals() {
    let dir = directory("deform-refusals");
    for (args, words) in [
        (
            &["--cutoff", "15"][..],
            "above its upper limit 2.117e-4, where deformations begin to fold images; with a cutoff of 15 take a \
             displacement of at most 0.6 pixels, or for as many pixels a cutoff of at most 8",
        ),
        (
            &["--displacement", "0.1"],
            "below its lower limit 2.829e-4, half a pixel by the formula for many modes; with a cutoff of 3 take a \
             displacement of at least 0.39 pixels",
        ),
        (
            &["--displacement", "-1"],
            "a displacement is a number of pixels from 0, not -1",
        ),
        (
            &["--cutoff", "1"],
            "a cutoff of 1 leaves no mode; take at least 2",
        ),
        (
            &["--cutoff", "1", "--compat"],
            "as ln 1 = 0; take a cutoff of at least 2",
        ),
        (
            &["--cutoff", "40"],
            "smaller than a mode of cutoff 40; take a cutoff of at most 31",
        ),
        (
            &["--data", "random?shape=10"],
            "need square images, these are 10",
        ),
        (
            &["--data", "random?shape=1x8x9"],
            "need square images, these are 1x8x9",
        ),
        (
            &["--data", "random?shape=1x32x32&deform=1,15"],
            "deform=1,15: T = 5.880e-4 is above",
        ),
        (&["--interpolation", "cubic"], "gaussian"),
        (&["--fields", "3"], "--fields 3: give 20"),
        (
            &["--dtype", "f64"],
            "--dtype f64: deformations are computed in f32; leave it out",
        ),
    ] {
        let message = refused(&dir, &[&["deform"], args].concat());
        assert!(message.contains(words), "{args:?}: {message}");
    }
}
