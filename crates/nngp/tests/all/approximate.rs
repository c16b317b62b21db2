//! Norms, tokens and attention against plain loops over all pairs of positions: catches mistakes in what is divided
//! by, in which parameters positions share, and in where the pair of two positions is stored.

use crate::common::{agrees, agrees_for, graph};
use polariscope_graph::Law;
use polariscope_nngp::Kernel;

const RELU: &str = r#"{ op = "relu" }"#;
const OUT: &str = r#"{ op = "dense", features = 2 }"#;
const GAP: &str = r#"{ op = "global-avg-pool" }"#;

#[test]
fn norms() {
    let gap = format!(r#"{{ op = "global-avg-pool" }}, {OUT}"#);
    let flat = format!(r#"{{ op = "flatten" }}, {OUT}"#);
    let dense = r#"{ op = "dense", features = 6 }"#;
    for norm in [
        r#"{ op = "layer-norm", eps = 0.3 }"#,
        r#"{ op = "rms-norm", eps = 0.3 }"#,
        r#"{ op = "group-norm", groups = 2, eps = 0.3 }"#,
    ] {
        for padding in ["circular", "same"] {
            let plain =
                format!(r#"{{ op = "conv", channels = 4, kernel = 3, padding = "{padding}" }}"#);
            let one = format!("{plain}, {norm}, {RELU}");
            for end in [&gap, &flat] {
                agrees("[2, 3, 4]", &format!("{one}, {one}, {end}"));
                agrees("[2, 3, 4]", &format!("{plain}, {norm}, {end}"));
            }
            let branch = format!(r#"{{ op = "residual", branch = [ {norm}, {RELU}, {plain} ] }}"#);
            agrees(
                "[2, 3, 4]",
                &format!("{plain}, {branch}, {branch}, {norm}, {gap}"),
            );
        }
        let signal = format!(r#"{{ op = "conv", channels = 4, kernel = 3 }}, {norm}, {RELU}"#);
        agrees("[2, 9]", &format!("{signal}, {gap}"));
        if !norm.contains("group") {
            agrees(
                "[5]",
                &format!("{dense}, {norm}, {RELU}, {dense}, {norm}, {OUT}"),
            );
            let wide = r#"{ op = "conv", channels = 4, kernel = 3 }"#;
            agrees(
                "[2, 5, 4]",
                &format!(r#"{wide}, {{ op = "flatten" }}, {norm}, {OUT}"#),
            );
        }
    }
    // γ and an activation that is not homogeneous: E[ûû'] E[φ'φ'].
    let norm = r#"{ op = "layer-norm", eps = 0.3 }"#;
    let erf = r#"{ op = "erf" }"#;
    agrees("[5]", &format!("{dense}, {norm}, {erf}, {OUT}"));
    // The square of what an activation made is no different; its mean is not subtracted.
    let rms = r#"{ op = "rms-norm" }"#;
    agrees("[5]", &format!("{dense}, {RELU}, {rms}, {OUT}"));
    let layer = r#"{ op = "layer-norm" }"#;
    agrees(
        "[5]",
        &format!(r#"{dense}, {{ op = "erf" }}, {layer}, {OUT}"#),
    );
}

/// What is said of the γ of a norm: nothing where a weight or a kink reads it.
#[test]
fn gammas_are_named() {
    let (dense, norm) = (
        r#"{ op = "dense", features = 6 }"#,
        r#"{ op = "rms-norm" }"#,
    );
    let skip = format!(r#"{{ op = "residual", branch = [ {dense}, {norm} ] }}"#);
    for (layers, named) in [
        (format!("{dense}, {norm}, {RELU}"), false),
        (
            format!(r#"{dense}, {norm}, {dense}, {{ op = "gelu" }}"#),
            false,
        ),
        (format!(r#"{dense}, {norm}, {{ op = "gelu" }}"#), true),
        (format!("{dense}, {skip}, {RELU}"), true),
    ] {
        let kernel = Kernel::new(&graph("[5]", &format!("{layers}, {OUT}"))).unwrap();
        let said = kernel.approximations();
        assert_eq!(
            said.iter().any(|s| s.starts_with("the γ of a norm")),
            named,
            "{layers}"
        );
        assert!(said.iter().any(|s| s.starts_with("norms divide")));
    }
}

/// Tokens of a 4 × 6 image in patches of 2, with a class token and positions of these variances.
fn tokens(layers: &str, class: f64, position: f64) {
    let patches = r#"{ op = "patch-embed", size = 2, width = 6 }"#;
    let mut graph = graph("[2, 4, 6]", &format!("{patches}, {layers}"));
    for param in &mut graph.params {
        if param.shape == [1, 1, 6] {
            param.law = Law::Normal { std: class.sqrt() };
        } else if param.shape.len() == 3 && param.shape[0] == 1 {
            param.law = Law::Normal {
                std: position.sqrt(),
            };
        }
    }
    agrees_for(&graph);
}

const CLASS: &str = r#"{ op = "class-token" }"#;
const POSITION: &str = r#"{ op = "position" }"#;

#[test]
fn token_layers() {
    let dense = r#"{ op = "dense", features = 6 }"#;
    let mlp = format!(r#"{{ op = "residual", branch = [ {dense}, {RELU}, {dense} ] }}"#);
    for end in [
        GAP,
        r#"{ op = "flatten" }"#,
        r#"{ op = "take-token", index = 0 }"#,
        r#"{ op = "take-token", index = 4 }"#,
    ] {
        tokens(&format!("{dense}, {RELU}, {end}, {OUT}"), 0.5, 0.2);
        tokens(&format!("{POSITION}, {RELU}, {end}, {OUT}"), 0.5, 0.2);
        tokens(
            &format!("{CLASS}, {RELU}, {dense}, {RELU}, {end}, {OUT}"),
            0.5,
            0.2,
        );
        tokens(
            &format!("{CLASS}, {POSITION}, {mlp}, {RELU}, {end}, {OUT}"),
            0.5,
            0.2,
        );
        let norm = r#"{ op = "layer-norm", eps = 0.1 }"#;
        tokens(
            &format!("{CLASS}, {norm}, {dense}, {RELU}, {end}, {OUT}"),
            0.0,
            0.2,
        );
        let rms = r#"{ op = "rms-norm", eps = 0.1 }"#;
        tokens(
            &format!("{CLASS}, {POSITION}, {rms}, {mlp}, {end}, {OUT}"),
            0.5,
            0.2,
        );
    }
    // A class token in front of two blocks of channels.
    let both = format!(r#"{{ op = "concat", branches = [ [], [ {dense}, {RELU} ] ] }}"#);
    let graph = graph(
        "[2, 4, 6]",
        &format!(
            r#"{{ op = "patch-embed", size = 2, width = 6 }}, {both}, {CLASS}, {POSITION}, {dense}, {RELU}, {GAP}, {OUT}"#
        ),
    );
    agrees_for(&graph);
}

#[test]
fn attention() {
    let attention = r#"{ op = "attention", heads = 2 }"#;
    let dense = r#"{ op = "dense", features = 6 }"#;
    for end in [GAP, r#"{ op = "take-token", index = 0 }"#] {
        tokens(&format!("{attention}, {end}, {OUT}"), 0.5, 0.2);
        tokens(
            &format!("{CLASS}, {POSITION}, {attention}, {RELU}, {end}, {OUT}"),
            0.5,
            0.2,
        );
        for norm in ["", r#"{ op = "layer-norm", eps = 0.1 }, "#] {
            let block = format!(
                r#"{{ op = "residual", branch = [ {norm}{attention} ] }}, {{ op = "residual", branch = [ {norm}{dense}, {RELU}, {dense} ] }}"#
            );
            tokens(
                &format!("{CLASS}, {POSITION}, {block}, {block}, {norm}{end}, {OUT}"),
                0.5,
                0.2,
            );
        }
    }
    let both = format!(r#"{{ op = "concat", branches = [ [], [ {dense}, {RELU} ] ] }}"#);
    tokens(
        &format!("{both}, {attention}, {RELU}, {GAP}, {OUT}"),
        0.5,
        0.2,
    );
}
