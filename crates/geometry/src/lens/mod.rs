//! The lens as one call: a question in, an answer out.
//!
//! ```
//! use polariscope_geometry::{Question, answer};
//! use polariscope_graph::{ZooOptions, zoo};
//! use polariscope_lens::Quiet;
//! let input = Some("1x16x16".parse()?);
//! let graph = zoo("lenet-gap", &ZooOptions { input, ..ZooOptions::default() })?;
//! let found = answer(&graph, &Question::default(), &mut Quiet)?;
//! // Behind a global average pool the mean of the image counts most.
//! assert!(found.spectrum.values[0] > 10.0 * found.numbers.summary.trace / 256.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod closed;
mod compare;
mod files;
pub(crate) mod foretell;
mod price;
mod question;
mod resolved;
mod sampled;
pub(crate) mod source;
mod top;

use std::fs;

use polariscope_graph::Graph;
use polariscope_lens::{Clock, Dtype, Observer};
use polariscope_network::{Contents, Weights, WeightsError};

pub use answer::{Agreement, Answer, Numbers};
pub use compare::Similarity;
pub use files::Stored;
pub use price::{Price, SamplingPlan, plan};
pub use question::{Compat, Question};
pub use resolved::{Integrate, Record, Resolved};
pub use sampled::Part;
pub use source::{Inputs, Origin, Provenance, Voice};
pub use top::{First, Planned};

use crate::sample::{Float, PILOTS};
use crate::{GeometryError, Kron, Method, Readouts, Sampled, Shard, State};

/// The geometry of a network: everything that is found when `question` is asked.
pub fn answer(
    graph: &Graph,
    question: &Question,
    observer: &mut dyn Observer,
) -> Result<Answer, GeometryError> {
    question.resolve(graph)?.answer(graph, observer)
}

/// A geometry alone, and how well it is known where networks were sampled.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// G.
    pub g: Kron,
    /// Its standard error over its norm, where it was sampled and there are networks enough to tell.
    pub error: Option<f64>,
    /// Networks that were sampled.
    pub networks: Option<u64>,
}

impl Resolved {
    /// The answer.
    pub fn answer(
        &self,
        graph: &Graph,
        observer: &mut dyn Observer,
    ) -> Result<Answer, GeometryError> {
        Ok(self.answer_and_sample(graph, observer)?.0)
    }

    /// The sample that [`Sampled::to_bytes`] wrote.
    pub fn sample_of(&self, bytes: &[u8]) -> Result<Sampled, GeometryError> {
        Ok(Sampled::new(State::from_bytes(bytes)?, self.centring))
    }

    /// The answer, with its sample where networks were sampled.
    pub fn answer_and_sample(
        &self,
        graph: &Graph,
        observer: &mut dyn Observer,
    ) -> Result<(Answer, Option<Sampled>), GeometryError> {
        match self.setup.dtype {
            Dtype::F32 => self.answer_in::<f32>(graph, observer),
            Dtype::F64 => self.answer_in::<f64>(graph, observer),
        }
    }

    fn answer_in<T: Float>(
        &self,
        graph: &Graph,
        observer: &mut dyn Observer,
    ) -> Result<(Answer, Option<Sampled>), GeometryError> {
        let mut clock = Clock::default();
        let (mut answer, sampled) = match self.method {
            Method::Sample | Method::Mixed => {
                let few = (PILOTS, self.probes);
                self.foretell_networks(graph, "planning", few, observer);
                let sampler = clock.time("planning", || self.sampler::<T>(graph, Shard::WHOLE))?;
                let state = clock.time("sampling", || self.sample(graph, &sampler, observer))?;
                let readouts = sampler.config().readouts;
                let mean_gradient = sampler.mean_gradient(&state);
                let sampled = sampler.finish(state)?;
                let mut answer = self.of_sample(graph, &sampled, readouts, &mut clock, observer)?;
                answer.mean_gradient = mean_gradient;
                answer.numbers.networks = Some(sampled.networks() / self.batches);
                if self.weights.is_empty() {
                    clock.time("closed form to compare with", || {
                        self.compare(graph, &sampled, &mut answer, observer)
                    })?;
                }
                answer.source = self.source(graph, &answer.numbers);
                answer.method = self.sentence(graph, &answer.numbers);
                (answer, Some(sampled))
            }
            Method::Exact | Method::MeanField | Method::Kernel => {
                (self.closed(graph, &mut clock, observer)?, None)
            }
        };
        answer.numbers.seconds = clock.stages().clone();
        Ok((answer, sampled))
    }

    /// G alone, without its spectrum.
    pub fn matrix(
        &self,
        graph: &Graph,
        observer: &mut dyn Observer,
    ) -> Result<Matrix, GeometryError> {
        match self.setup.dtype {
            Dtype::F32 => self.matrix_in::<f32>(graph, observer),
            Dtype::F64 => self.matrix_in::<f64>(graph, observer),
        }
    }

    fn matrix_in<T: Float>(
        &self,
        graph: &Graph,
        observer: &mut dyn Observer,
    ) -> Result<Matrix, GeometryError> {
        if !matches!(self.method, Method::Sample | Method::Mixed) {
            let (g, _) = self.closed_matrix(graph, observer)?;
            return Ok(Matrix {
                g,
                error: None,
                networks: None,
            });
        }
        let sampler = self.sampler::<T>(graph, Shard::WHOLE)?;
        let state = self.sample(graph, &sampler, observer)?;
        let sampled = sampler.finish(state)?;
        Ok(Matrix {
            g: sampled.matrix(),
            error: sampled.relative_error(),
            networks: Some(sampled.networks()),
        })
    }

    /// One part of the networks; [`Resolved::merged`] makes the answer of all parts.
    pub fn part(
        &self,
        graph: &Graph,
        shard: Shard,
        observer: &mut dyn Observer,
    ) -> Result<Part, GeometryError> {
        match self.setup.dtype {
            Dtype::F32 => self.part_in::<f32>(graph, shard, observer),
            Dtype::F64 => self.part_in::<f64>(graph, shard, observer),
        }
    }

    /// The answer of all parts, their sums added up.
    pub fn merged(
        &self,
        graph: &Graph,
        state: State,
        readouts: Readouts,
        clock: &mut Clock,
        observer: &mut dyn Observer,
    ) -> Result<Answer, GeometryError> {
        let sampled = Sampled::new(state, self.centring);
        let mut answer = self.of_sample(graph, &sampled, readouts, clock, observer)?;
        answer.numbers.seconds = clock.stages().clone();
        Ok(answer)
    }

    /// Weights that were given, as this network has them.
    fn given<T: Float>(&self, graph: &Graph) -> Result<Vec<Weights<T>>, GeometryError> {
        let read = |path: &std::path::PathBuf| {
            let bytes = fs::read(path).map_err(|source| WeightsError::Io {
                path: path.clone(),
                source,
            })?;
            let file = path.display().to_string();
            Weights::parse(graph, &bytes, Contents::Weights, &file)
        };
        Ok(self.weights.iter().map(read).collect::<Result<_, _>>()?)
    }
}
