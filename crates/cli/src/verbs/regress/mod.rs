//! `regress`: a data set learnt with the kernel of the infinitely wide network.
//!
//! | `--kind` | mean at test points | beside it |
//! |---|---|---|
//! | `ntk` | f_t = Θ*(Θ + λI)⁻¹(I − e^{−η(Θ + λI)t})Y, t = ∞ unless `--time` | the whole path over t |
//! | `nngp` | K*(K + λI)⁻¹Y | variance K** − K*(K + λI)⁻¹K*ᵀ |
//!
//! Classes become targets 1 − 1/C and −1/C; the largest output is the answer.

mod answer;
mod gram;
mod learn;
mod mistakes;
mod options;
mod page;
mod targets;

use polariscope_lens::afford;
use std::time::Instant;

use clap::Args;
use polariscope_data::{Dataset, npy};
use polariscope_diff::Real;
use polariscope_infinite::{Float, Kernel};

use super::geometry::command;
use super::kernel::store::Stored;
use super::subject::Subject;
use crate::args::{ArchitectureArgs, Common, Dtype, count};
use crate::error::CliError;
use crate::run::{self, Opened, RunDirectory};
use answer::Answer;
use gram::Grams;
use learn::Learnt;
use options::{Kind, Plan, positive, ridge};
use page::View;
use targets::Targets;

/// What `regress` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "`polariscope list data` names the data sets and their parameters.")]
pub struct RegressArgs {
    /// The network; its widths do not matter under ntk.
    #[command(flatten)]
    pub architecture: ArchitectureArgs,
    /// mnist:DIR, cifar10:DIR, npy:X,Y,XTEST,YTEST or NAME?param=value
    #[arg(long, value_name = "SPEC", help_heading = "Data")]
    pub data: String,
    /// Training samples, as the data parameter train=N [default: all there are]
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Data", allow_negative_numbers = true)]
    pub train: Option<usize>,
    /// Test samples, as the data parameter test=N [default: all there are]
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Data", allow_negative_numbers = true)]
    pub test: Option<usize>,
    /// ntk (gradient descent) or nngp (Bayesian posterior)
    #[arg(
        long,
        value_name = "KIND",
        default_value = "ntk",
        hide_possible_values = true,
        help_heading = "Regression"
    )]
    pub kind: Kind,
    /// Added to the diagonal of the Gram matrix; 0 is ridgeless
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = ridge, help_heading = "Regression", allow_negative_numbers = true)]
    pub ridge: f64,
    /// Training times of ntk; the predictions are of the last [default: ∞]
    #[arg(long, value_name = "T1,T2,…", value_delimiter = ',', value_parser = positive, help_heading = "Regression", allow_hyphen_values = true)]
    pub time: Vec<f64>,
    /// Learning rate η that --time is multiplied by [default: 1]
    #[arg(long, value_name = "X", value_parser = positive, requires = "time", help_heading = "Regression", allow_negative_numbers = true)]
    pub rate: Option<f64>,
}

/// Learns, or shows what an earlier run of the same command found.
pub fn run(args: &RegressArgs, common: &Common) -> Result<(), CliError> {
    match common.dtype {
        Dtype::F32 => regress::<f32>(args, common),
        Dtype::F64 => regress::<f64>(args, common),
    }
}

fn regress<T: Float + Real + Stored>(args: &RegressArgs, common: &Common) -> Result<(), CliError> {
    let plan = Plan::new(args)?;
    let data = Dataset::load(&plan.data)?;
    let targets = Targets::new(&data)?;
    let subject = Subject::new(&args.architecture, data)?;
    let graph = &subject.problem.graph;
    let engine = Kernel::on(graph, common.device)?;
    let mut configuration = subject.architecture.configuration(graph)?;
    subject.configure(&mut configuration);
    plan.configure(&mut configuration);
    let request = run::request("regress", &graph.name, configuration, common);
    let bytes = gram::bytes::<T>(&engine, targets.samples());
    afford(bytes, "give fewer samples with --train and --test")?;
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Answer>(&path, &record, common),
    };
    let started = Instant::now();
    let grams = Grams::compute::<T>(&engine, &subject, plan.kind, &mut directory, common)?;
    let kernel_seconds = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let learnt = Learnt::new(&plan, &grams, &targets, common)?;
    let solve_seconds = started.elapsed().as_secs_f64();
    let answer = Answer {
        kernel_seconds,
        solve_seconds,
        ..Answer::new(
            &subject,
            &plan,
            &targets,
            &learnt,
            engine.approximations().to_vec(),
        )
    };
    write(&mut directory, &targets, &learnt)?;
    let view = View {
        subject: &subject,
        targets: &targets,
        learnt: &learnt,
        answer: &answer,
    };
    directory.write_page(&page::page(&view, &command(&request), request.settings()))?;
    run::finish(directory, &answer, common)
}

/// The files beside the page.
fn write(directory: &mut RunDirectory, targets: &Targets, learnt: &Learnt) -> Result<(), CliError> {
    let (train, test) = targets.samples();
    let predictions = npy::encode(&[test, targets.width], &learnt.predictions);
    directory.write("predictions.npy", &predictions)?;
    let eigenvalues = npy::encode(&[train], &learnt.eigenvalues);
    directory.write("eigenvalues.npy", &eigenvalues)?;
    if let Some(variance) = &learnt.variance {
        directory.write("variance.npy", &npy::encode(&[test], variance))?;
    }
    directory.write("learning.csv", learnt.history().to_csv().as_bytes())?;
    if let Some(confusion) = targets.confusion(&learnt.predictions) {
        let csv = mistakes::table(&confusion).to_csv();
        directory.write("confusion.csv", csv.as_bytes())?;
    }
    Ok(())
}
