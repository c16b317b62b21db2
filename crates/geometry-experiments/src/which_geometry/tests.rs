//! What the page says, from made-up accuracies.

use polariscope_diff::Place;
use polariscope_experiment::{Outcome, View};
use polariscope_random::Stream;

use super::*;
use crate::Scale;

fn trial(sigma: Option<f64>) -> WhichGeometry {
    let lab = Lab {
        architecture: "lenet".into(),
        scale: Scale::Small,
        runs: None,
        seed: 0,
        place: Place::default(),
        cifar: None,
        sigma,
        known: Vec::new(),
    };
    WhichGeometry {
        candidates: Candidates::of(&lab).unwrap(),
        directions: drawn(0, 64),
        lab,
    }
}

/// Direction k of 64 has accuracy `y(k)` in both runs; geometry `coherent` is `score(k)`, `local` noise.
fn scored(trial: &WhichGeometry, y: impl Fn(f64, u64) -> f64, score: impl Fn(f64) -> f64) -> Table {
    let design = Design {
        factors: text(["stage", "sigma", "direction", "a", "b", "phase"]).into(),
        measures: text(["accuracy", "coherent", "local"]),
        cells: Vec::new(),
    };
    let mut noise = vec![0.0; 64];
    Stream::new(7, 0, "noise").normal(1.0, &mut noise);
    let mut table = Table::new(&design);
    for cell in &trial.main(1.0).cells {
        let at = trial
            .directions
            .iter()
            .position(|&d| d == cell.number("direction"));
        let k = at.unwrap();
        table.rows.push(Row {
            levels: [&cell.levels[..], &frequency(cell.number("direction"))].concat(),
            run: cell.run,
            values: vec![y(k as f64, cell.run), score(k as f64), f64::from(noise[k])],
        });
    }
    table
}

#[test]
fn a_winner_is_named() {
    let trial = trial(Some(1.0));
    let table = scored(&trial, |k, _| 0.5 + k / 128.0, |k| k * k);
    let words = trial.words(&table);
    assert!(
        words.contains("coherent is the best: Spearman's ρ 1.00"),
        "{words}"
    );
    assert!(words.contains("32 of 64 reach 75 %"), "{words}");
    assert!(words.contains("orders 16 of them with 1.00"), "{words}");
    assert!(
        !words.contains("tied") && !words.contains("alike"),
        "{words}"
    );
    let better = trial
        .claims()
        .into_iter()
        .find(|c| c.words.contains("better than local"));
    assert_eq!(better.unwrap().judge(&table).outcome, Outcome::Holds);
    // What was not found is not judged.
    let missing = trial
        .claims()
        .into_iter()
        .find(|c| c.words.contains("by gelu"));
    assert_eq!(missing.unwrap().judge(&table).outcome, Outcome::Undecided);
    assert_eq!(trial.summary(&table).rows.len(), 3);
    assert_eq!(trial.figures(&table).len(), 3);
}

#[test]
fn geometries_that_say_the_same_are_tied() {
    let trial = trial(Some(1.0));
    let mut table = scored(&trial, |k, _| 0.5 + k / 128.0, |k| k);
    for row in &mut table.rows {
        row.values[2] = row.values[1] * if row.values[1] == 9.0 { 1.2 } else { 1.0 };
    }
    let words = trial.words(&table);
    assert!(words.contains("tied with local"), "{words}");
    assert!(!words.contains("is the best"), "{words}");
}

#[test]
fn no_correlation_where_all_is_learnt_alike() {
    let trial = trial(Some(1.0));
    // Within 5 points.
    let near = scored(&trial, |k, _| 0.95 + k / 64.0 * 0.04, |k| k);
    // Further apart, but as far between seeds.
    let wave = |k: f64, run: u64| 0.8 + 0.06 * (12.3 * k + 40.7 * run as f64).sin();
    let noisy = scored(&trial, wave, |k| k);
    for table in [near, noisy] {
        let words = trial.words(&table);
        assert!(words.contains("learns all 64 directions alike"), "{words}");
        assert!(!words.contains("Spearman"), "{words}");
        for claim in trial.claims() {
            let verdict = claim.judge(&table);
            assert_eq!(
                (verdict.statistic, verdict.outcome),
                (None, Outcome::Undecided)
            );
        }
        assert_eq!(trial.summary(&table).columns.len(), 2);
    }
}

/// Pilots first; then all directions once and sixteen twice, at the σ that the pilots settle. Nothing is asked for twice.
#[test]
fn pilots_settle_sigma() {
    let trial = trial(None);
    let first = trial.design();
    assert_eq!(first.cells.len(), PILOTS);
    assert!(
        first
            .cells
            .iter()
            .all(|c| c.level("stage") == PILOT && c.level("sigma") == "1")
    );
    let mut table = Table::new(&first);
    let learn = |cell: &Cell| Ok::<_, ()>(vec![if cell.real("sigma") < 1.5 { 0.99 } else { 0.8 }]);
    let mut stages = Vec::new();
    let mut next = Some(first);
    while let Some(design) = next {
        stages.push((design.cells[0].levels[..2].concat(), design.cells.len()));
        design
            .fill(&mut table, 1, learn, |_| {}, |_| Ok(()))
            .unwrap();
        next = trial.follow(&table);
    }
    let wanted = [
        ("pilot1", PILOTS),
        ("pilot2", PILOTS),
        ("main2", 64 + TWICE),
    ];
    assert_eq!(
        stages,
        wanted.map(|(stage, cells)| (stage.to_string(), cells))
    );
    assert!(
        trial
            .words(&table)
            .contains("σ = 2, where the median of the pilots is 80 %")
    );
}
