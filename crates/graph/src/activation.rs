//! Elementwise nonlinearities.

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
}
