//! Experiments at their small scale, and tables whose numbers are made up.

use std::collections::HashMap;

use polariscope_diff::Place;
use polariscope_experiment::{Cell, Outcome, Row, Size, Table, Verdict};
use polariscope_landscape_experiments::{Lab, Trial, entry};

/// An experiment as its entry makes it.
pub fn trial(name: &str) -> Box<dyn Trial> {
    with(name, |_| {})
}

/// The same with other settings.
pub fn with(name: &str, change: impl FnOnce(&mut Lab)) -> Box<dyn Trial> {
    let entry = entry(name).unwrap();
    let mut lab = Lab {
        architecture: entry.architecture.unwrap_or_default().into(),
        data: entry.data.unwrap_or_default().into(),
        scale: Size::Small,
        runs: None,
        seed: 0,
        place: Place::default(),
    };
    change(&mut lab);
    (entry.make)(&lab).unwrap()
}

/// The table of a design with these numbers; measures that are not named are NaN.
pub fn table(trial: &dyn Trial, of: impl Fn(&Cell) -> Vec<(&'static str, f64)>) -> Table {
    let design = trial.design();
    let mut table = Table::new(&design);
    for cell in &design.cells {
        let numbers: HashMap<&str, f64> = of(cell).into_iter().collect();
        for name in numbers.keys() {
            assert!(design.measures.iter().any(|m| m == name), "{name}");
        }
        let measures = design.measures.iter();
        table.rows.push(Row {
            levels: cell.levels.clone(),
            run: cell.run,
            values: measures
                .map(|m| numbers.get(m.as_str()).copied().unwrap_or(f64::NAN))
                .collect(),
        });
    }
    trial.scores(&table).unwrap().unwrap_or(table)
}

pub fn verdicts(trial: &dyn Trial, table: &Table) -> Vec<Verdict> {
    trial.claims().iter().map(|c| c.judge(table)).collect()
}

/// What came of the claims whose words contain this.
pub fn outcomes(trial: &dyn Trial, table: &Table, words: &str) -> Vec<Outcome> {
    let all = verdicts(trial, table).into_iter();
    let found: Vec<Outcome> = all
        .filter(|v| v.words.contains(words))
        .map(|v| v.outcome)
        .collect();
    assert!(!found.is_empty(), "no claim says '{words}'");
    found
}
