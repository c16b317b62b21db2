//! What the page says, from made-up numbers.

use polariscope_diff::Place;
use polariscope_experiment::{Outcome, Row, Size, View};

use super::*;

fn lab() -> Lab {
    Lab {
        architecture: String::new(),
        data: "stripe?shape=2&train=8&test=20".into(),
        scale: Size::Small,
        runs: Some(3),
        seed: 0,
        place: Place::default(),
    }
}

/// A table where `value` of (measure, h, α̃, run) fills the measures and networks' outputs are `output` of the same.
fn made_up(
    value: impl Fn(&str, f64, f64, u64) -> f64,
    output: impl Fn(f64, f64, u64) -> f64,
) -> (Regimes, Table) {
    let regimes = Regimes::new(&lab());
    let design = regimes.design();
    let mut table = Table::new(&design);
    for cell in &design.cells {
        let (h, c) = (cell.real("h"), cell.real("control"));
        let mut values: Vec<f64> = MEASURES.iter().map(|m| value(m, h, c, cell.run)).collect();
        values.extend((0..KEPT).map(|_| output(h, c, cell.run)));
        table.rows.push(Row {
            levels: cell.levels.clone(),
            run: cell.run,
            values,
        });
    }
    let scores = regimes.scores(&table).unwrap().unwrap();
    (regimes, scores)
}

/// The theory, with a scatter of runs; `power` is that of the kernel where features are learnt, `gain` what lazy training
/// loses in test error.
fn theory(power: f64, gain: f64) -> (Regimes, Table) {
    made_up(
        |measure, h, c, run| {
            let chance = 1.0 + 0.01 * (run as f64 - 1.0);
            let lazy = c >= 10.0;
            let alpha = c / h.sqrt();
            chance
                * match measure {
                    "kernel" if lazy => 100.0 / (h * alpha),
                    "kernel" => 100.0 * c.powf(power),
                    "weights" if lazy => 10.0 / (h * alpha),
                    "weights" => c.powf(-1.0 / 3.0) / h.sqrt(),
                    "first" | "last" => 1.0 / (h.sqrt() * alpha),
                    "middle" => 1.0 / (h * alpha),
                    "half" if lazy => 30.0,
                    "half" => 3.0 * c,
                    "gap" if lazy => 10.0 / c,
                    "error" if lazy => 0.2 + gain,
                    "error" => 0.2,
                    "fitted" => 1.0 / chance,
                    _ => 1.0,
                }
        },
        |h, _, run| [-1.0, 0.5, 0.5][run as usize] / h.sqrt(),
    )
}

#[test]
fn the_theory_is_recognised() {
    let (regimes, table) = theory(-4.0 / 3.0, 0.1);
    for claim in regimes.claims() {
        let verdict = claim.judge(&table);
        assert_eq!(
            verdict.outcome,
            Outcome::Holds,
            "{}: {}",
            verdict.words,
            verdict.rule
        );
    }
    // Three outputs −1, ½, ½ over √h have variance ¾/h: the mean over runs of the measure is ¾.
    let spread = table.mean(&at(30, "1"), "spread").unwrap();
    assert!((spread.value - 0.75).abs() < 1e-12, "{spread:?}");
    let (regimes, table) = theory(-1.0, 0.1);
    let verdicts: Vec<_> = regimes.claims().iter().map(|c| c.judge(&table)).collect();
    let fails: Vec<&str> = verdicts
        .iter()
        .filter(|v| v.outcome == Outcome::Fails)
        .map(|v| v.words.as_str())
        .collect();
    assert_eq!(fails.len(), 2, "{fails:?}");
    assert!(fails.iter().all(|words| words.contains("kernel ~ α̃^−4/3")));
}

#[test]
fn the_winner_is_named_where_the_interval_says_so() {
    let words = |gain| {
        let (regimes, table) = theory(-4.0 / 3.0, gain);
        regimes.words(&table)
    };
    let feature = words(0.1);
    assert!(
        feature.contains("At h = 30 feature learning generalises better"),
        "{feature}"
    );
    assert!(!feature.contains("cannot be told") && !feature.contains("lazy training gen"));
    let lazy = words(-0.1);
    assert!(
        lazy.contains("At h = 100 lazy training generalises better"),
        "{lazy}"
    );
    // Runs scatter by 1 % of 20 %.
    let open = words(0.0);
    assert!(
        open.contains("cannot be told") && !open.contains("generalises better:"),
        "{open}"
    );
}

#[test]
fn networks_that_do_not_fit_are_counted() {
    let (regimes, table) = made_up(
        |measure, h, _, _| match measure {
            "fitted" => f64::from(u8::from(h > 16.0)),
            _ => 1.0,
        },
        |_, _, _| 0.0,
    );
    let words = regimes.words(&table);
    assert!(words.contains("3 of 63 networks did not bring"), "{words}");
    let (regimes, table) = theory(-4.0 / 3.0, 0.1);
    assert!(!regimes.words(&table).contains("did not bring"));
}

/// One cell of each kind on a tiny task: a feature learner moves its kernel by more than its norm, a lazy network stays
/// with its frozen kernel, and at the fixed α layers are looked at.
#[test]
fn cells_are_measured() {
    let regimes = Regimes::new(&lab());
    let design = regimes.design();
    let measured = |h: usize, control: &str| {
        let cell = design
            .cells
            .iter()
            .find(|c| c.number("h") == h && c.level("control") == control);
        regimes.measure(cell.unwrap()).unwrap()
    };
    let of = |values: &[f64], measure: &str| {
        values[MEASURES.iter().position(|m| *m == measure).unwrap()]
    };
    let feature = measured(30, "0.1");
    assert!(of(&feature, "kernel") > 1.0 && of(&feature, "gap").is_nan());
    assert_eq!(of(&feature, "fitted"), 1.0);
    let lazy = measured(30, "100000");
    assert!(of(&lazy, "kernel") < 1e-2 && of(&lazy, "gap") < 1e-2);
    assert!(of(&lazy, "first").is_nan() && of(&lazy, "half") > 0.0);
    let fixed = measured(16, "4000");
    assert!(of(&fixed, "middle") > 0.0 && of(&fixed, "middle") < of(&fixed, "last"));
    assert_eq!(fixed.len(), MEASURES.len() + KEPT);
}

/// Data without two classes or without a test set are refused in one line.
#[test]
fn other_data_are_refused() {
    let mut data = lab().samples().unwrap();
    data.classes = 3;
    let refused = crate::lazy::binary(data).unwrap_err().to_string();
    assert!(refused.contains("has 3 classes; two classes"), "{refused}");
    let lab = Lab {
        data: "stripe?shape=2&train=8&test=0".into(),
        ..lab()
    };
    let regimes = Regimes::new(&lab);
    let refused = regimes.measure(&regimes.design().cells[0]).unwrap_err();
    assert!(refused.to_string().contains("no test samples"), "{refused}");
    assert!(refused.is_usage());
}
