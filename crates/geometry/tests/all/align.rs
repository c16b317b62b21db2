//! Alignment against the definition, against random rotations and for data made to suit or not.

use polariscope_geometry::{GeometryError, Kron, Spectrum, Verdict, align, corr};
use polariscope_random::Stream;

fn diagonal(entries: &[f64]) -> Kron {
    let n = entries.len();
    let mut matrix = vec![0.0; n * n];
    matrix
        .iter_mut()
        .step_by(n + 1)
        .zip(entries)
        .for_each(|(m, e)| *m = *e);
    Kron::dense(matrix, n)
}

fn normal(name: &str, count: usize) -> Vec<f32> {
    let mut numbers = vec![0.0; count];
    Stream::new(0, 0, name).normal(1.0, &mut numbers);
    numbers
}

/// Normal samples with standard deviations along the axes, around a mean.
fn data(deviations: &[f32], mean: f32, count: usize) -> Vec<f32> {
    let numbers = normal("data", deviations.len() * count);
    let scaled = numbers.iter().zip(deviations.iter().cycle());
    scaled.map(|(n, d)| n * d + mean).collect()
}

const LAMBDA: [f64; 6] = [20.0, 8.0, 3.0, 1.0, 0.2, 0.0];

/// S = diag(16, 4, 0, 0, 0, 0) by two pairs of opposite samples, G = diag: everything by hand.
#[test]
fn by_hand() {
    let g = diagonal(&LAMBDA);
    let mut x = vec![0.0f32; 4 * 6];
    (x[0], x[6]) = (8f32.sqrt(), -(8f32.sqrt()));
    (x[12 + 1], x[18 + 1]) = (2f32.sqrt(), -(2f32.sqrt()));
    let found = align(&g, &Spectrum::of(&g).unwrap(), &x).unwrap();
    let lambda = LAMBDA.iter().map(|l| l * l).sum::<f64>().sqrt();
    let sigma = (256.0f64 + 16.0).sqrt();
    let m = found.centred;
    assert!((m.corr - (20.0 * 16.0 + 8.0 * 4.0) / (lambda * sigma)).abs() < 1e-6);
    assert!((m.best - m.corr).abs() < 1e-6);
    assert!((m.worst - 0.2 * 4.0 / (lambda * sigma)).abs() < 1e-6);
    assert!((m.chance - 32.2 * 20.0 / (6.0 * lambda * sigma)).abs() < 1e-6);
    assert!((m.share() - 1.0).abs() < 1e-6);
    assert!((found.uncentred.corr - m.corr).abs() < 1e-12);
    // λ over tr G / D along the axes.
    let isotropic = 32.2 / 6.0;
    let expected = [20.0, 20.0, 8.0, 8.0].map(|l| l / isotropic);
    let pairs = found.scores.iter().zip(expected);
    pairs.for_each(|(s, e)| assert!((s - e).abs() < 1e-12));
    let energy: Vec<usize> = found.energy.iter().map(|e| e.0).collect();
    assert_eq!(energy, [1, 2, 4, 6]);
    assert!((found.energy[0].1 - 0.8).abs() < 1e-6 && (found.energy[3].1 - 1.0).abs() < 1e-12);
}

/// Mean, spread and extremes over 4000 random rotations of the data.
#[test]
fn chance_is_the_mean_over_rotations() {
    const D: usize = 5;
    let g = diagonal(&LAMBDA[..D]);
    let x = data(&[1.0, 0.1, 2.0, 0.5, 0.3], 0.2, 30);
    let found = align(&g, &Spectrum::of(&g).unwrap(), &x).unwrap().uncentred;
    let s = polariscope_linalg::covariance(&x, D);
    let rotations = 4000;
    let draws = normal("rotations", rotations * D * D);
    let mut values = Vec::new();
    for draw in draws.chunks(D * D) {
        let q = orthonormal(draw, D);
        let mut turned = vec![0.0; D * D];
        for (at, t) in turned.iter_mut().enumerate() {
            let (i, j) = (at / D, at % D);
            for k in 0..D * D {
                *t += q[i * D + k / D] * s[k] * q[j * D + k % D];
            }
        }
        values.push(corr(&g, &Kron::dense(turned, D)).unwrap());
    }
    let n = rotations as f64;
    let mean = values.iter().sum::<f64>() / n;
    let deviation = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
    assert!((mean - found.chance).abs() < 4.0 * found.spread / n.sqrt());
    assert!((deviation / found.spread - 1.0).abs() < 0.05);
    assert!(
        values
            .iter()
            .all(|v| (found.worst..=found.best).contains(v))
    );
}

fn orthonormal(draw: &[f32], d: usize) -> Vec<f64> {
    let mut rows: Vec<f64> = draw.iter().map(|&x| f64::from(x)).collect();
    for i in 0..d {
        for j in 0..i {
            let c: f64 = (0..d).map(|k| rows[i * d + k] * rows[j * d + k]).sum();
            (0..d).for_each(|k| rows[i * d + k] -= c * rows[j * d + k]);
        }
        let length = (0..d).map(|k| rows[i * d + k].powi(2)).sum::<f64>().sqrt();
        (0..d).for_each(|k| rows[i * d + k] /= length);
    }
    rows
}

#[test]
fn verdicts() {
    let lambda: Vec<f64> = (0..40).map(|i| 0.8f64.powi(i)).collect();
    let along: Vec<f32> = (0..40).map(|i| 0.85f32.powi(i)).collect();
    let against: Vec<f32> = along.iter().rev().copied().collect();
    let g = diagonal(&lambda);
    let spectrum = Spectrum::of(&g).unwrap();
    let verdict = |x: &[f32]| align(&g, &spectrum, x).unwrap().verdict;
    assert_eq!(verdict(&data(&along, 0.0, 400)), Verdict::Suits);
    assert_eq!(verdict(&data(&against, 0.0, 400)), Verdict::Against);
    assert_eq!(verdict(&data(&[1.0; 40], 0.0, 4000)), Verdict::Neutral);
    // A mean along the first axis makes any data look suited; the verdict does not fall for it.
    let mut shifted = data(&against, 0.0, 400);
    shifted.iter_mut().step_by(40).for_each(|x| *x += 30.0);
    let found = align(&g, &spectrum, &shifted).unwrap();
    assert!(found.uncentred.share() > 0.9);
    assert_eq!(found.verdict, Verdict::Against);
    // What it does not see is what the data have: the last axes come first.
    let first = &found.unseen.vectors[..40];
    let late: f64 = first[20..].iter().map(|v| v * v).sum();
    assert!(late > 0.99);
    let isotropic = diagonal(&[2.0; 40]);
    let spectrum = Spectrum::of(&isotropic).unwrap();
    let found = align(&isotropic, &spectrum, &data(&along, 0.0, 400)).unwrap();
    assert_eq!(
        (found.verdict, found.verdict.words()),
        (Verdict::Neutral, "neutral")
    );
    assert!(found.scores.iter().all(|s| (s - 1.0).abs() < 1e-12));
}

#[test]
fn what_is_refused() {
    let g = diagonal(&[1.0, 2.0]);
    let spectrum = Spectrum::of(&g).unwrap();
    for x in [
        &[1.0f32, 2.0][..],
        &[1.0, 2.0, 3.0],
        &[],
        &[0.0; 8],
        &[f32::NAN; 4],
    ] {
        let refused = align(&g, &spectrum, x);
        assert!(matches!(refused, Err(GeometryError::Question(_))), "{x:?}");
    }
    let other = Spectrum::of(&diagonal(&[1.0; 3])).unwrap();
    assert!(matches!(
        align(&g, &other, &[1.0; 8]),
        Err(GeometryError::Size { .. })
    ));
}
