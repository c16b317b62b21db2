//! Whose kernel: the infinitely wide network's, or that of one finite network.

use polariscope_diff::Device;
use polariscope_graph::Graph;
use polariscope_network::{Network, Weights};
use polariscope_nngp::{Kernel, Values, Wanted};

use super::{Data, Kind, Question};
use crate::{KernelsError, Number};
use polariscope_empirical::{self as empirical, MEMORY, Outputs};

/// Products of a GPU in the time that a processor takes for one.
const FASTER: f64 = 1000.0;

/// What computes blocks of kernels.
pub enum Engine<T> {
    /// In closed form.
    Infinite(Box<Kernel>),
    /// Θ̂ = J Jᵀ of these weights.
    Finite {
        /// The network.
        network: Box<Network<T>>,
        /// Its weights.
        weights: Weights<T>,
        /// One number a pair of samples, or one a pair of outputs.
        outputs: Outputs,
    },
}

impl<T: Number> Engine<T> {
    /// The engine that the question asks for.
    pub fn new(graph: &Graph, data: &Data<'_>, question: &Question) -> Result<Self, KernelsError> {
        let device = question.setup.device;
        let weights = match (data.weights, question.finite) {
            (Some(given), _) => T::weights(given),
            (None, Some(index)) => Weights::draw(graph, question.setup.seed, index),
            (None, None) if question.outputs == Outputs::All => {
                return Err(KernelsError::Question(
                    "‹outputs all› belongs to a finite network: give ‹finite I› or ‹weights FILE›; outputs of an infinitely \
                     wide one are independent"
                        .into(),
                ));
            }
            (None, None) => {
                return Ok(Engine::Infinite(Box::new(Kernel::on(graph, device)?)));
            }
        };
        Ok(Engine::Finite {
            network: Box::new(Network::on(graph.clone(), device)),
            weights,
            outputs: question.outputs,
        })
    }

    /// Numbers in one sample.
    pub fn inputs(&self) -> usize {
        match self {
            Engine::Infinite(kernel) => kernel.inputs(),
            Engine::Finite { network, .. } => network.graph().input().len(),
        }
    }

    /// Rows of the matrix for each sample.
    pub fn rows(&self) -> usize {
        match self {
            Engine::Infinite(_) => 1,
            Engine::Finite {
                network, outputs, ..
            } => match outputs {
                Outputs::Mean => 1,
                Outputs::All => network.graph().output().len(),
            },
        }
    }

    /// What is approximate beyond infinite width.
    pub fn approximations(&self) -> &[String] {
        match self {
            Engine::Infinite(kernel) => kernel.approximations(),
            Engine::Finite { .. } => &[],
        }
    }

    /// Operations of one pair of samples, about, in the time that a processor takes for them; gradients are shared by the
    /// pairs of a tile and not counted.
    pub fn operations(&self) -> f64 {
        match self {
            Engine::Infinite(kernel) => kernel.operations(),
            Engine::Finite { network, .. } => {
                let products = network.graph().output().len() * self.rows();
                let operations = 2.0 * (network.graph().parameter_count() * products) as f64;
                match network.device() {
                    Device::Cpu => operations,
                    Device::Cuda(_) => operations / FASTER,
                }
            }
        }
    }

    /// Bytes beside samples and tiles.
    pub fn bytes(&self) -> f64 {
        match self {
            Engine::Infinite(kernel) => (kernel.bytes::<T>() * rayon::current_num_threads()) as f64,
            Engine::Finite { .. } => MEMORY as f64,
        }
    }

    /// Kernels among samples.
    pub fn among(&self, wanted: Wanted, x: &[T]) -> Result<Block<T>, KernelsError> {
        Ok(match self {
            Engine::Infinite(kernel) => Block::Both(kernel.among(wanted, x)?),
            Engine::Finite {
                network,
                weights,
                outputs,
            } => Block::ntk(empirical::among(network, weights, x, *outputs, MEMORY)?),
        })
    }

    /// Kernels between samples.
    pub fn between(&self, wanted: Wanted, x1: &[T], x2: &[T]) -> Result<Block<T>, KernelsError> {
        Ok(match self {
            Engine::Infinite(kernel) => Block::Both(kernel.between(wanted, x1, x2)?),
            Engine::Finite {
                network,
                weights,
                outputs,
            } => Block::ntk(empirical::between(
                network, weights, x1, x2, *outputs, MEMORY,
            )?),
        })
    }
}

/// A block of kernels.
pub enum Block<T> {
    /// Of the infinitely wide network.
    Both(Values<T>),
    /// Of a finite one.
    Ntk(Vec<T>),
}

impl<T: Number> Block<T> {
    fn ntk(values: Vec<f64>) -> Self {
        Block::Ntk(values.into_iter().map(T::from_f64).collect())
    }

    /// One of the kernels, where it was computed.
    pub fn of(&self, kind: Kind) -> Option<&[T]> {
        match (self, kind) {
            (Block::Both(values), Kind::Nngp) => Some(&values.nngp),
            (Block::Both(values), Kind::Ntk) => values.ntk.as_deref(),
            (Block::Ntk(_), Kind::Nngp) => None,
            (Block::Ntk(values), Kind::Ntk) => Some(values),
        }
    }
}
