//! The coherent geometry of a question: in closed form, or sampled where there is none.

use polariscope_data::npy;
use polariscope_geometry::{self as geometry, GeometryError, Kron, Matrix, Method, Probe};
use polariscope_lens::Observer;
use serde::{Deserialize, Serialize};

use super::{Networks, Question};
use crate::GeometryExperimentsError;

/// A sampled geometry and what is known about it, as checkpoints.
const MATRIX: &str = "coherent.npy";
const ABOUT: &str = "coherent.toml";

/// What is kept beside a sampled matrix.
#[derive(Serialize, Deserialize)]
struct About {
    error: f64,
    networks: u64,
}

/// Finds G.
pub(super) fn find(
    networks: &Networks,
    question: &Question,
    observer: &mut dyn Observer,
) -> Result<Matrix, GeometryExperimentsError> {
    let graph = &networks.scalar;
    let probe = Probe::Gauss {
        sigma: question.problem.sigma,
    };
    let closed = geometry::Question {
        probe: Some(probe),
        method: Some(Method::MeanField),
        setup: question.setup,
        ..geometry::Question::default()
    };
    let found = closed
        .resolve(graph)
        .and_then(|resolved| resolved.matrix(graph, observer));
    match found {
        Ok(found) => Ok(found),
        Err(GeometryError::Refused(_)) => match restore(graph.input().len(), observer)? {
            Some(found) => Ok(found),
            None => sample(networks, &closed, observer),
        },
        Err(other) => Err(other.into()),
    }
}

fn sample(
    networks: &Networks,
    closed: &geometry::Question,
    observer: &mut dyn Observer,
) -> Result<Matrix, GeometryExperimentsError> {
    let graph = &networks.scalar;
    let sampled = geometry::Question {
        method: Some(Method::Sample),
        ..closed.clone()
    };
    let mut found = sampled.resolve(graph)?.matrix(graph, observer)?;
    let about = About {
        error: found.error.unwrap_or(f64::NAN),
        networks: found.networks.unwrap_or(0),
    };
    let text =
        toml::to_string(&about).map_err(|e| GeometryExperimentsError::Checkpoint(e.to_string()))?;
    let dim = found.g.dim();
    observer.keep(MATRIX, &npy::encode(&[dim, dim], &found.g.to_dense()))?;
    observer.keep(ABOUT, text.as_bytes())?;
    found.error = Some(about.error);
    Ok(found)
}

/// What an interrupted process had sampled.
fn restore(
    dim: usize,
    observer: &mut dyn Observer,
) -> Result<Option<Matrix>, GeometryExperimentsError> {
    let (Some(matrix), Some(about)) = (observer.kept(MATRIX)?, observer.kept(ABOUT)?) else {
        return Ok(None);
    };
    let matrix = npy::parse(&matrix, MATRIX)?;
    if matrix.shape != [dim, dim] {
        return Err(GeometryExperimentsError::damaged(
            "its geometry is of another size",
        ));
    }
    let about: About = toml::from_str(&String::from_utf8_lossy(&about))
        .map_err(|e| GeometryExperimentsError::damaged(e.message()))?;
    Ok(Some(Matrix {
        g: Kron::dense(matrix.numbers.to_f64(), dim),
        error: Some(about.error),
        networks: Some(about.networks),
    }))
}
