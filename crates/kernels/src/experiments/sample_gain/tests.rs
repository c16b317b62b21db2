//! Gains that were made up, and a small cell.

use polariscope_experiment::{Outcome, Row, Table, View};

use super::*;

fn small() -> SampleGain {
    SampleGain {
        sizes: vec![16, 32, 64, 128],
        test: 300,
        runs: 3,
        seed: 0,
    }
}

/// A table in which every gain is `share` of |G|, but for chance.
fn made_up(experiment: &SampleGain, share: f64) -> Table {
    let design = experiment.design();
    let mut table = Table::new(&design);
    for cell in &design.cells {
        let order = Group::of(cell.level("group")).permutations().order() as f64;
        let share = share * (1.0 + 0.01 * cell.run as f64);
        let error = |factor: f64| {
            let sizes = experiment.sizes.iter();
            sizes.map(move |&p| (factor * p as f64).powf(-0.5))
        };
        let own = [share * order, share].into_iter();
        table.rows.push(Row {
            levels: cell.levels.clone(),
            run: cell.run,
            values: own.chain(error(1.0)).chain(error(share * order)).collect(),
        });
    }
    table
}

#[test]
fn claims_hold_near_the_order_of_the_group_alone() {
    let experiment = small();
    let outcomes = |share| -> Vec<Outcome> {
        let table = made_up(&experiment, share);
        let claims = experiment.claims();
        claims.iter().map(|c| c.judge(&table).outcome).collect()
    };
    assert_eq!(outcomes(0.8), [Outcome::Holds; 6]);
    assert_eq!(outcomes(0.4), [Outcome::Fails; 6]);
    assert_eq!(outcomes(1.4), [Outcome::Fails; 6]);
    let table = made_up(&experiment, 0.8);
    let words = experiment.words(&table);
    assert!(
        words.contains("shifts of 8 6.46 ± 0.04 and 6.46 ± 0.04"),
        "{words}"
    );
    assert!(words.contains("14 of 14 are below"), "{words}");
    let beyond = experiment.words(&made_up(&experiment, 1.2));
    assert!(beyond.contains("0 of 14 are below"), "{beyond}");
    assert_eq!(experiment.figures(&table).len(), 2);
    assert_eq!(experiment.summary(&table).rows.len(), 14);
}

/// Four shifts of four numbers: more than nothing and at most about 4, for both targets; 2⁷ samples and less are few.
#[test]
fn a_small_cell() {
    let experiment = small();
    for cell in experiment.design().cells.iter().take(2) {
        let values = experiment.measure(cell).unwrap();
        assert!((1.5..5.5).contains(&values[0]), "{values:?}");
        assert_eq!(values[1], values[0] / 4.0);
        // Both learn, and the averaged kernel is ahead at every P.
        let (plain, averaged) = values[2..].split_at(4);
        assert!(plain[3] < plain[0] && averaged[3] < averaged[0]);
        assert!(plain.iter().zip(averaged).all(|(p, a)| a < p), "{values:?}");
    }
}
