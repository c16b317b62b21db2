//! `geometry`: what an architecture sees before it has learnt anything.

pub mod answer;
pub mod compute;
pub mod options;
pub mod page;
pub mod terminal;
mod top;

use std::path::PathBuf;

use clap::Args;
use polariscope_geometry::{Float, Gradient, Limit, Method, Probe, Readouts, Shard, best_probes};
use polariscope_graph::Graph;
use polariscope_meanfield::{ExactProbe, exact_applies, mean_field_applies};
use polariscope_network::Weights;
use polariscope_report::{counted, grouped, pretty};

use crate::args::{ArchitectureArgs, Common, Dtype, count};
use crate::checkpoint;
use crate::error::CliError;
use crate::output;
use crate::run::{self, Opened, Request, RunDirectory, fingerprint_bytes};
use answer::{Answer, Found, TEXT};
use compute::Clock;
use options::{Given, Question, QuestionArgs};
use page::View;
use page::source::{Inputs, Source, Weights as Origin};

/// The partial sums of a shard.
pub const SUMS: &str = "sums.bin";

/// What `geometry` takes.
#[derive(Clone, Debug, Args)]
pub struct GeometryArgs {
    /// The network.
    #[command(flatten)]
    pub architecture: ArchitectureArgs,
    /// The question.
    #[command(flatten)]
    pub question: QuestionArgs,
    /// Given weights (safetensors, with commas) in place of random ones
    #[arg(long, value_name = "FILE[,FILE…]", help_heading = "Geometry", conflicts_with_all = ["samples", "error", "compat"])]
    pub weights: Option<String>,
    /// Only the first K directions, without the D × D matrix
    #[arg(long, value_name = "K", value_parser = count, help_heading = "Geometry", allow_negative_numbers = true)]
    pub top: Option<usize>,
    /// Compute part I of N of the networks; `merge` adds the parts
    #[arg(long, value_name = "I/N", value_parser = options::shard, help_heading = "Geometry", conflicts_with_all = ["top", "weights"])]
    pub shard: Option<Shard>,
}

/// Finds the geometry, or shows what an earlier run of the same command found.
pub fn run(args: &GeometryArgs, common: &Common) -> Result<(), CliError> {
    match common.dtype {
        Dtype::F32 => geometry::<f32>(args, common),
        Dtype::F64 => geometry::<f64>(args, common),
    }
}

/// A question about a network, ready to be answered.
pub struct Job<T> {
    /// The network.
    pub graph: Graph,
    /// The question.
    pub question: Question,
    /// Weights that were read.
    pub given: Vec<Weights<T>>,
    /// What the result depends on.
    pub request: Request,
}

impl<T: Float> Job<T> {
    /// Resolves what was typed.
    pub fn new(args: &GeometryArgs, common: &Common) -> Result<Self, CliError> {
        let architecture = args.question.architecture(&args.architecture);
        let mut graph = architecture.graph()?;
        let mut given = Vec::new();
        let mut prints = Vec::new();
        for path in args.weights.iter().flat_map(|list| options::paths(list)) {
            let bytes = checkpoint::read(path)?;
            prints.push(toml::Value::from(fingerprint_bytes(&bytes)));
            let (fitted, weights) =
                checkpoint::fit(&architecture, graph, &bytes, &path.display().to_string())?;
            graph = fitted;
            given.push(weights);
        }
        let source = match given.len() {
            0 => Given::Nothing,
            n => Given::Files(n as u64),
        };
        if args.question.gradient.is_some_and(|typed| typed.renamed) {
            output::note(common, "--gradient autodiff is called local now");
        }
        let mut question = args.question.resolve(&graph, common.seed, source)?;
        let drawn = question.method == Method::Sample && source == Given::Nothing;
        if drawn && args.question.probes.is_none() && question.compat.is_none() {
            // Before the pilot, which would run into what is refused.
            match args.top {
                None => compute::check(&graph, &question)?,
                Some(_) => question.check(&graph)?,
            }
            question.probes = best_probes::<T>(&graph, &question.sample_config(common.seed))?;
        }
        let mut configuration = architecture.configuration(&graph)?;
        configuration.insert("geometry".into(), toml::Value::Table(question.table()));
        if !prints.is_empty() {
            configuration.insert("weights".into(), toml::Value::Array(prints));
        }
        if let Some(k) = args.top {
            configuration.insert("top".into(), toml::Value::Integer(k as i64));
        }
        if let Some(shard) = args.shard {
            let text = format!("{}/{}", shard.index + 1, shard.count);
            configuration.insert("shard".into(), text.into());
        }
        let request = run::request("geometry", &graph.name, configuration, common);
        Ok(Self {
            graph,
            question,
            given,
            request,
        })
    }
}

fn geometry<T: Float>(args: &GeometryArgs, common: &Common) -> Result<(), CliError> {
    let job = Job::<T>::new(args, common)?;
    if let Some(k) = args.top {
        return top::run(job, k, common);
    }
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    match obtain(job, shard, common)? {
        Obtained::Now(directory, found) => run::finish(directory, &found.answer, common),
        Obtained::Shard(directory, part) => run::finish(directory, &part, common),
        Obtained::Before(path, record) if shard == Shard::WHOLE => {
            run::show::<Answer>(&path, &record, common)
        }
        Obtained::Before(path, record) => run::show::<Part>(&path, &record, common),
    }
}

/// Where an answer came from.
pub enum Obtained {
    /// Computed and written, not yet marked finished.
    Now(RunDirectory, Box<Found>),
    /// One part of the networks.
    Shard(RunDirectory, Part),
    /// By an earlier run.
    Before(PathBuf, run::Record),
}

/// The `[result]` of a shard.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Part {
    networks: u64,
    /// What stood for the last layer.
    pub readouts: Readouts,
}

impl run::Shown for Part {
    fn text(&self, directory: &str) -> String {
        format!(
            "{} networks added up in {directory}/{SUMS}; `polariscope merge` adds the parts\n",
            grouped(self.networks)
        )
    }
}

/// Opens the run, computes what is missing and writes everything.
pub fn obtain<T: Float>(job: Job<T>, shard: Shard, common: &Common) -> Result<Obtained, CliError> {
    let Job {
        graph,
        question,
        given,
        request,
    } = job;
    compute::check(&graph, &question)?;
    let sampling = matches!(question.method, Method::Sample | Method::Mixed);
    if shard != Shard::WHOLE && !sampling {
        return Err(CliError::Usage(
            "--shard: a closed form has no parts; leave it out".into(),
        ));
    }
    if shard != Shard::WHOLE && matches!(question.limit, Limit::Error(_)) {
        return Err(CliError::Usage(
            "--shard: shards cannot see each other's error; give --samples".into(),
        ));
    }
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return Ok(Obtained::Before(path, record)),
    };
    let mut clock = Clock::default();
    let weights_given = !given.is_empty();
    let mut found = if sampling {
        let sampler = clock.time("planning", || {
            compute::sampler(&graph, &question, given, shard, common)
        })?;
        let state = clock.time("sampling", || {
            compute::sample(&sampler, &mut directory, common)
        })?;
        if shard != Shard::WHOLE {
            directory.write(SUMS, &state.to_bytes())?;
            let networks = state.networks();
            let readouts = sampler.config().readouts;
            return Ok(Obtained::Shard(directory, Part { networks, readouts }));
        }
        let readouts = sampler.config().readouts;
        let mean_gradient = sampler.mean_gradient(&state);
        let sampled = sampler.finish(state)?;
        let mut found =
            compute::of_sample(&sampled, &question, readouts, common.device, &mut clock)?;
        found.mean_gradient = mean_gradient;
        found.answer.networks = Some(sampled.networks() / question.batches);
        if !weights_given {
            clock.time("closed form to compare with", || {
                compute::compare_with_closed_form(&graph, &question, &sampled, &mut found, common)
            })?;
        }
        found
    } else {
        compute::closed(&graph, &question, common, &mut clock)?
    };
    write(
        &mut directory,
        &graph,
        &question,
        &request,
        &mut found,
        &mut clock,
    )?;
    Ok(Obtained::Now(directory, Box::new(found)))
}

/// Writes arrays, summary and report.
pub fn write(
    directory: &mut RunDirectory,
    graph: &Graph,
    question: &Question,
    request: &Request,
    found: &mut Found,
    clock: &mut Clock,
) -> Result<(), CliError> {
    clock.time("files", || found.write(directory))?;
    found.answer.seconds = clock.stages();
    let view = view(graph, question, request, found);
    clock.time("report", || -> Result<(), CliError> {
        directory.write(TEXT, terminal::summary(&view).as_bytes())?;
        Ok(directory.write_page(&page::page(&view))?)
    })?;
    found.answer.seconds = clock.stages();
    Ok(())
}

/// A geometry as the report sees it.
pub fn view<'a>(
    graph: &Graph,
    question: &Question,
    request: &Request,
    found: &'a Found,
) -> View<'a> {
    View {
        name: graph.name.clone(),
        shape: graph.input(),
        matrix: &found.matrix,
        spectrum: &found.spectrum,
        summary: &found.answer.summary,
        source: source(graph, question, request, &found.answer),
        local: found.local.as_ref(),
        mean_gradient: found.mean_gradient.as_deref(),
        method: sentence(graph, question, &found.answer),
        conventions: question.conventions(),
        notes: found.answer.notes.clone(),
        agreement: found.answer.agreement.clone(),
        command: command(request),
        seconds: found.answer.seconds.clone().into_iter().collect(),
        settings: request.settings(),
    }
}

/// Which geometry it is and how it was found, in short.
pub fn source(graph: &Graph, question: &Question, request: &Request, answer: &Answer) -> Source {
    let is_linear = exact_applies(graph, ExactProbe::Anywhere, question.output.into()).is_ok();
    Source {
        gradient: answer.gradient,
        method: answer.method,
        inputs: match &question.probe {
            _ if is_linear => Inputs::Any,
            Probe::Zero => Inputs::Zero,
            Probe::Gauss { sigma } => Inputs::Gauss(*sigma),
            Probe::Points { source, .. } => Inputs::Points(source.clone()),
        },
        weights: match request.configuration.contains_key("weights") {
            true => Origin::Given,
            false => Origin::Drawn,
        },
        predicts: mean_field_applies(graph, question.output.into()).is_ok(),
        networks: answer.networks.unwrap_or(0),
        probes: points(graph, question),
        readouts: match answer.readouts {
            Some(Readouts::Drawn(k)) => Some(k),
            Some(Readouts::Every) => None,
            Some(Readouts::Own) | None => Some(1),
        },
        error: answer.relative_error,
    }
}

/// Inputs for each network, no more than there are.
fn points(graph: &Graph, question: &Question) -> usize {
    let batch = match &question.probe {
        // Merged shards have no points any more.
        Probe::Points { x, .. } if !x.is_empty() => {
            question.probes.min(x.len() / graph.input().len().max(1))
        }
        Probe::Points { .. } | Probe::Zero | Probe::Gauss { .. } => question.probes,
    };
    batch * question.batches as usize
}

/// How G was found.
fn sentence(graph: &Graph, question: &Question, answer: &Answer) -> String {
    let networks = grouped(answer.networks.unwrap_or(0));
    let error = answer.relative_error.map_or(String::new(), |e| {
        format!(" The standard error of G is {} of its norm.", pretty(e))
    });
    let readouts = match answer.readouts {
        Some(Readouts::Drawn(k)) if k > 1 => {
            format!(" Each trunk served {k} read-outs drawn from the law of the last layer.")
        }
        Some(Readouts::Every) => " The last layer was integrated out.".to_string(),
        _ => String::new(),
    };
    let points = points(graph, question);
    match question.method {
        Method::Exact => "Exact: the network is linear around the probe, so the covariance of its gradient was carried back \
                          layer by layer in closed form. No network was drawn."
            .to_string(),
        Method::MeanField if question.is_averaged_over_inputs() => {
            "Mean field: the infinite-width covariance of the gradients at two independent inputs, with the expectation over \
             the distribution of the inputs in it. No network and no input was drawn for it."
                .to_string()
        }
        Method::MeanField => format!(
            "Mean field: the infinite-width covariance of the gradient, averaged over {}. No network was drawn for it.",
            counted(points as u64, "probe")
        ),
        Method::Kernel => format!(
            "Kernel: the second derivative of the kernel of the infinitely wide network, exact there, averaged over {}. \
             No network was drawn for it.",
            counted(points as u64, "probe")
        ),
        Method::Sample => {
            let pairs = match question.gradient {
                Gradient::Coherent => " Only gradients at different inputs are multiplied.",
                Gradient::Local | Gradient::Dipole { .. } => "",
            };
            let probes = counted(points as u64, "probe");
            format!("Sampled: {networks} networks, {probes} each.{pairs}{readouts}{error}")
        }
        Method::Mixed => format!(
            "Sampled: E[MᵀM] of the mixed second derivative M = ∇²f by parameters and input, {networks} networks.{error}"
        ),
    }
}

/// What to type to get the same again, the seed spelt out.
pub fn command(request: &Request) -> String {
    let quoted = |text: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+".contains(c);
        if !text.is_empty() && text.chars().all(plain) {
            text
        } else {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
    };
    let mut words: Vec<String> = std::env::args().skip(1).map(quoted).collect();
    if !words
        .iter()
        .any(|w| w == "--seed" || w.starts_with("--seed="))
        && let Some(seed) = request.configuration.get("seed")
    {
        words.extend(["--seed".to_string(), seed.to_string()]);
    }
    format!("polariscope {}", words.join(" "))
}
