//! The laws that the fills claim: moments, distribution functions, tails, correlations, independence of
//! streams. Catches a wrong map from bits to numbers, a lane that repeats, streams that overlap.

use polariscope_random::{Path, Stream};

const N: usize = 1 << 22;

fn normals(name: &str) -> Vec<f32> {
    let mut z = vec![0.0; N];
    Stream::new(7, 3, name).normal(1.0, &mut z);
    z
}

fn uniforms(name: &str) -> Vec<f32> {
    let mut u = vec![0.0; N];
    Stream::new(7, 3, name).uniform(1.0, &mut u);
    u
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    values.sum::<f64>() / N as f64
}

/// √n · sup |F_n − F|; its law is Kolmogorov's, above 1.95 with probability 0.001.
fn kolmogorov(mut sample: Vec<f32>, cdf: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f32::total_cmp);
    let n = sample.len() as f64;
    let gaps = sample.iter().enumerate().map(|(i, &x)| {
        let f = cdf(f64::from(x));
        (f - i as f64 / n)
            .abs()
            .max((f - (i as f64 + 1.0) / n).abs())
    });
    gaps.fold(0.0, f64::max) * n.sqrt()
}

/// Φ by the series x + x³/3 + x⁵/15 + …, which converges for every x and needs no erf.
fn normal_cdf(x: f64) -> f64 {
    if x.abs() > 8.0 {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut term, mut sum, mut k) = (x, x, 1.0);
    while term.abs() > 1e-17 * sum.abs() && k < 2000.0 {
        k += 2.0;
        term *= x * x / k;
        sum += term;
    }
    0.5 + sum * (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// Moments 1 to 6 within 4.5 standard errors: Var z^k = E z^{2k} − (E z^k)².
#[test]
fn normal_moments() {
    let z = normals("moments");
    let even = |k: i32| (1..k).step_by(2).map(f64::from).product::<f64>();
    for k in 1..=6 {
        let want = if k % 2 == 0 { even(k) } else { 0.0 };
        let error = ((even(2 * k) - want * want) / N as f64).sqrt();
        let got = mean(z.iter().map(|&x| f64::from(x).powi(k)));
        assert!(
            (got - want).abs() < 4.5 * error,
            "E z^{k} = {got}, want {want} ± {error}"
        );
    }
}

#[test]
fn uniform_moments() {
    let u = uniforms("moments");
    for k in 1..=4 {
        let moment = |k: i32| {
            if k % 2 == 0 {
                1.0 / f64::from(k + 1)
            } else {
                0.0
            }
        };
        let error = ((moment(2 * k) - moment(k).powi(2)) / N as f64).sqrt();
        let got = mean(u.iter().map(|&x| f64::from(x).powi(k)));
        assert!((got - moment(k)).abs() < 4.5 * error, "E u^{k} = {got}");
    }
    assert!(u.iter().all(|x| (-1.0..1.0).contains(x)));
}

#[test]
fn kolmogorov_smirnov() {
    let d = kolmogorov(normals("ks"), normal_cdf);
    assert!(d < 1.95, "normal {d}");
    let d = kolmogorov(uniforms("ks"), |x| (x + 1.0) / 2.0);
    assert!(d < 1.95, "uniform {d}");
}

/// Counts beyond t against N·P(|z| > t) within 4.5 Poisson standard errors, down to a handful of draws.
#[test]
fn normal_tails() {
    let z = normals("tails");
    for t in [1.0, 2.0, 3.0, 4.0, 4.5, 5.0] {
        let want = 2.0 * normal_cdf(-t) * N as f64;
        for sign in [1.0, -1.0] {
            let got = z.iter().filter(|&&x| f64::from(x) * sign > t).count() as f64;
            let error = (want / 2.0).sqrt();
            assert!(
                (got - want / 2.0).abs() < 4.5 * error + 1.0,
                "beyond {t}: {got}, want {want}/2"
            );
        }
    }
}

/// Correlations of x and of x² at lags within and across chunks, and between neighbouring streams:
/// each is N(0, 1/N).
#[test]
fn no_correlation() {
    let z = normals("correlation");
    let bound = 4.5 / (N as f64).sqrt();
    for lag in [1, 2, 15, 16, 17, 32, 48, 63, 64, 128, 1024] {
        let pairs = || {
            z.iter()
                .zip(&z[lag..])
                .map(|(&a, &b)| (f64::from(a), f64::from(b)))
        };
        let linear = mean(pairs().map(|(a, b)| a * b));
        let square = mean(pairs().map(|(a, b)| (a * a - 1.0) * (b * b - 1.0) / 2.0));
        assert!(
            linear.abs() < bound && square.abs() < bound,
            "lag {lag}: {linear} {square}"
        );
    }
    let neighbours = [
        (8, 3, "correlation"),
        (7, 4, "correlation"),
        (7, 3, "correlatioN"),
    ];
    for (seed, index, name) in neighbours {
        let mut other = vec![0.0; N];
        Stream::new(seed, index, name).normal(1.0, &mut other);
        let c = mean(
            z.iter()
                .zip(&other)
                .map(|(&a, &b)| f64::from(a) * f64::from(b)),
        );
        assert!(c.abs() < bound, "{seed} {index} {name}: {c}");
    }
}

/// The contract: the same bits on every instruction set, and for every block drawn alone.
#[test]
fn bits_do_not_depend_on_the_path_or_the_block() {
    let stream = Stream::new(u64::MAX, 1 << 40, "layer1.0.conv1.weight");
    let n = 10_007;
    let mut reference = [vec![0.0; n], vec![0.0; n]];
    stream.uniform_on(Path::Portable, 0.1, &mut reference[0]);
    stream.normal_on(Path::Portable, 0.1, &mut reference[1]);
    for path in Path::available() {
        let mut got = [vec![0.0; n], vec![0.0; n]];
        stream.uniform_on(path, 0.1, &mut got[0]);
        stream.normal_on(path, 0.1, &mut got[1]);
        for (got, reference) in got.iter().zip(&reference) {
            assert!(
                got.iter()
                    .map(|x| x.to_bits())
                    .eq(reference.iter().map(|x| x.to_bits()))
            );
        }
    }
    for (first, len) in [
        (0, 1),
        (1, 62),
        (1, 63),
        (1, 64),
        (63, 2),
        (64, 64),
        (9000, 1007),
        (10_006, 1),
        (5, 0),
    ] {
        let mut block = vec![0.0; len];
        stream.uniform_from(first as u64, 0.1, &mut block);
        assert_eq!(block, reference[0][first..first + len]);
        stream.normal_from(first as u64, 0.1, &mut block);
        assert_eq!(block, reference[1][first..first + len]);
    }
}

/// Chi-square of `below(n)` with n − 1 degrees of freedom: mean n−1, variance 2(n−1).
#[test]
fn below_is_unbiased() {
    let mut cursor = Stream::new(1, 0, "below").cursor();
    let (n, draws) = (7, 700_000);
    let mut counts = vec![0.0; n];
    for _ in 0..draws {
        counts[cursor.below(n as u64) as usize] += 1.0;
    }
    let want = draws as f64 / n as f64;
    let chi2: f64 = counts.iter().map(|c: &f64| (c - want).powi(2) / want).sum();
    assert!(chi2 < 6.0 + 5.0 * 12.0_f64.sqrt(), "{chi2}");
    assert_eq!(cursor.below(0), 0);
    assert_eq!(cursor.below(1), 0);
    // Above 2⁶³ nearly half of the products are refused; the mean of what is left must be n/2.
    let n = (1_u64 << 63) + 1;
    let mean = (0..20_000)
        .map(|_| cursor.below(n) as f64 / n as f64)
        .sum::<f64>()
        / 20_000.0;
    assert!((mean - 0.5).abs() < 4.5 / (12.0 * 20_000.0_f64).sqrt());
}

/// Each of the 24 orders of four things equally often, by chi-square with 23 degrees of freedom.
#[test]
fn permutations_are_uniform() {
    let mut cursor = Stream::new(1, 0, "permutation").cursor();
    let mut counts = std::collections::HashMap::new();
    let draws = 48_000;
    for _ in 0..draws {
        *counts.entry(cursor.permutation(4)).or_insert(0.0) += 1.0;
    }
    assert_eq!(counts.len(), 24);
    let chi2: f64 = counts
        .values()
        .map(|c: &f64| (c - 2000.0).powi(2) / 2000.0)
        .sum();
    assert!(chi2 < 23.0 + 5.0 * 46.0_f64.sqrt(), "{chi2}");
}
