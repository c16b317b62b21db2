//! (φ, φ') at a point; at a kink φ' is that of automatic differentiation.

use std::f64::consts::FRAC_2_SQRT_PI;

use polariscope_graph::Activation;

use super::normal::{density, distribution};

pub(crate) fn at(activation: Activation, x: f64) -> (f64, f64) {
    let logistic = |x: f64| 1.0 / (1.0 + (-x).exp());
    let kinked = |slope: f64| match x > 0.0 {
        true => (x, 1.0),
        false => (slope * x, slope),
    };
    let hard = |x: f64| match x.abs() < 3.0 {
        true => ((x + 3.0) / 6.0, 1.0 / 6.0),
        false => (f64::from(x > 0.0), 0.0),
    };
    match activation {
        Activation::Identity => (x, 1.0),
        Activation::Relu => kinked(0.0),
        Activation::LeakyRelu { slope } => kinked(slope),
        Activation::Abs => (x.abs(), if x == 0.0 { 0.0 } else { x.signum() }),
        Activation::Gelu => {
            let p = distribution(x);
            (x * p, p + x * density(x))
        }
        Activation::Tanh => {
            let t = x.tanh();
            (t, 1.0 - t * t)
        }
        Activation::Erf => (libm::erf(x), FRAC_2_SQRT_PI * (-x * x).exp()),
        Activation::Sin => x.sin_cos(),
        Activation::Sigmoid => (logistic(x), logistic(x) * logistic(-x)),
        Activation::Silu => {
            let p = logistic(x);
            (x * p, p * (1.0 + x * logistic(-x)))
        }
        Activation::HardSigmoid => hard(x),
        Activation::HardSwish => {
            let (s, slope) = hard(x);
            (x * s, s + x * slope)
        }
        Activation::Softplus { beta } => {
            let bx = beta * x;
            let value = (bx.max(0.0) + (-bx.abs()).exp().ln_1p()) / beta;
            (value, logistic(bx))
        }
    }
}
