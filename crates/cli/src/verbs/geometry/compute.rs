//! From a question to a geometry.

use polariscope_lens::afford;
use polariscope_report::{counted, memory};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use polariscope_diff::Device;
use polariscope_geometry::{
    Float, GeometryError, Gradient, Kron, Limit, MOST, Method, Probe, Readouts, SampleConfig,
    Sampled, Sampler, Shard, Spectrum, State, Summary, best_readouts, coherent, coherent_and_local,
    exact, kernel, kernel_memory, mean_field, overlap,
};
use polariscope_graph::Graph;
use polariscope_meanfield::{approximations, coherent_approximations};
use polariscope_network::Weights;

use super::answer::{Answer, Found};
use super::options::{Integrate, Question};
use super::page::Agreement;
use crate::args::Common;
use crate::error::CliError;
use crate::estimate::announce;

use crate::progress::Progress;
use crate::run::RunDirectory;
use crate::watch::{STATE, Watch, Work};

/// The rate of the first moment says little about the rest.
const SETTLED: Duration = Duration::from_secs(1);
/// Sizes of the subspaces that are compared.
const SUBSPACES: [usize; 3] = [4, 16, 64];

/// Seconds by stage.
#[derive(Default)]
pub struct Clock {
    stages: BTreeMap<String, f64>,
}

impl Clock {
    /// Times a stage.
    pub fn time<R>(&mut self, stage: &str, work: impl FnOnce() -> R) -> R {
        let started = Instant::now();
        let result = work();
        *self.stages.entry(stage.to_string()).or_default() += started.elapsed().as_secs_f64();
        result
    }

    /// What was timed.
    pub fn stages(&self) -> BTreeMap<String, f64> {
        self.stages.clone()
    }
}

/// Refuses what cannot be answered, before anything is written.
pub fn check(graph: &Graph, question: &Question) -> Result<(), CliError> {
    question.check(graph)?;
    check_memory(graph, question)
}

/// Refuses what does not fit into memory, saying how much it would take.
fn check_memory(graph: &Graph, question: &Question) -> Result<(), CliError> {
    let dim = graph.input().len();
    let square = 8.0 * (dim as f64).powi(2);
    let (bytes, advice) = match question.method {
        // G = I_C ⊗ B: a few matrices over positions.
        Method::Exact | Method::MeanField => {
            let channels = graph.input().dims()[0].max(1) as f64;
            (
                9.0 * square / (channels * channels),
                "use a smaller --input, or --method sample --top k",
            )
        }
        Method::Kernel => (
            3.0 * square + kernel_memory(graph, question.output).map_err(GeometryError::from)?,
            "use a smaller --input, or --method sample",
        ),
        Method::Sample | Method::Mixed => (
            Sampler::<f32>::memory(dim),
            "--top k finds the first k directions without the matrix",
        ),
    };
    afford(bytes, advice).map_err(|e| {
        CliError::from(e).about(&format!("G has {dim} × {dim} entries ({})", memory(square)))
    })
}

/// The sampler of a question.
pub fn sampler<T: Float>(
    graph: &Graph,
    question: &Question,
    given: Vec<Weights<T>>,
    shard: Shard,
    common: &Common,
) -> Result<Sampler<T>, CliError> {
    let config = sample_config::<T>(graph, question, &given, common)?;
    Ok(Sampler::new(graph, config, given, question.limit, shard)?)
}

/// The sampler's part of a question, read-outs resolved.
pub fn sample_config<T: Float>(
    graph: &Graph,
    question: &Question,
    given: &[Weights<T>],
    common: &Common,
) -> Result<SampleConfig, CliError> {
    let mut config = question.sample_config(common.seed);
    config.place = common.place();
    if question.integrate == Integrate::LastLayer && given.is_empty() {
        config.readouts = best_readouts::<T>(graph, &config)?;
    }
    Ok(config)
}

/// Runs a sampler to its end, with progress and checkpoints.
pub fn sample<T: Float>(
    sampler: &Sampler<T>,
    directory: &mut RunDirectory,
    common: &Common,
) -> Result<State, CliError> {
    let mut state = match directory.restore(STATE)? {
        Some(bytes) => sampler.restore(&bytes)?,
        None => sampler.start(),
    };
    // A stop rule knows no end before there is something to see.
    if state.networks() == 0 && matches!(sampler.limit(), Limit::Error(_)) {
        sampler.advance(&mut state)?;
    }
    let total = sampler.expected(&state).unwrap_or(MOST);
    let work = Work {
        unit: "networks",
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
    };
    let mut watch = Watch::new(directory, work, common);
    while !sampler.done(&state) {
        let before = state.networks();
        sampler.advance(&mut state)?;
        watch.progress.advance(state.networks() - before);
        if !sampler.done(&state) {
            watch.tick(state.networks(), || state.to_bytes());
        }
    }
    watch.finish()?;
    Ok(state)
}

/// The geometry of finished sums.
pub fn of_sample(
    sampled: &Sampled,
    question: &Question,
    readouts: Readouts,
    device: Device,
    clock: &mut Clock,
) -> Result<Found, CliError> {
    let mut matrix = sampled.matrix();
    matrix.factor.iter_mut().for_each(|x| *x *= question.scale);
    clock.time("spectrum", || {
        let mut spectrum = Spectrum::on(device, &matrix)?;
        sampled.add_errors(&mut spectrum);
        spectrum
            .errors
            .iter_mut()
            .for_each(|(_, e)| *e *= question.scale);
        let summary = sampled.summary(&spectrum, question.scale, device)?;
        let mut found = assemble(question, matrix, spectrum, summary);
        found.answer.networks = Some(sampled.networks());
        found.answer.relative_error = sampled.relative_error();
        found.answer.readouts = Some(readouts);
        Ok(found)
    })
}

/// A geometry in closed form.
pub fn closed(
    graph: &Graph,
    question: &Question,
    common: &Common,
    clock: &mut Clock,
) -> Result<Found, CliError> {
    let Question {
        probe,
        probes,
        output,
        ..
    } = question;
    let mut beside = None;
    let matrix = clock.time("closed form", || {
        match (question.method, question.gradient) {
            (Method::MeanField, Gradient::Coherent) => match probe {
                Probe::Gauss { sigma } => {
                    let [coherent, local] = coherent_and_local(graph, *sigma, *output)?;
                    beside = Some(local);
                    Ok(coherent)
                }
                Probe::Zero | Probe::Points { .. } => {
                    Ok(coherent(graph, probe, *probes, *output, common.seed)?)
                }
            },
            (Method::MeanField, _) => Ok(mean_field(graph, probe, *probes, *output, common.seed)?),
            (Method::Kernel, _) => by_kernel(graph, question, common),
            (Method::Exact | Method::Sample | Method::Mixed, _) => {
                Ok(exact(graph, probe, *output)?)
            }
        }
    })?;
    let (spectrum, summary) = clock.time("spectrum", || -> Result<_, CliError> {
        let spectrum = Spectrum::on(common.device, &matrix)?;
        let summary = Summary::of(&spectrum);
        Ok((spectrum, summary))
    })?;
    let mut found = assemble(question, matrix, spectrum, summary);
    found.local = beside;
    if question.method == Method::MeanField {
        found.answer.notes = match question.gradient {
            Gradient::Coherent => coherent_approximations(graph),
            Gradient::Local | Gradient::Dipole { .. } => approximations(graph),
        };
    }
    Ok(found)
}

/// The geometry of the kernel, row by row with progress.
fn by_kernel(graph: &Graph, question: &Question, common: &Common) -> Result<Kron, CliError> {
    let Question {
        probe,
        probes,
        output,
        ..
    } = question;
    let bytes = kernel_memory(graph, *output).map_err(GeometryError::from)?;
    let started = Instant::now();
    let (mut progress, mut before, mut said) = (None, 0, false);
    let g = kernel(
        graph,
        question.gradient,
        (probe, *probes),
        *output,
        common.seed,
        |done, total| {
            let progress =
                progress.get_or_insert_with(|| Progress::new("rows of G", total, 0, common));
            progress.advance(done - before);
            before = done;
            if !said && started.elapsed() >= SETTLED {
                said = true;
                announce(
                    common,
                    &counted(total, "row"),
                    started.elapsed(),
                    done as f64,
                    (total - done) as f64,
                    bytes,
                );
            }
        },
    )?;
    Ok(g)
}

/// Compares a sample with the closed form of the same question, where there is one.
pub fn compare_with_closed_form(
    graph: &Graph,
    question: &Question,
    sampled: &Sampled,
    found: &mut Found,
    common: &Common,
) -> Result<(), CliError> {
    let plain = question.method == Method::Sample
        && !matches!(question.gradient, Gradient::Dipole { .. })
        && question.compat.is_none();
    let Some(method) = question.closed_form(graph).filter(|_| plain) else {
        return Ok(());
    };
    let (probe, output) = (&question.probe, question.output);
    let (with, matrix) = match method {
        Method::Exact => ("the exact closed form", exact(graph, probe, output)?),
        Method::MeanField | Method::Kernel | Method::Sample | Method::Mixed => (
            "the mean field (an approximation here)",
            match question.gradient {
                Gradient::Coherent => coherent(graph, probe, question.probes, output, common.seed)?,
                Gradient::Local | Gradient::Dipole { .. } => {
                    mean_field(graph, probe, question.probes, output, common.seed)?
                }
            },
        ),
    };
    let spectrum = Spectrum::on(common.device, &matrix)?;
    let (similar, trace) = (sampled.corr(&matrix)?, sampled.trace());
    let ratio = matrix.trace() / trace.value;
    found.answer.agreement.push(Agreement {
        with: with.to_string(),
        corr: similar.value,
        corr_error: Some(similar.standard_error),
        overlaps: overlaps(&found.spectrum, &spectrum)?,
        trace_ratio: ratio,
        trace_ratio_error: Some(ratio * trace.standard_error / trace.value),
    });
    Ok(())
}

fn overlaps(a: &Spectrum, b: &Spectrum) -> Result<Vec<(usize, f64)>, CliError> {
    let sizes = SUBSPACES.into_iter().filter(|k| *k < a.values.len());
    sizes.map(|k| Ok((k, overlap(a, b, k)?))).collect()
}

fn assemble(question: &Question, matrix: Kron, spectrum: Spectrum, summary: Summary) -> Found {
    let answer = Answer {
        gradient: question.gradient,
        method: question.method,
        networks: None,
        relative_error: None,
        readouts: None,
        summary,
        matrix: Found::matrix_file(&matrix).to_string(),
        channels: matrix.channels,
        residual: spectrum.residual,
        orthogonality: spectrum.orthogonality,
        notes: Vec::new(),
        seconds: BTreeMap::new(),
        agreement: Vec::new(),
    };
    Found {
        matrix,
        spectrum,
        local: None,
        mean_gradient: None,
        answer,
    }
}
