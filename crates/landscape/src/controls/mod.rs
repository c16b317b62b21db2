//! Controls of the landscape lens.

mod curvature;

use polariscope_lens::{Control, Group, control};

/// Those of the lens.
pub const CONTROLS: Group = Group {
    name: "landscape",
    controls: TABLE,
};

/// The table. Nothing here is sampled; what is left is rounding.
#[rustfmt::skip]
const TABLE: &[Control] = &[
    control("logistic regression: Hessian less Σ p(1−p) x xᵀ/n", 0.0, 1e-14, curvature::logistic),
    control("relu MLP, quadratic hinge: trace of H_p", 0.0, 0.0, curvature::trace),
    control("relu MLP with one hidden layer: H_p less its mirror image, eigenvalues", 0.0, 1e-13, curvature::mirror),
    control("relu MLP: zero modes of H₀ beyond N − N_Δ", 0.0, 0.0, curvature::zero_modes),
    control("tanh MLP: ends of H by products less those of its matrix", 0.0, 1e-8, curvature::products),
];
