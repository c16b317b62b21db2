//! `spectrum`: what a kernel learns first.
//!
//! On products of spheres the eigenvalues and multiplicities are exact, and sampled points check them; on
//! samples of the user's own they are those of the Gram matrix of any architecture.

mod answer;
mod gram;
mod page;
mod spheres;
mod words;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use polariscope_kernels::spheres::{SphereError, System};

use crate::args::{ArchitectureOptions, Common, count};
use crate::error::CliError;

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
        default_value_t = 2000,
        help_heading = "Spectrum",
        allow_negative_numbers = true
    )]
    pub samples: usize,
    /// mnist:DIR, cifar10:DIR, npy:X,Y or NAME?param=value; the training samples count
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
    let system = match args.architecture.as_str() {
        "fcn" => Some(System::Fcn),
        "vec" => Some(System::Vec),
        "gap" => Some(System::Gap),
        _ => None,
    };
    let samples = args.data.is_some() || args.x1.is_some();
    match (system, args.architecture.as_str()) {
        (Some(system), _) if !samples => spheres::run(system, args, common),
        (_, "vec" | "gap") => Err(CliError::Usage(format!(
            "{0} is a network on spheres and takes no samples; with --data or --x1 use cnn-{0}",
            args.architecture
        ))),
        _ if samples => gram::run(args, common),
        _ => Err(CliError::Usage(format!(
            "the spectrum of {} needs samples: give --data or --x1; fcn, vec and gap have spectra without",
            args.architecture
        ))),
    }
}

impl From<SphereError> for CliError {
    fn from(e: SphereError) -> Self {
        match e {
            SphereError::Decomposition => CliError::Failed(e.to_string()),
            _ => CliError::Usage(e.to_string()),
        }
    }
}
