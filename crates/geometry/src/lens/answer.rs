//! What was found.

use std::collections::BTreeMap;

use polariscope_graph::{Graph, Shape};
use serde::{Deserialize, Serialize};

use super::files::matrix_file;
use super::resolved::Resolved;
use super::source::Provenance;
use crate::{Gradient, Kron, Method, Readouts, Spectrum, Summary};

/// A geometry with everything that is said about it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// The architecture.
    pub name: String,
    /// Its trainable numbers.
    pub parameters: usize,
    /// Shape of its input.
    pub input: Shape,
    /// Which geometry it is.
    pub source: Provenance,
    /// How it was found, in a sentence or two.
    pub method: String,
    /// What was chosen where others choose differently: name and choice.
    pub conventions: Vec<(String, String)>,
    /// The numbers.
    pub numbers: Numbers,
    /// G.
    pub matrix: Kron,
    /// Its decomposition.
    pub spectrum: Spectrum,
    /// The local geometry of the same inputs, where the coherent one has a closed form.
    pub local: Option<Kron>,
    /// ḡ of given weights.
    pub mean_gradient: Option<Vec<f64>>,
}

/// What was found, in numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Numbers {
    /// Which geometry.
    pub gradient: Gradient,
    /// The method that ran.
    pub method: Method,
    /// Networks sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub networks: Option<u64>,
    /// Standard error of G over its norm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relative_error: Option<f64>,
    /// What stood for the last layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readouts: Option<Readouts>,
    /// Trace, participation ratio, effective rank, share of the first tenth.
    #[serde(flatten)]
    pub summary: Summary,
    /// The file that holds G: `geometry.npy`, or `geometry_factor.npy` for I_C ⊗ B.
    pub matrix: String,
    /// C: equal blocks on the diagonal of G.
    pub channels: usize,
    /// Largest ‖Bu − λu‖ over ‖B‖.
    pub residual: f64,
    /// Largest |uᵢ·uⱼ − δᵢⱼ|.
    pub orthogonality: f64,
    /// Approximations that were made.
    pub notes: Vec<String>,
    /// Seconds by stage.
    pub seconds: BTreeMap<String, f64>,
    /// How other methods compare.
    pub agreement: Vec<Agreement>,
}

/// How the geometry of another method, or of another source, compares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// The other one.
    pub with: String,
    /// <A, B> / (‖A‖‖B‖).
    pub corr: f64,
    /// Its standard error, where one of the two was sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corr_error: Option<f64>,
    /// Overlap of the first k directions, for some k.
    pub overlaps: Vec<(usize, f64)>,
    /// The other trace over this one.
    pub trace_ratio: f64,
    /// Its standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_ratio_error: Option<f64>,
}

impl Resolved {
    /// The answer that a matrix is.
    pub(super) fn assemble(
        &self,
        graph: &Graph,
        matrix: Kron,
        spectrum: Spectrum,
        summary: Summary,
    ) -> Answer {
        let numbers = Numbers {
            gradient: self.gradient,
            method: self.method,
            networks: None,
            relative_error: None,
            readouts: None,
            summary,
            matrix: matrix_file(&matrix).to_string(),
            channels: matrix.channels,
            residual: spectrum.residual,
            orthogonality: spectrum.orthogonality,
            notes: Vec::new(),
            seconds: BTreeMap::new(),
            agreement: Vec::new(),
        };
        self.describe(graph, numbers, matrix, spectrum)
    }

    /// Numbers and arrays in words.
    pub(super) fn describe(
        &self,
        graph: &Graph,
        numbers: Numbers,
        matrix: Kron,
        spectrum: Spectrum,
    ) -> Answer {
        Answer {
            name: graph.name.clone(),
            parameters: graph.parameter_count(),
            input: graph.input(),
            source: self.source(graph, &numbers),
            method: self.sentence(graph, &numbers),
            conventions: self.conventions(),
            numbers,
            matrix,
            spectrum,
            local: None,
            mean_gradient: None,
        }
    }
}
