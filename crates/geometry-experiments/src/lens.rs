//! The geometry that an experiment predicts from.

use std::fmt;
use std::sync::Arc;

use polariscope_geometry::{
    Compat, GeometryError, Gradient, Kron, Limit, Method, Probe, Question, Spectrum,
};
use polariscope_graph::{Activation, BiasRule, Graph, ZooOptions, zoo};
use polariscope_lens::{Device, Place, Quiet, Setup};
use polariscope_linalg::apply;

use crate::GeometryExperimentsError;
use crate::lab::shape;

/// How G is found, for images of one channel and one output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lens {
    /// Central differences with a radius of 100 around one Gaussian point, over random networks, their mean removed
    /// (Algorithm 1 of the NAD paper).
    Dipole {
        /// How many.
        networks: u64,
    },
    /// Gradients at Gaussian points, over random networks.
    Local {
        /// How many.
        networks: u64,
    },
    /// The closed form of the same network with GELU and without biases at x = 0, as the GIH paper advises; sampled at
    /// points of size 10⁻⁴ where there is no closed form.
    Gelu {
        /// How many, where it must be sampled.
        networks: u64,
    },
    /// The closed form of what the gradients at independent Gaussian points share.
    Coherent,
    /// The same over random networks.
    CoherentSampled {
        /// How many.
        networks: u64,
    },
    /// The closed form at infinite width, averaged over points.
    MeanField {
        /// How many.
        points: usize,
    },
}

/// Points of a network in [`Lens::Local`].
pub(crate) const PROBES: usize = 8;
/// Points of a network in [`Lens::CoherentSampled`].
pub(crate) const PROBES_COHERENT: usize = 25;

impl fmt::Display for Lens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lens::Dipole { .. } => f.write_str("dipole:100"),
            Lens::Local { .. } => f.write_str("local"),
            Lens::Gelu { .. } => f.write_str("gelu"),
            Lens::Coherent => f.write_str("coherent"),
            Lens::CoherentSampled { .. } => f.write_str("coherent-sampled"),
            Lens::MeanField { .. } => f.write_str("meanfield"),
        }
    }
}

impl Lens {
    /// G of a network of the zoo.
    pub fn geometry(
        self,
        name: &str,
        seed: u64,
        place: Place,
    ) -> Result<Kron, GeometryExperimentsError> {
        let options = ZooOptions {
            input: Some(shape(1)),
            outputs: Some(1),
            ..ZooOptions::default()
        };
        let question = self.question(Setup {
            seed,
            device: place.device,
            precision: place.precision,
            ..Setup::default()
        });
        let find = |graph: &Graph, question: &Question| {
            let found = question.resolve(graph)?.matrix(graph, &mut Quiet)?;
            Ok(found.g)
        };
        let Lens::Gelu { networks } = self else {
            return find(&zoo(name, &options)?, &question);
        };
        let smooth = ZooOptions {
            activation: Some(Activation::Gelu.into()),
            bias: BiasRule::Zero,
            ..options
        };
        let graph = zoo(name, &smooth)?;
        match find(&graph, &question) {
            Err(GeometryExperimentsError::Geometry(e))
                if matches!(*e, GeometryError::Refused(_)) =>
            {
                let near = Question {
                    method: Some(Method::Sample),
                    probe: Some(Probe::Gauss { sigma: 1e-4 }),
                    probes: Some(PROBES),
                    limit: Some(Limit::Networks(networks)),
                    ..question
                };
                find(&graph, &near)
            }
            found => found,
        }
    }

    /// What is asked of the network.
    fn question(self, setup: Setup) -> Question {
        let asked = Question {
            probe: Some(Probe::Gauss { sigma: 1.0 }),
            setup,
            ..Question::default()
        };
        let sampled = |gradient, probes, networks| Question {
            gradient: Some(gradient),
            method: Some(Method::Sample),
            probes: Some(probes),
            limit: Some(Limit::Networks(networks)),
            ..asked.clone()
        };
        match self {
            Lens::MeanField { points } => Question {
                gradient: Some(Gradient::Local),
                method: Some(Method::MeanField),
                probes: Some(points),
                ..asked
            },
            Lens::Coherent => Question {
                gradient: Some(Gradient::Coherent),
                method: Some(Method::MeanField),
                ..asked
            },
            Lens::CoherentSampled { networks } => {
                sampled(Gradient::Coherent, PROBES_COHERENT, networks)
            }
            Lens::Local { networks } => sampled(Gradient::Local, PROBES, networks),
            Lens::Gelu { .. } => Question {
                gradient: Some(Gradient::Local),
                method: Some(Method::Exact),
                probe: Some(Probe::Zero),
                ..asked
            },
            Lens::Dipole { networks } => Question {
                compat: Some(Compat::Nad),
                probe: None,
                limit: Some(Limit::Networks(networks)),
                ..asked
            },
        }
    }

    /// Directions of G, most visible first.
    pub fn directions(
        self,
        name: &str,
        seed: u64,
        place: Place,
    ) -> Result<Directions, GeometryExperimentsError> {
        let g = self.geometry(name, seed, place)?;
        Directions::on(place.device, g)
    }
}

/// G with its eigenvectors, over images of one channel.
#[derive(Clone, Debug)]
pub struct Directions {
    /// G.
    pub g: Kron,
    /// Eigenvalues and eigenvectors, largest first.
    pub spectrum: Spectrum,
}

impl Directions {
    /// Decomposes G.
    pub fn on(device: Device, g: Kron) -> Result<Self, GeometryExperimentsError> {
        let spectrum = Spectrum::on(device, &g)?;
        Ok(Directions { g, spectrum })
    }

    /// u_i.
    pub fn vector(&self, index: usize) -> &[f64] {
        let n = self.spectrum.n;
        &self.spectrum.vectors[index * n..][..n]
    }

    /// u_i, for a generator.
    pub fn direction(&self, index: usize) -> polariscope_data::Direction {
        polariscope_data::Direction::Given(Arc::from(self.vector(index)))
    }

    /// c_i = xᵀu_i of every channel of every sample.
    pub fn coordinates(&self, x: &[f32]) -> Vec<f32> {
        apply(&self.spectrum.vectors, self.spectrum.n, x)
    }

    /// Σ_i c_i u_i.
    pub fn assemble(&self, c: &[f32]) -> Vec<f32> {
        let n = self.spectrum.n;
        let entry = |at: usize| self.spectrum.vectors[at % n * n + at / n];
        let columns: Vec<f64> = (0..n * n).map(entry).collect();
        apply(&columns, n, c)
    }
}
