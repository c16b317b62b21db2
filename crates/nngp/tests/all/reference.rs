//! Whole networks against plain loops over all pairs of positions: catches mistakes in displacements, borders,
//! strides, forms and lanes.

use crate::common::agrees;

const RELU: &str = r#"{ op = "relu" }"#;
const OUT: &str = r#"{ op = "dense", features = 2 }"#;
const GAP: &str = r#"{ op = "global-avg-pool" }"#;

fn conv(rest: &str) -> String {
    format!(r#"{{ op = "conv", channels = 6, {rest} }}, {RELU}"#)
}

#[test]
fn flattened_convolutions() {
    let flat = format!(r#"{{ op = "flatten" }}, {OUT}"#);
    for (input, window) in [
        ("[3, 5, 6]", r#"kernel = 3, padding = "circular""#),
        ("[2, 6, 5]", r#"kernel = 3, padding = "same", stride = 2"#),
        ("[2, 6, 7]", r#"kernel = 2, padding = "valid""#),
        ("[2, 4, 5]", r#"kernel = 3, padding = 2"#),
        ("[1, 6, 6]", r#"kernel = 3, padding = "same", dilation = 2"#),
        (
            "[2, 7, 7]",
            r#"kernel = 3, padding = "circular", stride = 2"#,
        ),
    ] {
        let one = conv(window);
        agrees(input, &format!("{one}, {one}, {flat}"));
    }
}

#[test]
fn pooled_convolutions() {
    let gap = format!(r#"{{ op = "global-avg-pool" }}, {OUT}"#);
    for (input, window) in [
        ("[3, 5, 6]", r#"kernel = 3, padding = "circular""#),
        (
            "[2, 8, 8]",
            r#"kernel = 3, padding = "circular", stride = 2"#,
        ),
        ("[2, 6, 5]", r#"kernel = 3, padding = "same", stride = 2"#),
        ("[2, 5, 6]", r#"kernel = 2, padding = "valid""#),
        ("[2, 3, 4]", r#"kernel = 3, padding = 2"#),
        ("[1, 5, 5]", r#"kernel = 3, padding = "same", dilation = 2"#),
    ] {
        let one = conv(window);
        agrees(input, &format!("{one}, {one}, {gap}"));
    }
    agrees(
        "[2, 9]",
        &format!(r#"{{ op = "conv", channels = 4, kernel = 3 }}, {RELU}, {gap}"#),
    );
}

#[test]
fn local_pools_then_flatten() {
    let circular = conv(r#"kernel = 3, padding = "circular""#);
    let same = conv(r#"kernel = 3, padding = "same""#);
    for pool in [
        r#"{ op = "avg-pool", size = 2 }"#,
        r#"{ op = "avg-pool", size = 3, stride = 1 }"#,
        r#"{ op = "avg-pool", size = 3, stride = 2, padding = 1 }"#,
    ] {
        agrees(
            "[2, 6, 6]",
            &format!(r#"{circular}, {pool}, {{ op = "flatten" }}, {OUT}"#),
        );
        agrees(
            "[2, 5, 6]",
            &format!(r#"{same}, {pool}, {{ op = "flatten" }}, {OUT}"#),
        );
    }
}

#[test]
fn pools_in_the_middle() {
    let circular = conv(r#"kernel = 3, padding = "circular""#);
    let same = conv(r#"kernel = 3, padding = "same""#);
    let pool = r#"{ op = "avg-pool", size = 2 }"#;
    let gap = format!(r#"{{ op = "global-avg-pool" }}, {OUT}"#);
    agrees(
        "[2, 6, 6]",
        &format!("{circular}, {pool}, {circular}, {gap}"),
    );
    agrees("[2, 6, 6]", &format!("{same}, {pool}, {same}, {gap}"));
    agrees(
        "[2, 6, 6]",
        &format!("{circular}, {pool}, {same}, {pool}, {{ op = \"flatten\" }}, {OUT}"),
    );
    agrees("[2, 4, 4]", &format!(r#"{pool}, {circular}, {gap}"#));
    let head = format!(r#"{{ op = "dense", features = 7 }}, {RELU}, {OUT}"#);
    agrees(
        "[2, 4, 4]",
        &format!(r#"{same}, {{ op = "global-avg-pool" }}, {head}"#),
    );
}

#[test]
fn residual_sums() {
    let gap = format!(r#"{{ op = "global-avg-pool" }}, {OUT}"#);
    let flat = format!(r#"{{ op = "flatten" }}, {OUT}"#);
    for padding in ["circular", "same"] {
        let plain =
            format!(r#"{{ op = "conv", channels = 4, kernel = 3, padding = "{padding}" }}"#);
        let block = format!(r#"{{ op = "residual", branch = [ {RELU}, {plain} ] }}"#);
        agrees(
            "[2, 4, 4]",
            &format!("{plain}, {block}, {block}, {RELU}, {flat}"),
        );
        agrees(
            "[2, 4, 4]",
            &format!("{plain}, {block}, {block}, {RELU}, {gap}"),
        );
        // A relu that is read as a gap by a convolution and as a covariance by the sum before the pool.
        let open = format!(r#"{{ op = "residual", branch = [ {plain}, {RELU}, {plain} ] }}"#);
        agrees("[2, 4, 4]", &format!("{plain}, {RELU}, {open}, {gap}"));
    }
    let strided = r#"{ op = "conv", channels = 4, kernel = 3, stride = 2, padding = "same" }"#;
    let skip = r#"{ op = "conv", channels = 4, kernel = 1, stride = 2 }"#;
    let down = format!(r#"{{ op = "residual", branch = [ {strided} ], skip = [ {skip} ] }}"#);
    agrees("[4, 6, 6]", &format!("{down}, {RELU}, {gap}"));
    let scaled = format!(
        r#"{{ op = "residual", branch = [ {OUT}, {{ op = "scale", by = 0.5 }} ], skip = [ {OUT}, {{ op = "dropout", rate = 0.1 }} ] }}"#
    );
    agrees("[5]", &format!("{scaled}, {RELU}, {OUT}"));
}

#[test]
fn concatenations() {
    let gap = format!(r#"{{ op = "global-avg-pool" }}, {OUT}"#);
    let conv = |n: usize| {
        format!(r#"{{ op = "conv", channels = {n}, kernel = 3, padding = "same" }}, {RELU}"#)
    };
    let dense = format!(r#"{{ op = "concat", branches = [ [], [ {} ] ] }}"#, conv(3));
    let first = conv(4);
    agrees(
        "[2, 4, 4]",
        &format!("{first}, {dense}, {dense}, {first}, {gap}"),
    );
    agrees("[2, 4, 4]", &format!(r#"{first}, {dense}, {gap}"#));
    agrees(
        "[2, 4, 4]",
        &format!(r#"{first}, {dense}, {{ op = "flatten" }}, {OUT}"#),
    );
}

#[test]
fn unshared_weights() {
    let local =
        format!(r#"{{ op = "local", channels = 4, kernel = 3, padding = "circular" }}, {RELU}"#);
    let gap = format!(r#"{{ op = "global-avg-pool" }}, {OUT}"#);
    agrees("[2, 4, 4]", &format!("{local}, {gap}"));
    agrees(
        "[2, 4, 4]",
        &format!(r#"{local}, {local}, {{ op = "flatten" }}, {OUT}"#),
    );
    let conv = conv(r#"kernel = 3, padding = "circular""#);
    agrees("[2, 4, 4]", &format!("{local}, {conv}, {gap}"));
}

#[test]
fn grouped_convolutions() {
    let first = conv(r#"kernel = 3, padding = "same""#);
    for groups in [2, 6] {
        let grouped = conv(&format!(
            r#"kernel = 3, padding = "same", groups = {groups}"#
        ));
        for end in [GAP, r#"{ op = "flatten" }"#] {
            agrees(
                "[2, 4, 4]",
                &format!("{first}, {grouped}, {first}, {end}, {OUT}"),
            );
        }
    }
}

/// Displacements modulo the grid and signed ones in one stage; circular windows that end short of the border.
#[test]
fn mixed_paddings() {
    let circular = conv(r#"kernel = 3, padding = "circular""#);
    let strided = conv(r#"kernel = 3, padding = "circular", stride = 2"#);
    let same = conv(r#"kernel = 3, padding = "same""#);
    let zeros = conv(r#"kernel = 2, padding = 2"#);
    let valid = conv(r#"kernel = 2, padding = "valid""#);
    let pool = r#"{ op = "avg-pool", size = 2 }"#;
    let flat = r#"{ op = "flatten" }"#;
    for layers in [
        format!("{circular}, {same}, {GAP}"),
        format!("{same}, {circular}, {GAP}"),
        format!("{circular}, {zeros}, {circular}, {GAP}"),
        format!("{strided}, {GAP}"),
        format!("{strided}, {strided}, {GAP}"),
        format!("{strided}, {same}, {GAP}"),
        format!("{valid}, {circular}, {pool}, {flat}"),
        format!("{same}, {strided}, {pool}, {circular}, {flat}"),
        format!("{same}, {circular}, {same}, {circular}, {flat}"),
    ] {
        agrees("[2, 5, 7]", &format!("{layers}, {OUT}"));
    }
    let plain = |padding: &str| {
        format!(r#"{{ op = "conv", channels = 6, kernel = 3, padding = "{padding}" }}"#)
    };
    let both = format!(
        r#"{{ op = "residual", branch = [ {}, {RELU}, {} ], skip = [ {} ] }}"#,
        plain("same"),
        plain("circular"),
        plain("same")
    );
    agrees(
        "[2, 4, 5]",
        &format!("{both}, {both}, {RELU}, {GAP}, {OUT}"),
    );
    // What is kept is read on both sides of a pool.
    let small = format!(
        r#"{{ op = "residual", branch = [ {}, {pool}, {} ], skip = [ {pool} ] }}"#,
        plain("circular"),
        plain("same")
    );
    agrees(
        "[2, 4, 6]",
        &format!(
            "{}, {}, {small}, {RELU}, {GAP}, {OUT}",
            plain("same"),
            plain("circular")
        ),
    );
}
