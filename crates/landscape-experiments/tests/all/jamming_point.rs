//! Verdicts of `jamming-point` from tables that are made up, and a bracket that is measured.

use polariscope_diff::Place;
use polariscope_experiment::{Cell, Outcome, Size, Table};
use polariscope_landscape_experiments::{Lab, Trial, entry};

use crate::made_up::{outcomes, table, trial, verdicts, with};

/// N* of random labels is P/2.8 to a power; tanh needs fewer, true labels a part that P decides.
fn made_up(trial: &dyn Trial, power: f64, tanh: f64, share: impl Fn(f64) -> f64) -> Table {
    table(trial, |cell: &Cell| {
        let p = cell.real("P");
        let scatter = 1.0 + 0.01 * cell.run as f64;
        let random = (2_000.0 / 2.8) * (p / 2_000.0).powf(power) * scatter;
        let star = match (cell.level("labels"), cell.level("activation")) {
            ("true", _) => share(p) * random,
            (_, "tanh") => random / tanh,
            _ => random,
        };
        vec![("star", star), ("ratio", p / star), ("fits", star)]
    })
}

#[test]
fn random_labels_in_proportion_and_a_rule_that_saves() {
    let trial = trial("jamming-point");
    let table = made_up(&*trial, 1.0, 1.5, |p| 30.0 / p.sqrt());
    for verdict in verdicts(&*trial, &table) {
        let wanted = match verdict.words.as_str() {
            // 30/√200 > 1.
            "mlp-2, P = 200: true labels need fewer weights than random ones"
            | "mlp-2, P = 400: true labels need fewer weights than random ones"
            | "mlp-2, P = 800: true labels need fewer weights than random ones"
            | "mlp-3, P = 400: true labels need fewer weights than random ones" => Outcome::Fails,
            _ => Outcome::Holds,
        };
        assert_eq!(verdict.outcome, wanted, "{}", verdict.words);
    }
    let words = trial.words(&table);
    assert!(
        words.contains("N*_true/N*_random, of mlp-2: 2.12"),
        "{words}"
    );
    assert!(words.contains("0.75 at P = 1600"), "{words}");
    assert_eq!(trial.figures(&table).len(), 2);
}

#[test]
fn another_power_is_shown_wrong() {
    let trial = trial("jamming-point");
    let table = made_up(&*trial, 0.3, 0.8, |_| 1.2);
    assert_eq!(
        outcomes(&*trial, &table, "to the power"),
        [Outcome::Fails; 2]
    );
    assert_eq!(
        outcomes(&*trial, &table, "true labels need fewer"),
        [Outcome::Fails; 6]
    );
    assert_eq!(
        outcomes(&*trial, &table, "tanh fits more"),
        [Outcome::Fails]
    );
    assert_eq!(
        outcomes(&*trial, &table, "falls with P"),
        [Outcome::Undecided]
    );
}

/// 200 points of two clouds far apart: one or two units do, and N* is no more than their weights.
#[test]
fn an_easy_rule_needs_few_weights() {
    let trial = with("jamming-point", |lab| {
        lab.data = "linear?shape=1x2x2&eps=8&train=1600&test=0".into();
    });
    let design = trial.design();
    let easy = |c: &&Cell| c.level("labels") == "true" && c.level("P") == "200";
    let cell = design.cells.iter().find(easy).unwrap();
    let values = trial.measure(cell).unwrap();
    let of = |name: &str| {
        let place = design.measures.iter().position(|m| m == name);
        values[place.unwrap()]
    };
    // 4h + h² + h weights and 2h + 1 biases.
    let h = of("width");
    assert!(h <= 2.0, "{values:?}");
    assert_eq!(
        [of("fits"), of("parameters")],
        [5.0 * h + h * h, 7.0 * h + h * h + 1.0]
    );
    assert!(of("star") <= of("fits") && of("ratio") == 200.0 / of("star"));
}

#[test]
fn data_that_do_not_do_are_refused() {
    let refused = |data: &str| {
        let trial = with("jamming-point", |lab| lab.data = data.into());
        trial.prepare().unwrap_err().to_string()
    };
    let few = refused("stripe?train=100&test=0");
    assert!(
        few.contains("100 training samples") && few.contains("1600 or more"),
        "{few}"
    );
}

/// An architecture of the zoo whose width is open is scanned like the others, without a deeper one.
#[test]
fn other_architectures() {
    let trial = with("jamming-point", |lab| {
        lab.architecture = "cnn-gap".into();
        lab.data = "stripe?shape=1x4x4&train=1600&test=0".into();
    });
    let design = trial.design();
    assert!(design.cells.iter().all(|c| c.level("network") == "cnn-gap"));
    assert!(design.cells.iter().all(|c| c.level("labels") != "sphere"));
    let lab = Lab {
        architecture: "lenet".into(),
        data: String::new(),
        scale: Size::Small,
        runs: None,
        seed: 0,
        place: Place::default(),
    };
    let refused = (entry("jamming-point").unwrap().make)(&lab);
    assert!(
        refused.is_err_and(|e| e.is_usage()),
        "lenet has no width to scan"
    );
}
