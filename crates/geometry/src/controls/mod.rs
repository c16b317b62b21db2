//! Controls of the geometry lens: what the papers state, with the right constants.
//!
//! Most compare a matrix averaged over random networks with its closed form B, as ‖E M − B‖²/‖B‖² without the
//! bias of the noise ("distance²"); a constant wrong by a factor 2 gives ¼ or 1. `docs/geometry-theory.md` has the
//! statements, and what the papers print.

pub mod device;
mod evolution;
mod initial;
mod pooling;

use polariscope_lens::{Control, Group, control};

/// What needs no GPU.
pub const CONTROLS: Group = Group {
    name: "geometry",
    controls: TABLE,
};

/// The table. Sampled numbers may be off by about five standard errors, the rest by rounding; rates are fitted where
/// the next order is below the tolerance.
#[rustfmt::skip]
const TABLE: &[Control] = &[
    control("linear model: distance² of G from σ²I", 0.0, 2e-4, initial::linear_geometry),
    control("linear model: distance² of Δ from −2σ²S", 0.0, 2e-4, evolution::linear),
    control("hidden ReLU layer: distance² of G from (n/2)σ²σ²I", 0.0, 4e-4, initial::hidden),
    control("two ReLU layers: distance² of G from (n₁n₂/4)σ²σ²σ²I", 0.0, 4e-4, initial::deep),
    control("ReLU CNN, same padding: distance² of G from diag(taps)", 0.0, 4e-4, initial::same),
    control("ReLU CNN, valid padding: distance² of G from diag(taps)", 0.0, 4e-4, initial::valid),
    control("ReLU CNN, circular padding: distance² of G from c·I", 0.0, 4e-4, initial::circular),
    control("pooled kernel: distance of G from the patch overlaps", 0.0, 1e-14, initial::overlap),
    control("3 inputs, 2 taps, pool 2: first eigenvalue of 4G/σ²", 3.0, 1e-14, initial::three_first),
    control("3 inputs, 2 taps, pool 2: last eigenvalue of 4G/σ²", 0.0, 1e-14, initial::three_last),
    control("batch norm on data: patch pairs outside the bounds, of 36", 0.0, 0.0, initial::batch_norm),
    control("3 input channels: part of ‖G‖² that is not I₃ ⊗ B", 0.0, 4e-4, initial::channels),
    control("propagated covariance: distance of G from unit kernels", 0.0, 1e-14, initial::propagated),
    control("propagated covariance: distance² from random GELU CNNs", 0.0, 4e-4, initial::propagated_deep),
    control("GELU CNN: error of Δ in a step over that in half a step", 2.0, 0.02, evolution::finite),
    control("hidden ReLU layer: distance² of Δ from −2(aS + b trS·I)", 0.0, 1.6e-3, evolution::hidden),
    control("hidden ReLU layer: Corr(−Δ, S) less its closed form", 0.0, 0.006, evolution::hidden_corr),
    control("hidden ReLU layer: exponent in D of Δ's distance from −S", -0.5, 2e-3, evolution::hidden_rate),
    control("pooled linear conv: distance² of Δ from its closed form", 0.0, 4e-4, evolution::pooled),
    control("pooled linear conv: Corr(−Δ, GSG) less its closed form", 0.0, 5e-5, evolution::pooled_corr),
    control("pooled linear conv: exponent in n of Δ's way to −GSG", -1.0, 2e-3, evolution::pooled_rate),
    control("mirrored read-out: what labels leave of Δ", 0.0, 1e-12, evolution::labels),
    control("pooling model: distance² of G from σ²σ²diag(m²)/S", 0.0, 1e-3, pooling::gradient),
    control("pooling model: distance² of E MᵀM from (σ²+σ²)diag(m²)/S", 0.0, 1.5e-4, pooling::mixed),
    control("ReLU pooling model: distance² of G from its closed form", 0.0, 2e-3, pooling::relu),
    control("pooling model: distance² of E ∇²J from signal plus noise", 0.0, 4e-4, pooling::curvature),
    control("average pool 4 of 128: (ε/σ)γ over Mahalanobis distance", 1.0, 1e-10, pooling::mahalanobis),
    control("average pool 4 of 128: Bayes accuracy less 1 − Q((ε/σ)γ)", 0.0, 0.003, pooling::bayes),
];
