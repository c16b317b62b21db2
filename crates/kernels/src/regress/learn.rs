//! Inference with the Gram matrices at hand.
//!
//! The NTK's path f_t comes from one eigendecomposition; where no times are asked for it is sampled at times spaced evenly in
//! log t, from a tenth of 1/μ₁, before anything is learnt, to ten times 1/μ_n, when all is.

use polariscope_lens::{Observer, foretell_cubic};
use polariscope_linalg::{symmetric_eigen, symmetric_eigenvalues};
use polariscope_report::{Align, Table, counted};
use serde::{Deserialize, Serialize};

use super::Question;
use super::gram::Grams;
use super::targets::{Fit, Score, Targets};
use crate::KernelsError;
use crate::inference::{Conditioning, Descent, InferenceError, Posterior, Time};
use crate::kernel::Kind;

/// Times of the default path.
const TIMES: usize = 30;
/// It begins this far before 1/μ₁ and ends this far after 1/μ_n.
const MARGIN: f64 = 10.0;

/// What was learnt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Learnt {
    /// For the test samples, m × C.
    pub predictions: Vec<f64>,
    /// Of every test sample, where the process has one.
    pub variance: Option<Vec<f64>>,
    /// Along the training time.
    pub path: Vec<Moment>,
    /// Where the predictions are from.
    pub end: Moment,
    /// Of the train Gram matrix, largest first.
    pub eigenvalues: Vec<f64>,
    /// How well posed the solve was.
    pub conditioning: Conditioning,
}

/// A time of the path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// ηt; infinity in the limit.
    pub time: f64,
    /// On the training samples.
    pub train: Fit,
    /// On the test samples.
    pub test: Score,
}

impl Learnt {
    /// Learns.
    pub(super) fn new(
        question: &Question,
        grams: &Grams,
        targets: &Targets,
        observer: &mut dyn Observer,
    ) -> Result<Self, KernelsError> {
        let (n, m) = targets.samples();
        let words = format!("learning {}", counted(n as u64, "sample"));
        let matrices = 4.0 + m as f64 / n as f64;
        foretell_cubic(
            observer,
            &words,
            (&grams.train, n),
            matrices,
            |block, rows| {
                // What the pilot finds is of no interest, and what is wrong shows again.
                let _ = symmetric_eigen(block, rows);
            },
        );
        let learnt = match question.kind {
            Kind::Ntk => descend(question, grams, targets),
            Kind::Nngp => infer(question, grams, targets),
        };
        learnt.map_err(|reason| match reason {
            InferenceError::NotPositiveDefinite { .. } => KernelsError::Singular {
                reason,
                dtype: question.setup.dtype,
            },
            _ => reason.into(),
        })
    }

    /// The path and its end as a table, for `learning.csv`.
    pub fn history(&self) -> Table {
        use Align::Right;
        let mut columns = vec![("time", Right), ("train_mse", Right), ("test_mse", Right)];
        match self.end.test.accuracy {
            Some(_) => columns.extend([("train_accuracy", Right), ("test_accuracy", Right)]),
            None => columns.push(("test_r_squared", Right)),
        }
        let mut table = Table::new(columns);
        for Moment { time, train, test } in self.path.iter().chain([&self.end]) {
            let mut row = vec![(*time).into(), train.mse.into(), test.mse.into()];
            match test.accuracy {
                Some(accuracy) => row.extend([train.accuracy.into(), accuracy.into()]),
                None => row.push(test.r_squared.into()),
            }
            table.push(row);
        }
        table
    }
}

/// Gradient descent: Θ decomposed once, asked at every time.
fn descend(
    question: &Question,
    grams: &Grams,
    targets: &Targets,
) -> Result<Learnt, InferenceError> {
    let (n, _) = targets.samples();
    let descent = Descent::new(&grams.train, n, question.ridge)?;
    let (path, end) = match question.time.split_last() {
        Some((&end, path)) => (path.to_vec(), Time::After(end)),
        None => (grid(&descent, question.ridge), Time::Infinite),
    };
    let at = |time: Time| -> Result<(Moment, Vec<f64>), InferenceError> {
        let on_training = descent.on_training(&targets.train, time)?;
        let predictions = descent.mean(&grams.cross, &targets.train, time)?;
        let moment = Moment {
            time: match time {
                Time::After(t) => t,
                Time::Infinite => f64::INFINITY,
            },
            train: targets.fit(&on_training),
            test: targets.score(&predictions),
        };
        Ok((moment, predictions))
    };
    let path = path.into_iter().map(|t| Ok(at(Time::After(t))?.0));
    let path = path.collect::<Result<_, InferenceError>>()?;
    let (end, predictions) = at(end)?;
    Ok(Learnt {
        predictions,
        variance: None,
        path,
        end,
        eigenvalues: descent.eigenvalues().to_vec(),
        conditioning: descent.conditioning(),
    })
}

/// The default path.
fn grid(descent: &Descent, ridge: f64) -> Vec<f64> {
    let largest = descent.eigenvalues()[0] + ridge;
    let smallest = largest / descent.conditioning().condition;
    let (from, to) = (1.0 / (MARGIN * largest), MARGIN / smallest);
    let step = (to / from).powf(1.0 / (TIMES - 1) as f64);
    (0..TIMES).map(|i| from * step.powi(i as i32)).collect()
}

/// The posterior: one Cholesky factor.
fn infer(question: &Question, grams: &Grams, targets: &Targets) -> Result<Learnt, InferenceError> {
    let (n, _) = targets.samples();
    let posterior = Posterior::new(&grams.train, n, question.ridge)?;
    let predictions = posterior.mean(&grams.cross, &targets.train)?;
    let on_training = posterior.mean(&grams.train, &targets.train)?;
    let variance = match &grams.diagonal {
        Some(diagonal) => Some(posterior.variance(&grams.cross, diagonal)?),
        None => None,
    };
    // The matrix is finite, as the factor has checked.
    let eigenvalues = symmetric_eigenvalues(&grams.train, n)
        .map_err(|_| InferenceError::NotPositiveDefinite { jitter: 0.0 })?;
    Ok(Learnt {
        end: Moment {
            time: f64::INFINITY,
            train: targets.fit(&on_training),
            test: targets.score(&predictions),
        },
        predictions,
        variance,
        path: Vec::new(),
        eigenvalues,
        conditioning: posterior.conditioning(),
    })
}
