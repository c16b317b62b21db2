//! The samples of a .npy file.

use std::path::Path;

use polariscope_data::{DataError, Samples, npy};
use polariscope_diff::{Dtype, Real};
use polariscope_graph::Shape;
use polariscope_lens::fingerprint_bytes;

use crate::LearningError;

/// Samples of one shape.
#[derive(Debug)]
pub struct Inputs<T> {
    /// N, then the dimensions of a sample.
    pub dims: Vec<usize>,
    /// Shape of a sample.
    pub shape: Shape,
    /// Sample by sample, each in C,H,W order.
    pub numbers: Vec<T>,
    /// Names the content of the file.
    pub fingerprint: String,
}

impl<T: Real> Inputs<T> {
    /// Reads a file; `wanted` is the shape that was asked for, if any.
    pub fn read(path: &Path, wanted: Option<Shape>) -> Result<Self, LearningError> {
        let file = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|source| DataError::Io {
            path: path.into(),
            source,
        })?;
        let array = npy::parse(&bytes, &file)?;
        let dims = array.shape.clone();
        let Samples { shape, numbers, .. } = array.samples(&file)?;
        let refuse = |what: String| Err(LearningError::Inputs(format!("{file}: {what}")));
        if let Some(wanted) = wanted
            && wanted != shape
        {
            return refuse(format!(
                "its samples are {shape}, but ‹input› says {wanted}; leave ‹input› out, the file decides"
            ));
        }
        let numbers = match T::DTYPE {
            Dtype::F32 => convert(numbers.to_f32()),
            Dtype::F64 => convert(numbers.to_f64()),
        };
        let inputs = Self {
            dims,
            shape,
            numbers,
            fingerprint: fingerprint_bytes(&bytes),
        };
        match inputs.numbers.iter().position(|x: &T| !x.is_finite()) {
            None => Ok(inputs),
            Some(i) => refuse(format!(
                "{} at [{}]; every number must be finite{}",
                inputs.numbers[i],
                join(&inputs.place(i)),
                match T::DTYPE {
                    Dtype::F32 => " in f32",
                    Dtype::F64 => "",
                }
            )),
        }
    }

    /// Number of samples.
    pub fn count(&self) -> usize {
        self.dims[0]
    }

    /// Index of number `i` in every dimension.
    fn place(&self, mut i: usize) -> Vec<usize> {
        let mut place: Vec<usize> = Vec::with_capacity(self.dims.len());
        for &size in self.dims.iter().rev() {
            place.push(i % size);
            i /= size;
        }
        place.reverse();
        place
    }
}

fn convert<S: Real, T: Real>(numbers: Vec<S>) -> Vec<T> {
    numbers
        .into_iter()
        .map(|x| T::from_f64(x.to_f64()))
        .collect()
}

fn join(sizes: &[usize]) -> String {
    let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
    sizes.join(", ")
}
