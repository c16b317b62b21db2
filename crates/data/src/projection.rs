//! Linear maps of the inputs: principal components and projections.

use std::path::Path;

use rayon::prelude::*;

use crate::error::DataError;
use crate::files::npy;
use polariscope_linalg::{apply, covariance_about, orthonormalise, symmetric_eigen};

/// Principal components: the full symmetric eigenproblem of the centred covariance.
#[derive(Clone, Debug, PartialEq)]
pub struct Pca {
    /// Of the training set.
    pub mean: Vec<f64>,
    /// Variance along each component, largest first.
    pub variances: Vec<f64>,
    /// Unit vectors, one a row.
    pub components: Vec<f64>,
}

impl Pca {
    /// The top `count` components of samples of `dim` numbers.
    pub fn fit(x: &[f32], dim: usize, count: usize) -> Result<Pca, DataError> {
        let samples = x.len() / dim.max(1);
        if count == 0 || count > dim || samples == 0 {
            let what = format!(
                "pca={count} is out of range; inputs have {dim} numbers, {samples} samples"
            );
            return Err(DataError::spec(&format!("pca={count}"), what));
        }
        let mean = mean(x, dim);
        let eigen = symmetric_eigen(&covariance_about(x, &mean), dim);
        let mut eigen =
            eigen.map_err(|e| DataError::spec(&format!("pca={count}"), e.to_string()))?;
        eigen.values.truncate(count);
        eigen.vectors.truncate(count * dim);
        Ok(Pca {
            mean,
            variances: eigen
                .values
                .iter()
                .map(|l| l.max(0.0) / samples as f64)
                .collect(),
            components: eigen.vectors,
        })
    }

    /// Coordinates of samples; `whiten` divides each by its standard deviation.
    pub fn apply(&self, x: &[f32], whiten: bool) -> Vec<f32> {
        let dim = self.mean.len();
        let mut out = apply(&self.components, dim, x);
        let shift = self
            .components
            .chunks_exact(dim)
            .map(|u| u.iter().zip(&self.mean).map(|(u, m)| u * m).sum());
        let shift: Vec<f64> = shift.collect();
        let scale = |v: &f64| {
            if whiten && *v > 0.0 {
                1.0 / v.sqrt()
            } else {
                1.0
            }
        };
        let scale: Vec<f64> = self.variances.iter().map(scale).collect();
        for out in out.chunks_exact_mut(scale.len()) {
            for (k, out) in out.iter_mut().enumerate() {
                *out = ((f64::from(*out) - shift[k]) * scale[k]) as f32;
            }
        }
        out
    }
}

/// A subspace, as orthonormal rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Projection {
    dim: usize,
    rows: Vec<f64>,
}

impl Projection {
    /// The span of `rows` (vectors of `dim` numbers); the index of a row that depends on earlier ones is the error.
    pub fn new(rows: &[f64], dim: usize) -> Result<Projection, usize> {
        Ok(Projection {
            dim,
            rows: orthonormalise(rows, dim)?,
        })
    }

    /// The span of the rows of an .npy file.
    pub fn read(file: &Path, dim: usize) -> Result<Projection, DataError> {
        let array = npy::read(file)?;
        let wrong = |what| DataError::Shape {
            file: file.display().to_string(),
            what,
        };
        if array.shape.len() != 2 || array.shape[1] != dim || array.shape[0] == 0 {
            let found = npy::show(&array.shape);
            return Err(wrong(format!(
                "shape {found}, expected rows of {dim} numbers"
            )));
        }
        Projection::new(&array.numbers.to_f64(), dim).map_err(|row| {
            wrong(format!(
                "row {row} is not finite or depends on the rows before it"
            ))
        })
    }

    /// Dimension of the subspace.
    pub fn count(&self) -> usize {
        self.rows.len() / self.dim.max(1)
    }

    /// Coordinates vᵢᵀx of samples.
    pub fn coordinates(&self, x: &[f32]) -> Vec<f32> {
        apply(&self.rows, self.dim, x)
    }

    /// x ← (I − Σ v vᵀ)x.
    pub fn remove(&self, x: &mut [f32]) {
        x.par_chunks_exact_mut(self.dim).for_each(|x| {
            for v in self.rows.chunks_exact(self.dim) {
                let c: f64 = v.iter().zip(x.iter()).map(|(v, &x)| v * f64::from(x)).sum();
                x.iter_mut()
                    .zip(v)
                    .for_each(|(x, v)| *x = (f64::from(*x) - c * v) as f32);
            }
        });
    }
}

/// The mean sample.
pub(crate) fn mean(x: &[f32], dim: usize) -> Vec<f64> {
    let mut sum = vec![0.0; dim];
    for x in x.chunks_exact(dim) {
        sum.iter_mut().zip(x).for_each(|(s, &x)| *s += f64::from(x));
    }
    let n = (x.len() / dim).max(1) as f64;
    sum.iter().map(|s| s / n).collect()
}
