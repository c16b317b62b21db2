//! The arrays of an answer as files, there and back.

use polariscope_data::{DataError, npy};
use polariscope_graph::Graph;

use super::answer::{Answer, Numbers};
use super::resolved::Resolved;
use crate::{GeometryError, Kron, Spectrum};

/// Inputs of more numbers than this, treated alike channel by channel, are written as one channel's block.
const WHOLE: usize = 4096;
/// One channel's block, where that is all that is written.
const FACTOR: &str = "geometry_factor.npy";

/// Files that were written before.
pub trait Stored {
    /// The content of a file.
    fn read(&self, name: &str) -> Result<Vec<u8>, DataError>;
}

impl<F: Fn(&str) -> Result<Vec<u8>, DataError>> Stored for F {
    fn read(&self, name: &str) -> Result<Vec<u8>, DataError> {
        self(name)
    }
}

/// The file that holds G.
pub(super) fn matrix_file(matrix: &Kron) -> &'static str {
    if matrix.channels > 1 && matrix.dim() > WHOLE {
        FACTOR
    } else {
        "geometry.npy"
    }
}

impl Answer {
    /// The arrays and the table, each with the name of its file.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let Answer {
            matrix, spectrum, ..
        } = self;
        let (n, dim) = (matrix.n, matrix.dim());
        let mut files = Vec::new();
        let mut add = |name: &str, content: Vec<u8>| files.push((name.to_string(), content));
        add("eigenvalues.npy", npy::encode(&[dim], &spectrum.values));
        add("spectrum.csv", csv(spectrum).into_bytes());
        if let Some(mean) = &self.mean_gradient {
            add("mean_gradient.npy", npy::encode(&[dim], mean));
        }
        if self.numbers.matrix == FACTOR {
            let vectors = npy::encode(&[n, n], &spectrum.vectors);
            add("directions_factor.npy", vectors);
            add(FACTOR, npy::encode(&[n, n], &matrix.factor));
            return files;
        }
        let directions: Vec<f64> = match matrix.channels {
            1 => spectrum.vectors.clone(),
            _ => (0..dim).flat_map(|i| spectrum.direction(i)).collect(),
        };
        add("directions.npy", npy::encode(&[dim, dim], &directions));
        add("geometry.npy", npy::encode(&[dim, dim], &matrix.to_dense()));
        files
    }
}

impl Resolved {
    /// The answer whose numbers and [files](Answer::files) were kept.
    pub fn read(
        &self,
        graph: &Graph,
        numbers: Numbers,
        stored: &dyn Stored,
    ) -> Result<Answer, GeometryError> {
        let array = |name: &str| -> Result<Vec<f64>, GeometryError> {
            Ok(npy::parse(&stored.read(name)?, name)?.numbers.to_f64())
        };
        let values = array("eigenvalues.npy")?;
        let channels = numbers.channels.max(1);
        let n = values.len() / channels;
        let (factor, vectors) = if numbers.matrix == FACTOR {
            (array(FACTOR)?, array("directions_factor.npy")?)
        } else {
            let block = |whole: Vec<f64>, step: usize| -> Vec<f64> {
                let rows = whole.chunks_exact(channels * n).step_by(step).take(n);
                rows.flat_map(|row| row[..n].to_vec()).collect()
            };
            // Directions come in multiplets of one a channel, the first channel first.
            (
                block(array("geometry.npy")?, 1),
                block(array("directions.npy")?, channels),
            )
        };
        if factor.len() != n * n || vectors.len() != n * n || n == 0 {
            return Err(GeometryError::Question(
                "the arrays do not belong together; ‹force› runs it again".into(),
            ));
        }
        let table = stored.read("spectrum.csv").unwrap_or_default();
        let spectrum = Spectrum {
            channels,
            n,
            values,
            vectors,
            residual: numbers.residual,
            orthogonality: numbers.orthogonality,
            errors: errors(&String::from_utf8_lossy(&table)),
        };
        let matrix = Kron {
            channels,
            n,
            factor,
        };
        Ok(self.describe(graph, numbers, matrix, spectrum))
    }
}

/// The standard errors that [`csv`] wrote.
fn errors(table: &str) -> Vec<(usize, f64)> {
    let error = |(i, line): (usize, &str)| Some((i, line.split(',').nth(2)?.parse().ok()?));
    table
        .lines()
        .skip(1)
        .enumerate()
        .filter_map(error)
        .collect()
}

/// index, eigenvalue, its error where sampled, its share of the trace, shares added up.
fn csv(spectrum: &Spectrum) -> String {
    let trace: f64 = spectrum.values.iter().sum();
    let mut errors = spectrum.errors.iter().peekable();
    let mut sum = 0.0;
    let mut out = "index,eigenvalue,standard_error,share,cumulative\n".to_string();
    for (i, value) in spectrum.values.iter().enumerate() {
        sum += value / trace;
        let error = errors
            .next_if(|(at, _)| *at == i)
            .map_or(String::new(), |(_, e)| format!("{e:e}"));
        out += &format!("{i},{value:e},{error},{:e},{sum}\n", value / trace);
    }
    out
}
