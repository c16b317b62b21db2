//! What the numbers of a geometry say: the statements that the words and the figures draw on.

use crate::{Gradient, Kron};

use super::View;
use super::plane::Plane;
use super::scatter::Scatter;
use super::sight::Sight;
use super::weight::{ALIKE, Evenness, Noise};
use crate::lens::source::{Inputs, Provenance, Voice};

/// Eigenvalues below this part of the isotropic one are not drawn, and zero where they were sampled in single precision.
pub(super) const ZERO: f64 = 1e-7;
/// Rounding of eigenvalues in double precision, over the largest.
const ROUNDING: f64 = 1e-13;

/// How unequal the directions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preference {
    /// None that can be told from zero.
    None,
    /// At least half of the directions take part.
    Mild,
    /// Few directions take part.
    Strong,
    /// The sample is too small to tell.
    Unknown,
}

/// Directions of eigenvalue zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zeros {
    /// None that mean something.
    None,
    /// Nothing along them reaches the output, whatever the input.
    Blind(usize),
    /// The mean gradient has no part along them, single gradients may.
    Unshared(usize),
    /// At these inputs; elsewhere it may be otherwise.
    Here(usize),
}

/// What can be said of any geometry.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reading {
    /// What it is the geometry of.
    pub source: Provenance,
    /// D.
    pub dim: usize,
    /// Participation ratio with its error.
    pub directions: (f64, Option<f64>),
    /// How unequal they are.
    pub preference: Preference,
    /// Share of the trace in the first tenth of the directions, with its error.
    pub head: (f64, Option<f64>),
    /// Directions of eigenvalue zero.
    pub zeros: Zeros,
    /// Eigenvalues below zero, and the lowest over the isotropic one.
    pub negative: Option<(usize, f64)>,
    /// What can be said of an image.
    pub sight: Option<Sight>,
    /// How the local geometry differs.
    pub scatter: Option<Scatter>,
}

impl Reading {
    pub fn of(view: &View) -> Self {
        let values = &view.spectrum.values;
        let dim = values.len();
        let isotropic = values.iter().sum::<f64>() / dim.max(1) as f64;
        let s = view.summary;
        let directions = (s.participation_ratio, s.participation_ratio_error);
        let source = view.source.clone();
        let plane = Plane::of(&view.shape, view.matrix);
        let noise = Noise::of(&source, s.participation_ratio);
        let sight = plane.map(|plane| Sight::of(&view.matrix.factor, plane, noise));
        let even = match &sight {
            Some(sight) => {
                sight.evenness == Evenness::Alike && sight.pixels.evenness == Evenness::Alike
            }
            None => source.sampled() || values.iter().all(|v| is_alike(v / isotropic)),
        };
        let preference = match source.error {
            None if source.sampled() && source.voice() != Voice::Given => Preference::Unknown,
            _ => preference(directions, dim as f64, even),
        };
        let negative = negative(view, isotropic);
        let lowest = values.iter().copied().fold(0.0, f64::min) / isotropic;
        Self {
            dim,
            directions,
            preference,
            head: (s.top10_share, s.top10_share_error),
            zeros: zeros(view, isotropic),
            negative: (negative > 0).then_some((negative, lowest)),
            scatter: view
                .local
                .and_then(|local| Scatter::of(view.matrix, local, plane)),
            sight,
            source,
        }
    }
}

fn is_alike(weight: f64) -> bool {
    (1.0 / ALIKE..=ALIKE).contains(&weight)
}

/// `even` says that nothing else shows a preference.
fn preference((directions, error): (f64, Option<f64>), dim: f64, even: bool) -> Preference {
    // A well measured participation ratio that D itself would explain, or one as good as D.
    let explained = error.is_some_and(|e| e < 0.1 * dim && dim - directions <= 2.0 * e);
    if error.is_some_and(|e| !e.is_finite() || e > 0.5 * directions) {
        Preference::Unknown
    } else if even && (explained || directions >= 0.99 * dim) {
        Preference::None
    } else if directions >= 0.5 * dim {
        Preference::Mild
    } else {
        Preference::Strong
    }
}

/// Eigenvalues that noise has made negative: only products of gradients at different inputs can be, all other estimates
/// are sums of squares but for rounding.
fn negative(view: &View, isotropic: f64) -> usize {
    let source = &view.source;
    if !source.sampled() || source.gradient != Gradient::Coherent {
        return 0;
    }
    let values = view.spectrum.values.iter();
    values.filter(|&&v| v < -ZERO * isotropic).count()
}

fn zeros(view: &View, isotropic: f64) -> Zeros {
    let values = &view.spectrum.values;
    let floor = floor(view, isotropic);
    let is_zero = |v: &f64| v.abs() < floor;
    let count = values.iter().filter(|v| is_zero(v)).count();
    let source = &view.source;
    // Zeros among negative eigenvalues are where noise happens to cross.
    let unsettled = negative(view, isotropic) > 0;
    match () {
        () if count == 0 || unsettled => Zeros::None,
        () if !source.is_conclusive(values.len()) => match source.sampled() {
            true => Zeros::None,
            false => Zeros::Here(count),
        },
        () if source.inputs == Inputs::Any
            || matches!(source.voice(), Voice::Sensitivity | Voice::Given) =>
        {
            Zeros::Blind(count)
        }
        () if view
            .local
            .is_some_and(|local| sees_nothing(view, local, floor)) =>
        {
            Zeros::Blind(count)
        }
        () => Zeros::Unshared(count),
    }
}

/// Below this an eigenvalue is zero: what rounding leaves of zeros of a closed form, as its negative ones show, or the
/// digits of sampled gradients.
fn floor(view: &View, isotropic: f64) -> f64 {
    let values = &view.spectrum.values;
    if view.source.sampled() {
        return ZERO * isotropic;
    }
    let largest = values.first().copied().unwrap_or(0.0);
    let lowest = values.last().copied().unwrap_or(0.0);
    let rounding = (4.0 * -lowest).max(ROUNDING * largest);
    rounding.min(ZERO * isotropic)
}

/// Whether the local geometry vanishes along every direction of eigenvalue zero.
fn sees_nothing(view: &View, local: &Kron, floor: f64) -> bool {
    let (spectrum, n) = (view.spectrum, view.spectrum.n);
    let mean = local.trace() / local.dim() as f64;
    let block = Kron::dense(local.factor.clone(), n);
    let vectors = spectrum.vectors.chunks_exact(n);
    let values = spectrum.values.iter().step_by(spectrum.channels.max(1));
    vectors
        .zip(values)
        .filter(|(_, v)| v.abs() < floor)
        .all(|(u, _)| block.quadratic(u) < ZERO * mean)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::sight::tests::sight;
    use super::*;
    use crate::lens::source::tests::closed;

    /// A closed form over 32 × 32 pixels, strongly uneven.
    pub fn reading(weight: impl Fn(isize, isize) -> f64) -> Reading {
        Reading {
            source: closed(),
            dim: 1024,
            directions: (50.0, None),
            preference: Preference::Strong,
            head: (0.8, None),
            zeros: Zeros::None,
            negative: None,
            sight: Some(sight(0.0, weight)),
            scatter: None,
        }
    }

    /// The same without preference.
    pub fn isotropic() -> Reading {
        Reading {
            directions: (1024.0, None),
            preference: Preference::None,
            head: (0.1, None),
            ..reading(|_, _| 1.0)
        }
    }

    #[test]
    fn isotropy_is_told_from_the_participation_ratio_and_the_maps() {
        assert_eq!(preference((1020.0, None), 1024.0, true), Preference::None);
        // A map with structure is no isotropy.
        assert_eq!(preference((1020.0, None), 1024.0, false), Preference::Mild);
        assert_eq!(preference((900.0, None), 1024.0, true), Preference::Mild);
        assert_eq!(
            preference((900.0, Some(70.0)), 1024.0, true),
            Preference::None
        );
        assert_eq!(
            preference((300.0, Some(30.0)), 1024.0, true),
            Preference::Strong
        );
        // An error so large that it would explain anything.
        assert_eq!(
            preference((300.0, Some(500.0)), 1024.0, true),
            Preference::Unknown
        );
    }
}
