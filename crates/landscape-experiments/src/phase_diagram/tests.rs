//! Lines of made-up planes, what the claims make of them, and one cell of either kind.

use polariscope_diff::Place;
use polariscope_experiment::{Outcome, Row, Size, View};

use super::lines::Plane;
use super::*;

fn diagram() -> PhaseDiagram {
    PhaseDiagram::new(&Lab {
        architecture: String::new(),
        data: "stripe?shape=2&train=8&test=20".into(),
        scale: Size::Small,
        runs: Some(3),
        seed: 0,
        place: Place::default(),
    })
}

/// Networks of width `jam(α̃)` and more fit, their kernel moves by (α̃*(h)/α̃)² and their error is `error(h, α̃)`; runs differ
/// by a percent.
fn made_up(
    jam: impl Fn(f64) -> f64,
    crossover: impl Fn(f64) -> f64,
    error: impl Fn(f64, f64) -> f64,
) -> (PhaseDiagram, Table) {
    let diagram = diagram();
    let design = diagram.design();
    let mut table = Table::new(&design);
    for cell in &design.cells {
        let (h, c) = (cell.real("h"), cell.real("control"));
        let chance = 1.0 + 0.01 * (cell.run as f64 - 1.0);
        let fits = h >= jam(c);
        let measured = vec![
            1.0,
            chance * (crossover(h) / c).powi(2),
            chance * error(h, c),
            0.3,
            1000.0 * h,
        ];
        table.rows.push(Row {
            levels: cell.levels.clone(),
            run: cell.run,
            values: match fits {
                true => measured,
                false => vec![0.0, f64::NAN, f64::NAN, f64::NAN, f64::NAN],
            },
        });
    }
    (diagram, table)
}

#[test]
fn lines_of_a_plane() {
    let (_, table) = made_up(
        |c| if c < 1.0 { 4.0 } else { 6.0 },
        |h| 5.0 + 20.0 / h,
        |_, _| 0.2,
    );
    let plane = Plane::of(&table, Some(1));
    // A power law is a straight line between logarithms: the crossing is exact; narrow ones cross at 15 or do not fit.
    let place = |h: f64| plane.widths.iter().position(|&w| w == h).unwrap();
    assert!((plane.crossing(place(8.0), 1.0).unwrap() - 7.5).abs() < 1e-12);
    assert!((plane.crossing(place(64.0), 100.0).unwrap() - 0.53125).abs() < 1e-12);
    assert_eq!(plane.crossing(place(2.0), 1.0), None);
    assert_eq!(plane.crossing(place(64.0), 1e9), None);
    // 4 fits below α̃ = 1 and 6 from there on; within 5000 steps nothing wider than 5 does.
    assert_eq!(plane.jam(0, f64::INFINITY), Some(place(4.0)));
    assert_eq!(plane.jam(8, f64::INFINITY), Some(place(6.0)));
    assert_eq!(plane.jam(0, 5000.0), None);
    // Of all runs together the mean is geometric.
    let (low, high) = (0.99_f64, 1.01_f64);
    let mean = Plane::of(&table, None).kernel[place(8.0)][4];
    assert!((mean / (7.5_f64.powi(2) * (low * high).cbrt()) - 1.0).abs() < 1e-12);
}

fn outcomes(diagram: &PhaseDiagram, table: &Table) -> Vec<(String, Outcome)> {
    let scores = diagram.scores(table).unwrap().unwrap();
    let verdicts = diagram.claims().into_iter().map(|c| c.judge(&scores));
    verdicts.map(|v| (v.words, v.outcome)).collect()
}

#[test]
fn claims_follow_the_plane() {
    let (diagram, table) = made_up(
        |_| 3.0,
        |h| 10.0 + 3000.0 / h.powi(3),
        |_, c| 0.2 + 0.01 * c.ln(),
    );
    for (words, outcome) in outcomes(&diagram, &table) {
        assert_eq!(outcome, Outcome::Holds, "{words}");
    }
    let said = diagram.words(&diagram.scores(&table).unwrap().unwrap());
    assert!(
        said.contains("feature learning generalises better"),
        "{said}"
    );
    // A crossover that goes with the width, a jamming line that goes with α̃, errors that fall with the width.
    let (diagram, table) = made_up(|c| 3.0 + 0.12 * c, |h| h / 4.0, |h, _| 0.1 + 1.0 / h);
    let found = outcomes(&diagram, &table);
    for (words, outcome) in &found {
        assert_eq!(*outcome, Outcome::Fails, "{words}: {found:?}");
    }
    let said = diagram.words(&diagram.scores(&table).unwrap().unwrap());
    assert!(said.contains("cannot be told"), "{said}");
}

/// Every figure is drawn, also where nothing fits.
#[test]
fn figures_are_drawn() {
    for jam in [3.0, 1e9] {
        let (diagram, table) = made_up(|_| jam, |h| 5.0 + 20.0 / h, |_, _| 0.2);
        let scores = diagram.scores(&table).unwrap().unwrap();
        assert_eq!(diagram.figures(&scores).len(), 3);
    }
}

/// A network of width 16 fits 8 points of a stripe in the plane.
#[test]
fn cells_are_measured() {
    let diagram = diagram();
    let design = diagram.design();
    let cell = |h, c| {
        let found = design
            .cells
            .iter()
            .find(|cell| cell.number("h") == h && cell.level("control") == c);
        found.unwrap()
    };
    let wide = diagram.measure(cell(16, "1")).unwrap();
    assert_eq!(wide[0], 1.0);
    assert!(wide[1] > 0.0 && wide[2] < 0.6 && wide[4] > 10.0, "{wide:?}");
}
