//! The history of a run: a row per epoch.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

/// One row.
///
/// Training numbers are means over the samples of the epochs since the last row as the run met them: each
/// batch before its update, in training mode. Test numbers are of the weights at the end of the epoch, in
/// evaluation mode. (`sse` is a sum where the others are means.)
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Epochs done, from 1.
    pub epoch: u64,
    /// Loss on the training set.
    pub train_loss: f64,
    /// Fraction of training samples put into their class; nothing for real targets.
    pub train_accuracy: Option<f64>,
    /// Loss on the test set, if there is one.
    pub test_loss: Option<f64>,
    /// Fraction of test samples put into their class.
    pub test_accuracy: Option<f64>,
}

/// The table as comma-separated values; every number reads back to the same bits.
pub fn csv(history: &[Row]) -> String {
    let mut text = "epoch,train_loss,train_accuracy,test_loss,test_accuracy\n".to_owned();
    let cell = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
    for row in history {
        let [b, c, d] = [row.train_accuracy, row.test_loss, row.test_accuracy].map(cell);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{},{},{b},{c},{d}", row.epoch, row.train_loss);
    }
    text
}
