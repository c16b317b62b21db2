//! What the page says, from made-up tables.

use polariscope_data::{Dataset, Labels, Split};
use polariscope_diff::Place;
use polariscope_experiment::{Experiment, Row, Table, View};
use polariscope_graph::Shape;

use super::{Law, scored};

fn law() -> Law {
    let split = Split {
        x: vec![0.0; 4],
        y: Labels::Classes(vec![0]),
    };
    Law {
        data: Dataset {
            name: "made-up".into(),
            shape: Shape::Image {
                channels: 1,
                height: 2,
                width: 2,
            },
            classes: 10,
            class_names: Vec::new(),
            train: split.clone(),
            test: split,
        },
        architectures: ["fc-4", "lenet", "cnn", "vgg11", "resnet18"]
            .map(String::from)
            .into(),
        counts: vec![1000, 5000, 50_000],
        compared: vec![5000, 50_000],
        runs: 2,
        seed: 0,
        place: Place::default(),
        known: Vec::new(),
    }
}

/// ε = 0.24 √R exactly, but for an architecture that guesses.
fn table(law: &Law) -> Table {
    let design = law.design();
    let mut table = Table::new(&design);
    for cell in &design.cells {
        let r: f64 = match cell.level("architecture") {
            "fc-4" => 1.0,
            "lenet" => 0.5,
            "cnn" => 0.1,
            "resnet18" => 0.02,
            _ => 0.3,
        };
        let error = match cell.level("architecture") {
            "vgg11" => 0.9,
            _ => 0.24 * r.sqrt(),
        };
        table.rows.push(Row {
            levels: cell.levels.clone(),
            run: cell.run,
            values: vec![error, r, 1.0 / r, r, 1.0, 1.0, 1.0, 1.0, 0.5, 0.3],
        });
    }
    scored(&table)
}

#[test]
fn the_grid_follows_three_and_compares_all() {
    let cells = law().design().cells;
    let count = |name: &str, p: &str| {
        let own = |c: &&polariscope_experiment::Cell| {
            c.level("architecture") == name && c.level("P") == p
        };
        cells.iter().filter(own).count()
    };
    assert_eq!((count("lenet", "1000"), count("cnn", "1000")), (2, 0));
    assert_eq!((count("lenet", "5000"), count("cnn", "5000")), (2, 2));
    assert_eq!((count("lenet", "50000"), count("cnn", "50000")), (2, 1));
}

#[test]
fn a_law_is_found_and_who_learnt_nothing_is_left_out() {
    let law = law();
    let words = law.words(&table(&law));
    assert!(
        words.contains("log R is 1.00") && words.contains("ε ≈ 0.24 R^0.50"),
        "{words}"
    );
    assert!(words.contains("log G is −1.00"), "{words}");
    assert!(
        words.contains("Left out at P = 5000, because they learnt nothing: vgg11."),
        "{words}"
    );
    assert!(!words.contains("P = 1000"), "{words}");
}

/// ResNet-18's R fell 50 times and that of fc-4 not at all.
#[test]
fn claims_are_judged_by_the_change_of_r() {
    let law = law();
    let table = table(&law);
    let verdicts: Vec<_> = law.claims().iter().map(|c| c.judge(&table)).collect();
    assert!(verdicts[0].words.contains("resnet18"));
    assert_eq!(format!("{:?}", verdicts[0].outcome), "Holds");
    let flat = Law {
        architectures: vec!["resnet18".into()],
        ..law
    };
    let mut other = table.clone();
    // R/R_first is the last column.
    other.rows.iter_mut().for_each(|row| row.values[10] = 1.0);
    let verdict = flat.claims()[0].judge(&other);
    assert_eq!(format!("{:?}", verdict.outcome), "Fails");
}
