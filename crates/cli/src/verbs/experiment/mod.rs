//! `experiment`: a grid of conditions and runs, a table, verdicts by statistics fixed beforehand, a page.
//!
//! The runner knows nothing of what is measured: it takes an experiment and a view of its table.

mod all;
mod answer;
mod dide;
mod options;
mod page;
mod rotations;
mod runner;
mod spectra;
mod symmetry_breaking;
mod trials;

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use polariscope_diff::{Device, Precision};
use polariscope_graph::nearest;
use polariscope_kernels::experiments::{ExperimentError, System, Training};
use polariscope_trials::{Entry, TRIALS};

use answer::Answer;

use crate::args::{Common, Dtype, count, positive};
use crate::error::CliError;
use crate::output::note;

/// What `experiment` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
experiment list            every experiment with what it shows and what it takes
experiment all --data …    one after the other

A killed run goes on where it stopped when the same command is given again.")]
pub struct ExperimentArgs {
    /// An experiment, list or all
    #[arg(value_name = "NAME")]
    pub name: Name,
    /// Zoo name, for experiments on geometry [default: their own]
    #[arg(value_name = "ARCH")]
    pub architecture: Option<String>,
    /// cifar10:DIR; for those on kernels any images with classes
    #[arg(long, value_name = "SPEC", help_heading = "Experiment")]
    pub data: Option<String>,
    /// small (minutes) or paper (the sizes of the source)
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "small",
        hide_possible_values = true,
        help_heading = "Experiment"
    )]
    pub scale: Scale,
    /// Runs, each with its own samples, transformations and weights
    #[arg(long, value_name = "R", value_parser = count, help_heading = "Experiment", allow_negative_numbers = true)]
    pub runs: Option<usize>,
    /// Training samples a run; of dide the most, of spectra the points
    #[arg(long, value_name = "M", value_parser = count, help_heading = "Experiment", allow_negative_numbers = true)]
    pub train: Option<usize>,
    /// Test samples a run; up to ten times as many for rotations without pools
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Experiment", allow_negative_numbers = true)]
    pub test: Option<usize>,
    /// Hidden layers
    #[arg(long, value_name = "L", value_parser = count, help_heading = "Experiment", allow_negative_numbers = true)]
    pub depth: Option<usize>,
    /// Width of finite networks; of symmetry-breaking a list
    #[arg(long, value_name = "N,…", value_parser = count, value_delimiter = ',', help_heading = "Experiment", allow_negative_numbers = true)]
    pub width: Vec<usize>,
    /// Updates of a finite network
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Experiment", allow_negative_numbers = true)]
    pub steps: Option<usize>,
    /// How rotations trains: a list of ntk, nn, nn+, nn++ [default: ntk]
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        help_heading = "Experiment"
    )]
    pub training: Vec<Training>,
    /// rotations: a list of fcn, lcn, vec, lap4, lap8, gap [default: all]
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        help_heading = "Experiment"
    )]
    pub systems: Vec<System>,
    /// rotations: without the three groups of permutations
    #[arg(long, help_heading = "Experiment")]
    pub no_permutations: bool,
    /// Some levels of a factor alone, as in index=0,10; once a factor
    #[arg(long, value_name = "NAME=L,…", help_heading = "Experiment")]
    pub only: Vec<String>,
    /// which-geometry: noise of the problems [default: chosen by pilots]
    #[arg(long, value_name = "S", value_parser = positive, help_heading = "Experiment", allow_negative_numbers = true)]
    pub sigma: Option<f64>,
    /// which-geometry: table.csv of other runs, whose networks it takes over
    #[arg(
        long,
        value_name = "FILE,…",
        value_delimiter = ',',
        help_heading = "Experiment"
    )]
    pub accuracies: Vec<PathBuf>,
    /// dide: one more size, twice the largest, by mirror images
    #[arg(long, help_heading = "Experiment")]
    pub flips: bool,
}

/// Which experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// Performance against symmetry.
    Rotations,
    /// VEC_n between GAP_n and VEC_∞.
    SymmetryBreaking,
    /// Learning curves.
    Dide,
    /// Eigenvalue decay.
    Spectra,
    /// One that trains networks to test what their geometry predicted.
    Trial(&'static Entry),
    /// Names them.
    List,
    /// Every one.
    All,
}

impl Name {
    /// As it is typed.
    pub fn text(self) -> &'static str {
        match self {
            Name::Rotations => "rotations",
            Name::SymmetryBreaking => "symmetry-breaking",
            Name::Dide => "dide",
            Name::Spectra => "spectra",
            Name::Trial(entry) => entry.name,
            Name::List => "list",
            Name::All => "all",
        }
    }

    /// The options with the device that the experiment runs on. Spectra has closed forms and sums over points of spheres,
    /// nothing for a GPU.
    fn place(self, common: &Common) -> Common {
        let mut common = common.clone();
        if self == Name::Spectra && common.device != Device::Cpu {
            let words = "experiment spectra has nothing for a GPU: it runs on the processor";
            note(&common, words);
            common.device = Device::Cpu;
            common.precision = Precision::Full;
        }
        common
    }

    /// Every name.
    fn every() -> impl Iterator<Item = Name> {
        let trials = TRIALS.iter().map(Name::Trial);
        trials.chain(KERNELS).chain([Name::List, Name::All])
    }
}

/// The experiments on kernels.
const KERNELS: [Name; 4] = [
    Name::Rotations,
    Name::SymmetryBreaking,
    Name::Dide,
    Name::Spectra,
];

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // What which-geometry was called while it had directions that a geometry had chosen.
        if text == "radius" {
            return Err("it has become which-geometry".into());
        }
        let names = || Name::every().map(Name::text);
        Name::every()
            .find(|n| n.text() == text)
            .ok_or_else(|| match nearest(text, names()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("it is one of {}", names().collect::<Vec<_>>().join(", ")),
            })
    }
}

/// How large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scale {
    /// Minutes on two cores.
    Small,
    /// As in the source.
    Paper,
}

/// Runs an experiment, goes on with it, or shows what came of it.
pub fn run(args: &ExperimentArgs, common: &Common) -> Result<(), CliError> {
    options::refuse(args, common)?;
    match args.name {
        Name::List => trials::list(common),
        Name::All => all::run(args, common),
        _ => one(args, common).map(|_| ()),
    }
}

/// Runs one experiment.
fn one(args: &ExperimentArgs, common: &Common) -> Result<Answer, CliError> {
    let common = &args.name.place(common);
    match (args.name, common.dtype) {
        (Name::Rotations, Dtype::F32) => rotations::run::<f32>(args, common),
        (Name::Rotations, Dtype::F64) => rotations::run::<f64>(args, common),
        (Name::SymmetryBreaking, Dtype::F32) => symmetry_breaking::run::<f32>(args, common),
        (Name::SymmetryBreaking, Dtype::F64) => symmetry_breaking::run::<f64>(args, common),
        (Name::Dide, Dtype::F32) => dide::run::<f32>(args, common),
        (Name::Dide, Dtype::F64) => dide::run::<f64>(args, common),
        (Name::Spectra, _) => spectra::run(args, common),
        (Name::Trial(entry), _) => trials::run(entry, args, common),
        (Name::List | Name::All, _) => Err(CliError::Usage("this is no experiment".into())),
    }
}

impl From<ExperimentError> for CliError {
    fn from(e: ExperimentError) -> Self {
        match e {
            ExperimentError::Train(e) => e.into(),
            ExperimentError::Kernel(e) => e.into(),
            ExperimentError::Graph(e) => e.into(),
            ExperimentError::Inference(_) => CliError::Failed(e.to_string()),
            ExperimentError::Shape { .. }
            | ExperimentError::Classes { .. }
            | ExperimentError::Samples { .. }
            | ExperimentError::System { .. }
            | ExperimentError::Training { .. }
            | ExperimentError::Symmetry(_)
            | ExperimentError::Sphere(_) => CliError::Usage(e.to_string()),
        }
    }
}
