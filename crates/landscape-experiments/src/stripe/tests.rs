//! Exponents of made-up curves, and a small cell.

use polariscope_diff::Place;
use polariscope_experiment::{Outcome, Size, View};

use super::*;

fn stripe() -> Stripe {
    Stripe {
        lab: Lab {
            architecture: String::new(),
            data: String::new(),
            scale: Size::Small,
            runs: Some(3),
            seed: 0,
            place: Place::default(),
        },
    }
}

/// Errors P to the powers −`lazy` and −`feature`, the kernel on compressed data `ratio` times as wrong as the latter, Λ as P
/// to the power `lambda`, R_f as P to the power `stability`; runs differ by a percent.
fn made_up(
    [lazy, feature, lambda, stability]: [f64; 4],
    (ratio, start): (f64, f64),
) -> (Stripe, Table) {
    let stripe = stripe();
    let design = stripe.design();
    let mut table = Table::new(&design);
    for cell in &design.cells {
        let p = cell.real("P");
        let chance = 1.0 + 0.01 * (cell.run as f64 - 1.0) * (p / 64.0).log2();
        let error = chance * p.powf(-feature);
        table.rows.push(Row {
            levels: cell.levels.clone(),
            run: cell.run,
            values: vec![
                p.powf(-lazy),
                error,
                ratio * error,
                p.powf(lambda) / chance,
                9.0,
                1.0,
                2.0 * chance * p.powf(stability),
                chance * p.powf(stability),
                start,
            ],
        });
    }
    let tidy = stripe.scores(&table).unwrap().unwrap();
    (stripe, tidy)
}

#[test]
fn exponents_are_compared() {
    let outcomes = |(stripe, table): (Stripe, Table)| -> Vec<Outcome> {
        let claims = stripe.claims();
        claims.iter().map(|c| c.judge(&table).outcome).collect()
    };
    let all = outcomes(made_up([0.4, 0.6, 0.5, -1.2], (1.1, 0.95)));
    assert_eq!(all, [Outcome::Holds; 6]);
    let all = outcomes(made_up([0.6, 0.4, -0.5, -0.3], (1.6, 0.5)));
    assert_eq!(all, [Outcome::Fails; 6]);
    let (stripe, table) = made_up([0.4, 0.6, 0.5, -1.2], (1.1, 0.95));
    let words = stripe.words(&table);
    assert!(
        words.contains("β is 0.4") && words.contains("formula for P → ∞: 0.357"),
        "{words}"
    );
    assert!(words.contains("R_f goes as P to the power -1.2"), "{words}");
    assert!(!words.contains("did not bring"), "{words}");
    assert_eq!(stripe.figures(&table).len(), 4);
}

/// d/(3d − 2) and (d + d_⊥/2)/(3d − 2) as they are printed for d = 2 and 10.
#[test]
fn formulas() {
    let near = |a: f64, b: f64| (a - b).abs() < 5e-4;
    assert!(near(lazy_exponent(2), 0.5) && near(feature_exponent(2), 0.625));
    assert!(near(lazy_exponent(10), 0.357) && near(feature_exponent(10), 0.518));
}

/// Λ of two units with weights (3, 0, 4) and (3, 4, 0): 3 over √(32/4); compression divides all but the first input.
#[test]
fn compression_by_hand() {
    let net = Flowed {
        weights: Weights {
            values: vec![vec![3.0, 0.0, 4.0, 3.0, 4.0, 0.0]],
        },
        train: Vec::new(),
        test: Vec::new(),
        loss: 0.0,
        time: 0.0,
        half: None,
        steps: 0,
        rejected: 0,
        stop: polariscope_train::StopReason::Margin,
    };
    let lambda = compression(&net, 3);
    assert!((lambda - 3.0 / 8f64.sqrt()).abs() < 1e-15);
    assert_eq!(
        compressed(&[1.0, 2.0, 4.0, 8.0], 2, 2.0),
        [1.0, 1.0, 4.0, 4.0]
    );
}

/// With 32 samples of a stripe in 10 inputs the network turns to the first: Λ is above 1, where it starts at about 1.
#[test]
fn a_small_cell() {
    let stripe = stripe();
    let mut cell = stripe.design().cells[0].clone();
    cell.levels[1] = "32".into();
    let values = stripe.measure(&cell).unwrap();
    assert_eq!(values[5], 1.0);
    assert!(values[3] > 1.5, "{values:?}");
    // R_f starts at about 1, and falls where the first input is what matters.
    assert!((0.5..2.0).contains(&values[8]), "{values:?}");
    assert!(values[6] < 0.7 && values[7] < 0.7, "{values:?}");
    assert!(
        values[..3].iter().all(|e| (0.0..0.6).contains(e)),
        "{values:?}"
    );
}

/// Linear functions: R_f = (|w_⊥|²/(d − 1))/(|w|²/d) for both averages, of draws that leave 0.4 % at 2000 points.
#[test]
fn stability_of_linear_functions() {
    let mut x = vec![0.0_f32; 2000 * 3];
    polariscope_random::Stream::new(5, 0, "x").normal(1.0, &mut x);
    let of = |w: [f64; 3], size| {
        let f = |x: &[f32]| -> Result<Vec<f64>, ()> {
            let product = |x: &[f32]| x.iter().zip(w).map(|(x, w)| f64::from(*x) * w).sum();
            Ok(x.chunks_exact(3).map(product).collect())
        };
        stability(f, &x, (3, size), (0, 0)).unwrap()
    };
    for (w, expected) in [
        ([2.0, 1.0, 0.5], (1.25 / 2.0) / (5.25 / 3.0)),
        ([0.0, 1.0, -3.0], 1.5),
    ] {
        for size in [NOISE, 1.0] {
            let found = of(w, size);
            assert!((found.mean / expected - 1.0).abs() < 0.02, "{found:?}");
            assert!((found.median / expected - 1.0).abs() < 0.02, "{found:?}");
        }
    }
    let blind = of([1.0, 0.0, 0.0], NOISE);
    assert_eq!((blind.mean, blind.median), (0.0, 0.0));
}
