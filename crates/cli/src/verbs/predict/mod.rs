//! `predict`: test accuracy on linear data, from the geometry and one training.
//!
//! A finished training is kept in `partial/` at once, and so is a sampled geometry: neither is done twice.

mod answer;
mod curve;
mod geometry;
mod page;
mod question;
mod words;

use polariscope_lens::afford;
use std::path::PathBuf;

use clap::Args;
use polariscope_geometry::{Form, Predictor, Ridge, Spectrum};
use polariscope_report::pretty;
use polariscope_train::{Control, Observer, State};
use polariscope_trials::{Calibrator, Candidates, Lab, MOST, Scale, Sizes, Step, Training};
use serde::{Deserialize, Serialize};

use super::geometry::command;
use crate::args::{ArchitectureArgs, Common, count};
use crate::error::CliError;
use crate::output;
use crate::progress::Progress;
use crate::run::{self, Opened, RunDirectory};
use answer::{Outcome, Predicted};
use question::Question;

/// Finished trainings, as a checkpoint.
const TRAININGS: &str = "trainings.toml";
/// Test samples of a training, and its epochs: the recipe of `experiment nad-accuracy`.
const TEST: usize = 10_000;
const EPOCHS: u64 = 20;
/// D × D matrices alive at the same time.
const MATRICES: f64 = 8.0;

/// What `predict` takes.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "The data are x = y v + noise of deviation sigma across v, y = ±1.\n\
                  Trainings take the recipe of `experiment nad-accuracy`."
)]
pub struct PredictArgs {
    /// The network.
    #[command(flatten)]
    pub architecture: ArchitectureArgs,
    /// Training samples [default: 10000]
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Prediction", allow_negative_numbers = true)]
    pub train: Option<usize>,
    /// Deviation of the noise [default: 1]
    #[arg(long, value_name = "S", value_parser = positive, help_heading = "Prediction", allow_negative_numbers = true)]
    pub sigma: Option<f64>,
    /// Directions that are trained to find delta, 1 to 3
    #[arg(long, value_name = "K", value_parser = few, default_value_t = 1, help_heading = "Prediction", allow_negative_numbers = true)]
    pub calibrate: usize,
    /// The delta of another run, same network and sigma: no training
    #[arg(long, value_name = "X", value_parser = positive, conflicts_with = "calibrate", help_heading = "Prediction", allow_negative_numbers = true)]
    pub delta: Option<f64>,
    /// One direction a row; accuracy.npy gets a number for each
    #[arg(long, value_name = "ROWS.npy", help_heading = "Prediction")]
    pub directions: Option<PathBuf>,
    /// linear?v=…: the number for these data, their train and sigma
    #[arg(long, value_name = "SPEC", conflicts_with_all = ["directions", "train", "sigma"], help_heading = "Prediction")]
    pub data: Option<String>,
}

/// Predicts, or shows what an earlier run of the same command found.
pub fn run(args: &PredictArgs, common: &Common) -> Result<(), CliError> {
    let question = Question::new(args, common)?;
    let dim = question.shape().len() as f64;
    afford(
        MATRICES * 8.0 * dim * dim,
        "use a smaller --input; the geometry is a matrix over inputs",
    )?;
    let request = run::request(
        "predict",
        &question.scalar.name,
        question.configuration.clone(),
        common,
    );
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Predicted>(&path, &record, common),
    };
    let found = geometry::obtain(&question, &mut directory, common)?;
    let form = match found.error {
        None => Form::Inverse,
        Some(_) => Form::Quadratic,
    };
    let spectrum = Spectrum::on(common.device, &found.matrix)?;
    let predictor = Predictor::new(&spectrum, form)?;
    let candidates = Candidates::new(&predictor, &spectrum, question.shape())?;
    let (ridge, trainings) = match question.delta {
        Some(delta) => (Ridge::given(delta), Vec::new()),
        None => calibrate(&question, (&predictor, &candidates), &mut directory, common)?,
    };
    let outcome = Outcome::new(
        &question,
        &found,
        (&predictor, &candidates),
        ridge,
        &trainings,
    )?;
    outcome.write(&mut directory)?;
    directory.write_page(&page::page(
        &outcome,
        &command(&request),
        request.settings(),
    ))?;
    run::finish(directory, &outcome.result, common)
}

/// δ and the trainings behind it.
fn calibrate(
    question: &Question,
    (predictor, candidates): (&Predictor, &Candidates),
    directory: &mut RunDirectory,
    common: &Common,
) -> Result<(Ridge, Vec<Training>), CliError> {
    let lab = Lab {
        architecture: question.classifier.name.clone(),
        scale: Scale::Paper,
        runs: None,
        seed: common.seed,
        place: common.place(),
        cifar: None,
        sigma: None,
        known: Vec::new(),
    };
    let calibrator = Calibrator {
        lab: &lab,
        graph: &question.classifier,
        predictor,
        candidates,
        sigma: question.problem.sigma,
        sizes: Sizes {
            train: question.problem.train,
            test: TEST,
            epochs: EPOCHS,
        },
        directions: question.calibrate,
    };
    let mut kept = Kept::read(directory)?;
    loop {
        let candidate = match calibrator.next(&kept.training)? {
            Step::Done(ridge) => return Ok((ridge, kept.training)),
            Step::Train(candidate) => candidate,
        };
        let mut watch = Watch {
            label: format!("training {}", kept.training.len() + 1),
            common,
            progress: None,
            seen: 0,
        };
        let training = calibrator.train(candidate, &mut watch)?;
        drop(watch);
        output::note(
            common,
            &format!(
                "training {}: {}, {} % right",
                kept.training.len() + 1,
                candidates.name(candidate),
                pretty(100.0 * training.accuracy)
            ),
        );
        kept.training.push(training);
        kept.write(directory)?;
    }
}

/// Finished trainings.
#[derive(Default, Serialize, Deserialize)]
struct Kept {
    #[serde(default)]
    training: Vec<Training>,
}

impl Kept {
    fn read(directory: &RunDirectory) -> Result<Self, CliError> {
        let Some(bytes) = directory.restore(TRAININGS)? else {
            return Ok(Self::default());
        };
        let text = String::from_utf8_lossy(&bytes);
        toml::from_str(&text).map_err(|e| {
            CliError::Failed(format!(
                "the checkpoint in {} cannot be read ({}); --force starts over",
                directory.path().display(),
                e.message()
            ))
        })
    }

    fn write(&self, directory: &mut RunDirectory) -> Result<(), CliError> {
        let text = toml::to_string(self)
            .map_err(|e| CliError::Failed(format!("cannot express the trainings as TOML: {e}")))?;
        Ok(directory.checkpoint(TRAININGS, text.as_bytes())?)
    }
}

/// A bar over the steps of a training.
struct Watch<'a> {
    label: String,
    common: &'a Common,
    progress: Option<Progress>,
    seen: u64,
}

impl Observer<f32> for Watch<'_> {
    fn on_step(&mut self, state: &State<f32>, total: u64) -> Control {
        let progress = self
            .progress
            .get_or_insert_with(|| Progress::new(self.label.as_str(), total, 0, self.common));
        progress.advance(state.step - self.seen);
        self.seen = state.step;
        Control::Continue
    }
}

fn positive(text: &str) -> Result<f64, String> {
    let x = text
        .parse()
        .ok()
        .filter(|x: &f64| x.is_finite() && *x > 0.0);
    x.ok_or_else(|| "must be a number above 0".to_string())
}

fn few(text: &str) -> Result<usize, String> {
    let k = text.parse().ok().filter(|k| (1..=MOST).contains(k));
    k.ok_or_else(|| format!("must be a whole number from 1 to {MOST}"))
}
