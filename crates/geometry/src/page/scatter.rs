//! How the local geometry differs from the coherent one: the scatter of the gradient from input to input.

use crate::Kron;

use super::fourier::Frequencies;
use super::plane::Plane;
use super::weight::ALIKE;

/// tr G_coh over tr G_loc, and what the difference G_loc − G_coh looks like.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scatter {
    /// Part of the gradient's variance that all inputs share.
    pub share: f64,
    /// Weights of the rest over frequencies, for images.
    pub rest: Option<Rest>,
}

/// The part of the gradient that differs from input to input, over frequencies.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rest {
    /// Share of the frequencies whose weights are alike.
    pub white: f64,
    /// The 90 % quantile of its weights over the 10 % quantile.
    pub spread: f64,
    /// Mean weight of the local geometry by number of cycles.
    pub rings: Vec<f64>,
}

impl Scatter {
    /// `None` where the sizes differ.
    pub fn of(coherent: &Kron, local: &Kron, plane: Option<Plane>) -> Option<Self> {
        if coherent.factor.len() != local.factor.len() {
            return None;
        }
        let share = coherent.trace() / local.trace();
        let rest = plane.filter(|_| share < 1.0 - 1e-9).map(|plane| {
            let pairs = local.factor.iter().zip(&coherent.factor);
            let difference: Vec<f64> = pairs.map(|(l, c)| l - c).collect();
            let weights = Frequencies::energy(&difference, plane);
            let median = weights.quantile(0.5);
            let alike = |e: &&f64| (median / ALIKE..=median * ALIKE).contains(*e);
            let white = weights.values.iter().filter(alike).count();
            Rest {
                white: white as f64 / weights.values.len() as f64,
                spread: weights.quantile(0.9) / weights.quantile(0.1).max(f64::MIN_POSITIVE),
                rings: Frequencies::energy(&local.factor, plane).rings(),
            }
        });
        Some(Self { share, rest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagonal(values: [f64; 16]) -> Kron {
        let mut factor = vec![0.0; 256];
        (0..16).for_each(|i| factor[17 * i] = values[i]);
        Kron::dense(factor, 16)
    }

    /// I shared out of 4 I: a quarter, the rest white.
    #[test]
    fn a_quarter_is_shared() {
        let plane = Plane {
            height: 4,
            width: 4,
            planes: 1,
        };
        let found = Scatter::of(&diagonal([1.0; 16]), &diagonal([4.0; 16]), Some(plane)).unwrap();
        assert_eq!(found.share, 0.25);
        let rest = found.rest.unwrap();
        assert_eq!(rest.white, 1.0);
        assert!((rest.spread - 1.0).abs() < 1e-12);
        let same = Scatter::of(&diagonal([1.0; 16]), &diagonal([1.0; 16]), Some(plane)).unwrap();
        assert_eq!((same.share, same.rest), (1.0, None));
        let vector = Scatter::of(&diagonal([1.0; 16]), &diagonal([2.0; 16]), None).unwrap();
        assert_eq!((vector.share, vector.rest), (0.5, None));
    }
}
