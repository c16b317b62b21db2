//! What comes of it: the numbers of a record, and everything that was learnt.

use polariscope_data::npy;
use polariscope_report::{Align, Cell, Table, counted, pretty};
use polariscope_stats::Estimate;
use serde::{Deserialize, Serialize};

use super::mistakes::{self, Mistake};
use super::{Fit, Learnt, Question, Score, Targets};

/// What was learnt, and how well.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// What learnt.
    pub network: String,
    /// What it learnt, as people call it.
    pub data: String,
    /// In words and a few numbers.
    pub summary: Summary,
    /// What was to be learnt.
    pub targets: Targets,
    /// What was.
    pub learnt: Learnt,
    /// Test samples of a class (row) that were taken for each class (column); none for real targets.
    pub confusion: Option<Vec<Vec<u64>>>,
    /// Images most surely put into a wrong class.
    pub mistakes: Vec<Mistake>,
}

/// What was learnt in words and a few numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// The answer in words.
    pub words: String,
    /// ntk or nngp.
    pub kind: String,
    /// Samples learnt.
    pub train_samples: usize,
    /// Samples judged by.
    pub test_samples: usize,
    /// λ.
    pub ridge: f64,
    /// ηt of the predictions; left out in the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    /// What was added to the diagonal of the Gram matrix to make it positive definite.
    pub jitter: f64,
    /// Largest over smallest eigenvalue, ridge and jitter included.
    pub condition: f64,
    /// Share of test samples that guessing the commonest training class gets right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commonest: Option<f64>,
    /// Mean standard deviation of a prediction, of nngp.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
    /// Seconds for the kernels, those of interrupted processes left out.
    pub kernel_seconds: f64,
    /// Seconds for the solve.
    pub solve_seconds: f64,
    /// What is approximate beyond infinite width.
    #[serde(default)]
    pub approximations: Vec<String>,
    /// On the training samples.
    pub train: Fit,
    /// On the test samples.
    pub test: Score,
}

impl Answer {
    /// The finding.
    pub(super) fn sentence(&self) -> String {
        let Answer {
            network,
            data,
            summary,
            ..
        } = self;
        let from = counted(summary.train_samples as u64, "sample");
        let method = summary.method();
        match summary.test.accuracy {
            Some(accuracy) => format!(
                "An infinitely wide {network} learns {data} to {} from {from} ({method}); chance is {}.",
                percent(accuracy),
                share(1.0 / self.targets.width as f64)
            ),
            None => format!(
                "An infinitely wide {network} learns {data} from {from} ({method}) up to a mean squared error of {}{}.",
                summary.test.mse.pair(),
                summary.test.r_squared.map_or(String::new(), |r| format!(
                    ", which explains {} of the variance",
                    share(r)
                ))
            ),
        }
    }

    /// Arrays and tables, by the names of their files.
    pub fn files(&self) -> Vec<(&'static str, Vec<u8>)> {
        let learnt = &self.learnt;
        let (train, test) = self.targets.samples();
        let mut files = vec![
            (
                "predictions.npy",
                npy::encode(&[test, self.targets.width], &learnt.predictions),
            ),
            (
                "eigenvalues.npy",
                npy::encode(&[train], &learnt.eigenvalues),
            ),
        ];
        if let Some(variance) = &learnt.variance {
            files.push(("variance.npy", npy::encode(&[test], variance)));
        }
        files.push(("learning.csv", learnt.history().to_csv().into_bytes()));
        if let (Some(confusion), Some(classes)) = (&self.confusion, &self.targets.classes) {
            let csv = mistakes::table(confusion, &classes.names).to_csv();
            files.push(("confusion.csv", csv.into_bytes()));
        }
        files
    }
}

impl Summary {
    /// Sums up what was learnt; words and seconds are to come.
    pub(super) fn new(
        question: &Question,
        targets: &Targets,
        learnt: &Learnt,
        approximations: Vec<String>,
    ) -> Self {
        let (train_samples, test_samples) = targets.samples();
        let deviation = learnt.variance.as_ref().map(|variance| {
            let sum: f64 = variance.iter().map(|v| v.sqrt()).sum();
            sum / variance.len() as f64
        });
        Self {
            words: String::new(),
            kind: question.kind.name().into(),
            train_samples,
            test_samples,
            ridge: question.ridge,
            time: question.time.last().copied(),
            jitter: learnt.conditioning.jitter,
            condition: learnt.conditioning.condition,
            commonest: targets.commonest(),
            deviation,
            kernel_seconds: 0.0,
            solve_seconds: 0.0,
            approximations,
            train: learnt.end.train,
            test: learnt.end.test,
        }
    }

    /// `NTK, ridgeless`.
    fn method(&self) -> String {
        let kind = self.kind.to_uppercase();
        let ridge = match self.ridge {
            0.0 => "ridgeless".to_string(),
            ridge => format!("ridge {}", pretty(ridge)),
        };
        match self.time {
            None => format!("{kind}, {ridge}"),
            Some(time) => format!("{kind}, {ridge}, at time ηt = {}", pretty(time)),
        }
    }

    /// A row a set.
    pub(super) fn table(&self) -> Table {
        use Align::{Left, Right};
        let last = match self.test.accuracy {
            Some(_) => "accuracy, %",
            None => "R²",
        };
        let mut table = Table::new([
            ("set", Left),
            ("samples", Right),
            ("mean squared error", Right),
            (last, Right),
        ]);
        let hundred = |x: f64| format!("{:.1}", 100.0 * x);
        table.push([
            "train".into(),
            self.train_samples.into(),
            self.train.mse.into(),
            self.train.accuracy.map(hundred).into(),
        ]);
        let last: Cell = match self.test.accuracy {
            Some(a) => hundreds(a).into(),
            None => self.test.r_squared.into(),
        };
        table.push([
            "test".into(),
            self.test_samples.into(),
            self.test.mse.pair().into(),
            last,
        ]);
        table
    }

    /// For people, in tables of at most `width` columns.
    pub fn text(&self, width: usize) -> String {
        let mut text = format!("{}\n\n{}\n", self.words, self.table().to_text(width));
        for note in self.notes() {
            text += &format!("{note}\n");
        }
        text + &format!(
            "kernels {:.1} s, solve {:.1} s",
            self.kernel_seconds, self.solve_seconds
        )
    }

    /// What to know about the solve, a line each.
    pub(super) fn notes(&self) -> Vec<String> {
        let jitter = match self.jitter {
            0.0 => "no jitter was needed".to_string(),
            jitter => format!("a jitter of {} was added to its diagonal", pretty(jitter)),
        };
        let mut notes = vec![format!(
            "condition number of the Gram matrix {}; {jitter}",
            pretty(self.condition)
        )];
        if let Some(deviation) = self.deviation {
            notes.push(format!(
                "a prediction has a standard deviation of {} on average",
                pretty(deviation)
            ));
        }
        if let Some(commonest) = self.commonest {
            notes.push(format!(
                "always answering the commonest class would be right for {}",
                share(commonest)
            ));
        }
        let approximations = self.approximations.iter();
        notes.extend(approximations.map(|a| format!("approximate: {a}")));
        notes
    }
}

/// `41.2 ± 1.1`, in per cent.
fn hundreds(share: Estimate) -> String {
    let Estimate {
        value,
        standard_error,
        ..
    } = share;
    format!("{:.1} ± {:.1}", 100.0 * value, 100.0 * standard_error)
}

/// `41.2 ± 1.1 %`; a share without spread is exact.
fn percent(accuracy: Estimate) -> String {
    match accuracy.standard_error > 0.0 {
        true => format!("{}\u{a0}%", hundreds(accuracy)),
        false => share(accuracy.value),
    }
}

/// `10 %`.
pub fn share(share: f64) -> String {
    format!("{}\u{a0}%", pretty((1e4 * share).round() / 100.0))
}
