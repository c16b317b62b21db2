//! The `[result]` of `run.toml`, and the files beside it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use polariscope_data::npy;
use polariscope_geometry::{Gradient, Kron, Method, Readouts, Spectrum, Summary};
use serde::{Deserialize, Serialize};

use super::page::Agreement;
use crate::error::CliError;
use crate::run::{RunDirectory, Shown};

/// Inputs of more numbers than this, treated alike channel by channel, are written as one channel's block.
const WHOLE: usize = 4096;
/// One channel's block, where that is all that is written.
const FACTOR: &str = "geometry_factor.npy";
/// What the terminal shows, kept for the next time.
pub const TEXT: &str = "summary.txt";

/// What was found, in numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// Which geometry.
    pub gradient: Gradient,
    /// The method that ran.
    pub method: Method,
    /// Networks sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub networks: Option<u64>,
    /// Standard error of G over its norm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relative_error: Option<f64>,
    /// What stood for the last layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readouts: Option<Readouts>,
    /// Trace, participation ratio, effective rank, share of the first tenth.
    #[serde(flatten)]
    pub summary: Summary,
    /// The file that holds G: `geometry.npy`, or `geometry_factor.npy` for I_C ⊗ B.
    pub matrix: String,
    /// C: equal blocks on the diagonal of G.
    pub channels: usize,
    /// Largest ‖Bu − λu‖ over ‖B‖.
    pub residual: f64,
    /// Largest |uᵢ·uⱼ − δᵢⱼ|.
    pub orthogonality: f64,
    /// Approximations that were made.
    pub notes: Vec<String>,
    /// Seconds by stage.
    pub seconds: BTreeMap<String, f64>,
    /// How other methods compare.
    pub agreement: Vec<Agreement>,
}

/// A geometry with its numbers.
#[derive(Clone, Debug)]
pub struct Found {
    /// G.
    pub matrix: Kron,
    /// Its decomposition.
    pub spectrum: Spectrum,
    /// The local geometry of the same inputs, where the coherent one has a closed form.
    pub local: Option<Kron>,
    /// ḡ of given weights.
    pub mean_gradient: Option<Vec<f64>>,
    /// The rest.
    pub answer: Answer,
}

impl Shown for Answer {
    fn text(&self, directory: &str) -> String {
        let text = fs::read_to_string(Path::new(directory).join(TEXT)).unwrap_or_default();
        format!(
            "{text}\n{}, eigenvalues.npy, directions.npy and report.html in {directory}\n",
            self.matrix
        )
    }
}

impl Found {
    /// The file that holds G.
    pub fn matrix_file(matrix: &Kron) -> &'static str {
        if matrix.channels > 1 && matrix.dim() > WHOLE {
            FACTOR
        } else {
            "geometry.npy"
        }
    }

    /// Writes the arrays and the table.
    pub fn write(&self, directory: &mut RunDirectory) -> Result<(), CliError> {
        let Found {
            matrix, spectrum, ..
        } = self;
        let (n, dim) = (matrix.n, matrix.dim());
        directory.write("eigenvalues.npy", &npy::encode(&[dim], &spectrum.values))?;
        directory.write("spectrum.csv", csv(spectrum).as_bytes())?;
        if let Some(mean) = &self.mean_gradient {
            directory.write("mean_gradient.npy", &npy::encode(&[dim], mean))?;
        }
        if self.answer.matrix == FACTOR {
            directory.write(
                "directions_factor.npy",
                &npy::encode(&[n, n], &spectrum.vectors),
            )?;
            return Ok(directory.write(FACTOR, &npy::encode(&[n, n], &matrix.factor))?);
        }
        let directions: Vec<f64> = match matrix.channels {
            1 => spectrum.vectors.clone(),
            _ => (0..dim).flat_map(|i| spectrum.direction(i)).collect(),
        };
        directory.write("directions.npy", &npy::encode(&[dim, dim], &directions))?;
        let dense = npy::encode(&[dim, dim], &matrix.to_dense());
        Ok(directory.write("geometry.npy", &dense)?)
    }

    /// Reads a finished run.
    pub fn read(path: &Path, answer: Answer) -> Result<Self, CliError> {
        let numbers = |name: &str| -> Result<Vec<f64>, CliError> {
            Ok(npy::read(&path.join(name))?.numbers.to_f64())
        };
        let values = numbers("eigenvalues.npy")?;
        let channels = answer.channels.max(1);
        let n = values.len() / channels;
        let (factor, vectors) = if answer.matrix == FACTOR {
            (numbers(FACTOR)?, numbers("directions_factor.npy")?)
        } else {
            let block = |whole: Vec<f64>, step: usize| -> Vec<f64> {
                let rows = whole.chunks_exact(channels * n).step_by(step).take(n);
                rows.flat_map(|row| row[..n].to_vec()).collect()
            };
            // Directions come in multiplets of one a channel, the first channel first.
            (
                block(numbers("geometry.npy")?, 1),
                block(numbers("directions.npy")?, channels),
            )
        };
        if factor.len() != n * n || vectors.len() != n * n {
            return Err(CliError::Usage(format!(
                "{}: the arrays do not belong together; --force runs it again",
                path.display()
            )));
        }
        Ok(Self {
            matrix: Kron {
                channels,
                n,
                factor,
            },
            spectrum: Spectrum {
                channels,
                n,
                values,
                vectors,
                residual: answer.residual,
                orthogonality: answer.orthogonality,
                errors: errors(path),
            },
            local: None,
            mean_gradient: None,
            answer,
        })
    }
}

/// The standard errors that [`csv`] wrote.
fn errors(path: &Path) -> Vec<(usize, f64)> {
    let text = fs::read_to_string(path.join("spectrum.csv")).unwrap_or_default();
    let error = |(i, line): (usize, &str)| Some((i, line.split(',').nth(2)?.parse().ok()?));
    text.lines().skip(1).enumerate().filter_map(error).collect()
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
