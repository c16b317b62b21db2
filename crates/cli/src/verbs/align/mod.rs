//! `align`: does an architecture suit a data set?
//!
//! The geometry is a run of its own in `geometry/` of the run directory: once finished it survives an interruption.

mod answer;
mod page;
pub mod subject;
mod words;

use polariscope_lens::afford;
use polariscope_report::counted;
use std::time::Instant;

use clap::Args;
use polariscope_data::{Dataset, covariance, symmetric_eigenvalues};
use polariscope_geometry::{Float, Shard, align};

use super::compare::read;
use super::geometry::options::QuestionArgs;
use super::geometry::{GeometryArgs, Job, Obtained, command, obtain, source};
use crate::args::{ArchitectureArgs, Common, Dtype};
use crate::error::CliError;
use crate::estimate::announce;

use crate::run::{self, Opened};
use answer::{Aligned, Outcome};
use subject::Subject;

/// Folder of the geometry.
pub const GEOMETRY: &str = "geometry";
/// Samples whose covariance is timed to estimate the rest.
const PILOT: usize = 512;
/// The eigenproblems take as long as the covariance of this many samples for each dimension.
const EIGEN: f64 = 30.0;
/// D × D matrices alive at the same time.
const MATRICES: f64 = 12.0;

/// What `align` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "`polariscope list data` names the data sets and their parameters.")]
pub struct AlignArgs {
    /// The network.
    #[command(flatten)]
    pub architecture: ArchitectureArgs,
    /// mnist:DIR, cifar10:DIR, npy:X,Y or NAME?param=value; the training samples count
    #[arg(long, value_name = "SPEC", help_heading = "Data")]
    pub data: String,
    /// The question whose answer is the geometry.
    #[command(flatten)]
    pub question: QuestionArgs,
}

/// Compares, or shows what an earlier run of the same command found.
pub fn run(args: &AlignArgs, common: &Common) -> Result<(), CliError> {
    match common.dtype {
        Dtype::F32 => aligned::<f32>(args, common),
        Dtype::F64 => aligned::<f64>(args, common),
    }
}

fn aligned<T: Float>(args: &AlignArgs, common: &Common) -> Result<(), CliError> {
    let subject = Subject::new(&args.architecture, Dataset::load(&args.data)?)?;
    let job = Job::<T>::new(
        &GeometryArgs {
            architecture: subject.architecture.clone(),
            question: args.question.clone(),
            weights: None,
            top: None,
            shard: None,
        },
        common,
    )?;
    let mut configuration = job.request.configuration.clone();
    subject.configure(&mut configuration);
    let request = run::request("align", &job.graph.name, configuration, common);
    let dim = job.graph.input().len();
    let bytes = MATRICES * 8.0 * (dim as f64).powi(2);
    afford(bytes, "choose data of fewer numbers a sample")?;
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Aligned>(&path, &record, common),
    };
    let inner = Common {
        out: Some(directory.path().join(GEOMETRY)),
        ..common.clone()
    };
    let (graph, question, asked) = (job.graph.clone(), job.question.clone(), job.request.clone());
    let found = match obtain(job, Shard::WHOLE, &inner)? {
        Obtained::Now(inner, found) => {
            inner.finish(&found.answer)?;
            *found
        }
        Obtained::Before(path, record) => read(&path, record)?,
        Obtained::Shard(..) => return Err(CliError::Failed("an alignment has no shards".into())),
    };
    let x = &subject.problem.data.train.x;
    foretell(x, dim, bytes, common);
    let (alignment, variances) = rayon::join(
        || align(&found.matrix, &found.spectrum, x),
        || variances(x, dim),
    );
    let line = source(&graph, &question, &asked, &found.answer).line();
    let outcome = Outcome::new(
        &subject,
        &found,
        (&question.probe, line),
        alignment?,
        &variances?,
    );
    outcome.write(&mut directory)?;
    directory.write_page(&page::page(
        &outcome,
        &command(&request),
        request.settings(),
    ))?;
    run::finish(directory, &outcome.result, common)
}

/// Variances of the data along their own axes, largest first, up to a factor: the eigenvalues of S̄.
fn variances(x: &[f32], dim: usize) -> Result<Vec<f64>, CliError> {
    let mean = mean_sample(x, dim);
    let n = (x.len() / dim) as f64;
    let mut s = covariance(x, dim);
    for (row, a) in s.chunks_exact_mut(dim).zip(&mean) {
        row.iter_mut().zip(&mean).for_each(|(s, b)| *s -= n * a * b);
    }
    symmetric_eigenvalues(&s, dim).map_err(|e| CliError::Failed(e.to_string()))
}

/// The mean sample.
fn mean_sample(x: &[f32], dim: usize) -> Vec<f64> {
    let mut mean = vec![0.0; dim];
    for sample in x.chunks_exact(dim) {
        mean.iter_mut()
            .zip(sample)
            .for_each(|(m, &x)| *m += f64::from(x));
    }
    let n = (x.len() / dim) as f64;
    mean.iter_mut().for_each(|m| *m /= n);
    mean
}

/// Says how long the comparison takes, where that is long.
fn foretell(x: &[f32], dim: usize, bytes: f64, common: &Common) {
    let samples = x.len() / dim;
    let pilot = PILOT.min(samples);
    let started = Instant::now();
    covariance(&x[..pilot * dim], dim);
    announce(
        common,
        &format!(
            "comparing with {} of {dim} numbers",
            counted(samples as u64, "sample")
        ),
        started.elapsed(),
        pilot as f64,
        2.0 * samples as f64 + EIGEN * dim as f64,
        bytes,
    );
}
