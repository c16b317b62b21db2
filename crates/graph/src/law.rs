//! Laws of initial values, and the parametrisations that choose them.

use serde::{Deserialize, Serialize};

/// Distribution of a parameter's initial value; entries are independent unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// Always this number.
    Constant(f64),
    /// Uniform on [−bound, bound).
    Uniform {
        /// Half the width.
        bound: f64,
    },
    /// Normal with mean 0.
    Normal {
        /// Standard deviation.
        std: f64,
    },
    /// Rows (or columns, when there are more rows) orthonormal, uniform over the orthogonal group (QR, signs fixed), times the gain.
    Orthogonal {
        /// Factor.
        gain: f64,
    },
}

/// Rule that sets the init law and the forward scale of every weight and bias.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Parametrisation {
    /// Weights and biases U(±1/√fan_in).
    Pytorch,
    /// N(0,1) everywhere, weights scaled by w_std/√fan_in and biases by b_std in the forward pass.
    Ntk {
        /// Weight scale.
        w_std: f64,
        /// Bias scale.
        b_std: f64,
    },
    /// As `Ntk`, the read-out (last dense layer) scaled by w_std/fan_in.
    MeanField {
        /// Weight scale.
        w_std: f64,
        /// Bias scale.
        b_std: f64,
    },
    /// Weights N(0, 2/fan_in), biases 0.
    He,
    /// Weights N(0, 1/fan_in), biases 0.
    Lecun,
    /// Weights U(±√(6/(fan_in+fan_out))), biases 0.
    Xavier,
    /// Weights orthogonal, biases 0.
    Orthogonal,
}
