//! The network that a weights file fits.

use polariscope_diff::Real;
use polariscope_graph::{Graph, Shape};
use polariscope_network::{Contents, Weights};

use super::EvalArgs;
use crate::args::Common;
use crate::checkpoint::{fit, read};
use crate::error::CliError;
use crate::run::fingerprint_bytes;

/// A network with its numbers.
pub struct Loaded<T> {
    /// The architecture, as the inputs and the weights decide it.
    pub graph: Graph,
    /// Its weights.
    pub weights: Weights<T>,
    /// A direction in weight space.
    pub tangent: Option<Weights<T>>,
    /// What the files held, for `run.toml`.
    pub fingerprints: Vec<(&'static str, String)>,
}

impl<T: Real> Loaded<T> {
    /// Reads or draws the weights of a network for samples of shape `input`.
    pub fn new(args: &EvalArgs, common: &Common, input: Shape) -> Result<Self, CliError> {
        let mut architecture = args.architecture.clone();
        architecture.options.input = Some(input);
        let graph = architecture.graph()?;
        let mut fingerprints = Vec::new();
        let (graph, weights) = match &args.weights {
            None => {
                let weights = Weights::draw(&graph, common.seed, args.index.unwrap_or(0));
                (graph, weights)
            }
            Some(path) => {
                let bytes = read(path)?;
                fingerprints.push(("weights", fingerprint_bytes(&bytes)));
                fit(&architecture, graph, &bytes, &path.display().to_string())?
            }
        };
        let tangent = match &args.tangent {
            None => None,
            Some(path) => {
                let bytes = read(path)?;
                fingerprints.push(("tangent", fingerprint_bytes(&bytes)));
                let file = path.display().to_string();
                Some(Weights::parse(&graph, &bytes, Contents::Tangent, &file)?)
            }
        };
        Ok(Self {
            graph,
            weights,
            tangent,
            fingerprints,
        })
    }
}
