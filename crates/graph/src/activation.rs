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
    /// ln(1+e^{βx})/β
    Softplus {
        /// β.
        beta: f64,
    },
    /// |x|
    Abs,
}
