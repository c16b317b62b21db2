//! Shares by hand, what claims and words make of made-up numbers, and one cell.

use polariscope_diff::Place;
use polariscope_experiment::{Outcome, Size, View};
use polariscope_graph::{ZooOptions, parse_file};

use super::*;

fn pca(data: &str) -> KernelPca {
    KernelPca::new(&Lab {
        architecture: String::new(),
        data: data.into(),
        scale: Size::Small,
        runs: Some(3),
        seed: 0,
        place: Place::default(),
    })
}

/// f = w·x with orthogonal inputs (2, 0) and (0, 1): eigenvectors are the samples, of eigenvalues 4 and 1; labels ±1 have
/// half of their square on either.
#[test]
fn shares_by_hand() {
    let text = "input = [2]\nlayers = [{ op = \"dense\", features = 1, bias = false }]";
    let graph = parse_file(text, "test.toml", &ZooOptions::default()).unwrap();
    let weights = Weights {
        values: vec![vec![0.3, 0.4]],
    };
    let found = shares(&graph, &weights, &[2.0, 0.0, 0.0, 1.0], &[1, 0]).unwrap();
    assert!((found[0] - 0.5).abs() < 1e-12 && (found[1] - 1.0).abs() < 1e-12);
    // Equal inputs: one eigenvector (1, 1)/√2, and labels (1, −1) have nothing on it.
    let found = shares(&graph, &weights, &[1.0, 0.0, 1.0, 0.0], &[1, 0]).unwrap();
    assert!(found[0] < 1e-12 && (found[1] - 1.0).abs() < 1e-12);
}

/// Shares of `before` and `after` of the labels on any number of eigenvectors where features are learnt, the same in lazy
/// training; errors of the network, of the initial kernel and of the final one.
fn made_up(after: f64, [net, initial, last]: [f64; 3]) -> (KernelPca, Table) {
    let pca = pca("stripe?shape=2&train=8&test=20");
    let design = pca.design();
    let mut table = Table::new(&design);
    for cell in &design.cells {
        let chance = 0.001 * cell.run as f64;
        let feature = cell.level("regime") == "feature";
        let shares = |x: f64| [x + chance; FIRST.len()];
        let values = match feature {
            true => [
                &[net, initial + chance, last + chance, 1.0][..],
                &shares(0.3),
                &shares(after + chance),
            ],
            false => [
                &[0.3, 0.3 + chance, 0.3, 1.0][..],
                &shares(0.3),
                &shares(0.3),
            ],
        };
        table.rows.push(Row {
            levels: cell.levels.clone(),
            run: cell.run,
            values: values.concat(),
        });
    }
    let tidy = pca.scores(&table).unwrap().unwrap();
    (pca, tidy)
}

#[test]
fn claims_and_words() {
    let outcomes = |(pca, table): (KernelPca, Table)| -> Vec<Outcome> {
        let claims = pca.claims();
        claims.iter().map(|c| c.judge(&table).outcome).collect()
    };
    use Outcome::{Fails, Holds};
    assert_eq!(outcomes(made_up(0.8, [0.1, 0.2, 0.1])), [Holds; 5]);
    let found = outcomes(made_up(0.1, [0.2, 0.1, 0.3]));
    assert_eq!(found, [Fails, Holds, Fails, Fails, Holds]);
    let (pca, table) = made_up(0.8, [0.1, 0.2, 0.1]);
    let words = pca.words(&table);
    assert!(
        words.contains("Feature learning (α̃ = 0.01): the first 10 eigenvectors hold 30.1"),
        "{words}"
    );
    assert!(
        words.contains("feature learning generalises better"),
        "{words}"
    );
    assert!(!words.contains("did not bring"));
    let (pca, table) = made_up(0.8, [0.4, 0.2, 0.1]);
    assert!(
        pca.words(&table)
            .contains("lazy training generalises better")
    );
    assert_eq!(pca.figures(&table).len(), 1);
}

/// In a lazy network of a tiny task the shares hardly move; the largest number of eigenvectors holds everything.
#[test]
fn a_small_cell() {
    let pca = pca("stripe?shape=2&train=8&test=20");
    let design = pca.design();
    let cell = design.cells.iter().find(|c| c.level("regime") == "lazy");
    let values = pca.measure(cell.unwrap()).unwrap();
    let (before, after) = values[4..].split_at(FIRST.len());
    for (a, b) in before.iter().zip(after) {
        assert!((a - b).abs() < 1e-2, "{before:?} {after:?}");
    }
    assert!((before[FIRST.len() - 1] - 1.0).abs() < 1e-9);
    assert!(before.is_sorted());
}
