//! What `regress` says at the end.

use polariscope_report::{Align, Cell, Table, counted, pretty};
use polariscope_stats::Estimate;
use serde::{Deserialize, Serialize};

use super::learn::Learnt;
use super::options::Plan;
use super::targets::{Fit, Score, Targets};
use crate::output;
use crate::run::Shown;
use crate::verbs::subject::Subject;

/// The `[result]` of `run.toml`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
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
    /// Sums up what was learnt.
    pub fn new(
        subject: &Subject,
        plan: &Plan,
        targets: &Targets,
        learnt: &Learnt,
        approximations: Vec<String>,
    ) -> Self {
        let (train_samples, test_samples) = targets.samples();
        let deviation = learnt.variance.as_ref().map(|variance| {
            let sum: f64 = variance.iter().map(|v| v.sqrt()).sum();
            sum / variance.len() as f64
        });
        let mut answer = Self {
            words: String::new(),
            kind: plan.kind.name().into(),
            train_samples,
            test_samples,
            ridge: plan.ridge,
            time: plan.times.last().copied(),
            jitter: learnt.conditioning.jitter,
            condition: learnt.conditioning.condition,
            commonest: targets.commonest(),
            deviation,
            kernel_seconds: 0.0,
            solve_seconds: 0.0,
            approximations,
            train: learnt.end.train,
            test: learnt.end.test,
        };
        answer.words = answer.sentence(
            &subject.problem.graph.name,
            subject.problem.data_name(),
            targets.width,
        );
        answer
    }

    fn sentence(&self, network: &str, data: &str, outputs: usize) -> String {
        let from = counted(self.train_samples as u64, "sample");
        match self.test.accuracy {
            Some(accuracy) => format!(
                "An infinitely wide {network} learns {data} to {} from {from} ({}); chance is {}.",
                percent(accuracy),
                self.method(),
                share(1.0 / outputs as f64)
            ),
            None => format!(
                "An infinitely wide {network} learns {data} from {from} ({}) up to a mean squared error of {}{}.",
                self.method(),
                self.test.mse.pair(),
                self.test.r_squared.map_or(String::new(), |r| format!(
                    ", which explains {} of the variance",
                    share(r)
                ))
            ),
        }
    }

    /// `NTK, ridgeless`.
    pub fn method(&self) -> String {
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
    pub fn table(&self) -> Table {
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

    /// What to know about the solve, a line each.
    pub fn notes(&self) -> Vec<String> {
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

impl Shown for Answer {
    fn text(&self, directory: &str) -> String {
        let mut text = format!(
            "{}\n\n{}\n",
            self.words,
            self.table().to_text(output::WIDTH)
        );
        for note in self.notes() {
            text += &format!("{note}\n");
        }
        text + &format!(
            "kernels {:.1} s, solve {:.1} s; predictions and report.html in {directory}\n",
            self.kernel_seconds, self.solve_seconds
        )
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
