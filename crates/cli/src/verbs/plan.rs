//! `plan`: what a wanted precision costs, before it is spent.
//!
//! One network's A_i lies σ‖G‖ from G (root mean square, Frobenius norm); T networks reach the relative error σ/√T. A
//! short pilot measures σ and the seconds a network takes.

use std::time::{Duration, Instant};

use clap::Args;
use polariscope_geometry::{Float, Gradient, Limit, Method, Shard};
use polariscope_report::{Align, Table, duration, grouped, pretty};
use serde::Serialize;

use super::geometry::options::{ERROR, QuestionArgs};
use super::geometry::{GeometryArgs, Job, compute};
use crate::args::{ArchitectureArgs, Common, Dtype};
use crate::error::CliError;
use crate::output;

/// The pilot takes at least this long, where networks are fast.
const PILOT: Duration = Duration::from_secs(2);
/// And at most this many networks.
const NETWORKS: u64 = 4096;
/// Errors shown beside the one asked for.
const LADDER: [f64; 4] = [0.3, 0.1, 0.03, 0.01];

/// What `plan` takes.
#[derive(Clone, Debug, Args)]
pub struct PlanArgs {
    /// The network.
    #[command(flatten)]
    pub architecture: ArchitectureArgs,
    /// The question.
    #[command(flatten)]
    pub question: QuestionArgs,
}

/// The cost of a precision.
#[derive(Clone, Debug, Serialize)]
struct Price {
    /// Relative standard error of G.
    error: f64,
    /// Corr(Ĝ, G) that it amounts to.
    corr: f64,
    networks: u64,
    seconds: f64,
}

#[derive(Clone, Debug, Serialize)]
struct Plan {
    architecture: String,
    gradient: Gradient,
    probes: usize,
    /// Networks of the pilot.
    pilot: u64,
    /// Relative deviation of one network from G.
    network_error: f64,
    seconds_a_network: f64,
    /// The method that needs no networks, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_form: Option<Method>,
    prices: Vec<Price>,
}

/// Measures and prints.
pub fn run(args: &PlanArgs, common: &Common) -> Result<(), CliError> {
    common.refuse_out("plan")?;
    match common.dtype {
        Dtype::F32 => plan::<f32>(args, common),
        Dtype::F64 => plan::<f64>(args, common),
    }
}

fn plan<T: Float>(args: &PlanArgs, common: &Common) -> Result<(), CliError> {
    let wanted = args.question.error.unwrap_or(ERROR);
    let job = |question: &QuestionArgs| {
        Job::<T>::new(
            &GeometryArgs {
                architecture: args.architecture.clone(),
                question: question.clone(),
                weights: None,
                top: None,
                shard: None,
            },
            common,
        )
    };
    let free = QuestionArgs {
        samples: None,
        error: None,
        ..args.question.clone()
    };
    let closed_form = match job(&free)?.question.method {
        closed @ (Method::Exact | Method::MeanField) => Some(closed),
        Method::Kernel | Method::Sample | Method::Mixed => None,
    };
    let sampled = QuestionArgs {
        method: args
            .question
            .method
            .filter(|m| *m == Method::Mixed)
            .or(Some(Method::Sample)),
        samples: Some(NETWORKS),
        error: None,
        ..args.question.clone()
    };
    let Job {
        graph,
        mut question,
        ..
    } = job(&sampled)?;
    question.limit = Limit::Networks(NETWORKS);
    compute::check(&graph, &question)?;
    let sampler = compute::sampler::<T>(&graph, &question, Vec::new(), Shard::WHOLE, common)?;
    let mut state = sampler.start();
    // The first wave makes plans and workspaces.
    sampler.advance(&mut state)?;
    let (before, started) = (state.networks(), Instant::now());
    while !sampler.done(&state) && (state.networks() == before || started.elapsed() < PILOT) {
        sampler.advance(&mut state)?;
    }
    let timed = (state.networks() - before).max(1);
    let seconds_a_network = started.elapsed().as_secs_f64() / timed as f64;
    let sample = sampler.finish(state)?;
    let Some(network_error) = sample.network_error() else {
        return Err(CliError::Failed(format!(
            "{} networks do not show G above their noise: a network takes {}, so try --error 1 first",
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
    let plan = Plan {
        architecture: graph.name,
        gradient: question.gradient,
        probes: question.probes,
        pilot: sample.networks(),
        network_error,
        seconds_a_network,
        closed_form,
        prices: errors.into_iter().map(price).collect(),
    };
    if common.json {
        return output::print_json(&plan);
    }
    output::print(&text(&plan, wanted))
}

fn text(plan: &Plan, wanted: f64) -> String {
    use Align::{Left, Right};
    let mut table = Table::new([
        ("relative error of G", Right),
        ("Corr with the truth", Right),
        ("networks", Right),
        ("time", Right),
        ("", Left),
    ]);
    for price in &plan.prices {
        table.push([
            pretty(price.error).into(),
            format!("{:.4}", price.corr).into(),
            grouped(price.networks).into(),
            duration(price.seconds).into(),
            if price.error == wanted {
                "← asked for"
            } else {
                ""
            }
            .into(),
        ]);
    }
    let closed = match plan.closed_form {
        None => String::new(),
        Some(method) => format!(
            "Method {method} has a closed form here and needs no networks at all: leave --samples and --error out.\n"
        ),
    };
    format!(
        "{}\n{}, {} geometry: from a pilot of {} networks with {} probes each; {} a network here.\n{closed}",
        table.to_text(output::WIDTH),
        plan.architecture,
        plan.gradient,
        grouped(plan.pilot),
        plan.probes,
        match plan.seconds_a_network {
            s if s < 0.1 => format!("{} ms", pretty(1e3 * s)),
            s => duration(s),
        }
    )
}
