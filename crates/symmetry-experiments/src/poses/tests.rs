//! Groups by hand, what is built in, made-up accuracies, and a small cell.

use polariscope_data::{Action, Labels};
use polariscope_experiment::{Outcome, Row, Table, View};
use polariscope_graph::Shape;

use super::*;

const SHAPE: Shape = Shape::Image {
    channels: 1,
    height: 8,
    width: 8,
};

/// Images of noise; in class 1 the upper half is bright, in class 0 the lower.
fn split(name: &str, count: usize) -> Split {
    let mut x = vec![0.0_f32; count * 64];
    Stream::new(1, 0, name).normal(0.3, &mut x);
    let y: Vec<u32> = (0..count as u32).map(|i| i % 2).collect();
    for (x, y) in x.chunks_exact_mut(64).zip(&y) {
        let bright = if *y == 1 { &mut x[..32] } else { &mut x[32..] };
        bright.iter_mut().for_each(|x| *x += 1.0);
    }
    Split {
        x,
        y: Labels::Classes(y),
    }
}

fn poses(names: &[&str], architectures: &[&str]) -> Poses {
    let data = Dataset {
        name: "planted".into(),
        shape: SHAPE,
        classes: 2,
        class_names: ["0", "1"].map(String::from).into(),
        train: split("train", 200),
        test: split("test", 100),
    };
    let sizes = Sizes {
        runs: 3,
        train: 160,
        test: 100,
        epochs: 5,
    };
    let poses: Vec<Pose> = names.iter().map(|pose| pose.parse().unwrap()).collect();
    let architectures: Vec<String> = architectures.iter().map(|a| a.to_string()).collect();
    Poses::new(data, &architectures, &poses, sizes, (0, Place::default())).unwrap()
}

#[test]
fn groups_by_hand() {
    let elements = |pose: &str| {
        let pose: Pose = pose.parse().unwrap();
        pose.elements(SHAPE).map(|e| e.len() + 1)
    };
    for (pose, order) in [
        ("upright", 1),
        ("flip", 2),
        ("transpose", 2),
        ("turn:90", 4),
        ("turn:180", 2),
        ("turn:1", 360),
        ("cyclic:1", 8),
        ("cyclic:2:1", 8),
        ("cyclic:4:2", 4),
    ] {
        assert_eq!(elements(pose).unwrap(), order, "{pose}");
    }
    for pose in ["turn:7", "shift:1", "scale:1.2", "jitter:0.2"] {
        let refused = elements(pose).unwrap_err().to_string();
        assert!(
            refused.contains(pose) && refused.contains("turn:90"),
            "{refused}"
        );
    }
}

/// Every image is one of its four turns, each about as often: 200 draws with mean 50 and standard deviation 6.
#[test]
fn images_are_moved_by_all_elements() {
    let split = split("train", 200);
    let pose: Pose = "turn:90".parse().unwrap();
    let seen = pose.seen(SHAPE, &split, (0, 0, "moves")).unwrap();
    assert_eq!(seen.y, split.y);
    let turns = [90.0, 180.0, 270.0].map(|degrees| {
        let turn = Action::Turn { degrees };
        turn.apply(SHAPE, &split.x, 0).unwrap()
    });
    let image = |x: &[f32], i: usize| x[i * 64..][..64].to_vec();
    let mut counts = [0; 4];
    for i in 0..200 {
        let all = [&split.x, &turns[0], &turns[1], &turns[2]];
        let which = all.iter().position(|x| image(x, i) == image(&seen.x, i));
        counts[which.unwrap()] += 1;
    }
    assert!(counts.iter().all(|c| (26..75).contains(c)), "{counts:?}");
    let again = pose.seen(SHAPE, &split, (0, 0, "moves")).unwrap();
    assert_eq!(again.x, seen.x);
    let other = pose.seen(SHAPE, &split, (0, 1, "moves")).unwrap();
    assert_ne!(other.x, seen.x);
    assert_eq!(
        Pose::Upright.seen(SHAPE, &split, (0, 0, "moves")).unwrap(),
        split
    );
}

/// Group convolutions over p4 have quarter turns built in and mirror images not, over p4m both; plain ones and dense layers
/// have none.
#[test]
fn what_is_built_in() {
    let experiment = poses(
        &["turn:90", "flip", "turn:1"],
        &["cnn", "p4-cnn", "p4m-cnn", "mlp-1x8"],
    );
    let found: Vec<&[bool]> = experiment
        .networks
        .iter()
        .map(|n| &n.built_in[1..])
        .collect();
    assert_eq!(
        found,
        [
            [false, false, false],
            [true, false, false],
            [true, true, false],
            [false, false, false]
        ]
    );
}

/// A table in which `p4-cnn` loses `lost` and `cnn` a tenth on turned images that it has not seen.
fn made_up(experiment: &Poses, lost: f64) -> Table {
    let design = experiment.design();
    let mut table = Table::new(&design);
    for cell in &design.cells {
        let chance = 0.001 * cell.run as f64;
        let seen = ["architecture", "train", "test"].map(|factor| cell.level(factor));
        let fall = match seen {
            ["p4-cnn", "upright", "turn:90"] => lost,
            ["cnn", "upright", "turn:90"] => 0.1 + chance,
            _ => 0.0,
        };
        table.rows.push(Row {
            levels: cell.levels.clone(),
            run: cell.run,
            values: vec![0.9 + chance - fall],
        });
    }
    table
}

#[test]
fn claims_need_their_differences() {
    let experiment = poses(&["turn:90"], &["cnn", "p4-cnn"]);
    let outcomes = |table: &Table| -> Vec<Outcome> {
        let claims = experiment.claims();
        claims.iter().map(|c| c.judge(table).outcome).collect()
    };
    let table = made_up(&experiment, 0.0);
    assert_eq!(outcomes(&table), [Outcome::Holds; 3]);
    let words = experiment.words(&table);
    assert!(
        words.contains("p4-cnn (turn:90 built in): trained upright 90.10 ± 0.06 % on upright"),
        "{words}"
    );
    assert!(
        !words.contains("cnn (turn:90 built in): trained upright 80"),
        "{words}"
    );
    assert_eq!(experiment.figures(&table).len(), 1);
    assert_eq!(experiment.summary(&table).rows.len(), 4);
    let table = made_up(&experiment, 0.02);
    let wanted = [Outcome::Holds, Outcome::Holds, Outcome::Fails];
    assert_eq!(outcomes(&table), wanted);
    // The sentence for what is built in is there where something is.
    assert!(
        experiment
            .answers()
            .yes
            .contains("never seen is that on upright")
    );
    let plain = poses(&["turn:90"], &["cnn"]);
    assert!(
        !plain
            .answers()
            .yes
            .contains("Where the symmetry is built in")
    );
}

/// Halves tell the classes apart while they stay in place. Turned upside down they trade places: a dense network that has
/// learnt upright images is wrong on half of those that are upright or upside down. Mirror images it does not mind.
#[test]
fn a_small_cell() {
    let experiment = poses(&["turn:180", "flip"], &["mlp-1x8"]);
    let design = experiment.design();
    let measured = design.cells[..3].iter().map(|cell| {
        assert_eq!(cell.level("train"), "upright");
        experiment.measure(cell).unwrap()[0]
    });
    let values: Vec<f64> = measured.collect();
    assert!(values[0] > 0.95 && values[2] > 0.95, "{values:?}");
    assert!((0.3..0.7).contains(&values[1]), "{values:?}");
}
