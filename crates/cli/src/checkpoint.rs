//! Weights files, and the network that one fits.

use std::fs;
use std::path::Path;

use polariscope_diff::Real;
use polariscope_graph::Graph;
use polariscope_network::{Contents, Weights, WeightsError};

use crate::args::ArchitectureArgs;
use crate::error::CliError;

/// The bytes of a file.
pub fn read(path: &Path) -> Result<Vec<u8>, WeightsError> {
    fs::read(path).map_err(|source| WeightsError::Io {
        path: path.into(),
        source,
    })
}

/// Reads weights for `graph`. Where the number of outputs was left open and the file has a tensor of
/// another shape, the number of outputs is the first dimension of that tensor, if everything fits then.
pub fn fit<T: Real>(
    architecture: &ArchitectureArgs,
    graph: Graph,
    bytes: &[u8],
    file: &str,
) -> Result<(Graph, Weights<T>), CliError> {
    let parse = |graph: &Graph| Weights::parse(graph, bytes, Contents::Weights, file);
    let error = match parse(&graph) {
        Ok(weights) => return Ok((graph, weights)),
        Err(e) => e,
    };
    if let WeightsError::WrongShape { found, .. } = &error
        && architecture.options.outputs.is_none()
    {
        let mut architecture = architecture.clone();
        architecture.options.outputs = found.first().copied();
        if let Ok(graph) = architecture.graph()
            && let Ok(weights) = parse(&graph)
        {
            return Ok((graph, weights));
        }
    }
    Err(error.into())
}
