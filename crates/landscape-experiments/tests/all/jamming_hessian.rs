//! Verdicts and words of `jamming-hessian` from tables that are made up.

use polariscope_experiment::{Cell, Outcome, Table};
use polariscope_landscape_experiments::Trial;

use crate::made_up::{table, trial, verdicts};

/// Modes as theory and the literature have them, but for what `change` replaces in relu rows.
fn made_up(trial: &dyn Trial, change: &[(&'static str, f64)]) -> Table {
    table(trial, |cell: &Cell| {
        let relu = cell.level("activation") == "relu";
        let mut numbers = vec![
            ("dead", 0.0),
            ("height", 0.9),
            ("further", 0.0),
            ("trace", 0.0),
            ("balance", if relu { 1.0 } else { 0.8 }),
            ("negative", if relu { 0.12 } else { 0.02 }),
            ("downward", if relu { 0.49 } else { 0.45 }),
            ("cusps-near", 0.21),
            ("cusps-far", 0.25),
            ("lost", 0.0),
            ("theta", 0.25 + 0.01 * cell.run as f64),
            ("gamma", -0.15 - 0.01 * cell.run as f64),
        ];
        if relu {
            for (name, value) in &mut numbers {
                let changed = change.iter().find(|(n, _)| n == name);
                *value = changed.map_or(*value, |(_, v)| *v);
            }
        }
        numbers
    })
}

#[test]
fn all_that_theory_says() {
    let trial = trial("jamming-hessian");
    let table = made_up(&*trial, &[]);
    for verdict in verdicts(&*trial, &table) {
        assert_eq!(verdict.outcome, Outcome::Holds, "{}", verdict.words);
    }
    let words = trial.words(&table);
    assert!(
        words.contains("With relu (20 runs) 12 % of the modes of H are negative"),
        "{words}"
    );
    assert!(
        words.contains("no claim rests on") && !words.contains("dead"),
        "{words}"
    );
    assert_eq!(
        (
            trial.figures(&table).len(),
            trial.summary(&table).rows.len()
        ),
        (1, 2)
    );
}

#[test]
fn each_number_has_its_claim() {
    let trial = trial("jamming-hessian");
    for (name, value, claims) in [
        ("further", 1.0, 1),
        ("trace", 1e-9, 1),
        ("balance", 0.9, 1),
        ("negative", 0.03, 1),
        ("cusps-near", 0.1, 1),
        ("cusps-far", 0.4, 1),
        ("lost", 2.0, 1),
        // Of tanh alone.
        ("downward", 0.3, 0),
    ] {
        let table = made_up(&*trial, &[(name, value)]);
        let verdicts = verdicts(&*trial, &table);
        let failed = verdicts.iter().filter(|v| v.outcome == Outcome::Fails);
        assert_eq!(failed.count(), claims, "{name}");
    }
}

/// Runs with dead patterns have no other numbers.
#[test]
fn dead_patterns_are_said() {
    let trial = trial("jamming-hessian");
    let table = table(&*trial, |cell| match (cell.level("activation"), cell.run) {
        ("relu", 0) => vec![("dead", 3.0)],
        ("relu", _) => vec![("dead", 0.0), ("negative", 0.1), ("downward", 0.5)],
        _ => vec![("dead", 1.0)],
    });
    let words = trial.words(&table);
    assert!(
        words.contains("1 run with dead patterns left out"),
        "{words}"
    );
    assert!(
        words.contains("With tanh there is no run without dead patterns"),
        "{words}"
    );
    assert!(!words.contains("no claim rests on"), "{words}");
}
