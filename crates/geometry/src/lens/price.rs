//! What a wanted precision costs, before it is spent.
//!
//! One network's A_i lies σ‖G‖ from G (root mean square, Frobenius norm); T networks reach the relative error σ/√T. A
//! short pilot measures σ and the seconds a network takes.

use std::time::{Duration, Instant};

use polariscope_graph::Graph;
use polariscope_lens::{Dtype, Observer};
use polariscope_report::{duration, grouped};
use serde::{Deserialize, Serialize};

use super::question::{ERROR, Question};
use crate::sample::Float;
use crate::{GROUPS, GeometryError, Gradient, Limit, Method, Shard};

/// The pilot takes at least this long, where networks are fast.
const PILOT: Duration = Duration::from_secs(2);
/// And at most this many networks.
const NETWORKS: u64 = 4096;
/// Errors shown beside the one asked for.
const LADDER: [f64; 4] = [0.3, 0.1, 0.03, 0.01];

/// The cost of a precision.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Price {
    /// Relative standard error of G.
    pub error: f64,
    /// Corr(Ĝ, G) that it amounts to.
    pub corr: f64,
    /// Networks to sample.
    pub networks: u64,
    /// Seconds here.
    pub seconds: f64,
}

/// What precisions cost.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SamplingPlan {
    /// The architecture.
    pub architecture: String,
    /// Which geometry.
    pub gradient: Gradient,
    /// Inputs for each network.
    pub probes: usize,
    /// Networks of the pilot.
    pub pilot: u64,
    /// Relative deviation of one network from G.
    pub network_error: f64,
    /// Seconds a network takes here.
    pub seconds_a_network: f64,
    /// The method that needs no networks, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_form: Option<Method>,
    /// The errors of a ladder and the one asked for, largest first.
    pub prices: Vec<Price>,
}

impl Question {
    /// The relative error that is asked for, or that of the default.
    pub fn error(&self) -> f64 {
        match self.limit {
            Some(Limit::Error(error)) => error,
            Some(Limit::Networks(_)) | None => ERROR,
        }
    }
}

/// What it would cost to sample the geometry to precisions around the one that `question` asks for.
pub fn plan(
    graph: &Graph,
    question: &Question,
    observer: &mut dyn Observer,
) -> Result<SamplingPlan, GeometryError> {
    let free = Question {
        limit: None,
        ..question.clone()
    };
    let closed_form = match free.resolve_observed(graph, observer)?.method {
        closed @ (Method::Exact | Method::MeanField) => Some(closed),
        Method::Kernel | Method::Sample | Method::Mixed => None,
    };
    let sampled = Question {
        method: question
            .method
            .filter(|m| *m == Method::Mixed)
            .or(Some(Method::Sample)),
        limit: Some(Limit::Networks(NETWORKS)),
        ..question.clone()
    };
    match question.setup.dtype {
        Dtype::F32 => measure::<f32>(graph, &sampled, question.error(), closed_form, observer),
        Dtype::F64 => measure::<f64>(graph, &sampled, question.error(), closed_form, observer),
    }
}

fn measure<T: Float>(
    graph: &Graph,
    question: &Question,
    wanted: f64,
    closed_form: Option<Method>,
    observer: &mut dyn Observer,
) -> Result<SamplingPlan, GeometryError> {
    let question = question.resolve_observed(graph, observer)?;
    // Two waves at least, of as many networks as there are groups.
    let (few, waves) = (2 * GROUPS as u64, "a pilot of a few networks");
    question.foretell_networks(graph, waves, (few, question.probes), observer);
    let sampler = question.sampler::<T>(graph, Shard::WHOLE)?;
    let mut state = sampler.start();
    // The first wave makes plans and workspaces.
    sampler.advance(&mut state)?;
    let (before, started) = (state.networks(), Instant::now());
    while !sampler.done(&state) && (state.networks() == before || started.elapsed() < PILOT) {
        sampler.advance(&mut state)?;
    }
    observer.end();
    let timed = (state.networks() - before).max(1);
    let seconds_a_network = started.elapsed().as_secs_f64() / timed as f64;
    let sample = sampler.finish(state)?;
    let Some(network_error) = sample.network_error() else {
        return Err(GeometryError::Drowned(format!(
            "{} networks do not show G above their noise: a network takes {}, so try ‹error 1› first",
            grouped(sample.networks()),
            duration(seconds_a_network)
        )));
    };
    let mut errors = LADDER.to_vec();
    if !errors.contains(&wanted) {
        errors.push(wanted);
    }
    errors.sort_by(|a, b| b.total_cmp(a));
    let price = |error: f64| {
        let networks = (network_error / error).powi(2).ceil().max(1.0);
        Price {
            error,
            corr: 1.0 / (1.0 + error * error).sqrt(),
            networks: networks as u64,
            seconds: networks * seconds_a_network,
        }
    };
    Ok(SamplingPlan {
        architecture: graph.name.clone(),
        gradient: question.gradient,
        probes: question.probes,
        pilot: sample.networks(),
        network_error,
        seconds_a_network,
        closed_form,
        prices: errors.into_iter().map(price).collect(),
    })
}
