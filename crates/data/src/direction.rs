//! Directions of the input space: vectors of the DFT basis, or rows of files.

use std::path::PathBuf;
use std::sync::Arc;

use polariscope_graph::Shape;

use crate::dft::dft_vector;
use crate::error::DataError;
use crate::files::npy;
use polariscope_linalg as linalg;

/// A unit vector of the input space.
#[derive(Clone, Debug, PartialEq)]
pub enum Direction {
    /// Vector `index` of the DFT basis, lowest frequency first; channel index / (H·W) holds it.
    Dft(usize),
    /// A row of an .npy file, brought to length 1.
    Row {
        /// The file.
        file: PathBuf,
        /// Which row.
        row: usize,
    },
    /// Numbers, brought to length 1.
    Given(Arc<[f64]>),
}

/// The directions as orthonormal rows; ones that are far from orthogonal are refused.
pub(crate) fn frame(directions: &[&Direction], shape: Shape) -> Result<Vec<f64>, DataError> {
    let dim = shape.len();
    let mut rows = Vec::new();
    for direction in directions {
        rows.extend(direction.resolve(shape)?);
    }
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    for (i, a) in rows.chunks_exact(dim).enumerate() {
        for (j, b) in rows.chunks_exact(dim).enumerate().take(i) {
            let cosine = dot(a, b);
            if cosine.abs() > 1e-3 {
                let pair = format!("{} and {}", directions[j], directions[i]);
                return Err(DataError::spec(
                    &pair,
                    format!("directions must be orthogonal, their cosine is {cosine:.3}"),
                ));
            }
        }
    }
    linalg::orthonormalise(&rows, dim)
        .map_err(|i| DataError::spec(&directions[i].to_string(), "not a direction"))
}

impl Direction {
    /// The unit vector, in the numbers of an input of this shape.
    pub fn resolve(&self, shape: Shape) -> Result<Vec<f64>, DataError> {
        let dim = shape.len();
        match self {
            Direction::Dft(index) => {
                let (height, width) = match shape {
                    Shape::Image { height, width, .. } => (height, width),
                    Shape::Signal { length, .. } => (1, length),
                    Shape::Vector { features } => (1, features),
                    Shape::Tokens { count, width } => (count, width),
                };
                let plane = height * width;
                let vector = dft_vector(height, width, index % plane.max(1));
                let Some(vector) = vector.filter(|_| *index < dim) else {
                    let what =
                        format!("there are {dim} DFT directions in {shape}, numbered from 0");
                    return Err(DataError::spec(&self.to_string(), what));
                };
                let mut out = vec![0.0; dim];
                let at = index / plane * plane;
                out[at..at + plane].copy_from_slice(&vector);
                Ok(out)
            }
            Direction::Given(vector) => {
                let unit = || linalg::orthonormalise(vector, dim).ok();
                unit().filter(|u| u.len() == dim).ok_or_else(|| {
                    let what = format!("it must be {dim} finite numbers, not all 0");
                    DataError::spec(&self.to_string(), what)
                })
            }
            Direction::Row { file, row } => {
                let array = npy::read(file)?;
                let name = file.display().to_string();
                if array.shape.len() != 2 || array.shape[1] != dim || *row >= array.shape[0] {
                    let what = format!(
                        "shape {}, expected rows of {dim} numbers and a row {row}",
                        npy::show(&array.shape)
                    );
                    return Err(DataError::Shape { file: name, what });
                }
                let vector = array.numbers.to_f64()[row * dim..(row + 1) * dim].to_vec();
                linalg::orthonormalise(&vector, dim).map_err(|_| DataError::Shape {
                    file: name,
                    what: format!("row {row} is zero or not finite"),
                })
            }
        }
    }
}

impl std::fmt::Display for Direction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Direction::Dft(index) => write!(f, "{index}"),
            Direction::Given(vector) => write!(f, "a direction of {} numbers", vector.len()),
            Direction::Row { file, row } => write!(f, "{}:{row}", file.display()),
        }
    }
}
