//! Verdicts of `double-descent` from curves that are made up, and an ensemble that is trained.

use polariscope_experiment::{Cell, Outcome, Table};
use polariscope_landscape_experiments::Trial;

use crate::made_up::{outcomes, table, trial, verdicts, with};

/// Weights of `mlp-2xh` on 10 inputs.
fn weights(h: f64) -> f64 {
    10.0 * h + h * h + h
}

/// Networks that fit from h = 8 on, with this mean error and that of the ensemble.
fn curve(trial: &dyn Trial, error: impl Fn(f64) -> f64, ensemble: impl Fn(f64) -> f64) -> Table {
    table(trial, |cell: &Cell| {
        let h = cell.real("width");
        let n = weights(h);
        vec![
            ("weights", n),
            ("jammed", if h < 8.0 { 1.0 } else { 0.0 }),
            ("steps", if h < 8.0 { 30_000.0 } else { 1e5 / h }),
            ("error", error(n)),
            ("spread", 0.002),
            ("oracle", 0.1),
            ("ensemble", ensemble(n)),
            // ‖f‖² = 5/(N/N* − 1) with N* between 7 and 8.
            (
                "norm",
                5.0 / (n / (weights(7.0) * weights(8.0)).sqrt() - 1.0).abs(),
            ),
            ("scatter", 0.1),
        ]
    })
}

/// A cusp at N* on top of a descent.
fn cusp(n: f64) -> f64 {
    let star = (weights(7.0) * weights(8.0)).sqrt();
    0.1 + 2.0 / n + 0.1 * (-(n / star).ln().abs() * 3.0).exp()
}

#[test]
fn a_cusp_that_the_ensemble_has_not() {
    let trial = trial("double-descent");
    let table = curve(&*trial, cusp, |n| 0.1 + 0.5 / n);
    for verdict in verdicts(&*trial, &table) {
        assert_eq!(verdict.outcome, Outcome::Holds, "{}", verdict.words);
    }
    let words = trial.words(&table);
    assert!(
        words.contains("Networks start to fit at N* = 138 weights"),
        "{words}"
    );
    assert!(words.contains("to the power of -1.00"), "{words}");
    assert_eq!(trial.figures(&table).len(), 2);
}

#[test]
fn a_cusp_elsewhere_that_the_ensemble_shares() {
    let trial = trial("double-descent");
    // Four times beyond N*, on a descent.
    let shared = |n: f64| cusp(n / 4.0);
    let table = curve(&*trial, shared, shared);
    let of = |words: &str| outcomes(&*trial, &table, words);
    assert_eq!(of("peaks within"), [Outcome::Fails]);
    assert_eq!(of("the ensemble errs less"), [Outcome::Fails]);
    assert_eq!(of("stays within 10 %"), [Outcome::Fails]);
}

#[test]
fn without_a_peak_nothing_is_said_of_it() {
    let trial = trial("double-descent");
    let falling = |n: f64| 0.1 + 3.0 / n;
    let table = curve(&*trial, falling, falling);
    for words in [
        "peaks within",
        "the ensemble errs less",
        "the widest networks lose",
    ] {
        assert_eq!(
            outcomes(&*trial, &table, words),
            [Outcome::Undecided],
            "{words}"
        );
    }
    assert!(!trial.words(&table).contains("At the peak"));
}

#[test]
fn without_a_jamming_point_there_is_no_scale() {
    let trial = trial("double-descent");
    let all_fit = table(&*trial, |cell| {
        vec![
            ("weights", weights(cell.real("width"))),
            ("jammed", 0.0),
            ("error", 0.2),
        ]
    });
    assert!(trial.words(&all_fit).contains("N* is not known"));
    assert!(trial.figures(&all_fit).is_empty());
}

/// Two clouds far apart: every network is right, at any moment after the first, and so is their ensemble.
#[test]
fn an_easy_problem() {
    let trial = with("double-descent", |lab| {
        lab.data = "linear?shape=1x2x2&eps=8&train=500&test=100".into();
    });
    let design = trial.design();
    let mut cells = design.cells.iter();
    let values = trial
        .measure(cells.find(|c| c.level("width") == "12").unwrap())
        .unwrap();
    let of = |name: &str| {
        let place = design.measures.iter().position(|m| m == name);
        values[place.unwrap()]
    };
    // 4 · 12 + 12² + 12 weights, 12 + 12 + 1 biases.
    assert_eq!([of("weights"), of("parameters")], [204.0, 229.0]);
    assert_eq!(
        [of("fitted"), of("jammed"), of("error"), of("ensemble")],
        [1.0, 0.0, 0.0, 0.0]
    );
    assert_eq!(of("oracle"), 0.0);
    // Margin 1 is met on the training set, and about so on the test set.
    assert!(of("norm") > 0.5, "{}", of("norm"));
}
