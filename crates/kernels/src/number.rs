//! Numbers and samples in either precision.

use std::borrow::Cow;

use polariscope_data::npy;
use polariscope_diff::Real;
use polariscope_network::Weights;
use polariscope_nngp::NngpError;

use crate::KernelsError;

/// f32 or f64, as everything here that computes kernels needs it.
pub trait Number: polariscope_nngp::Float + polariscope_empirical::Float + npy::Element {
    /// From the bytes that [`npy::Element::append`] makes.
    fn from_bytes(bytes: &[u8]) -> Self;
    /// Samples in this precision.
    fn samples(samples: Samples<'_>) -> Cow<'_, [Self]>;
    /// Weights in this precision.
    fn weights(given: Given<'_>) -> Weights<Self>;
    /// Samples of this precision.
    fn of_samples(numbers: &[Self]) -> Samples<'_>;
    /// Weights of this precision.
    fn of_weights(weights: &Weights<Self>) -> Given<'_>;
}

/// Samples one after the other, each in C,H,W order. A lens computes in the precision of its question, whatever theirs is.
#[derive(Clone, Copy, Debug)]
pub enum Samples<'a> {
    /// In single precision.
    F32(&'a [f32]),
    /// In double precision.
    F64(&'a [f64]),
}

impl Samples<'_> {
    /// Numbers of all samples.
    pub fn len(&self) -> usize {
        match self {
            Samples::F32(x) => x.len(),
            Samples::F64(x) => x.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many samples of `inputs` numbers these are; `array` is what messages call them.
    pub(crate) fn count(&self, array: &'static str, inputs: usize) -> Result<usize, KernelsError> {
        if self.is_empty() {
            return Err(KernelsError::Data(format!("{array} holds no samples")));
        }
        let numbers = self.len();
        match inputs > 0 && numbers.is_multiple_of(inputs) {
            true => Ok(numbers / inputs),
            false => Err(NngpError::Length {
                array,
                numbers,
                inputs,
            }
            .into()),
        }
    }
}

/// Weights of somebody's own.
#[derive(Clone, Copy, Debug)]
pub enum Given<'a> {
    /// In single precision.
    F32(&'a Weights<f32>),
    /// In double precision.
    F64(&'a Weights<f64>),
}

macro_rules! number {
    ($t:ty, $variant:ident, $other:ident) => {
        impl Number for $t {
            fn from_bytes(bytes: &[u8]) -> Self {
                bytes.try_into().map_or(0.0, <$t>::from_le_bytes)
            }

            fn samples(samples: Samples<'_>) -> Cow<'_, [Self]> {
                match samples {
                    Samples::$variant(x) => Cow::Borrowed(x),
                    Samples::$other(x) => Cow::Owned(convert(x)),
                }
            }

            fn weights(given: Given<'_>) -> Weights<Self> {
                match given {
                    Given::F32(weights) => weights.convert(),
                    Given::F64(weights) => weights.convert(),
                }
            }

            fn of_samples(numbers: &[Self]) -> Samples<'_> {
                Samples::$variant(numbers)
            }

            fn of_weights(weights: &Weights<Self>) -> Given<'_> {
                Given::$variant(weights)
            }
        }

        impl<'a> From<&'a [$t]> for Samples<'a> {
            fn from(x: &'a [$t]) -> Self {
                Samples::$variant(x)
            }
        }

        impl<'a, const N: usize> From<&'a [$t; N]> for Samples<'a> {
            fn from(x: &'a [$t; N]) -> Self {
                Samples::$variant(x)
            }
        }
    };
}

number!(f32, F32, F64);
number!(f64, F64, F32);

fn convert<S: Real, T: Real>(x: &[S]) -> Vec<T> {
    x.iter().map(|x| T::from_f64(x.to_f64())).collect()
}
