//! `stability`: how much less a network minds deformations than noise.

use clap::Args;
use polariscope_learning::eval::Number;
use polariscope_symmetry::stability::{
    Average, Job, Pairs, Question, Radius, Rules, Summary, page,
};

use super::deform::InterpolationArg;
use super::geometry::command;
use super::learnt::{LearntArgs, subject};
use crate::args::{ArchitectureArgs, Common, Dtype, count, named, positive};
use crate::error::CliError;
use crate::looker::Looker;
use crate::output;
use crate::run::{self, Opened, Shown};

/// What `stability` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "`polariscope list data` names the data sets and their parameters.")]
pub struct StabilityArgs {
    /// The network.
    #[command(flatten)]
    pub architecture: ArchitectureArgs,
    /// Images: folder:DIR, mnist:DIR, cifar10:DIR, npy:X,Y or NAME?param=value
    #[arg(long, value_name = "SPEC", help_heading = "Data")]
    pub data: String,
    /// The first so many test images
    #[arg(long, value_name = "N", default_value_t = Question::default().images, value_parser = count, help_heading = "Data", allow_negative_numbers = true)]
    pub images: usize,
    /// What it has learnt.
    #[command(flatten)]
    pub learnt: LearntArgs,
    /// Root mean square displacement of the pixels
    #[arg(long, value_name = "X", default_value_t = Question::default().displacement, value_parser = positive, help_heading = "Deformations", allow_negative_numbers = true)]
    pub displacement: f64,
    /// Modes of at most so many half waves
    #[arg(long, value_name = "C", default_value_t = Question::default().cutoff, value_parser = count, help_heading = "Deformations", allow_negative_numbers = true)]
    pub cutoff: usize,
    /// Values between pixels: bilinear or gaussian
    #[arg(
        long,
        value_name = "NAME",
        default_value = "bilinear",
        hide_possible_values = true,
        help_heading = "Deformations"
    )]
    pub interpolation: InterpolationArg,
    /// Averages over images: median, mean or coordinates [default: median]
    #[arg(long, value_name = "NAME", value_parser = |t: &str| named(t, &Average::ALL), help_heading = "Averages")]
    pub average: Option<Average>,
    /// Size of the noise: common or own [default: common]
    #[arg(long, value_name = "NAME", value_parser = |t: &str| named(t, &Radius::ALL), help_heading = "Averages")]
    pub radius: Option<Radius>,
    /// Distances of images: distinct or all [default: distinct]
    #[arg(long, value_name = "NAME", value_parser = |t: &str| named(t, &Pairs::ALL), help_heading = "Averages")]
    pub pairs: Option<Pairs>,
    /// As the published code: its modes, its displacement, its averages
    #[arg(long, help_heading = "Averages")]
    pub compat: bool,
}

impl StabilityArgs {
    fn rules(&self) -> Rules {
        let own = match self.compat {
            true => Rules::CODE,
            false => Rules::default(),
        };
        Rules {
            interpolation: self.interpolation.into(),
            average: self.average.unwrap_or(own.average),
            radius: self.radius.unwrap_or(own.radius),
            pairs: self.pairs.unwrap_or(own.pairs),
            ..own
        }
    }
}

/// Measures in the precision asked for, or shows what an earlier run of the same command found.
pub fn run(args: &StabilityArgs, common: &Common) -> Result<(), CliError> {
    match common.dtype {
        Dtype::F32 => measure::<f32>(args, common),
        Dtype::F64 => measure::<f64>(args, common),
    }
}

fn measure<T: Number>(args: &StabilityArgs, common: &Common) -> Result<(), CliError> {
    let question = Question {
        setup: common.setup(),
        images: args.images,
        displacement: args.displacement,
        others: Question::default().others,
        cutoff: args.cutoff,
        rules: args.rules(),
    };
    // A question that makes no sense is refused before data are read.
    question.check()?;
    let (subject, mut configuration) = subject::<T>(
        &args.architecture,
        Some(&args.data),
        &args.learnt,
        0,
        common,
    )?;
    let job = Job::new(&subject, &question)?;
    configuration.extend(run::configuration(&question)?);
    let name = &subject.problem.graph.name;
    let request = run::request("stability", name, configuration, common);
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Summary>(&path, &record, common),
    };
    let mut looker = Looker::new(&mut directory, common);
    let answer = job.answer(&mut looker);
    let answer = looker.settle(answer)?;
    let page = page(&answer, &command(&request), request.settings());
    let files = answer.summary.files();
    run::complete(directory, files, &page, &answer.summary, common)
}

impl Shown for Summary {
    fn text(&self, directory: &str) -> String {
        let text = self.text(output::WIDTH);
        format!("{text}\nstability.csv, layers.csv and report.html in {directory}\n")
    }
}
