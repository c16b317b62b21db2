//! Geometries of sampled networks.

use polariscope_graph::Graph;
use polariscope_lens::{Clock, Observer, Work};
use polariscope_report::counted;
use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::foretell::seconds;
use super::resolved::{Integrate, Resolved};
use crate::sample::Float;
use crate::{
    GROUPS, GeometryError, Limit, MOST, Method, Readouts, SampleConfig, Sampled, Sampler, Shard,
    Spectrum, State, best_readouts,
};

/// One part of the networks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Part {
    /// How many.
    pub networks: u64,
    /// What stood for the last layer.
    pub readouts: Readouts,
    /// Their sums, as [`State::to_bytes`] writes them.
    #[serde(skip)]
    pub sums: Vec<u8>,
}

impl Resolved {
    pub(super) fn part_in<T: Float>(
        &self,
        graph: &Graph,
        shard: Shard,
        observer: &mut dyn Observer,
    ) -> Result<Part, GeometryError> {
        self.check_parts()?;
        let sampler = self.sampler::<T>(graph, shard)?;
        let state = self.sample(graph, &sampler, observer)?;
        Ok(Part {
            networks: state.networks(),
            readouts: sampler.config().readouts,
            sums: state.to_bytes(),
        })
    }

    /// Refuses parts of what has none.
    pub fn check_parts(&self) -> Result<(), GeometryError> {
        let wrong = |text: &str| Err(GeometryError::Question(text.to_string()));
        if !matches!(self.method, Method::Sample | Method::Mixed) {
            return wrong("‹shard›: a closed form has no parts; leave it out");
        }
        if matches!(self.limit, Limit::Error(_)) {
            return wrong("‹shard›: shards cannot see each other's error; give ‹networks›");
        }
        Ok(())
    }

    /// The sampler of the question.
    pub fn sampler<T: Float>(
        &self,
        graph: &Graph,
        shard: Shard,
    ) -> Result<Sampler<T>, GeometryError> {
        let config = self.sample_config_of::<T>(graph)?;
        Sampler::new(graph, config, self.given(graph)?, self.limit, shard)
    }

    /// The sampler's part of the question, read-outs resolved.
    pub(super) fn sample_config_of<T: Float>(
        &self,
        graph: &Graph,
    ) -> Result<SampleConfig, GeometryError> {
        let mut config = self.sample_config();
        if self.integrate == Integrate::LastLayer && self.weights.is_empty() {
            config.readouts = best_readouts::<T>(graph, &config)?;
        }
        Ok(config)
    }

    /// Runs a sampler to its end, with progress and checkpoints.
    pub(super) fn sample<T: Float>(
        &self,
        graph: &Graph,
        sampler: &Sampler<T>,
        observer: &mut dyn Observer,
    ) -> Result<State, GeometryError> {
        let mut state = match observer.state()? {
            Some(bytes) => sampler.restore(&bytes)?,
            None => sampler.start(),
        };
        // A stop rule knows no end before there is something to see.
        if state.networks() == 0 && matches!(sampler.limit(), Limit::Error(_)) {
            let first = (GROUPS as u64, self.probes);
            self.foretell_networks(graph, "the first networks", first, observer);
            sampler.advance(&mut state)?;
        }
        let total = sampler.expected(&state).unwrap_or(MOST);
        let left = total.saturating_sub(state.networks());
        observer.foretell(seconds(graph, left, self.probes));
        observer.begin(Work {
            unit: "networks".into(),
            first: state.networks(),
            total,
            words: match sampler.limit() {
                Limit::Networks(n) => counted(n, "network"),
                Limit::Error(e) => format!(
                    "about {} to a relative error of {e}",
                    counted(total, "network")
                ),
            },
            bytes: Sampler::<T>::memory(sampler.dim()),
        });
        while !sampler.done(&state) {
            sampler.advance(&mut state)?;
            observer.advance(state.networks(), &|| Some(state.to_bytes()))?;
        }
        observer.end();
        Ok(state)
    }

    /// The geometry of finished sums.
    pub(super) fn of_sample(
        &self,
        graph: &Graph,
        sampled: &Sampled,
        readouts: Readouts,
        clock: &mut Clock,
        observer: &mut dyn Observer,
    ) -> Result<Answer, GeometryError> {
        let mut matrix = sampled.matrix();
        matrix.factor.iter_mut().for_each(|x| *x *= self.scale);
        clock.time("spectrum", || {
            let device = self.setup.device;
            self.foretell_spectrum(&matrix, observer);
            let mut spectrum = Spectrum::on(device, &matrix)?;
            sampled.add_errors(&mut spectrum);
            spectrum
                .errors
                .iter_mut()
                .for_each(|(_, e)| *e *= self.scale);
            let summary = sampled.summary(&spectrum, self.scale, device)?;
            let mut answer = self.assemble(graph, matrix, spectrum, summary);
            answer.numbers.networks = Some(sampled.networks());
            answer.numbers.relative_error = sampled.relative_error();
            answer.numbers.readouts = Some(readouts);
            answer.source = self.source(graph, &answer.numbers);
            answer.method = self.sentence(graph, &answer.numbers);
            Ok(answer)
        })
    }
}
