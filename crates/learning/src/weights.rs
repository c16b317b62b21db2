//! Weights: drawn, or of a file, and the network that the file fits.

use std::fs;
use std::path::Path;

use polariscope_diff::Real;
use polariscope_graph::Graph;
use polariscope_lens::{Dtype, Setup};

pub use polariscope_network::{Contents, Weights, WeightsError};

/// The bytes of a file.
pub fn read(path: &Path) -> Result<Vec<u8>, WeightsError> {
    fs::read(path).map_err(|source| WeightsError::Io {
        path: path.into(),
        source,
    })
}

/// The initial weights of network `index` as safetensors, in the precision of the setup.
pub fn initial(graph: &Graph, setup: &Setup, index: u64) -> Vec<u8> {
    match setup.dtype {
        Dtype::F32 => Weights::<f32>::draw(graph, setup.seed, index).to_bytes(graph),
        Dtype::F64 => Weights::<f64>::draw(graph, setup.seed, index).to_bytes(graph),
    }
}

/// Reads weights for `graph`. Where they do not fit because a tensor has another shape, and `with_outputs` makes the
/// network with another number of outputs, the number is the first dimension of that tensor, if everything fits then.
pub fn fit<T: Real>(
    graph: Graph,
    bytes: &[u8],
    file: &str,
    with_outputs: impl Fn(usize) -> Option<Graph>,
) -> Result<(Graph, Weights<T>), WeightsError> {
    let parse = |graph: &Graph| Weights::parse(graph, bytes, Contents::Weights, file);
    let error = match parse(&graph) {
        Ok(weights) => return Ok((graph, weights)),
        Err(e) => e,
    };
    if let WeightsError::WrongShape { found, .. } = &error
        && let Some(graph) = found.first().and_then(|&outputs| with_outputs(outputs))
        && let Ok(weights) = parse(&graph)
    {
        return Ok((graph, weights));
    }
    Err(error)
}
