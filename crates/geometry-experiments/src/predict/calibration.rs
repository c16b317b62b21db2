//! δ and the trainings behind it.

use polariscope_geometry::{Predictor, Ridge};
use polariscope_lens::{Observer, Stopped, Work};
use polariscope_report::{counted, pretty};
use polariscope_train::{self as train, Control, State};
use serde::{Deserialize, Serialize};

use super::{Networks, Question};
use crate::{Calibrator, Candidates, GeometryExperimentsError, Lab, Scale, Sizes, Step, Training};

/// Finished trainings, as a checkpoint.
const TRAININGS: &str = "trainings.toml";
/// Test samples of a training, and its epochs: the recipe of `nad-accuracy`.
const TEST: usize = 10_000;
const EPOCHS: u64 = 20;

/// Trains until δ is known.
pub(super) fn calibrate(
    networks: &Networks,
    question: &Question,
    (predictor, candidates): (&Predictor, &Candidates),
    observer: &mut dyn Observer,
) -> Result<(Ridge, Vec<Training>), GeometryExperimentsError> {
    let lab = Lab {
        architecture: networks.classifier.name.clone(),
        scale: Scale::Paper,
        runs: None,
        seed: question.setup.seed,
        place: question.setup.place(),
        cifar: None,
        sigma: None,
        known: Vec::new(),
    };
    let calibrator = Calibrator {
        lab: &lab,
        graph: &networks.classifier,
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
    let mut kept = Kept::read(observer)?;
    loop {
        let candidate = match calibrator.next(&kept.training)? {
            Step::Done(ridge) => return Ok((ridge, kept.training)),
            Step::Train(candidate) => candidate,
        };
        let number = kept.training.len() + 1;
        let mut steps = Steps {
            observer: &mut *observer,
            label: format!("training {number}"),
            begun: false,
            stopped: None,
        };
        let trained = calibrator.train(candidate, &mut steps);
        if let Some(stopped) = steps.stopped {
            return Err(stopped.into());
        }
        let training = trained?;
        observer.end();
        observer.note(&format!(
            "training {number}: {}, {} % right",
            candidates.name(candidate),
            pretty(100.0 * training.accuracy)
        ));
        kept.training.push(training);
        kept.write(observer)?;
    }
}

/// Finished trainings.
#[derive(Default, Serialize, Deserialize)]
struct Kept {
    #[serde(default)]
    training: Vec<Training>,
}

impl Kept {
    fn read(observer: &mut dyn Observer) -> Result<Self, GeometryExperimentsError> {
        let Some(bytes) = observer.kept(TRAININGS)? else {
            return Ok(Self::default());
        };
        let text = String::from_utf8_lossy(&bytes);
        toml::from_str(&text).map_err(|e| GeometryExperimentsError::damaged(e.message()))
    }

    fn write(&self, observer: &mut dyn Observer) -> Result<(), GeometryExperimentsError> {
        let text = toml::to_string(self)
            .map_err(|e| GeometryExperimentsError::Checkpoint(e.to_string()))?;
        Ok(observer.keep(TRAININGS, text.as_bytes())?)
    }
}

/// The steps of a training, for whoever looks on.
struct Steps<'a> {
    observer: &'a mut dyn Observer,
    label: String,
    begun: bool,
    stopped: Option<Stopped>,
}

impl train::Observer<f32> for Steps<'_> {
    fn on_step(&mut self, state: &State<f32>, total: u64) -> Control {
        if !self.begun {
            self.begun = true;
            self.observer.begin(Work {
                unit: self.label.clone(),
                first: 0,
                total,
                words: format!("{}: {}", self.label, counted(total, "step")),
                bytes: 0.0,
            });
        }
        match self.observer.advance(state.step, &|| None) {
            Ok(()) => Control::Continue,
            Err(stopped) => {
                self.stopped = Some(stopped);
                Control::Stop
            }
        }
    }
}
