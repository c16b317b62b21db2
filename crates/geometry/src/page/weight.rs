//! Weights with their errors.

use crate::lens::source::{Origin, Provenance};

/// Weights that differ by less than this factor count as alike.
pub(super) const ALIKE: f64 = 1.25;
/// Weights below this are not divided by.
const TINY: f64 = 1e-9;
/// Standard errors that separate two numbers.
const SURE: f64 = 2.0;
/// Standard errors that the largest of a thousand weights stays below by chance.
const FAR: f64 = 4.0;

/// A weight, 1 where the geometry has no preference, with its standard error; 0 where it has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Weight {
    pub value: f64,
    pub error: f64,
}

impl Weight {
    /// Without error.
    #[cfg(test)]
    pub fn exact(value: f64) -> Self {
        Self { value, error: 0.0 }
    }

    /// Whether it lies above a bound beyond its error.
    pub fn above(self, bound: f64) -> bool {
        self.value - SURE * self.error > bound
    }

    /// Whether it lies below a bound beyond its error.
    pub fn below(self, bound: f64) -> bool {
        self.value + SURE * self.error < bound
    }

    /// Whether it differs from 1 enough to be worth a word.
    pub fn differs(self) -> bool {
        self.above(ALIKE) || self.below(1.0 / ALIKE)
    }

    /// Its ratio to another.
    pub fn over(self, other: Weight) -> Weight {
        let value = self.value / other.value;
        let relative = (self.error / self.value).hypot(other.error / other.value);
        Weight {
            value,
            error: if relative > 0.0 {
                value * relative
            } else {
                0.0
            },
        }
    }

    /// Its ratio to another that may be zero or, from noise, less: that one is taken at the most it may be.
    pub fn over_noise(self, other: Weight) -> Weight {
        if other.above(other.error) && other.value > TINY {
            return self.over(other);
        }
        self.over(Weight {
            value: (other.value.max(0.0) + SURE * other.error).max(TINY),
            error: 0.0,
        })
    }

    /// 1 over it.
    pub fn inverse(self) -> Weight {
        Weight::over(
            Weight {
                value: 1.0,
                error: 0.0,
            },
            self,
        )
    }
}

/// The standard error of one weight of 1.
///
/// For T independent normal gradients of covariance G the error of uᵀĜu is √(2/T) of it, and that of Ĝ is
/// ε = √((PR + 1)/T) of its norm: √(2/T) = ε √(2/(PR + 1)). What scatters from input to input adds white noise of the
/// same size, so weights below 1 have the error of 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Noise(pub f64);

/// Whether weights are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evenness {
    /// All of them, within the factor and beyond noise.
    Alike,
    /// Noise may hide differences or have made those that show.
    Unclear,
    /// Some differ.
    Uneven,
}

impl Noise {
    pub fn of(source: &Provenance, participation: f64) -> Self {
        if !source.sampled() {
            return Self(0.0);
        }
        match (source.error, source.weights) {
            (Some(error), _) => Self(error * (2.0 / (participation + 1.0)).sqrt()),
            (None, Origin::Given) => Self((2.0 / source.gradients().max(1) as f64).sqrt()),
            // Noise drowns it.
            (None, Origin::Drawn) => Self(f64::INFINITY),
        }
    }

    /// The error of one weight.
    pub fn one(self, value: f64) -> Weight {
        Weight {
            value,
            error: self.0 * value.max(1.0),
        }
    }

    /// The mean of weights with errors of their own; `copies` of them are equal, as those of a wave and its opposite.
    pub fn mean(self, values: impl Iterator<Item = f64>, copies: f64) -> Weight {
        let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
        for value in values {
            sum += value;
            squares += value.max(1.0).powi(2);
            count += 1.0;
        }
        let independent = (count / copies).max(1.0);
        Weight {
            value: sum / count,
            error: match self.0 {
                0.0 => 0.0,
                one => one * (squares / count / independent).sqrt(),
            },
        }
    }

    /// Whether all weights of a map are alike.
    pub fn evenness(self, values: &[f64]) -> Evenness {
        let outside = |slack: f64| {
            values.iter().any(|&w| {
                let slack = slack * self.one(w).error;
                w - slack > ALIKE || w + slack < 1.0 / ALIKE
            })
        };
        match () {
            () if self.0 > 0.0 && SURE * self.0 > ALIKE - 1.0 && !outside(FAR) => Evenness::Unclear,
            () if self.0 == 0.0 && outside(0.0) || self.0 > 0.0 && outside(FAR) => Evenness::Uneven,
            () if outside(0.0) => Evenness::Unclear,
            () => Evenness::Alike,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lens::source::tests::{closed, sampled};

    #[test]
    fn errors_decide() {
        let w = |value, error| Weight { value, error };
        assert!(w(1.5, 0.1).above(ALIKE) && !w(1.5, 0.2).above(ALIKE));
        assert!(w(0.5, 0.1).differs() && !w(0.5, 0.2).differs());
        assert_eq!(w(4.0, 0.0).over(w(2.0, 0.0)), w(2.0, 0.0));
        let ratio = w(4.0, 0.4).over(w(2.0, 0.0));
        assert!((ratio.error - 0.2).abs() < 1e-12);
        assert_eq!(w(0.5, 0.0).inverse(), w(2.0, 0.0));
        let floor = w(4.0, 0.0).over_noise(w(-0.1, 0.5));
        assert_eq!((floor.value, floor.error), (4.0, 0.0));
        assert_eq!(w(4.0, 0.0).over_noise(w(2.0, 0.0)), w(2.0, 0.0));
    }

    /// ε = 0.1 with 199 directions: 0.1 √(2/200) = 0.01. Closed forms have none, drowned samples know nothing.
    #[test]
    fn noise_of_a_weight() {
        let Noise(one) = Noise::of(&sampled(2000, Some(0.1)), 199.0);
        assert!((one - 0.01).abs() < 1e-15);
        assert_eq!(Noise::of(&closed(), 199.0), Noise(0.0));
        assert_eq!(Noise::of(&sampled(2, None), 199.0), Noise(f64::INFINITY));
        // The mean of 8 weights in 4 pairs.
        let mean = Noise(0.1).mean([1.0; 8].into_iter(), 2.0);
        assert!((mean.error - 0.05).abs() < 1e-12 && mean.value == 1.0);
    }

    #[test]
    fn evenness_needs_a_small_error() {
        assert_eq!(Noise(0.0).evenness(&[0.9, 1.1]), Evenness::Alike);
        assert_eq!(Noise(0.0).evenness(&[0.9, 1.3]), Evenness::Uneven);
        assert_eq!(Noise(0.01).evenness(&[0.9, 1.1]), Evenness::Alike);
        assert_eq!(Noise(0.01).evenness(&[0.9, 1.4]), Evenness::Uneven);
        assert_eq!(Noise(0.05).evenness(&[0.9, 1.3]), Evenness::Unclear);
        assert_eq!(Noise(0.3).evenness(&[0.9, 1.1]), Evenness::Unclear);
        assert_eq!(Noise(0.3).evenness(&[0.9, 9.0]), Evenness::Unclear);
        assert_eq!(
            Noise(f64::INFINITY).evenness(&[0.0, 9.0]),
            Evenness::Unclear
        );
    }
}
