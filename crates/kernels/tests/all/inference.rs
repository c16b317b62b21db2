//! Regression with a kernel. Catches wrong algebra (against SciPy's `cho_solve` and `expm`, and by hand), wrong limits in
//! time, jitter where none is needed, and user mistakes that would panic.

use polariscope_kernels::inference::{
    Descent, InferenceError, Posterior, Time, accuracy, argmax, centred_targets,
};

/// k(x, x') = e^{−‖x − x'‖/2} + x·x'/10.
fn kernel(a: &[[f64; 3]], b: &[[f64; 3]]) -> Vec<f64> {
    let entry = |a: &[f64; 3], b: &[f64; 3]| {
        let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
        let inner: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
        (-square.sqrt() / 2.0).exp() + 0.1 * inner
    };
    a.iter()
        .flat_map(|a| b.iter().map(move |b| entry(a, b)))
        .collect()
}

struct Problem {
    train: Vec<f64>,
    cross: Vec<f64>,
    test: Vec<f64>,
    targets: Vec<f64>,
}

const N: usize = 6;
const M: usize = 3;

fn problem() -> Problem {
    let x: Vec<[f64; 3]> = (0..N)
        .map(|i| i as f64)
        .map(|i| [(1.0 + 2.0 * i).sin(), (3.0 * i).cos(), 0.1 * i])
        .collect();
    let z: Vec<[f64; 3]> = (0..M)
        .map(|i| i as f64)
        .map(|i| [(0.5 + i).sin(), (1.0 + 2.0 * i).cos(), 0.3 * i])
        .collect();
    let targets = (0..N).flat_map(|i| [0.0, 1.0].map(|c| (1.7 * i as f64 + c).cos()));
    Problem {
        train: kernel(&x, &x),
        cross: kernel(&z, &x),
        test: kernel(&z, &z),
        targets: targets.collect(),
    }
}

fn close(found: &[f64], wanted: &[f64], tolerance: f64) {
    assert_eq!(found.len(), wanted.len());
    for (i, (a, b)) in found.iter().zip(wanted).enumerate() {
        assert!((a - b).abs() <= tolerance, "{i}: {a} against {b}");
    }
}

/// SciPy 1.x: cho_factor and cho_solve on the same numbers.
#[test]
fn posterior_against_scipy() {
    let p = problem();
    let ridgeless = Posterior::new(&p.train, N, 0.0).unwrap();
    let mean = ridgeless.mean(&p.cross, &p.targets).unwrap();
    let wanted = [
        0.6621479893549288,
        0.18854956690320643,
        0.4778069713657959,
        0.8961389835887813,
        0.6566325277678772,
        0.2813365553328195,
    ];
    close(&mean, &wanted, 1e-13);
    let covariance = ridgeless.covariance(&p.cross, &p.test).unwrap();
    let wanted = [
        0.30945428294892596,
        0.009725438910126116,
        0.07472160728577015,
        0.009725438910126116,
        0.30919438658006293,
        0.0341471653148796,
        0.07472160728577015,
        0.03414716531487971,
        0.3959432577270836,
    ];
    close(&covariance, &wanted, 1e-13);
    let conditioning = ridgeless.conditioning();
    assert_eq!(conditioning.jitter, 0.0);
    // numpy.linalg.cond(K, 1) = 17.45; the estimate never exceeds it.
    let condition = conditioning.condition;
    assert!(condition <= 17.451612716425224 * (1.0 + 1e-12) && condition > 17.45 / 3.0);

    let ridge = Posterior::new(&p.train, N, 0.3).unwrap();
    let wanted = [
        0.5382085116485438,
        0.16994114588289377,
        0.3695652472713315,
        0.45953079440251166,
        0.5073297126396887,
        0.18873398117180615,
    ];
    close(&ridge.mean(&p.cross, &p.targets).unwrap(), &wanted, 1e-13);
    let diagonal: Vec<f64> = (0..M).map(|i| p.test[i * M + i]).collect();
    let wanted = [0.3888699400021276, 0.4610237031808456, 0.47773221073036576];
    close(
        &ridge.variance(&p.cross, &diagonal).unwrap(),
        &wanted,
        1e-13,
    );
}

/// SciPy 1.x: solve(A, (1 − expm(−A t)) Y) on the same numbers, A = Θ + λ.
#[test]
fn any_time_against_scipy() {
    let p = problem();
    let descent = Descent::new(&p.train, N, 0.0).unwrap();
    // numpy.linalg.cond(K).
    assert!((descent.conditioning().condition - 13.866280737501677).abs() < 1e-11);
    let wanted = [
        0.41417689446039235,
        0.11970416451336045,
        0.2639209363728986,
        0.17000790333029123,
        0.3749443545144981,
        0.10325390396537999,
    ];
    let early = descent
        .mean(&p.cross, &p.targets, Time::After(0.7))
        .unwrap();
    close(&early, &wanted, 1e-13);
    let wanted = [
        1.017016639939969,
        0.5220642416527438,
        -0.08841172622525238,
        -0.6566148310505074,
        -0.9323752763227556,
        -0.3443662955479281,
        0.3605074584086273,
        0.7451430223933554,
        0.827512268006477,
        0.11787798689447579,
        -0.6305927503118153,
        -1.0301823412480218,
    ];
    let train = descent.on_training(&p.targets, Time::After(5.0)).unwrap();
    close(&train, &wanted, 1e-13);

    let ridge = Descent::new(&p.train, N, 0.3).unwrap();
    let wanted = [
        0.5372945795966262,
        0.1718529676620576,
        0.3682311155636203,
        0.4400720810091971,
        0.5044914876259355,
        0.1862950965430138,
    ];
    let late = ridge.mean(&p.cross, &p.targets, Time::After(5.0)).unwrap();
    close(&late, &wanted, 1e-13);
    let wanted = [
        0.5824249201316029,
        0.2657395319140811,
        0.002831485724392816,
        -0.23832294442547788,
        -0.3274366450702863,
        -0.23115892609803956,
        0.19715946470693888,
        0.13063480366251257,
        0.4479120436050684,
        0.10587400909542295,
        -0.3577340186618097,
        -0.541773771698906,
    ];
    let train = ridge.on_training(&p.targets, Time::After(0.7)).unwrap();
    close(&train, &wanted, 1e-13);
}

/// f_t = t Θ*Y + O(t²) for small t; the Cholesky solve for t = ∞; both routes with a ridge.
#[test]
fn limits_in_time() {
    let p = problem();
    let descent = Descent::new(&p.train, N, 0.0).unwrap();
    let t = 1e-9;
    let early = descent.mean(&p.cross, &p.targets, Time::After(t)).unwrap();
    for i in 0..M {
        for c in 0..2 {
            let slope: f64 = (0..N)
                .map(|k| p.cross[i * N + k] * p.targets[k * 2 + c])
                .sum();
            // The next term is t² Θ*ΘY/2, here below 20 t².
            assert!((early[i * 2 + c] - t * slope).abs() < 20.0 * t * t);
        }
    }
    assert!(
        descent
            .mean(&p.cross, &p.targets, Time::After(0.0))
            .unwrap()
            .iter()
            .all(|f| *f == 0.0)
    );
    for ridge in [0.0, 0.3] {
        let end = Descent::new(&p.train, N, ridge).unwrap();
        let end = end.mean(&p.cross, &p.targets, Time::Infinite).unwrap();
        let solved = Posterior::new(&p.train, N, ridge).unwrap();
        close(&end, &solved.mean(&p.cross, &p.targets).unwrap(), 1e-12);
    }
    let learned = descent.on_training(&p.targets, Time::Infinite).unwrap();
    close(&learned, &p.targets, 1e-13);
}

/// At the training points nothing is uncertain, and the mean is the targets.
#[test]
fn training_points_are_known() {
    let p = problem();
    let posterior = Posterior::new(&p.train, N, 0.0).unwrap();
    let diagonal: Vec<f64> = (0..N).map(|i| p.train[i * N + i]).collect();
    let variance = posterior.variance(&p.train, &diagonal).unwrap();
    close(&variance, &[0.0; N], 1e-14);
    close(
        &posterior.mean(&p.train, &p.targets).unwrap(),
        &p.targets,
        1e-13,
    );
}

/// [[1, 1], [1, 1]] with targets 1 and 0: its eigenvalues are 2 and 0, so the minimum-norm answer is ½ everywhere.
#[test]
fn a_repeated_sample_gets_the_smallest_jitter() {
    let gram = [1.0; 4];
    let posterior = Posterior::new(&gram, 2, 0.0).unwrap();
    let jitter = posterior.conditioning().jitter;
    // tr/n = 1: a power of ten of ε, and a second pivot of 1 + j − 1/(1 + j) = 2j needs j of about ε.
    assert!(jitter > 0.0 && jitter <= 10.0 * f64::EPSILON, "{jitter}");
    let f = posterior.mean(&[1.0, 1.0], &[1.0, 0.0]).unwrap();
    assert!((f[0] - 0.5).abs() < 0.26, "{}", f[0]);
    let descent = Descent::new(&gram, 2, 0.0).unwrap();
    assert!(descent.conditioning().jitter <= 1e4 * f64::EPSILON);
    assert!(descent.conditioning().condition > 1e11);
    // (1 + 0)/2 · (1 − e^{−2t}) at t = 1: no jitter at any finite time.
    let f = descent.on_training(&[1.0, 0.0], Time::After(1.0)).unwrap();
    close(&f, &[0.5 * (1.0 - (-2.0f64).exp()); 2], 1e-14);
    let singular = [1.0, 2.0, 2.0, 1.0];
    for found in [
        Posterior::new(&singular, 2, 0.0).err(),
        Descent::new(&singular, 2, 0.0).err(),
    ] {
        assert!(matches!(
            found,
            Some(InferenceError::NotPositiveDefinite { .. })
        ));
    }
    // Eigenvalues 3 and −1: a ridge of 2 mends it. (K + 2)⁻¹ = [[3, −2], [−2, 3]]/5.
    let mended = Posterior::new(&singular, 2, 2.0).unwrap();
    close(
        &mended.coefficients(&[1.0, 0.0]).unwrap(),
        &[0.6, -0.4],
        1e-15,
    );
}

/// Three classes of three samples with K = I: a test point that shares a third of everything with one sample.
#[test]
fn classes_by_regression() {
    let labels = [2, 0, 1];
    let targets = centred_targets(&labels, 3).unwrap();
    assert!((targets[2] - 2.0 / 3.0).abs() < 1e-15 && (targets[0] + 1.0 / 3.0).abs() < 1e-15);
    let gram = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let posterior = Posterior::new(&gram, 3, 0.0).unwrap();
    let cross = [0.1, 0.3, 0.0, 0.3, 0.0, 0.1, 0.0, 0.0, 0.2, 0.0, 0.2, 0.0];
    let predicted = argmax(&posterior.mean(&cross, &targets).unwrap(), 3);
    assert_eq!(predicted, [0, 2, 1, 0]);
    let right = accuracy(&predicted, &[0, 2, 1, 1]).unwrap();
    // Mean ¾; squared deviations 3/16 + 9/16 = ¾; √(¾/12) = ¼.
    assert_eq!(
        (right.value, right.standard_error, right.samples),
        (0.75, 0.25, 4)
    );
    assert_eq!(argmax(&[1.0, 1.0], 2), [0]);
}

#[test]
fn mistakes_are_named() {
    let p = problem();
    let posterior = Posterior::new(&p.train, N, 0.0).unwrap();
    let said = |e: InferenceError| e.to_string();
    let short = posterior.mean(&p.cross[1..], &p.targets).unwrap_err();
    assert_eq!(
        said(short),
        "the test-train Gram matrix: 17 numbers, but at least one row of 6 are wanted"
    );
    let few = posterior.mean(&p.cross, &p.targets[1..]).unwrap_err();
    assert!(said(few).starts_with("the targets: 11 numbers"));
    let wide = posterior.covariance(&p.cross, &p.test[1..]).unwrap_err();
    assert!(said(wide).contains("3 × 3"));
    let mut broken = p.train.clone();
    broken[7] = f64::NAN;
    let nan = Posterior::new(&broken, N, 0.0).err().unwrap();
    assert_eq!(
        said(nan),
        "the train Gram matrix: number 7 is NaN; every number must be finite"
    );
    broken[7] = 3.0;
    broken[1] = 4.0;
    assert!(matches!(
        Descent::new(&broken, N, 0.0).err(),
        Some(InferenceError::Asymmetric {
            row: 1,
            column: 0,
            ..
        })
    ));
    assert!(Posterior::new(&[], 0, 0.0).is_err() && Posterior::new(&p.train, 5, 0.0).is_err());
    assert!(Posterior::new(&p.train, N, -1.0).is_err());
    let descent = Descent::new(&p.train, N, 0.0).unwrap();
    assert!(
        descent
            .on_training(&p.targets, Time::After(f64::NAN))
            .is_err()
    );
    assert!(matches!(
        centred_targets(&[0, 3], 3),
        Err(InferenceError::Class {
            row: 1,
            class: 3,
            classes: 3
        })
    ));
}
