//! The geometry that an experiment predicts from.

use std::fmt;
use std::sync::Arc;

use polariscope_data::apply;
use polariscope_diff::{Device, Place};
use polariscope_geometry::{
    Centring, Gradient, Kron, Limit, Method, Output, Probe, Readouts, SampleConfig, Sampler, Shard,
    Spectrum, best_readouts, coherent, exact, mean_field,
};
use polariscope_graph::{Activation, BiasRule, Graph, ZooOptions, zoo};
use polariscope_random::Stream;

use crate::GeometryExperimentsError;
use crate::lab::shape;

/// How G is found, for images of one channel and one output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lens {
    /// Central differences with a radius around one Gaussian point, over random networks, their mean removed (Algorithm 1
    /// of the NAD paper).
    Dipole {
        /// The radius h.
        h: f64,
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
            Lens::Dipole { h, .. } => write!(f, "dipole:{h}"),
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
        let point = |sigma: f64| Probe::Gauss { sigma };
        let (graph, config, networks) = match self {
            Lens::MeanField { points } => {
                let graph = zoo(name, &options)?;
                return Ok(mean_field(
                    &graph,
                    &point(1.0),
                    points,
                    Output::Logit(0),
                    seed,
                )?);
            }
            Lens::Coherent => {
                let graph = zoo(name, &options)?;
                return Ok(coherent(&graph, &point(1.0), 1, Output::Logit(0), seed)?);
            }
            Lens::CoherentSampled { networks } => {
                let mut config = config(Gradient::Coherent, point(1.0), seed, place);
                config.probes = PROBES_COHERENT;
                (zoo(name, &options)?, config, networks)
            }
            Lens::Gelu { networks } => {
                let smooth = ZooOptions {
                    activation: Some(Activation::Gelu),
                    bias: BiasRule::Zero,
                    ..options
                };
                let graph = zoo(name, &smooth)?;
                if let Ok(g) = exact(&graph, &Probe::Zero, Output::Logit(0)) {
                    return Ok(g);
                }
                let config = config(Gradient::Local, point(1e-4), seed, place);
                (graph, config, networks)
            }
            Lens::Local { networks } => (
                zoo(name, &options)?,
                config(Gradient::Local, point(1.0), seed, place),
                networks,
            ),
            Lens::Dipole { h, networks } => {
                let graph = zoo(name, &options)?;
                let mut x = vec![0.0; graph.input().len()];
                Stream::new(seed, 0, "evaluation point").normal(1.0, &mut x);
                let probe = Probe::Points {
                    source: "one Gaussian point".into(),
                    x: x.into_iter().map(f64::from).collect(),
                };
                let mut config = config(Gradient::Dipole { h }, probe, seed, place);
                (config.centring, config.probes) = (Centring::Mean, 1);
                (graph, config, networks)
            }
        };
        sample(&graph, config, networks)
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

fn config(gradient: Gradient, probe: Probe, seed: u64, place: Place) -> SampleConfig {
    SampleConfig {
        seed,
        method: Method::Sample,
        gradient,
        probe,
        probes: PROBES,
        output: Output::Logit(0),
        readouts: Readouts::Own,
        centring: Centring::None,
        place,
    }
}

fn sample(
    graph: &Graph,
    mut config: SampleConfig,
    networks: u64,
) -> Result<Kron, GeometryExperimentsError> {
    if !matches!(config.gradient, Gradient::Dipole { .. }) {
        config.readouts = best_readouts::<f32>(graph, &config)?;
    }
    let limit = Limit::Networks(networks);
    let sampler = Sampler::<f32>::new(graph, config, Vec::new(), limit, Shard::WHOLE)?;
    let mut state = sampler.start();
    while !sampler.done(&state) {
        sampler.advance(&mut state)?;
    }
    Ok(sampler.finish(state)?.matrix())
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
