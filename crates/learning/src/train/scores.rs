//! How well a network does at the end.

use polariscope_report::{Align, Table, counted, pretty};
use polariscope_train::Problem;
use serde::{Deserialize, Serialize};

use super::answer::Point;

/// Losses and accuracies of both sets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Parameters of the network.
    pub parameters: usize,
    /// Samples learnt.
    pub train_samples: usize,
    /// Samples judged by.
    pub test_samples: usize,
    /// Loss on the training set.
    pub train_loss: f64,
    /// Share of training samples put into their class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub train_accuracy: Option<f64>,
    /// Loss on the test set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_loss: Option<f64>,
    /// Share of test samples put into their class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_accuracy: Option<f64>,
}

impl Scores {
    /// Of the last row of a history.
    pub(super) fn new(problem: &Problem, last: &Point) -> Self {
        Self {
            parameters: problem.graph.parameter_count(),
            train_samples: problem.data.train.len(),
            test_samples: problem.data.test.len(),
            train_loss: last.train_loss,
            train_accuracy: last.train_accuracy,
            test_loss: last.test_loss,
            test_accuracy: last.test_accuracy,
        }
    }

    /// `puts 98.50 % of 10,000 test samples into their class`.
    pub(super) fn judgement(&self) -> String {
        match (self.test_accuracy, self.train_accuracy) {
            (Some(test), _) => format!(
                "puts {} % of {} into their class",
                percent(test),
                counted(self.test_samples as u64, "test sample")
            ),
            (None, Some(train)) => format!(
                "puts {} % of its {} into their class",
                percent(train),
                counted(self.train_samples as u64, "training sample")
            ),
            (None, None) => match self.test_loss {
                Some(loss) => format!("has a test loss of {}", pretty(loss)),
                None => format!("has a training loss of {}", pretty(self.train_loss)),
            },
        }
    }

    /// A row a set.
    pub(super) fn table(&self) -> Table {
        use Align::{Left, Right};
        let columns = [
            ("set", Left),
            ("samples", Right),
            ("loss", Right),
            ("accuracy, %", Right),
        ];
        let mut table = Table::new(columns);
        let train = (
            self.train_samples,
            Some(self.train_loss),
            self.train_accuracy,
        );
        let test = (self.test_samples, self.test_loss, self.test_accuracy);
        for (name, (samples, loss, accuracy)) in [("train", train), ("test", test)] {
            if samples > 0 {
                let accuracy = accuracy.map(percent);
                table.push([name.into(), samples.into(), loss.into(), accuracy.into()]);
            }
        }
        table
    }
}

/// A fraction as a percentage to two decimals, so that columns of them align.
pub(super) fn percent(fraction: f64) -> String {
    format!("{:.2}", 100.0 * fraction)
}
