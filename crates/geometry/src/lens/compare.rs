//! How alike two geometries are: a sampled one and the closed form of the same question, or those of several networks.

use polariscope_graph::Graph;
use polariscope_lens::Observer;
use serde::{Deserialize, Serialize};

use super::answer::{Agreement, Answer};
use super::resolved::Resolved;
use crate::page::with_error;
use crate::{GeometryError, Gradient, Kron, Method, Sampled, Spectrum, corr, overlap};

/// Sizes of the subspaces that are compared.
const SUBSPACES: [usize; 3] = [4, 16, 64];

/// Corr with a larger standard error says nothing.
const NOISE: f64 = 0.25;

/// Corr of two geometries, free of the noise of samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Similarity {
    /// ⟨A, B⟩ / (‖A‖‖B‖); NaN where noise drowns it.
    pub corr: f64,
    /// Its standard error, 0 for closed forms.
    pub error: f64,
}

impl Similarity {
    /// Of a geometry with itself.
    pub const SAME: Similarity = Similarity {
        corr: 1.0,
        error: 0.0,
    };

    /// How alike two geometries are, each with its sample where it has one.
    pub fn of(
        (a, sample_a): (&Kron, Option<&Sampled>),
        (b, sample_b): (&Kron, Option<&Sampled>),
    ) -> Result<Self, GeometryError> {
        let estimate = match (sample_a, sample_b) {
            (None, None) => {
                return Ok(Similarity {
                    corr: corr(a, b)?,
                    error: 0.0,
                });
            }
            (Some(sample), None) => sample.corr(b)?,
            (None, Some(sample)) => sample.corr(a)?,
            (Some(a), Some(b)) => a.corr_with(b)?,
        };
        let clear = estimate.value.is_finite() && estimate.standard_error <= NOISE;
        Ok(Similarity {
            corr: if clear { estimate.value } else { f64::NAN },
            error: if clear {
                estimate.standard_error
            } else {
                f64::NAN
            },
        })
    }

    /// Whether it is known.
    pub fn is_known(self) -> bool {
        self.corr.is_finite()
    }

    /// `0.931 ± 0.004`, `0.931` for closed forms, or that noise drowns it.
    pub fn words(self) -> String {
        match self {
            _ if !self.is_known() => "noise".into(),
            Similarity { corr, error } if error > 0.0 => with_error(corr, Some(error)),
            Similarity { corr, .. } => format!("{corr:.3}"),
        }
    }
}

impl Resolved {
    /// Compares with the closed form, where there is one.
    pub(super) fn compare(
        &self,
        graph: &Graph,
        sampled: &Sampled,
        answer: &mut Answer,
        observer: &mut dyn Observer,
    ) -> Result<(), GeometryError> {
        let plain = self.method == Method::Sample
            && !matches!(self.gradient, Gradient::Dipole { .. })
            && self.compat.is_none();
        let Some(form) = self.closed_form(graph).filter(|_| plain) else {
            return Ok(());
        };
        let with = match form {
            Method::Exact => "the exact closed form",
            _ => "the mean field (an approximation here)",
        };
        let matrix = self.by_form(graph, form, observer)?;
        self.foretell_spectrum(&matrix, observer);
        let spectrum = Spectrum::on(self.setup.device, &matrix)?;
        let (similar, trace) = (sampled.corr(&matrix)?, sampled.trace());
        let ratio = matrix.trace() / trace.value;
        answer.numbers.agreement.push(Agreement {
            with: with.to_string(),
            corr: similar.value,
            corr_error: Some(similar.standard_error),
            overlaps: overlaps(&answer.spectrum, &spectrum)?,
            trace_ratio: ratio,
            trace_ratio_error: Some(ratio * trace.standard_error / trace.value),
        });
        Ok(())
    }
}

fn overlaps(a: &Spectrum, b: &Spectrum) -> Result<Vec<(usize, f64)>, GeometryError> {
    let sizes = SUBSPACES.into_iter().filter(|k| *k < a.values.len());
    sizes.map(|k| Ok((k, overlap(a, b, k)?))).collect()
}
