//! `spectrum`: what a kernel learns first, on products of spheres or on samples of the user's own.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use polariscope_data::{Dataset, npy};
use polariscope_graph::Activation;
use polariscope_kernels::kernel::Kind;
use polariscope_kernels::spectrum::{self as gram, Summary};
use polariscope_kernels::spheres::{self, Function, Levels, System};
use polariscope_learning::Inputs;

use super::geometry::command;
use super::subject::fitted;
use crate::args::{ArchitectureOptions, Common, count};
use crate::error::CliError;
use crate::looker::Looker;
use crate::output;
use crate::run::{self, Opened, Shown};

/// What `spectrum` takes.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "fcn, vec and gap have one hidden layer on p unit spheres of dimension d0, s of them in a patch.\n\
    --activation and --w-std set their kernel. With --data or --x1 any architecture has a Gram spectrum."
)]
pub struct SpectrumArgs {
    /// fcn, vec or gap on products of spheres; or an architecture, with --data or --x1
    #[arg(value_name = "ARCH")]
    pub architecture: String,
    /// What the name leaves open.
    #[command(flatten)]
    pub options: ArchitectureOptions,
    /// Mini-patches on the circle [default: 4]
    #[arg(long, value_name = "P", value_parser = count, help_heading = "Spheres", allow_negative_numbers = true)]
    pub p: Option<usize>,
    /// Dimension of a mini-patch [default: 3]
    #[arg(long, value_name = "D", value_parser = count, help_heading = "Spheres", allow_negative_numbers = true)]
    pub d0: Option<usize>,
    /// Mini-patches in a patch [default: 2]
    #[arg(long, value_name = "S", value_parser = count, help_heading = "Spheres", allow_negative_numbers = true)]
    pub s: Option<usize>,
    /// List degrees up to this order [default: as many as --samples can tell apart]
    #[arg(
        long,
        value_name = "R",
        help_heading = "Spheres",
        allow_negative_numbers = true
    )]
    pub order: Option<usize>,
    /// Also learn one eigenfunction a level from M samples, and compare with theory
    #[arg(long, value_name = "M", value_parser = count, help_heading = "Spheres", allow_negative_numbers = true)]
    pub train: Option<usize>,
    /// ntk or nngp; on spheres also exp, which is k(t) = exp t
    #[arg(
        long,
        value_name = "KIND",
        default_value = "ntk",
        hide_possible_values = true,
        help_heading = "Spectrum"
    )]
    pub kind: KindArg,
    /// Points of the Gram matrix; 0 is theory alone
    #[arg(
        long,
        value_name = "M",
        default_value_t = spheres::Question::default().samples,
        help_heading = "Spectrum",
        allow_negative_numbers = true
    )]
    pub samples: usize,
    /// folder:DIR, csv:FILE, mnist:DIR, npy:X,Y or NAME?…; its training samples
    #[arg(
        long,
        value_name = "SPEC",
        conflicts_with = "x1",
        help_heading = "Spectrum"
    )]
    pub data: Option<String>,
    /// Samples as .npy, NxCxHxW, NxCxL or NxD
    #[arg(long, value_name = "FILE", help_heading = "Spectrum")]
    pub x1: Option<PathBuf>,
}

/// Which kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KindArg {
    /// The neural tangent kernel.
    Ntk,
    /// The covariance of outputs.
    Nngp,
    /// k(t) = eᵗ.
    Exp,
}

/// Analyses, or shows what an earlier run of the same command found.
pub fn run(args: &SpectrumArgs, common: &Common) -> Result<(), CliError> {
    let named = |s: &System| s.name().to_lowercase() == args.architecture;
    let system = System::ALL.into_iter().find(named);
    let samples = args.data.is_some() || args.x1.is_some();
    match (system, args.architecture.as_str()) {
        (Some(system), _) if !samples => on_spheres(system, args, common),
        (_, "vec" | "gap") => Err(CliError::Usage(format!(
            "{0} is a network on spheres and takes no samples; with --data or --x1 use cnn-{0}",
            args.architecture
        ))),
        _ if samples => on_samples(args, common),
        _ => Err(CliError::Usage(format!(
            "the spectrum of {} needs samples: give --data or --x1; fcn, vec and gap have spectra without",
            args.architecture
        ))),
    }
}

fn on_spheres(system: System, args: &SpectrumArgs, common: &Common) -> Result<(), CliError> {
    refuse_architecture(args)?;
    let activation = args.options.activation.unwrap_or(Activation::Relu.into());
    let hidden = |kind| Function::Hidden { activation, kind };
    let default = spheres::Question::default();
    let question = spheres::Question {
        setup: common.setup(),
        system,
        k: match args.kind {
            KindArg::Ntk => hidden(Kind::Ntk),
            KindArg::Nngp => hidden(Kind::Nngp),
            KindArg::Exp => Function::Exp,
        },
        w_std: args.options.w_std,
        p: args.p.unwrap_or(default.p),
        d0: args.d0.unwrap_or(default.d0),
        s: args.s,
        samples: args.samples,
        order: args.order,
        train: args.train,
    };
    let job = spheres::Job::new(&question)?;
    let configuration = run::configuration(job.question())?;
    let request = run::request("spectrum", &args.architecture, configuration, common);
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Levels>(&path, &record, common),
    };
    let mut looker = Looker::new(&mut directory, common);
    let answer = job.answer(&mut looker);
    let answer = looker.settle(answer)?;
    let page = spheres::page(&answer, &command(&request), request.settings());
    run::complete(directory, answer.files(), &page, &answer.levels, common)
}

/// Options that networks on spheres do not have.
fn refuse_architecture(args: &SpectrumArgs) -> Result<(), CliError> {
    let o = &args.options;
    let given = [
        ("--input", o.input.is_some()),
        ("--outputs", o.outputs.is_some()),
        ("--parametrisation", o.parametrisation.is_some()),
        ("--bias", o.bias.is_some()),
        ("--b-std", o.b_std.is_some()),
        ("--depth", o.depth.is_some()),
        ("--width", o.width.is_some()),
        ("--kernel", o.kernel.is_some()),
    ];
    if args.kind == KindArg::Exp && o.activation.is_some() {
        return Err(CliError::Usage(
            "--kind exp has no network: leave --activation and --w-std out".into(),
        ));
    }
    match given.iter().find(|g| g.1) {
        None => Ok(()),
        Some((name, _)) => Err(CliError::Usage(format!(
            "{name} belongs to an architecture with --data or --x1; on spheres {} has one hidden layer without \
             biases and takes --activation, --w-std, --p, --d0 and --s",
            args.architecture
        ))),
    }
}

fn on_samples(args: &SpectrumArgs, common: &Common) -> Result<(), CliError> {
    let kind = refuse_spheres(args)?;
    let mut architecture = args.options.of(&args.architecture);
    let x = match (&args.x1, &args.data) {
        (Some(path), _) => {
            let inputs = Inputs::<f64>::read(path, architecture.options.input)?;
            architecture = architecture.reading(inputs.shape, &path.display().to_string())?;
            inputs.numbers
        }
        (None, spec) => {
            let data = Dataset::load(spec.as_deref().unwrap_or_default())?;
            architecture = fitted(&architecture, &data)?;
            data.train.x.iter().map(|&x| f64::from(x)).collect()
        }
    };
    let graph = architecture.graph()?;
    let question = gram::Question {
        setup: common.setup(),
        kind,
        samples: args.samples,
    };
    let job = gram::Job::new(&graph, &x, &question)?;
    let mut configuration = architecture.configuration(&graph)?;
    configuration.extend(run::configuration(job.question())?);
    configuration.insert("samples_fingerprint".into(), job.fingerprint().into());
    let request = run::request("spectrum", &graph.name, configuration, common);
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Summary>(&path, &record, common),
    };
    let mut looker = Looker::new(&mut directory, common);
    let answer = job.answer(&mut looker);
    let answer = looker.settle(answer)?;
    let values = &answer.eigenvalues;
    directory.write("eigenvalues.npy", &npy::encode(&[values.len()], values))?;
    let page = gram::page(&answer, &command(&request), request.settings());
    directory.write_page(&page)?;
    run::finish(directory, &answer.summary, common)
}

/// The kernel, unless options are given that a spectrum on samples does not have.
fn refuse_spheres(args: &SpectrumArgs) -> Result<Kind, CliError> {
    let given = [
        ("--p", args.p.is_some()),
        ("--d0", args.d0.is_some()),
        ("--s", args.s.is_some()),
        ("--order", args.order.is_some()),
        ("--train", args.train.is_some()),
    ];
    let name = match (given.iter().find(|g| g.1), args.kind) {
        (Some((name, _)), _) => name,
        (None, KindArg::Exp) => "--kind exp",
        (None, KindArg::Ntk) => return Ok(Kind::Ntk),
        (None, KindArg::Nngp) => return Ok(Kind::Nngp),
    };
    Err(CliError::Usage(format!(
        "{name} belongs to fcn, vec and gap on spheres; with samples it has no meaning"
    )))
}

impl Shown for Levels {
    fn text(&self, directory: &str) -> String {
        let text = self.text(output::WIDTH);
        format!("{text}\nlevels.csv, eigenvalues and report.html in {directory}\n")
    }
}

impl Shown for Summary {
    fn text(&self, directory: &str) -> String {
        let text = self.text(output::WIDTH);
        format!("{text}\neigenvalues.npy and report.html in {directory}\n")
    }
}
