//! `symmetry`: groups that theory fixes, what a run leaves, what is refused.
//!
//! Bug class: a group that the measurement denies, a proof for the wrong width, a page without its figure.

use std::fs;
use std::path::Path;

use crate::common::{directory, refused, succeed};
use serde_json::Value;

fn json(dir: &Path, args: &[&str]) -> Value {
    let args = [&["symmetry"], args, &["--json", "--quiet"]].concat();
    serde_json::from_str(&succeed(dir, &args)).unwrap()
}

fn row<'a>(found: &'a Value, group: &str) -> &'a Value {
    let rows = found["groups"].as_array().unwrap();
    rows.iter().find(|r| r["group"] == group).unwrap()
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// Thm 3.1: the group of each system, kernels that keep it to 1e-10, runs to 1e-6, and neither under the larger one.
#[test]
fn groups_hold_and_larger_ones_do_not() {
    let dir = directory("symmetry-groups");
    let cases = [
        ("fcn", "O(48)", "O(48)"),
        ("lcn", "O(3)^16", "O(3)^16"),
        ("cnn-vec", "O(3)⊗I_16", "O(3)^16"),
        ("cnn-gap", "O(3)⊗I_16", "O(3)⊗I_16"),
    ];
    for (name, finite, infinite) in cases {
        let found = json(
            &dir,
            &[name, "--input", "3x4x4", "--width", "6", "--samples", "6"],
        );
        assert_eq!(found["finite"]["group"], finite, "{name}");
        assert_eq!(found["infinite"]["group"], infinite, "{name}");
        assert!(
            number(&row(&found, infinite)["kernel_change"]) < 1e-10,
            "{name}"
        );
        assert!(
            number(&row(&found, finite)["run_distance"]) < 1e-6,
            "{name}"
        );
        assert!(number(&found["moved"]) > 1e-2, "{name}");
        if let Some(larger) = found["infinite"]["larger"].as_str() {
            assert!(
                number(&row(&found, larger)["kernel_change"]) > 1e-3,
                "{name}"
            );
        }
        if let Some(larger) = found["finite"]["larger"].as_str() {
            assert!(
                number(&row(&found, larger)["run_distance"]) > 1e-3,
                "{name}"
            );
        }
    }
}

/// Six rows, a figure, words; the same command shows what is there.
#[test]
fn a_run_leaves_table_and_page() {
    let dir = directory("symmetry-run");
    let args = [
        "symmetry", "cnn-gap", "--input", "3x4x4", "--width", "4", "--out", "r", "--quiet",
    ];
    let text = succeed(&dir, &args);
    assert!(
        text.contains("O(3)⊗I_16") && text.contains("dimension 3"),
        "{text}"
    );
    assert!(text.lines().all(|l| l.chars().count() <= 100), "{text}");
    let motions = fs::read_to_string(dir.join("r/motions.csv")).unwrap();
    assert!(
        motions.contains("translations filled with zeros,has not"),
        "{motions}"
    );
    let table = fs::read_to_string(dir.join("r/groups.csv")).unwrap();
    assert_eq!(table.lines().count(), 7);
    let page = fs::read_to_string(dir.join("r/report.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("Which transformations of 3x4x4 inputs"));
    assert_eq!(succeed(&dir, &args), text);
}

/// Networks without a kernel are deduced and run all the same; a uniform distribution leaves reorderings.
#[test]
fn networks_without_a_kernel() {
    let dir = directory("symmetry-lenet");
    let found = json(
        &dir,
        &[
            "lenet",
            "--input",
            "3x16x16",
            "--steps",
            "3",
            "--samples",
            "4",
        ],
    );
    assert_eq!(found["finite"]["group"], "P(3)⊗I_256");
    assert_eq!(found["infinite"]["group"], "none");
    assert!(found["no_kernel"].as_str().unwrap().contains("pool"));
    assert!(number(&row(&found, "O(3)⊗I_256")["run_distance"]) < 1e-6);
    assert!(
        found["words"]
            .as_str()
            .unwrap()
            .contains("only the distribution")
    );
}

#[test]
fn mistakes_are_one_line() {
    let dir = directory("symmetry-bad");
    assert!(refused(&dir, &["symmetry", "cnn-vek"]).contains("cnn-vec"));
    assert!(refused(&dir, &["symmetry", "fcn", "--samples", "0"]).contains("--samples"));
    assert!(refused(&dir, &["symmetry", "lenet", "--input", "7"]).contains("image"));
}
