//! How well a network does at the end.

use polariscope_data::Labels;
use polariscope_report::{Align, Table, counted, pretty};
use polariscope_train::{AtChance, Problem};
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
    /// That accuracy, if guessing explains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_chance: Option<AtChance>,
}

/// Labels of each class.
fn counts(labels: &Labels) -> Vec<u64> {
    let Labels::Classes(classes) = labels else {
        return Vec::new();
    };
    let mut counts = vec![0; classes.iter().max().map_or(0, |&c| c as usize + 1)];
    classes.iter().for_each(|&c| counts[c as usize] += 1);
    counts
}

impl Scores {
    /// Of the last row of a history.
    pub(super) fn new(problem: &Problem, last: &Point) -> Self {
        let (train, test) = (&problem.data.train, &problem.data.test);
        let chance = |accuracy| AtChance::of(accuracy, &counts(&train.y), &counts(&test.y));
        Self {
            parameters: problem.graph.parameter_count(),
            train_samples: train.len(),
            test_samples: test.len(),
            train_loss: last.train_loss,
            train_accuracy: last.train_accuracy,
            test_loss: last.test_loss,
            test_accuracy: last.test_accuracy,
            at_chance: last.test_accuracy.and_then(chance),
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

    /// What is to be said of the accuracy, in sentences with a space before each.
    pub(super) fn warning(&self) -> String {
        let chance = self.at_chance.as_ref();
        chance.map_or(String::new(), |c| format!(" {}", c.words()))
    }

    /// A row per set.
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

#[cfg(test)]
mod tests {
    use polariscope_data::Dataset;
    use polariscope_graph::{ZooOptions, zoo};

    use super::*;

    /// 40 of each class to judge by: chance is a half, two standard errors are 0.11.
    #[test]
    fn chance_is_told_and_learning_is_not() {
        let data = Dataset::load("linear?shape=4&train=40&test=80&balanced").unwrap();
        let options = ZooOptions {
            input: Some(data.shape),
            outputs: Some(1),
            ..ZooOptions::default()
        };
        let graph = zoo("logreg", &options).unwrap();
        let problem = Problem { graph, data };
        let scores = |accuracy: f64| {
            let last = Point {
                x: 1.0,
                train_loss: 0.5,
                train_accuracy: Some(1.0),
                test_loss: Some(0.7),
                test_accuracy: Some(accuracy),
            };
            Scores::new(&problem, &last)
        };
        let guessed = scores(0.6);
        assert!(
            guessed
                .warning()
                .contains("no learning can be seen: 60.0\u{a0}%")
        );
        let learnt = scores(0.7);
        assert!(learnt.warning().is_empty() && learnt.at_chance.is_none());
    }
}
