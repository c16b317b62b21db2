//! How a sampled geometry and the closed form of the same question agree.

use polariscope_graph::Graph;
use polariscope_lens::Observer;

use super::answer::{Agreement, Answer};
use super::resolved::Resolved;
use crate::{GeometryError, Gradient, Method, Sampled, Spectrum, overlap};

/// Sizes of the subspaces that are compared.
const SUBSPACES: [usize; 3] = [4, 16, 64];

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
