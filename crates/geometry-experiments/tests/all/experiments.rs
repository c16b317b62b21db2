//! Every experiment has a design that its claims can be judged from, and the small ones say what is known.

use polariscope_diff::Place;
use polariscope_experiment::{Cell, Design, Outcome, Row, Table};
use polariscope_geometry_experiments::{EXPERIMENTS, Lab, Lens, Scale, Trial, entry};

fn lab(name: &str) -> Lab {
    Lab {
        architecture: entry(name).unwrap().architecture.into(),
        scale: Scale::Small,
        runs: None,
        seed: 0,
        place: Place::default(),
        cifar: None,
        sigma: None,
        known: Vec::new(),
    }
}

fn trial(lab: &Lab, name: &str) -> Box<dyn Trial> {
    (entry(name).unwrap().make)(lab).unwrap()
}

fn fill(trial: &dyn Trial, keep: impl Fn(&Cell) -> bool) -> (Design, Table) {
    let design = trial.design().retain(keep);
    let mut table = Table::new(&design);
    trial.prepare().unwrap();
    let measure = |cell: &Cell| trial.measure(cell);
    let done = design.fill(&mut table, 2, measure, |_| {}, |_| Ok(()));
    done.unwrap();
    (design, table)
}

/// Numbers of the right count that differ between rows; every claim finds its rows, and the page its figures.
#[test]
fn claims_and_figures_are_made_from_the_table() {
    // That of which-geometry is made from its table and geometries: it has its own tests.
    for entry in EXPERIMENTS.iter().filter(|e| e.name != "which-geometry") {
        for scale in [Scale::Small, Scale::Paper] {
            let lab = Lab {
                scale,
                ..lab(entry.name)
            };
            let trial = trial(&lab, entry.name);
            let design = trial.design();
            assert_eq!(trial.name(), entry.name);
            let (mut table, width) = (Table::new(&design), design.measures.len());
            let number = |cell: &Cell| {
                let text = format!("{}{}", cell.levels.concat(), cell.run);
                let sum: u32 = text.bytes().map(u32::from).sum();
                f64::from(sum % 97) / 97.0
            };
            let measure = |cell: &Cell| Ok::<_, ()>(vec![number(cell); width]);
            let filled = design.fill(&mut table, 1, measure, |_| {}, |_| Ok(()));
            filled.unwrap();
            for claim in trial.claims() {
                let verdict = claim.judge(&table);
                let name = format!("{} ({scale:?}): {}", entry.name, claim.words);
                assert!(verdict.statistic.is_some(), "{name}");
            }
            assert!(!trial.summary(&table).rows.is_empty(), "{}", entry.name);
            // The gallery makes its closed forms, seconds at large networks.
            if entry.name != "g-gallery" {
                assert!(!trial.figures(&table).is_empty(), "{}", entry.name);
            }
        }
    }
}

#[test]
fn pooling_agrees_with_its_closed_form() {
    let trial = trial(&lab("pooling"), "pooling");
    let (_, table) = fill(&*trial, |_| true);
    for claim in trial.claims() {
        let verdict = claim.judge(&table);
        assert_eq!(verdict.outcome, Outcome::Holds, "{}", verdict.words);
    }
}

/// The MLP's G is a multiple of the identity; an average pool prefers some directions.
#[test]
fn closed_forms_of_the_gallery() {
    let trial = trial(&lab("g-gallery"), "g-gallery");
    let small = ["mlp-2x100", "lenet-avg"];
    let (_, table) = fill(&*trial, |c| small.contains(&c.level("network")));
    let shares: Vec<f64> = table.rows.iter().map(|r| r.values[0]).collect();
    // 103 of 1024 directions.
    assert!((shares[0] - 103.0 / 1024.0).abs() < 1e-9, "{shares:?}");
    assert!(shares[1] > 0.5, "{shares:?}");
    assert_eq!(trial.figures(&table).len(), 3);
}

/// Logistic regression on D(v) is right for any v.
#[test]
fn logistic_regression_has_no_preference() {
    let lab = Lab {
        architecture: "logreg".into(),
        runs: Some(1),
        ..lab("nad-accuracy")
    };
    let trial = trial(&lab, "nad-accuracy");
    let last = |c: &Cell| c.level("network") == "logreg" && c.level("index") == "1023";
    let (_, table) = fill(&*trial, last);
    assert!(table.rows[0].values[0] > 0.99, "{:?}", table.rows);
}

/// An accuracy that is known is taken over, and uᵀGu of logistic regression is that of the identity for any u.
#[test]
fn known_accuracies_are_not_trained_again() {
    let mut lab = Lab {
        architecture: "logreg".into(),
        sigma: Some(1.0),
        ..lab("which-geometry")
    };
    let cell = trial(&lab, "which-geometry").design().cells[0].clone();
    lab.known = vec![Row {
        levels: cell.levels.clone(),
        run: 0,
        values: vec![0.123],
    }];
    let trial = trial(&lab, "which-geometry");
    let (_, table) = fill(&*trial, |c| *c == cell);
    assert_eq!(table.rows, lab.known);
    let scores = trial.scores(&table).unwrap().unwrap();
    let exact = scores.measures().iter().position(|m| m == "gelu").unwrap();
    let values = &scores.rows[0].values;
    assert_eq!(values[0], 0.123);
    assert!((values[exact] - 1.0).abs() < 1e-9, "{values:?}");
}

#[test]
fn images_are_asked_for() {
    for entry in EXPERIMENTS.iter().filter(|e| e.images) {
        let made = trial(&lab(entry.name), entry.name);
        let refused = made.prepare().unwrap_err().to_string();
        assert!(refused.contains("--data cifar10:DIR"), "{refused}");
    }
}

/// An MLP of two hidden ReLU layers has tr G = 3⁻³ 2⁻² (PyTorch's law of weights), however G is found; GELU at 0 halves every
/// slope, which makes 3⁻³ 2⁻⁴.
#[test]
fn lenses_find_the_same_geometry() {
    let trace = |lens: Lens| {
        lens.geometry("mlp-2x100", 0, Place::default())
            .unwrap()
            .trace()
    };
    assert!((trace(Lens::Gelu { networks: 1 }) * 432.0 - 1.0).abs() < 1e-9);
    let field = trace(Lens::MeanField { points: 4 });
    assert!((field * 108.0 - 1.0).abs() < 1e-3, "{field}");
    // Eight points of a network go together: about 400 independent traces that scatter by a half.
    let sampled = trace(Lens::Local { networks: 400 });
    assert!((sampled * 108.0 - 1.0).abs() < 0.1, "{sampled}");
}
