//! Which kernel a stage gets, and what it leaves.

use polariscope_diff::Dtype;
use polariscope_graph::{ZooOptions, parse_file};

use super::*;
use crate::run::Tangent;

const SINGLE: Kind = Kind {
    dtype: Dtype::F32,
    tangent: Tangent::Carried,
};

fn plan(input: &str, layers: &str) -> StagePlan {
    let file = format!("input = {input}\nparametrisation = \"ntk\"\nlayers = [\n{layers}\n]\n");
    StagePlan::new(&parse_file(&file, "test.toml", &ZooOptions::default()).unwrap()).unwrap()
}

fn conv(rest: &str) -> String {
    format!(r#"{{ op = "conv", channels = 4, kernel = 3, {rest} }}, {{ op = "relu" }}"#)
}

const GAP: &str = r#"{ op = "global-avg-pool" }, { op = "dense", features = 1 }"#;

#[test]
fn stacks_under_a_global_pool_are_maps() {
    for (padding, sums) in [("circular", 0), ("same", 2 * 2 * 20 * 20)] {
        let one = conv(&format!(r#"padding = "{padding}""#));
        let plan = plan("[3, 20, 20]", &format!("{one}, {one}, {GAP}"));
        let maps = PooledStack::of(&plan, &plan.stages[0]).unwrap();
        // s and 1/2s of the input and two layers, every row twice.
        assert_eq!(maps.numbers(), [2 * 3 * 2 * 20 * 20, sums]);
        assert_eq!(maps.displacements(), 400);
        assert!(PooledStack::of(&plan, &plan.stages[1]).is_none());
    }
}

#[test]
fn other_stages_are_fields() {
    let plain = conv(r#"padding = "circular""#);
    for (input, layers) in [
        ("[3, 8, 8]", format!("{plain}, {GAP}")),
        ("[3, 40, 40]", format!("{plain}, {GAP}")),
        (
            "[3, 32, 32]",
            format!("{}, {GAP}", conv(r#"padding = "circular", stride = 2"#)),
        ),
        (
            "[3, 20, 20]",
            format!("{plain}, {}, {GAP}", conv(r#"padding = "same""#)),
        ),
        (
            "[3, 20, 20]",
            format!(r#"{plain}, {{ op = "flatten" }}, {{ op = "dense", features = 1 }}"#),
        ),
    ] {
        let plan = plan(input, &layers);
        assert!(
            PooledStack::of(&plan, &plan.stages[0]).is_none(),
            "{layers}"
        );
    }
}

/// Scales of many layers stay within the range of f32: factors make up for them.
#[test]
fn scales_are_kept_near_one() {
    let one = conv(r#"padding = "circular""#);
    let layers = vec![one; 40].join(", ");
    let plan = plan("[3, 20, 20]", &format!("{layers}, {GAP}"));
    let maps = PooledStack::of(&plan, &plan.stages[0]).unwrap();
    assert!(maps.entries().all(|e| e.scale.log2().abs() <= 20.0));
    assert!(maps.layers.iter().any(|l| l.factor != 1.0));
}

/// Θ is not in the text where it is not wanted.
#[test]
fn the_nngp_alone_carries_no_tangent() {
    let one = conv(r#"padding = "circular""#);
    let alone = Kind {
        tangent: Tangent::Left,
        ..SINGLE
    };
    for input in ["[3, 8, 8]", "[3, 20, 20]"] {
        let plan = plan(input, &format!("{one}, {GAP}"));
        for program in Texts::new(&plan, 0, alone).programs(&plan, alone) {
            let body = program.text.split("__global__").nth(1).unwrap();
            let body = body.split_once('{').unwrap().1;
            assert!(!body.contains("made_t"), "{body}");
        }
    }
}
