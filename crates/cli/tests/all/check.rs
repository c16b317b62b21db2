//! `check`: every control passes here, and the program says so in a table, in JSON and by its status.

use crate::common::{directory, refused, succeed};
use serde_json::Value;

#[test]
fn every_control_passes() {
    let dir = directory("check");
    let text = succeed(&dir, &["check"]);
    assert!(!text.contains("FAIL"), "{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 100), "{text}");
    let verdict = |group: &str| -> Value {
        serde_json::from_str(&succeed(&dir, &["check", group, "--json"])).unwrap()
    };
    let groups = ["core", "geometry", "kernels", "landscape", "symmetry"].map(verdict);
    assert!(groups.iter().all(|v| v["pass"] == true));
    let controls = groups
        .iter()
        .flat_map(|v| v["controls"].as_array().unwrap());
    let controls: Vec<&Value> = controls.collect();
    assert!(controls.len() >= 10 + 20 + 12 + 5);
    assert_eq!(text.matches(" pass").count(), controls.len());
    let last = format!("all {} controls agree", controls.len());
    assert_eq!(text.lines().last(), Some(last.as_str()));
    for c in controls {
        let number = |key: &str| c[key].as_f64().unwrap();
        let off = (number("measured") - number("expected")).abs();
        assert!(off <= number("tolerance"), "{c}");
    }
}

#[test]
fn bad_usage() {
    let dir = directory("check-bad");
    let line = refused(&dir, &["check", "cores"]);
    assert!(line.contains("cores") && line.contains("core?"), "{line}");
    assert!(refused(&dir, &["check", "--out", "x"]).contains("--out"));
}
