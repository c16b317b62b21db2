//! Duals against direct integration, against each other by Price's theorem, and where digits are easily lost.

use polariscope_graph::Activation;
use polariscope_meanfield::dual::{Pair, dual};

const PI: f64 = std::f64::consts::PI;

/// erf by a series of one sign.
fn erf(x: f64) -> f64 {
    if x.abs() > 6.0 {
        return x.signum();
    }
    let (mut term, mut sum, mut n) = (x, x, 0.0);
    while term.abs() > 1e-18 * sum.abs() {
        n += 1.0;
        term *= 2.0 * x * x / (2.0 * n + 1.0);
        sum += term;
    }
    2.0 / PI.sqrt() * (-x * x).exp() * sum
}

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
fn smooth(activation: Activation, x: f64) -> (f64, f64) {
    match activation {
        Activation::Gelu => {
            let p = 0.5 * (1.0 + erf(x / 2f64.sqrt()));
            (x * p, p + x * normal(x))
        }
        Activation::Tanh => (x.tanh(), 1.0 - x.tanh().powi(2)),
        Activation::Erf => (erf(x), 2.0 / PI.sqrt() * (-x * x).exp()),
        Activation::Sin => (x.sin(), x.cos()),
        Activation::Sigmoid => (logistic(x), logistic(x) * logistic(-x)),
        Activation::Silu => (x * logistic(x), logistic(x) * (1.0 + x * logistic(-x))),
        Activation::HardSigmoid => hard(x),
        Activation::HardSwish => (x * hard(x).0, hard(x).0 + x * hard(x).1),
        Activation::Softplus { beta } => {
            let bx = beta * x;
            (
                (bx.max(0.0) + (-bx.abs()).exp().ln_1p()) / beta,
                logistic(bx),
            )
        }
        _ => panic!("not smooth"),
    }
}

/// E over two standard normals by the trapezoid rule, whose error is exp(−2π·distance of the nearest pole/step).
fn integrate(activation: Activation, q: Pair, step: f64) -> (f64, f64) {
    let (a, b) = (q.q11.sqrt(), q.q12 / q.q11.sqrt());
    let c = (q.q22 - b * b).max(0.0).sqrt();
    let nodes: Vec<f64> = (-(9.0 / step) as i64..=(9.0 / step) as i64)
        .map(|i| i as f64 * step)
        .collect();
    let (mut value, mut slope) = (0.0, 0.0);
    for &z in &nodes {
        let (f, df) = smooth(activation, a * z);
        let (mut inner, mut inner_slope) = (0.0, 0.0);
        for &y in &nodes {
            let (g, dg) = smooth(activation, b * z + c * y);
            let w = normal(y) * step;
            inner += w * g;
            inner_slope += w * dg;
        }
        value += normal(z) * step * f * inner;
        slope += normal(z) * step * df * inner_slope;
    }
    (value, slope)
}

/// Homogeneous φ: the radius integrates to E r²/2 · 2 = 2, the angle piece by piece between kinks by Gauss's
/// three-point rule.
fn integrate_angle(phi: impl Fn(f64) -> (f64, f64), q: Pair) -> (f64, f64) {
    let (a, b) = (q.q11.sqrt(), q.q12 / q.q11.sqrt());
    let c = (q.q22 - b * b).max(0.0).sqrt();
    // u ∝ cos t, v ∝ b cos t + c sin t.
    let v_zero = (-b).atan2(c);
    let mut kinks = [PI / 2.0, 3.0 * PI / 2.0, v_zero, v_zero + PI].map(|t| t.rem_euclid(2.0 * PI));
    kinks.sort_by(f64::total_cmp);
    let (mut value, mut slope) = (0.0, 0.0);
    for i in 0..4 {
        let (from, to) = (
            kinks[i],
            if i == 3 {
                kinks[0] + 2.0 * PI
            } else {
                kinks[i + 1]
            },
        );
        let h = (to - from) / 64.0;
        for k in 0..64 {
            for (x, w) in [
                (-0.6f64.sqrt(), 5.0 / 18.0),
                (0.0, 8.0 / 18.0),
                (0.6f64.sqrt(), 5.0 / 18.0),
            ] {
                let t = from + h * (k as f64 + 0.5 + 0.5 * x);
                let ((f, df), (g, dg)) = (phi(a * t.cos()), phi(b * t.cos() + c * t.sin()));
                value += w * h * 2.0 * f * g / (2.0 * PI);
                slope += w * h * df * dg / (2.0 * PI);
            }
        }
    }
    (value, slope)
}

const PAIRS: [(f64, f64, f64); 9] = [
    (1.0, 0.5, 2.0),
    (0.3, -0.2, 0.4),
    (2.0, 1.9, 2.0),
    (0.01, 0.009, 0.01),
    (4.0, -3.0, 5.0),
    (1.0, 0.0, 1.0),
    (1.5, 1.5, 1.5),
    (1.0, 2.0, 4.0),
    (1e-4, 1e-3, 5.0),
];

fn pairs() -> impl Iterator<Item = Pair> {
    PAIRS.iter().map(|&(q11, q12, q22)| Pair { q11, q12, q22 })
}

fn check(activation: Activation, q: Pair, wanted: (f64, f64), tolerance: f64) {
    let found = dual(activation, q);
    let scale = 1.0 + (q.q11 * q.q22).sqrt();
    for (found, wanted) in [(found.value, wanted.0), (found.slope, wanted.1)] {
        assert!(
            (found - wanted).abs() < tolerance * scale,
            "{activation:?} {q:?}: {found:e}, by integration {wanted:e}"
        );
    }
}

#[test]
fn closed_forms_agree_with_integration() {
    for q in pairs() {
        for activation in [Activation::Gelu, Activation::Erf, Activation::Sin] {
            check(activation, q, integrate(activation, q, 0.1), 1e-12);
        }
        for slope in [0.0, 0.3, -1.0] {
            let phi = |x: f64| {
                if x > 0.0 {
                    (x, 1.0)
                } else {
                    (slope * x, slope)
                }
            };
            // The angle of v is known to √ε where the pair is degenerate.
            let tolerance = if q.q11 * q.q22 == q.q12 * q.q12 {
                1e-7
            } else {
                1e-12
            };
            let wanted = integrate_angle(phi, q);
            check(Activation::LeakyRelu { slope }, q, wanted, tolerance);
            if slope == 0.0 {
                check(Activation::Relu, q, wanted, tolerance);
            }
            if slope == -1.0 {
                check(Activation::Abs, q, wanted, tolerance);
            }
        }
    }
}

#[test]
fn logistic_functions_agree_with_integration() {
    // A pole of tanh at π/2 and a standard deviation of √5: 2π·0.70/0.1 = 44 e-folds.
    let wide = Pair {
        q11: 100.0,
        q12: 60.0,
        q22: 80.0,
    };
    for activation in [
        Activation::Tanh,
        Activation::Sigmoid,
        Activation::Silu,
        Activation::Softplus { beta: 1.0 },
        Activation::Softplus { beta: 2.5 },
    ] {
        for q in pairs() {
            check(activation, q, integrate(activation, q, 0.1), 1e-8);
        }
        check(activation, wide, integrate(activation, wide, 0.04), 1e-8);
    }
}

const ALL: [Activation; 13] = [
    Activation::Identity,
    Activation::Relu,
    Activation::LeakyRelu { slope: 0.2 },
    Activation::Gelu,
    Activation::Tanh,
    Activation::Erf,
    Activation::Sin,
    Activation::Sigmoid,
    Activation::Silu,
    Activation::HardSigmoid,
    Activation::HardSwish,
    Activation::Softplus { beta: 1.5 },
    Activation::Abs,
];

/// Price's theorem: ∂E[φφ]/∂q12 = E[φ'φ'], by central differences.
#[test]
fn the_slope_is_the_derivative_of_the_value() {
    for activation in ALL {
        for (q11, q12, q22) in [
            (1.0, 0.5, 2.0),
            (0.3, -0.2, 0.4),
            (5.0, 0.0, 3.0),
            (20.0, 12.0, 9.0),
        ] {
            let h = 1e-4;
            let value = |q12| dual(activation, Pair { q11, q12, q22 }).value;
            let difference = (value(q12 + h) - value(q12 - h)) / (2.0 * h);
            let slope = dual(activation, Pair { q11, q12, q22 }).slope;
            // Third derivatives of order 10 times h²/6, roundings 1e-15·q/h.
            assert!(
                (difference - slope).abs() < 1e-7,
                "{activation:?} {q11} {q12} {q22}: {difference} {slope}"
            );
        }
    }
}

/// E[φ²] and E[φ'²] piece by piece between the kinks by Simpson's rule, at u = ±v and very near it.
#[test]
fn hard_activations_of_equal_inputs() {
    for activation in [Activation::HardSigmoid, Activation::HardSwish] {
        for q in [0.05f64, 1.0, 4.0, 9.0] {
            let far = (9.0 * q.sqrt()).max(4.0);
            let pieces = [[-far, -3.0], [-3.0, 3.0], [3.0, far]];
            for sign in [1.0, -1.0] {
                let (mut value, mut slope) = (0.0, 0.0);
                for [from, to] in pieces {
                    let step: f64 = (to - from) / 4000.0;
                    for i in 0..=4000 {
                        let share = match i {
                            0 | 4000 => 1.0,
                            i if i % 2 == 1 => 4.0,
                            _ => 2.0,
                        };
                        let x: f64 = from + step * f64::from(i).clamp(1e-9, 4000.0 - 1e-9);
                        let weight = share * step / 3.0 * normal(x / q.sqrt()) / q.sqrt();
                        let ((f, df), (g, dg)) =
                            (smooth(activation, x), smooth(activation, sign * x));
                        value += weight * f * g;
                        slope += weight * df * dg;
                    }
                }
                // An angle of 1e-7 between u and v moves slopes by as much at a kink.
                let pair = |q12| Pair {
                    q11: q,
                    q12,
                    q22: q,
                };
                for (q12, tolerance) in [(sign * q, 1e-10), (sign * q * (1.0 - 1e-14), 1e-6)] {
                    let found = dual(activation, pair(q12));
                    for (found, wanted) in [(found.value, value), (found.slope, slope)] {
                        assert!(
                            (found - wanted).abs() < tolerance,
                            "{activation:?} {q} {q12}: {found} {wanted}"
                        );
                    }
                }
            }
        }
    }
}

/// On the diagonal half of the relu's mass is left, without a rounding.
#[test]
fn equal_inputs_are_exact() {
    for q in [1e-300, 0.1, 1.0, 3.7, 1e10] {
        let found = |activation| {
            dual(
                activation,
                Pair {
                    q11: q,
                    q12: q,
                    q22: q,
                },
            )
        };
        assert_eq!(
            [found(Activation::Relu).value, found(Activation::Relu).slope],
            [0.5 * q, 0.5]
        );
        assert_eq!(
            [found(Activation::Abs).value, found(Activation::Abs).slope],
            [q, 1.0]
        );
    }
}

/// u and v at an angle θ: slope ½ − θ/2π. A determinant by q11 q22 − q12² would lose half of the digits of θ.
#[test]
fn nearly_equal_inputs_lose_no_digits() {
    for exponent in 4..16 {
        for q in [1.0, 0.37] {
            let q12 = q - q * 10f64.powi(-exponent);
            // 1 − cos θ = (q − q12)/q, the difference exact.
            let theta = 2.0 * ((q - q12) / q / 2.0).sqrt().asin();
            let found = dual(
                Activation::Relu,
                Pair {
                    q11: q,
                    q12,
                    q22: q,
                },
            );
            let slope = 0.5 - theta / (2.0 * PI);
            assert!(
                (found.slope - slope).abs() < 3e-16,
                "1e-{exponent}: {}",
                found.slope - slope
            );
            let excess = q * (theta.sin() - theta * theta.cos()) / (2.0 * PI);
            assert!(
                (found.value - 0.5 * q12 - excess).abs() < 3e-16,
                "1e-{exponent}"
            );
        }
    }
}

/// A Gaussian of variance 0 sits at 0, where slopes are those of automatic differentiation.
#[test]
fn nothing_at_all() {
    for activation in ALL {
        let found = dual(
            activation,
            Pair {
                q11: 0.0,
                q12: 0.0,
                q22: 0.0,
            },
        );
        let (phi, slope) = match activation {
            Activation::Identity => (0.0, 1.0),
            Activation::Relu | Activation::Abs => (0.0, 0.0),
            Activation::LeakyRelu { slope } => (0.0, slope),
            activation => smooth(activation, 0.0),
        };
        assert!((found.value - phi * phi).abs() < 1e-9, "{activation:?}");
        assert!((found.slope - slope * slope).abs() < 4e-9, "{activation:?}");
    }
    let half = dual(
        Activation::LeakyRelu { slope: 0.2 },
        Pair {
            q11: 0.0,
            q12: 0.0,
            q22: 2.0,
        },
    );
    assert!((half.slope - 0.2 * 0.6).abs() < 1e-16);
}
