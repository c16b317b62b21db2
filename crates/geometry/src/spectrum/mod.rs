//! Eigenvalues and eigenvectors of a geometry, and what they say in a few numbers.

mod corr;
mod decompose;
mod flip;
mod generalised;
mod overlap;
pub(crate) mod solver;
mod summary;

use serde::{Deserialize, Serialize};

pub use corr::corr;
pub(crate) use corr::norm;
pub use flip::flip;
pub use generalised::{Generalised, generalised};
pub use overlap::overlap;

/// A verified eigendecomposition of I_C ⊗ B: every eigenvalue of B counts C times, with directions e_c ⊗ u.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spectrum {
    /// C.
    pub channels: usize,
    /// Rows of B.
    pub n: usize,
    /// All D = C·n eigenvalues, largest first.
    pub values: Vec<f64>,
    /// Eigenvectors of B, one a row, in the order of its eigenvalues (n × n).
    pub vectors: Vec<f64>,
    /// Largest ‖Bu − λu‖ over ‖B‖.
    pub residual: f64,
    /// Largest |uᵢ·uⱼ − δᵢⱼ|.
    pub orthogonality: f64,
    /// Standard errors of some eigenvalues as (index into `values`, error), in order; empty where nothing was sampled.
    pub errors: Vec<(usize, f64)>,
}

/// The numbers of `[result]`; errors where the geometry was sampled.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// tr G.
    pub trace: f64,
    /// Standard error of the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_error: Option<f64>,
    /// (tr G)² / tr G².
    pub participation_ratio: f64,
    /// Standard error of the participation ratio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub participation_ratio_error: Option<f64>,
    /// exp(−Σ p ln p), p = λ/Σλ.
    pub effective_rank: f64,
    /// Standard error of the effective rank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effective_rank_error: Option<f64>,
    /// Share of the trace in the first tenth of the directions.
    pub top10_share: f64,
    /// Standard error of the share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top10_share_error: Option<f64>,
}
