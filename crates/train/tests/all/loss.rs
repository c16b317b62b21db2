//! Losses: values against their formulas, derivatives of first and second order against differences.

use polariscope_diff::{Program, Trace, jvp, vjp};
use polariscope_train::{Loss, TrainError};

const N: usize = 4;

fn losses() -> Vec<Loss> {
    let texts = [
        "sse",
        "mse",
        "cross-entropy",
        "hinge:1,0.5",
        "hinge:1.5,1",
        "hinge:2,0.5",
        "hinge:3,1",
        "soft-hinge:5,1",
    ];
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// Outputs of mixed sign and size; no hinge gap closer to its kink than 0.02.
fn outputs(k: usize) -> Vec<f64> {
    (0..N * k)
        .map(|i| 1.7 * (1.3 * i as f64 + 0.4).sin())
        .collect()
}

fn targets(loss: Loss, k: usize) -> Vec<f64> {
    let mut y = vec![0.0; N * k];
    for (i, row) in y.chunks_mut(k).enumerate() {
        loss.targets(i as u32 % k.max(2) as u32, row);
    }
    y
}

/// The table of the module, in plain arithmetic.
fn reference(loss: Loss, f: &[f64], y: &[f64], k: usize) -> f64 {
    let softplus = |x: f64| x.exp().ln_1p();
    let row = |(f, y): (&[f64], &[f64])| -> f64 {
        let pairs = || f.iter().zip(y);
        let mean = |term: &dyn Fn(f64, f64) -> f64| {
            pairs().map(|(&f, &y)| term(f, y)).sum::<f64>() / k as f64
        };
        match loss {
            Loss::Sse => pairs().map(|(f, y)| 0.5 * (f - y).powi(2)).sum(),
            Loss::Mse => mean(&|f, y| (f - y).powi(2)),
            Loss::CrossEntropy if k == 1 => softplus(-y[0] * f[0]),
            Loss::CrossEntropy => {
                let all: f64 = f.iter().map(|f| f.exp()).sum();
                pairs().map(|(f, y)| -y * (f.exp() / all).ln()).sum()
            }
            Loss::Hinge { power, margin } => mean(&|f, y| (margin - y * f).max(0.0).powf(power)),
            Loss::SoftHinge { beta, margin } => {
                mean(&|f, y| softplus(beta * (margin - y * f)) / beta)
            }
        }
    };
    let sum: f64 = f.chunks(k).zip(y.chunks(k)).map(row).sum();
    if loss == Loss::Sse {
        sum
    } else {
        sum / N as f64
    }
}

#[test]
fn values_follow_the_formulas() {
    for loss in losses() {
        for k in [1, 3] {
            let (f, y) = (outputs(k), targets(loss, k));
            let mut t = Trace::new();
            let (a, b) = (t.leaf(&[N, k]), t.leaf(&[N, k]));
            let value = loss.expression(&mut t, a, b, N);
            let value = Program::new(&t, &[value]).evaluate::<f64>(&[&f, &y])[0][0];
            let want = reference(loss, &f, &y, k);
            assert!(
                (value - want).abs() < 1e-13 * want.abs(),
                "{loss} {k}: {value} {want}"
            );
        }
    }
}

/// Central differences of step h are off by h² f‴/6 ~ 1e-9 (β² = 25 times that for the soft hinge) and 1e-16/h.
#[test]
fn derivatives_match_differences() {
    let h = 1e-5;
    for loss in losses() {
        for k in [1, 3] {
            let (f, y) = (outputs(k), targets(loss, k));
            let v: Vec<f64> = (0..N * k).map(|i| (0.7 * i as f64).cos()).collect();
            let mut t = Trace::new();
            let [a, b, along] = [0; 3].map(|_| t.leaf(&[N, k]));
            let value = loss.expression(&mut t, a, b, N);
            let one = t.constant(1.0, &[1]);
            let gradient = vjp(&mut t, &[(value, one)], &[a])[0];
            let second = jvp(&mut t, &[gradient], &[(a, along)])[0];
            let program = Program::new(&t, &[value, gradient, second]);
            let at = |e: f64| {
                let moved: Vec<f64> = f.iter().zip(&v).map(|(f, v)| f + e * v).collect();
                program.evaluate::<f64>(&[&moved, &y, &v])
            };
            let (here, plus, minus) = (at(0.0), at(h), at(-h));
            let slope = (plus[0][0] - minus[0][0]) / (2.0 * h);
            let exact: f64 = here[1].iter().zip(&v).map(|(g, v)| g * v).sum();
            assert!((slope - exact).abs() < 1e-7, "{loss} {k}: {slope} {exact}");
            for i in 0..N * k {
                let slope = (plus[1][i] - minus[1][i]) / (2.0 * h);
                assert!(
                    (slope - here[2][i]).abs() < 1e-7,
                    "{loss} {k} {i}: {slope} {}",
                    here[2][i]
                );
            }
        }
    }
}

/// A power with infinite derivatives at 0 must not make 0·∞ there.
#[test]
fn satisfied_samples_have_no_derivative() {
    let loss = Loss::Hinge {
        power: 1.5,
        margin: 1.0,
    };
    let mut t = Trace::new();
    let (f, y) = (t.leaf(&[2, 1]), t.leaf(&[2, 1]));
    let value = loss.expression(&mut t, f, y, 2);
    let one = t.constant(1.0, &[1]);
    let first = vjp(&mut t, &[(value, one)], &[f])[0];
    let ones = t.constant(1.0, &[2, 1]);
    let second = jvp(&mut t, &[first], &[(f, ones)])[0];
    // Gaps −1 and exactly 0.
    let out =
        Program::new(&t, &[value, first, second]).evaluate::<f64>(&[&[2.0, -1.0], &[1.0, -1.0]]);
    assert_eq!(out, [vec![0.0], vec![0.0; 2], vec![0.0; 2]]);
}

#[test]
fn classes_become_targets() {
    let row = |loss: Loss, class, k| {
        let mut row = vec![9.0_f64; k];
        loss.targets(class, &mut row);
        row
    };
    let hinge = Loss::Hinge {
        power: 2.0,
        margin: 1.0,
    };
    assert_eq!(row(Loss::CrossEntropy, 0, 1), [-1.0]);
    assert_eq!(row(hinge, 1, 1), [1.0]);
    assert_eq!(row(Loss::CrossEntropy, 2, 3), [0.0, 0.0, 1.0]);
    assert_eq!(row(Loss::Mse, 0, 3), [1.0, 0.0, 0.0]);
    assert_eq!(row(hinge, 1, 3), [-1.0, 1.0, -1.0]);
}

#[test]
fn names_parse_and_print() {
    for text in [
        "sse",
        "mse",
        "cross-entropy",
        "hinge:2,0.5",
        "soft-hinge:20,1",
    ] {
        assert_eq!(text.parse::<Loss>().unwrap().to_string(), text);
    }
    assert_eq!("hinge".parse::<Loss>().unwrap().to_string(), "hinge:1,1");
    assert_eq!("hinge:2".parse::<Loss>().unwrap().to_string(), "hinge:2,1");
    let wrong = |text: &str| text.parse::<Loss>().unwrap_err().to_string();
    assert_eq!(wrong("mes"), "loss `mes`: unknown; did you mean `mse`?");
    assert_eq!(wrong("mse:2"), "loss `mse:2`: mse takes no number");
    assert!(wrong("hinge:a").contains("numbers"));
    assert!(wrong("hinge:1,2,3").contains("at most two"));
    assert!(matches!(
        "hinge:0.5".parse::<Loss>(),
        Err(TrainError::Setting { .. })
    ));
    assert!(matches!(
        "hinge:nan".parse::<Loss>(),
        Err(TrainError::Setting { .. })
    ));
    assert!(matches!(
        "soft-hinge:0".parse::<Loss>(),
        Err(TrainError::Setting { .. })
    ));
}
