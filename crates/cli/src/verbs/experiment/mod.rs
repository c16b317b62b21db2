//! `experiment`: a grid of conditions and runs, a table, verdicts by statistics fixed beforehand, a page.
//!
//! What is measured and how it is shown is the experiment's own business: here are arguments, the run directory and the
//! printing, the same for all that are in the registry.

mod all;
mod list;
pub mod registry;
mod runner;
mod settings;

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use polariscope_experiment::{About, Entry, Numbers, Size};
use polariscope_graph::nearest;
use polariscope_lens::{Device, Precision};

use crate::args::{Common, Dtype, count, positive};
use crate::error::CliError;
use crate::output::note;
use registry::{entries, entry};

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
    /// Zoo name; of poses and stability-law a list A,B [default: their own]
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
    pub training: Vec<String>,
    /// rotations: a list of fcn, lcn, vec, lap4, lap8, gap [default: all]
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        help_heading = "Experiment"
    )]
    pub systems: Vec<String>,
    /// rotations: without the three groups of permutations
    #[arg(long, help_heading = "Experiment")]
    pub no_permutations: bool,
    /// Some levels of a factor alone, as in index=0,10; once a factor
    #[arg(long, value_name = "NAME=L,…", help_heading = "Experiment")]
    pub only: Vec<String>,
    /// which-geometry: noise of the problems [default: chosen by pilots]
    #[arg(long, value_name = "S", value_parser = positive, help_heading = "Experiment", allow_negative_numbers = true)]
    pub sigma: Option<f64>,
    /// which-geometry, stability-law: table.csv of other runs to take over
    #[arg(
        long,
        value_name = "FILE,…",
        value_delimiter = ',',
        help_heading = "Experiment"
    )]
    pub accuracies: Vec<PathBuf>,
    /// poses: a list, such as turn:1,flip [default: upright,turn:90]
    #[arg(
        long,
        value_name = "POSE,…",
        value_delimiter = ',',
        help_heading = "Experiment"
    )]
    pub poses: Vec<String>,
    /// dide: one more size, twice the largest, by mirror images
    #[arg(long, help_heading = "Experiment")]
    pub flips: bool,
}

/// What is to be done.
#[derive(Clone, Copy)]
pub enum Name {
    /// One experiment.
    One(&'static dyn Entry),
    /// The same, by what it was called once.
    Renamed(&'static str, &'static dyn Entry),
    /// Name them.
    List,
    /// Run every one.
    All,
}

/// Names that are no experiment.
const LIST: &str = "list";
const ALL: &str = "all";
/// What experiments were called, and are called now: no experiment has the name of a verb.
const RENAMED: [(&str, &str); 1] = [("evolution", "geometry-drift")];

impl std::fmt::Debug for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text())
    }
}

impl Name {
    /// As it is typed.
    fn text(self) -> &'static str {
        match self {
            Name::One(entry) | Name::Renamed(_, entry) => entry.about().name,
            Name::List => LIST,
            Name::All => ALL,
        }
    }
}

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let experiments = || entries().map(|entry| entry.about().name);
        let names = || experiments().chain([LIST, ALL]);
        match text {
            LIST => return Ok(Name::List),
            ALL => return Ok(Name::All),
            // What which-geometry was called while it had directions that a geometry had chosen.
            "radius" => return Err("it has become which-geometry".into()),
            _ => {}
        }
        if let Some((old, new)) = RENAMED.iter().find(|(old, _)| *old == text)
            && let Some(entry) = entry(new)
        {
            return Ok(Name::Renamed(old, entry));
        }
        entry(text)
            .map(Name::One)
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

impl Scale {
    fn size(self) -> Size {
        match self {
            Scale::Small => Size::Small,
            Scale::Paper => Size::Paper,
        }
    }
}

/// Runs an experiment, goes on with it, or shows what came of it.
pub fn run(args: &ExperimentArgs, common: &Common) -> Result<(), CliError> {
    match args.name {
        Name::List => {
            args.refuse(common, &[])?;
            list::run(common)
        }
        Name::All => {
            args.refuse(common, &["data", "runs"])?;
            all::run(args, common)
        }
        Name::One(entry) | Name::Renamed(_, entry) => {
            runner::conduct(entry, args, &place(&entry.about(), common)).map(|_| ())
        }
    }
}

impl ExperimentArgs {
    /// Refuses options that a name beside the experiments does not take.
    fn refuse(&self, common: &Common, takes: &[&str]) -> Result<(), CliError> {
        let (name, settings) = (self.name.text(), self.settings(common));
        settings.refuse(name, takes)?;
        match settings.only.is_empty() {
            true => Ok(()),
            false => Err(CliError::Usage(format!(
                "--only is not an option of {name}; leave it out"
            ))),
        }
    }
}

/// The options with the device and the numbers that the experiment runs on.
fn place(about: &About, common: &Common) -> Common {
    let mut common = common.clone();
    if !about.gpu && common.device != Device::Cpu {
        let words = format!(
            "experiment {} has nothing for a GPU: it runs on the processor",
            about.name
        );
        note(&common, &words);
        common.device = Device::Cpu;
        common.precision = Precision::Full;
    }
    // Some follow flows by small differences: they know double precision alone.
    if let [Numbers::F64] = about.numbers {
        common.dtype = Dtype::F64;
    }
    common
}
