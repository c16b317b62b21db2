//! Elementwise nonlinearities.

use std::f64::consts::{PI, TAU};

use serde::{Deserialize, Serialize};

/// An elementwise nonlinearity φ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// x
    Identity,
    /// max(x, 0)
    Relu,
    /// x for x > 0, slope·x otherwise
    LeakyRelu {
        /// Factor on the negative side.
        slope: f64,
    },
    /// x·Φ(x), Φ the normal distribution function (exact, by erf)
    Gelu,
    /// tanh x
    Tanh,
    /// erf x
    Erf,
    /// sin x
    Sin,
    /// 1/(1+e^{−x})
    Sigmoid,
    /// x/(1+e^{−x})
    Silu,
    /// min(max(x + 3, 0), 6)/6
    HardSigmoid,
    /// x·min(max(x + 3, 0), 6)/6
    HardSwish,
    /// ln(1+e^{βx})/β
    Softplus {
        /// β.
        beta: f64,
    },
    /// |x|
    Abs,
}

impl Activation {
    /// Whether φ is the identity.
    pub fn is_identity(&self) -> bool {
        match *self {
            Activation::Identity => true,
            Activation::LeakyRelu { slope } => slope == 1.0,
            Activation::Relu
            | Activation::Gelu
            | Activation::Tanh
            | Activation::Erf
            | Activation::Sin
            | Activation::Sigmoid
            | Activation::Silu
            | Activation::HardSigmoid
            | Activation::HardSwish
            | Activation::Softplus { .. }
            | Activation::Abs => false,
        }
    }

    /// Whether φ(−u) = −φ(u), so that a mean of 0 stays 0.
    pub fn is_odd(&self) -> bool {
        match self {
            Activation::Identity | Activation::Tanh | Activation::Erf | Activation::Sin => true,
            Activation::LeakyRelu { .. } => self.is_identity(),
            Activation::Relu
            | Activation::Gelu
            | Activation::Sigmoid
            | Activation::Silu
            | Activation::HardSigmoid
            | Activation::HardSwish
            | Activation::Softplus { .. }
            | Activation::Abs => false,
        }
    }

    /// Whether φ never falls, but for the shallow dip of gelu, silu and hard-swish.
    pub fn increases(&self) -> bool {
        match *self {
            Activation::Identity
            | Activation::Relu
            | Activation::Gelu
            | Activation::Silu
            | Activation::Tanh
            | Activation::Erf
            | Activation::Sigmoid
            | Activation::HardSigmoid
            | Activation::HardSwish
            | Activation::Softplus { .. } => true,
            Activation::LeakyRelu { slope } => slope >= 0.0,
            Activation::Sin | Activation::Abs => false,
        }
    }

    /// E φ(Z)² of a standard normal Z.
    pub fn second_moment(&self) -> f64 {
        match *self {
            Activation::Identity | Activation::Abs => 1.0,
            Activation::Relu => 0.5,
            Activation::LeakyRelu { slope } => 0.5 * (1.0 + slope * slope),
            // E Z²Φ² = E Φ² + 2 E ZφΦ by Stein's lemma, and 2 E ZφΦ = E φ² by the same.
            Activation::Gelu => 1.0 / 3.0 + 1.0 / (TAU * 3f64.sqrt()),
            Activation::Erf => 2.0 / PI * (2.0f64 / 3.0).asin(),
            Activation::Sin => 0.5 * (1.0 - (-2f64).exp()),
            Activation::Tanh => mean_square(f64::tanh),
            Activation::Sigmoid => mean_square(sigmoid),
            Activation::Silu => mean_square(|z| z * sigmoid(z)),
            Activation::HardSigmoid => mean_square(hard_sigmoid),
            Activation::HardSwish => mean_square(|z| z * hard_sigmoid(z)),
            Activation::Softplus { beta } => {
                mean_square(|z| z.max(0.0) + (-beta * z.abs()).exp().ln_1p() / beta)
            }
        }
    }
}

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

fn hard_sigmoid(z: f64) -> f64 {
    (z + 3.0).clamp(0.0, 6.0) / 6.0
}

/// E f(Z)² by the trapezoid rule, whose error is below 1e-15 where f is smooth and below 1e-6 with a kink at ±3.
fn mean_square(f: impl Fn(f64) -> f64) -> f64 {
    let step = 1.0 / 128.0;
    let nodes = (-12 * 128..=12 * 128).map(|i| f64::from(i) * step);
    let density = step / TAU.sqrt();
    nodes
        .map(|z| density * (-0.5 * z * z).exp() * f(z).powi(2))
        .sum()
}

/// What an activation layer computes: φ, or φ divided by √(E φ(Z)²).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Nonlinearity {
    /// φ
    Plain(Activation),
    /// φ times [`Nonlinearity::factor`]: a standard normal input gives an output of mean square 1.
    Normalised {
        /// φ.
        normalised: Activation,
    },
}

impl Nonlinearity {
    /// φ.
    pub fn activation(&self) -> Activation {
        match *self {
            Nonlinearity::Plain(activation)
            | Nonlinearity::Normalised {
                normalised: activation,
            } => activation,
        }
    }

    /// What φ is multiplied by.
    pub fn factor(&self) -> f64 {
        match self {
            Nonlinearity::Plain(_) => 1.0,
            Nonlinearity::Normalised { normalised } => normalised.second_moment().sqrt().recip(),
        }
    }
}

impl From<Activation> for Nonlinearity {
    fn from(activation: Activation) -> Self {
        Nonlinearity::Plain(activation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The factors that are published for three of them; the others against the definition on a grid of another kind.
    #[test]
    fn normalised_activations_have_mean_square_one() {
        let factor = |text: &str| text.parse::<Nonlinearity>().unwrap().factor();
        assert!((factor("normalised:softplus:5") - 1.404_383).abs() < 1e-6);
        assert!((factor("normalised:relu") - 2f64.sqrt()).abs() < 1e-15);
        assert!((factor("normalised:tanh") - 1.592_54).abs() < 5e-6);
        assert_eq!(factor("softplus:5"), 1.0);

        type Function = fn(f64) -> f64;
        let phi: [(&str, Function); 7] = [
            ("leaky-relu:0.3", |z| if z > 0.0 { z } else { 0.3 * z }),
            ("sin", f64::sin),
            ("abs", f64::abs),
            ("sigmoid", |z| 0.5 + 0.5 * (0.5 * z).tanh()),
            ("silu", |z| z * (0.5 + 0.5 * (0.5 * z).tanh())),
            ("hard-sigmoid", |z| (0.5 + z / 6.0).clamp(0.0, 1.0)),
            ("hard-swish", |z| z * (0.5 + z / 6.0).clamp(0.0, 1.0)),
        ];
        for (name, f) in phi {
            // Midpoints of cells that have no node in common with the rule of the library.
            let cell = 1.0 / 1000.0;
            let square: f64 = (-9000..9000)
                .map(|i| (f64::from(i) + 0.5) * cell)
                .map(|z| cell / TAU.sqrt() * (-0.5 * z * z).exp() * f(z) * f(z))
                .sum();
            let found = factor(&format!("normalised:{name}"));
            assert!(
                (found * square.sqrt() - 1.0).abs() < 2e-6,
                "{name}: {found}"
            );
        }
    }

    /// erf and gelu: φ' of the one and of Φ are elementary, so that φ is an integral of them on the way.
    #[test]
    fn second_moments_of_erf_and_gelu() {
        let (cell, mut cdf) = (1e-4, 0.0);
        let (mut erf, mut gelu) = (0.0, 0.0);
        for i in -90_000..90_000 {
            let z = (f64::from(i) + 0.5) * cell;
            let density = (-0.5 * z * z).exp() / TAU.sqrt();
            // Φ at the midpoint.
            let phi: f64 = cdf + 0.5 * cell * density;
            cdf += cell * density;
            gelu += cell * density * (z * phi).powi(2);
            // erf(u) = 2Φ(√2 u) − 1, so z stands for √2 u.
            let u = z / 2f64.sqrt();
            erf +=
                cell / 2f64.sqrt() * (-0.5 * u * u).exp() / TAU.sqrt() * (2.0 * phi - 1.0).powi(2);
        }
        assert!((Activation::Gelu.second_moment() - gelu).abs() < 1e-6);
        assert!((Activation::Erf.second_moment() - erf).abs() < 1e-6);
    }
}
