//! The coherent geometry of a question: in closed form, or sampled where there is none.

use polariscope_data::npy;
use polariscope_geometry::{GeometryError, Kron, Method, Output, Probe, Shard, coherent};
use serde::{Deserialize, Serialize};

use super::question::Question;
use crate::args::Common;
use crate::error::CliError;
use crate::run::RunDirectory;
use crate::verbs::geometry::compute;
use crate::verbs::geometry::options::{Given, ProbeArg, QuestionArgs};

/// A sampled geometry and what is known about it, as checkpoints.
const MATRIX: &str = "coherent.npy";
const ABOUT: &str = "coherent.toml";

/// G, and how well it is known.
pub struct Found {
    /// G.
    pub matrix: Kron,
    /// Its standard error over its norm, where it was sampled.
    pub error: Option<f64>,
    /// Networks that were sampled.
    pub networks: Option<u64>,
}

/// What is kept beside a sampled matrix.
#[derive(Serialize, Deserialize)]
struct About {
    error: f64,
    networks: u64,
}

/// Finds G.
pub fn obtain(
    question: &Question,
    directory: &mut RunDirectory,
    common: &Common,
) -> Result<Found, CliError> {
    let probe = Probe::Gauss {
        sigma: question.problem.sigma,
    };
    let graph = &question.scalar;
    match coherent(graph, &probe, 1, Output::Logit(0), common.seed) {
        Ok(matrix) => Ok(Found {
            matrix,
            error: None,
            networks: None,
        }),
        Err(GeometryError::Refused(_)) => match restore(directory, graph.input().len())? {
            Some(found) => Ok(found),
            None => sample(question, directory, common),
        },
        Err(other) => Err(other.into()),
    }
}

fn sample(
    question: &Question,
    directory: &mut RunDirectory,
    common: &Common,
) -> Result<Found, CliError> {
    let asked = QuestionArgs {
        method: Some(Method::Sample),
        probe: Some(ProbeArg::Gauss(question.problem.sigma)),
        probes: None,
        logit: None,
        gradient: None,
        samples: None,
        error: None,
        compat: None,
    };
    let graph = &question.scalar;
    let asked = asked.resolve(graph, common.seed, Given::Nothing)?;
    compute::check(graph, &asked)?;
    let sampler = compute::sampler::<f32>(graph, &asked, Vec::new(), Shard::WHOLE, common)?;
    let state = compute::sample(&sampler, directory, common)?;
    let sampled = sampler.finish(state)?;
    let about = About {
        error: sampled.relative_error().unwrap_or(f64::NAN),
        networks: sampled.networks(),
    };
    let matrix = sampled.matrix();
    let text = toml::to_string(&about)
        .map_err(|e| CliError::Failed(format!("cannot express an error as TOML: {e}")))?;
    let dim = matrix.dim();
    directory.checkpoint(MATRIX, &npy::encode(&[dim, dim], &matrix.to_dense()))?;
    directory.checkpoint(ABOUT, text.as_bytes())?;
    Ok(Found {
        matrix,
        error: Some(about.error),
        networks: Some(about.networks),
    })
}

/// What an interrupted process had sampled.
fn restore(directory: &RunDirectory, dim: usize) -> Result<Option<Found>, CliError> {
    let (Some(matrix), Some(about)) = (directory.restore(MATRIX)?, directory.restore(ABOUT)?)
    else {
        return Ok(None);
    };
    let damaged = |what: &str| {
        CliError::Failed(format!(
            "the checkpoint in {} cannot be read ({what}); --force starts over",
            directory.path().display()
        ))
    };
    let matrix = npy::parse(&matrix, MATRIX)?;
    if matrix.shape != [dim, dim] {
        return Err(damaged("its geometry is of another size"));
    }
    let about: About =
        toml::from_str(&String::from_utf8_lossy(&about)).map_err(|e| damaged(e.message()))?;
    Ok(Some(Found {
        matrix: Kron::dense(matrix.numbers.to_f64(), dim),
        error: Some(about.error),
        networks: Some(about.networks),
    }))
}
