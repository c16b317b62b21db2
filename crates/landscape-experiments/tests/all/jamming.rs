//! Verdicts and words of `jamming` from tables that are made up, and one run.

use polariscope_experiment::{Cell, Outcome, Table};
use polariscope_landscape_experiments::Trial;

use crate::made_up::{outcomes, table, trial, verdicts};

/// Jams from a ratio on, which tanh has later: there N_Δ/N is `height`, with a share of misclassified patterns.
fn jams(trial: &dyn Trial, [relu, tanh]: [f64; 2], height: f64, share: f64) -> Table {
    table(trial, |cell: &Cell| {
        let from = if cell.level("activation") == "relu" {
            relu
        } else {
            tanh
        };
        let jammed = cell.real("ratio") >= from;
        let when = |value: f64| if jammed { value } else { f64::NAN };
        let height = if jammed { height } else { 0.0 };
        vec![
            ("unsatisfied", 666.0 * height),
            ("height", height),
            ("fall", if jammed { 0.9 } else { 0.0 }),
            ("fits", f64::from(u8::from(!jammed))),
            ("loss", if jammed { 1e-3 } else { 1e-10 }),
            ("wrong", share * height),
            ("jump", when(height)),
            ("share", when(share)),
        ]
    })
}

#[test]
fn a_jump_is_a_jump() {
    let trial = trial("jamming");
    let table = jams(&*trial, [2.9, 4.2], 0.8, 0.1);
    for verdict in verdicts(&*trial, &table) {
        assert_eq!(verdict.outcome, Outcome::Holds, "{}", verdict.words);
    }
    let words = trial.words(&table);
    assert!(
        words.contains("With relu all runs fit up to 2.8 patterns a weight, none from 3.0 on."),
        "{words}"
    );
    assert!(
        words.contains("N_Δ/N lies between 0.80 and 0.80 (6 runs)"),
        "{words}"
    );
    assert!(
        !words.contains("dead") && !words.contains("falling"),
        "{words}"
    );
    assert_eq!(trial.figures(&table).len(), 3);
}

#[test]
fn a_smooth_rise_is_none() {
    let trial = trial("jamming");
    let table = jams(&*trial, [2.0, 2.0], 0.2, 0.6);
    for verdict in verdicts(&*trial, &table) {
        let wanted = match verdict.words.as_str() {
            words if words.contains("no network fits") => Outcome::Holds,
            // Neither fits ever: nothing tells them apart.
            words if words.contains("more often") => Outcome::Undecided,
            _ => Outcome::Fails,
        };
        assert_eq!(verdict.outcome, wanted, "{}", verdict.words);
    }
    assert!(!trial.words(&table).contains("all runs fit"));
}

#[test]
fn dead_patterns_and_falling_losses_are_told_apart() {
    let trial = trial("jamming");
    let apart = table(&*trial, |cell: &Cell| {
        let number = |frozen: f64, unsatisfied: f64, fall: f64| {
            vec![
                ("unsatisfied", unsatisfied),
                ("frozen", frozen),
                ("height", (unsatisfied - frozen) / 666.0),
                ("fits", f64::from(u8::from(unsatisfied == frozen))),
                ("fall", fall),
            ]
        };
        match (cell.level("activation"), cell.run) {
            ("relu", 0) => number(3.0, 3.0, 1.0),
            ("relu", _) => number(0.0, 0.0, 0.0),
            (_, 0) => number(0.0, 200.0, 0.1),
            _ => number(0.0, 200.0, 0.9),
        }
    });
    let words = trial.words(&apart);
    assert!(
        words.contains("In 6 runs the only patterns not learnt are dead"),
        "{words}"
    );
    assert!(
        words.contains("In 6 runs the loss was still falling"),
        "{words}"
    );
    let rows = trial.summary(&apart).rows;
    assert_eq!(rows[0][2], "2 fit, 1 fit but for dead patterns");
    assert!(rows.iter().any(|r| r[2] == "1 still falling, 2 jammed"));
    // What is dead is not held against a network.
    let fits = outcomes(&*trial, &apart, "relu: every network fits");
    assert_eq!(fits, [Outcome::Holds]);
}

/// d = h = 14 with tanh at 3 patterns a weight, run 0: known to fit, with N = 14² · 2 + 14.
#[test]
fn a_run_fits() {
    let trial = trial("jamming");
    let design = trial.design();
    let mut cells = design.cells.iter();
    let easy = |c: &&Cell| c.level("activation") == "tanh" && c.level("ratio") == "3.0";
    let values = trial.measure(cells.find(easy).unwrap()).unwrap();
    let of = |name: &str| {
        let place = design.measures.iter().position(|m| m == name);
        values[place.unwrap()]
    };
    assert_eq!([of("weights"), of("parameters")], [406.0, 406.0 + 29.0]);
    assert_eq!(of("patterns"), 1218.0);
    assert_eq!(
        [of("unsatisfied"), of("height"), of("fits"), of("fall")],
        [0.0, 0.0, 1.0, 0.0]
    );
    // Every gap is below 10⁻⁴, and L = ⟨gap²⟩.
    assert!(of("loss") < 1e-8);
    assert!(of("jump").is_nan() && of("steps") < 40_000.0);
}
