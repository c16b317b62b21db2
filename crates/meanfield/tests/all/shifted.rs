//! Duals of Gaussians with means: against direct integration, the centred forms and Price's theorem.

use polariscope_graph::Activation;
use polariscope_meanfield::dual::{Dual, Pair, Shifted, dual};

const PI: f64 = std::f64::consts::PI;

fn normal(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// min(max(x + 3, 0), 6)/6 and its slope.
fn hard(x: f64) -> (f64, f64) {
    let slope = if x.abs() < 3.0 { 1.0 / 6.0 } else { 0.0 };
    ((x + 3.0).clamp(0.0, 6.0) / 6.0, slope)
}

/// (φ, φ')
fn phi(activation: Activation, x: f64) -> (f64, f64) {
    let kinked = |slope: f64| match x > 0.0 {
        true => (x, 1.0),
        false => (slope * x, slope),
    };
    match activation {
        Activation::Relu => kinked(0.0),
        Activation::LeakyRelu { slope } => kinked(slope),
        Activation::Abs => (x.abs(), x.signum()),
        Activation::Tanh => (x.tanh(), 1.0 - x.tanh().powi(2)),
        Activation::Sin => (x.sin(), x.cos()),
        Activation::Sigmoid => (logistic(x), logistic(x) * logistic(-x)),
        Activation::Silu => (x * logistic(x), logistic(x) * (1.0 + x * logistic(-x))),
        Activation::HardSigmoid => hard(x),
        Activation::HardSwish => (x * hard(x).0, hard(x).0 + x * hard(x).1),
        Activation::Softplus { beta } => ((1.0 + (beta * x).exp()).ln() / beta, logistic(beta * x)),
        _ => panic!("not here"),
    }
}

const KINKED: [Activation; 3] = [
    Activation::Relu,
    Activation::LeakyRelu { slope: 0.3 },
    Activation::Abs,
];

const HARD: [Activation; 2] = [Activation::HardSigmoid, Activation::HardSwish];

const SMOOTH: [Activation; 7] = [
    Activation::Gelu,
    Activation::Tanh,
    Activation::Erf,
    Activation::Sin,
    Activation::Sigmoid,
    Activation::Silu,
    Activation::Softplus { beta: 1.5 },
];

/// Means and q11, q12, q22.
const CASES: [([f64; 2], [f64; 3]); 9] = [
    ([0.7, 0.9], [1.0, 0.5, 2.0]),
    ([0.7, -0.9], [1.0, 0.9, 1.0]),
    ([-1.5, -0.2], [0.3, -0.2, 0.4]),
    ([3.0, 0.1], [1.0, -0.7, 1.5]),
    ([0.4, 0.4], [0.34, 0.33, 0.34]),
    ([0.0, 1.2], [2.0, 1.3, 1.0]),
    ([1.2, 0.0], [0.5, 0.0, 0.7]),
    ([-0.3, 0.3], [1.5, 1.45, 1.5]),
    ([0.5, -0.4], [4.0, 3.8, 4.0]),
];

fn pair([q11, q12, q22]: [f64; 3]) -> Pair {
    Pair { q11, q12, q22 }
}

fn shifted(activation: Activation, means: [f64; 2], [q11, q12, q22]: [f64; 3]) -> Dual {
    Shifted::new(activation, &means, &[q11, q22]).dual(0, 1, q12)
}

/// Nodes and weights of E over a standard normal by Simpson's rule, on either side of `kink`.
fn nodes(kink: f64) -> Vec<(f64, f64)> {
    let kink = kink.clamp(-9.0, 9.0);
    pieces(&[-9.0, kink, 9.0])
}

/// The same between given ends.
fn pieces(ends: &[f64]) -> Vec<(f64, f64)> {
    let mut nodes = Vec::new();
    for (&from, &to) in ends.iter().zip(&ends[1..]) {
        let n = 600;
        let step = (to - from) / f64::from(n);
        for i in 0..=n {
            let share = match i {
                0 => 1.0,
                i if i == n => 1.0,
                i if i % 2 == 1 => 4.0,
                _ => 2.0,
            };
            // Slopes jump at the kink: every side has its own value there.
            let inside = f64::from(i).clamp(1e-9, f64::from(n) - 1e-9);
            let z = from + step * inside;
            nodes.push((z, share * step / 3.0 * normal(z)));
        }
    }
    nodes
}

#[test]
fn kinked_activations_agree_with_integration() {
    for ([m1, m2], [q11, q12, q22]) in CASES {
        let (a, b) = (q11.sqrt(), q12 / q11.sqrt());
        let c = (q22 - b * b).sqrt();
        for activation in KINKED {
            let (mut value, mut slope, mut mean) = (0.0, 0.0, 0.0);
            // Inside, v = m2 + bz + cy has its kink at a y that depends on z: smooth in z once integrated.
            for (z, weight) in nodes(-m1 / a) {
                let (f, df) = phi(activation, m1 + a * z);
                mean += weight * f;
                for (y, inner) in nodes(-(m2 + b * z) / c) {
                    let (g, dg) = phi(activation, m2 + b * z + c * y);
                    value += weight * inner * f * g;
                    slope += weight * inner * df * dg;
                }
            }
            let found = shifted(activation, [m1, m2], [q11, q12, q22]);
            let marginal = Shifted::new(activation, &[m1], &[q11]).value(0);
            for (found, wanted) in [(found.value, value), (found.slope, slope), (marginal, mean)] {
                // Simpson's error of steps of 0.02 is 1e-9 and less.
                assert!(
                    (found - wanted).abs() < 3e-8,
                    "{activation:?} {m1} {m2} {q12}: {found} {wanted}"
                );
            }
        }
    }
}

#[test]
fn hard_activations_agree_with_integration() {
    let between = |mean: f64, deviation: f64| {
        let [low, high] = [-3.0, 3.0].map(|edge: f64| ((edge - mean) / deviation).clamp(-9.0, 9.0));
        pieces(&[-9.0, low, high, 9.0])
    };
    for ([m1, m2], [q11, q12, q22]) in CASES {
        let (a, b) = (q11.sqrt(), q12 / q11.sqrt());
        let c = (q22 - b * b).sqrt();
        for activation in HARD {
            let (mut value, mut slope, mut mean, mut mean_slope) = (0.0, 0.0, 0.0, 0.0);
            for (z, weight) in between(m1, a) {
                let (f, df) = phi(activation, m1 + a * z);
                mean += weight * f;
                mean_slope += weight * df;
                for (y, inner) in between(m2 + b * z, c) {
                    let (g, dg) = phi(activation, m2 + b * z + c * y);
                    value += weight * inner * f * g;
                    slope += weight * inner * df * dg;
                }
            }
            let found = shifted(activation, [m1, m2], [q11, q12, q22]);
            let marginal = Shifted::new(activation, &[m1], &[q11]);
            for (found, wanted) in [
                (found.value, value),
                (found.slope, slope),
                (marginal.value(0), mean),
                (marginal.slope(0), mean_slope),
            ] {
                assert!(
                    (found - wanted).abs() < 3e-8,
                    "{activation:?} {m1} {m2} {q12}: {found} {wanted}"
                );
            }
        }
    }
}

#[test]
fn smooth_activations_agree_with_integration() {
    let step = 0.1;
    let nodes: Vec<f64> = (-90..=90).map(|i| f64::from(i) * step).collect();
    for ([m1, m2], [q11, q12, q22]) in CASES {
        let (a, b) = (q11.sqrt(), q12 / q11.sqrt());
        let c = (q22 - b * b).sqrt();
        // gelu and erf are in the next test.
        for activation in SMOOTH
            .into_iter()
            .filter(|a| !matches!(a, Activation::Gelu | Activation::Erf))
        {
            let (mut value, mut slope) = (0.0, 0.0);
            for &z in &nodes {
                let (f, df) = phi(activation, m1 + a * z);
                for &y in &nodes {
                    let (g, dg) = phi(activation, m2 + b * z + c * y);
                    let weight = normal(z) * normal(y) * step * step;
                    value += weight * f * g;
                    slope += weight * df * dg;
                }
            }
            let found = shifted(activation, [m1, m2], [q11, q12, q22]);
            // The series ends too early for wide tanh.
            let tolerance = if q11 > 2.0 { 1e-5 } else { 1e-7 };
            for (found, wanted) in [(found.value, value), (found.slope, slope)] {
                assert!(
                    (found - wanted).abs() < tolerance,
                    "{activation:?} {m1} {m2} {q12}: {:e}",
                    found - wanted
                );
            }
        }
    }
}

/// A mean D shared by u and v, itself Gaussian, adds Var D to all second moments of centred ones.
#[test]
fn averaging_over_a_random_mean_gives_the_centred_dual() {
    let q = [0.6, 0.3, 0.9];
    let spread = 0.5f64;
    let step = 0.05;
    for activation in SMOOTH.into_iter().chain(KINKED).chain(HARD) {
        let (mut value, mut slope) = (0.0, 0.0);
        for i in -160..=160 {
            let z = f64::from(i) * step;
            let made = shifted(activation, [spread * z; 2], q);
            value += step * normal(z) * made.value;
            slope += step * normal(z) * made.slope;
        }
        let common = spread * spread;
        let wanted = dual(activation, pair(q.map(|q| q + common)));
        assert!((value - wanted.value).abs() < 1e-6, "{activation:?}");
        assert!((slope - wanted.slope).abs() < 1e-6, "{activation:?}");
    }
}

#[test]
fn without_means_the_centred_forms_come_back() {
    for (_, q) in CASES {
        for activation in KINKED.into_iter().chain(SMOOTH) {
            let (found, wanted) = (shifted(activation, [0.0; 2], q), dual(activation, pair(q)));
            let tolerance = if KINKED.contains(&activation) {
                1e-14
            } else if q[0] > 2.0 {
                1e-5
            } else {
                1e-7
            };
            assert!(
                (found.value - wanted.value).abs() < tolerance,
                "{activation:?} {q:?}"
            );
            assert!(
                (found.slope - wanted.slope).abs() < tolerance,
                "{activation:?} {q:?}"
            );
        }
    }
}

/// Price's theorem holds whatever the means.
#[test]
fn the_slope_is_the_derivative_of_the_value() {
    let h = 1e-4;
    for (means, [q11, q12, q22]) in CASES {
        // Where u and v nearly agree, higher derivatives are large.
        if q12 * q12 > 0.9 * q11 * q22 {
            continue;
        }
        for activation in KINKED.into_iter().chain(SMOOTH).chain(HARD) {
            let value = |q12| shifted(activation, means, [q11, q12, q22]).value;
            let difference = (value(q12 + h) - value(q12 - h)) / (2.0 * h);
            let slope = shifted(activation, means, [q11, q12, q22]).slope;
            let tolerance = if KINKED.contains(&activation) {
                1e-7
            } else {
                3e-6
            };
            assert!(
                (difference - slope).abs() < tolerance,
                "{activation:?} {means:?} {q12}: {difference} {slope}"
            );
        }
    }
}

/// E[relu(u)²] = (m² + q)Φ + mσφ, and a Gaussian of variance 0 is a number.
#[test]
fn equal_and_certain_inputs() {
    let phi_1 = normal(1.0);
    let cdf_1 = 0.841_344_746_068_542_9;
    let equal = shifted(Activation::Relu, [2.0, 2.0], [4.0, 4.0, 4.0]);
    assert!((equal.value - (8.0 * cdf_1 + 4.0 * phi_1)).abs() < 1e-14);
    assert!((equal.slope - cdf_1).abs() < 1e-15);
    let certain = shifted(
        Activation::LeakyRelu { slope: 0.2 },
        [-3.0, 2.0],
        [0.0, 0.0, 4.0],
    );
    let other = 0.2 * 2.0 + 0.8 * (2.0 * cdf_1 + 2.0 * phi_1);
    assert!((certain.value + 0.6 * other).abs() < 1e-14);
    assert!((certain.slope - 0.2 * (0.2 + 0.8 * cdf_1)).abs() < 1e-15);
    for activation in [Activation::Sin, Activation::Tanh].into_iter().chain(HARD) {
        let certain = shifted(activation, [0.5, -1.0], [0.0; 3]);
        let ((f, df), (g, dg)) = (phi(activation, 0.5), phi(activation, -1.0));
        assert!((certain.value - f * g).abs() < 1e-14);
        assert!((certain.slope - df * dg).abs() < 1e-14);
    }
}
