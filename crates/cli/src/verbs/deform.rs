//! `deform`: what smooth random deformations do to images.

use clap::{Args, ValueEnum};
use polariscope_data::Dataset;
use polariscope_data::deform::{Convention, Interpolation, ModeRule};
use polariscope_symmetry::deform::{Job, Question, Summary, page, patterns};

use super::geometry::command;
use crate::args::{Common, count};
use crate::error::{CliError, flags};
use crate::looker::Looker;
use crate::output;
use crate::run::{self, Opened, Shown, fingerprint};

/// What `deform` takes.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "The same deformations act on data sets, for every verb: --data \"cifar10:DIR?deform=1,3\"."
)]
pub struct DeformArgs {
    /// Square images: folder:DIR, mnist:DIR, npy:X,Y [default: patterns]
    #[arg(long, value_name = "SPEC", help_heading = "Deformations")]
    pub data: Option<String>,
    /// Root of the mean square displacement, in pixels
    #[arg(long, value_name = "PIXELS", default_value_t = Question::default().displacement, allow_negative_numbers = true, help_heading = "Deformations")]
    pub displacement: f64,
    /// Modes of at most so many half-waves: i² + j² ≤ c²
    #[arg(long, value_name = "C", default_value_t = Question::default().cutoff, value_parser = count, allow_negative_numbers = true, help_heading = "Deformations")]
    pub cutoff: usize,
    /// As the published code: modes with √(i² + j²) < c + ½, nominal δ
    #[arg(long, help_heading = "Deformations")]
    pub compat: bool,
    /// Values between pixels: bilinear or gaussian
    #[arg(
        long,
        value_name = "NAME",
        default_value = "bilinear",
        hide_possible_values = true,
        help_heading = "Deformations"
    )]
    pub interpolation: InterpolationArg,
    /// Fields to draw at each temperature
    #[arg(long, value_name = "N", default_value_t = Question::default().fields, value_parser = count, allow_negative_numbers = true, help_heading = "Deformations")]
    pub fields: usize,
}

/// Values between pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InterpolationArg {
    /// From four pixels.
    Bilinear,
    /// From all.
    Gaussian,
}

impl From<InterpolationArg> for Interpolation {
    fn from(arg: InterpolationArg) -> Self {
        match arg {
            InterpolationArg::Bilinear => Interpolation::Bilinear,
            InterpolationArg::Gaussian => Interpolation::Gaussian,
        }
    }
}

/// Deforms, or shows what an earlier run of the same command found.
pub fn run(args: &DeformArgs, common: &Common) -> Result<(), CliError> {
    let (modes, displacement_is) = match args.compat {
        true => (ModeRule::Code, Convention::Nominal),
        false => (ModeRule::Strict, Convention::Exact),
    };
    let question = Question {
        setup: common.setup(),
        displacement: args.displacement,
        cutoff: args.cutoff,
        modes,
        displacement_is,
        interpolation: args.interpolation.into(),
        fields: args.fields,
    };
    let data = match &args.data {
        Some(spec) => Dataset::load(spec)?,
        None => patterns(),
    };
    let job = Job::new(&data, &question)?;
    let mut configuration = run::configuration(&question)?;
    configuration.insert("data".into(), data.name.clone().into());
    let pixels = data.train.x.iter().map(|x| u64::from(x.to_bits()));
    configuration.insert("data_fingerprint".into(), fingerprint(pixels).into());
    let request = run::request("deform", data.title(), configuration, common);
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Summary>(&path, &record, common),
    };
    let mut looker = Looker::new(&mut directory, common);
    let answer = job.answer(&mut looker);
    let mut answer = looker.settle(answer)?;
    answer.summary.words = flags(&answer.summary.words);
    let page = page(&answer, &command(&request), request.settings());
    run::complete(directory, answer.files(), &page, &answer.summary, common)
}

impl Shown for Summary {
    fn text(&self, directory: &str) -> String {
        let text = self.text(output::WIDTH);
        format!("{text}\ntemperatures.csv, limits.csv and report.html in {directory}\n")
    }
}
