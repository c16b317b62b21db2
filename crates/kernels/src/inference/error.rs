//! What can be wrong with a regression: one line each, with what would be right.

use polariscope_linalg::NotPositiveDefinite;
use thiserror::Error;

/// A regression that cannot be done.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum InferenceError {
    /// An array of the wrong length.
    #[error("{what}: {length} numbers, but {wanted} are wanted")]
    Shape {
        /// Which array.
        what: &'static str,
        /// Numbers given.
        length: usize,
        /// How many there should be, in words.
        wanted: String,
    },
    /// NaN or infinity.
    #[error("{what}: number {index} is {value}; every number must be finite")]
    NotFinite {
        /// Which array.
        what: &'static str,
        /// Its first bad number.
        index: usize,
        /// That number.
        value: f64,
    },
    /// A Gram matrix that differs from its transpose.
    #[error(
        "the train Gram matrix is not symmetric: entry ({row}, {column}) differs from its mirror image by {difference:.1e}"
    )]
    Asymmetric {
        /// Row of the larger difference.
        row: usize,
        /// Column of it.
        column: usize,
        /// How much they differ.
        difference: f64,
    },
    /// A ridge or a time below 0.
    #[error("{what} is {value}; it must be {wanted}")]
    Setting {
        /// Which one.
        what: &'static str,
        /// Its value.
        value: f64,
        /// What would be right.
        wanted: &'static str,
    },
    /// A matrix with an eigenvalue clearly below 0.
    #[error(
        "the train Gram matrix is not positive definite, not even with {jitter:.1e} on its diagonal: it is no kernel; check how it was made, or add a ridge"
    )]
    NotPositiveDefinite {
        /// Largest jitter tried.
        jitter: f64,
    },
    /// A class without a target.
    #[error("sample {row} has class {class}; there are {classes} classes, counted from 0")]
    Class {
        /// Which sample.
        row: usize,
        /// Its class.
        class: u32,
        /// Number of classes.
        classes: usize,
    },
}

/// Checks that an array has `rows` × `columns` finite numbers.
pub(super) fn check(
    what: &'static str,
    values: &[f64],
    (rows, columns): (usize, usize),
) -> Result<(), InferenceError> {
    if values.len() != rows * columns {
        return Err(InferenceError::Shape {
            what,
            length: values.len(),
            wanted: format!("{rows} × {columns}"),
        });
    }
    check_finite(what, values)
}

/// Checks that an array is whole rows of `columns` finite numbers, and counts them.
pub(super) fn check_rows(
    what: &'static str,
    values: &[f64],
    columns: usize,
) -> Result<usize, InferenceError> {
    if columns == 0 || values.is_empty() || !values.len().is_multiple_of(columns) {
        return Err(InferenceError::Shape {
            what,
            length: values.len(),
            wanted: format!("at least one row of {columns}"),
        });
    }
    check_finite(what, values)?;
    Ok(values.len() / columns)
}

fn check_finite(what: &'static str, values: &[f64]) -> Result<(), InferenceError> {
    match values.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(index) => Err(InferenceError::NotFinite {
            what,
            index,
            value: values[index],
        }),
    }
}

/// Checks a train Gram matrix: n × n, finite, symmetric up to rounding in f32.
pub(super) fn check_gram(gram: &[f64], n: usize) -> Result<(), InferenceError> {
    const WHAT: &str = "the train Gram matrix";
    if n == 0 {
        return Err(InferenceError::Shape {
            what: WHAT,
            length: gram.len(),
            wanted: "at least one row".to_owned(),
        });
    }
    check(WHAT, gram, (n, n))?;
    for i in 0..n {
        for j in 0..i {
            let (a, b) = (gram[i * n + j], gram[j * n + i]);
            if (a - b).abs() > ASYMMETRY * (gram[i * n + i].abs() + gram[j * n + j].abs()) {
                return Err(InferenceError::Asymmetric {
                    row: i,
                    column: j,
                    difference: (a - b).abs(),
                });
            }
        }
    }
    Ok(())
}

/// Largest difference of mirror images over the sum of their diagonal entries.
const ASYMMETRY: f64 = 1e-5;

/// Checks a ridge.
pub(super) fn check_ridge(ridge: f64) -> Result<(), InferenceError> {
    match ridge.is_finite() && ridge >= 0.0 {
        true => Ok(()),
        false => Err(InferenceError::Setting {
            what: "the ridge",
            value: ridge,
            wanted: "a finite number of at least 0",
        }),
    }
}

impl From<NotPositiveDefinite> for InferenceError {
    fn from(e: NotPositiveDefinite) -> Self {
        InferenceError::NotPositiveDefinite { jitter: e.jitter }
    }
}
