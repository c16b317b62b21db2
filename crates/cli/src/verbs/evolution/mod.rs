//! `evolution`: where does the geometry begin to move when training starts?

mod answer;
mod page;
mod picture;
mod words;

use polariscope_lens::afford;
use polariscope_report::counted;
use std::time::Instant;

use clap::Args;
use polariscope_data::{Dataset, Spec, npy, symmetric_eigen};
use polariscope_diff::Number;
use polariscope_geometry::{
    Evolution, EvolutionConfig, GROUPS, Kron, Output, evolution, exact, finite_steps,
};
use polariscope_network::Network;
use polariscope_train::Loss;

use super::align::subject::Subject;
use super::geometry::command;
use super::geometry::options::{ProbeArg, networks};
use crate::args::{ArchitectureArgs, Common, Dtype, count};
use crate::error::CliError;
use crate::estimate::announce;

use crate::progress::Progress;
use crate::run::{self, Opened, Request, RunDirectory, fingerprint};
use answer::{Moved, Source};
use page::View;

/// Training samples where the data specification names no number.
const SAMPLES: usize = 256;
/// Networks of the check by finite steps.
const CHECKED: u64 = 4;
/// Their steps, in units of the time in which the weights move by their own size.
const STEPS: [f64; 5] = [1e-4, 1e-5, 1e-6, 3e-7, 1e-7];
/// Whole D × D matrices beside the groups' triangles.
const MATRICES: f64 = 12.0;

/// What `evolution` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "`polariscope list data` names the data sets and their parameters.")]
pub struct EvolutionArgs {
    /// The network.
    #[command(flatten)]
    pub architecture: ArchitectureArgs,
    /// Data set; its first 256 training samples, or as many as its train=N says
    #[arg(long, value_name = "SPEC", help_heading = "Evolution")]
    pub data: String,
    /// Networks to sample, at least 16
    #[arg(long, value_name = "T", value_parser = enough, default_value_t = 2048, help_heading = "Evolution", allow_negative_numbers = true)]
    pub samples: u64,
    /// sse or cross-entropy
    #[arg(long, value_name = "NAME", value_parser = loss, default_value = "sse", help_heading = "Evolution")]
    pub loss: Loss,
    /// zero, gauss:SIGMA, file:X.npy or data:SPEC
    #[arg(
        long,
        value_name = "LAW",
        default_value = "gauss:1",
        help_heading = "Evolution"
    )]
    pub probe: ProbeArg,
    /// Points for each network
    #[arg(long, value_name = "M", value_parser = count, default_value_t = 16, help_heading = "Evolution", allow_negative_numbers = true)]
    pub probes: usize,
    /// The output whose geometry moves: its number, mean, or all
    #[arg(
        long,
        value_name = "K|mean|all",
        default_value = "0",
        help_heading = "Evolution",
        allow_negative_numbers = true
    )]
    pub logit: Output,
}

/// Measures, or shows what an earlier run of the same command found.
pub fn run(args: &EvolutionArgs, common: &Common) -> Result<(), CliError> {
    let subject = Subject::new(&args.architecture, data(&args.data)?)?;
    let (graph, x) = (&subject.problem.graph, &subject.problem.data.train.x);
    let config = EvolutionConfig {
        seed: common.seed,
        networks: args.samples,
        probes: args.probes,
        probe: args.probe.load(graph.input())?,
        output: args.logit,
        loss: args.loss,
    };
    let mut configuration = subject.architecture.configuration(graph)?;
    subject.configure(&mut configuration);
    configuration.insert("evolution".into(), toml::Value::Table(table(&config)));
    let request = run::request("evolution", &graph.name, configuration, common);
    let dim = graph.input().len();
    let square = 8.0 * (dim as f64).powi(2);
    let bytes = (GROUPS as f64 + MATRICES) * square + 16.0 * x.len() as f64;
    afford(bytes, "choose data of fewer numbers a sample")?;
    let directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Moved>(&path, &record, common),
    };
    let job = Job {
        subject: &subject,
        config: &config,
        request: &request,
        common,
        bytes,
    };
    match common.dtype {
        Dtype::F32 => job.run::<f32>(directory),
        Dtype::F64 => job.run::<f64>(directory),
    }
}

/// A run that was granted.
struct Job<'a> {
    subject: &'a Subject,
    config: &'a EvolutionConfig,
    request: &'a Request,
    common: &'a Common,
    bytes: f64,
}

impl Job<'_> {
    fn run<T: Number>(&self, mut directory: RunDirectory) -> Result<(), CliError> {
        let started = Instant::now();
        let (graph, config) = (&self.subject.problem.graph, self.config);
        let samples = self.subject.problem.train();
        // Where G has a closed form GSG needs no sample of it.
        let known = exact(graph, &config.probe, config.output).ok();
        let found = self.measure::<T>(known.as_ref())?;
        // In double precision: a short step changes few digits.
        let double = Network::<f64>::on(graph.clone(), self.common.device);
        let networks = CHECKED.min(config.networks);
        // At one point each, so that few kinks pass.
        let checked = EvolutionConfig {
            probes: 1,
            ..config.clone()
        };
        let finite = finite_steps(&double, &checked, samples, networks, &STEPS)?;
        let shape = [found.dim, found.dim];
        directory.write("delta.npy", &npy::encode(&shape, &found.delta))?;
        directory.write("geometry.npy", &npy::encode(&shape, &found.geometry))?;
        let minus: Vec<f64> = found.delta.iter().map(|x| -x).collect();
        let eigen =
            symmetric_eigen(&minus, found.dim).map_err(|e| CliError::Failed(e.to_string()))?;
        let source = if known.is_some() {
            Source::Exact
        } else {
            Source::Sampled
        };
        let mut moved = Moved::new(self.subject, config, &found, source, finite);
        moved.seconds = started.elapsed().as_secs_f64();
        let view = View {
            subject: self.subject,
            moved: &moved,
            minus: &minus,
            geometry: &known.map_or(found.geometry, |g| g.to_dense()),
            eigen: &eigen,
        };
        let settings = self.request.settings();
        directory.write_page(&page::page(&view, &command(self.request), settings))?;
        run::finish(directory, &moved, self.common)
    }

    /// Δ, with a bar and an estimate.
    fn measure<T: Number>(&self, known: Option<&Kron>) -> Result<Evolution, CliError> {
        let (graph, config) = (&self.subject.problem.graph, self.config);
        let samples = self.subject.problem.train();
        let network = Network::<T>::on(graph.clone(), self.common.device);
        let progress = Progress::new("networks", config.networks, 0, self.common);
        let started = Instant::now();
        let (mut before, mut said) = (0, false);
        let found = evolution(&network, config, samples, known, &mut |done, total| {
            progress.advance(done - before);
            before = done;
            if !said && started.elapsed().as_secs() >= 1 {
                said = true;
                announce(
                    self.common,
                    &format!(
                        "{} on {}",
                        counted(total, "network"),
                        counted(samples.len() as u64, "sample")
                    ),
                    started.elapsed(),
                    done as f64,
                    (total - done) as f64,
                    self.bytes,
                );
            }
        });
        Ok(found?)
    }
}

/// The data, cut to the first samples where their specification names no number.
fn data(text: &str) -> Result<Dataset, CliError> {
    let named = Spec::parse(text)?.train.is_some();
    let mut data = Dataset::load(text)?;
    if !named && data.train.len() > SAMPLES {
        let first: Vec<usize> = (0..SAMPLES).collect();
        data.train = data.train.select(data.shape.len(), &first);
    }
    Ok(data)
}

/// The question for `run.toml`.
fn table(config: &EvolutionConfig) -> toml::Table {
    let mut table = toml::Table::new();
    let mut set = |key: &str, value: toml::Value| table.insert(key.to_string(), value);
    set("samples", toml::Value::Integer(config.networks as i64));
    set("probe", config.probe.to_string().into());
    set("probes", toml::Value::Integer(config.probes as i64));
    set("output_differentiated", config.output.to_string().into());
    set("loss", config.loss.to_string().into());
    if let Some(bits) = config.probe.bits() {
        set("probe_fingerprint", fingerprint(bits).into());
    }
    table
}

/// As many networks as there are groups, for the errors.
fn enough(text: &str) -> Result<u64, String> {
    let least = GROUPS as u64;
    networks(text)
        .ok()
        .filter(|n| *n >= least)
        .ok_or_else(|| format!("must be a whole number of at least {least}"))
}

fn loss(text: &str) -> Result<Loss, String> {
    match text {
        "sse" => Ok(Loss::Sse),
        "cross-entropy" => Ok(Loss::CrossEntropy),
        _ => Err("it is sse or cross-entropy".to_string()),
    }
}
