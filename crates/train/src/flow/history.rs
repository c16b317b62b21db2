//! The history of a flow: a row every so many accepted steps.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::TrainError;
use crate::codec::{Reader, Writer};

/// Where a flow stands. All numbers are of the predictor F at this time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowRow {
    /// Steps accepted.
    pub step: u64,
    /// Steps refused.
    pub rejected: u64,
    /// Flow time.
    pub time: f64,
    /// Next step to try.
    pub dt: f64,
    /// L on the training set.
    pub train_loss: f64,
    /// Fraction of training samples put into their class; nothing for real targets.
    pub train_accuracy: Option<f64>,
    /// L on the test set, if there is one.
    pub test_loss: Option<f64>,
    /// Fraction of test samples put into their class.
    pub test_accuracy: Option<f64>,
}

/// The table as comma-separated values; every number reads back to the same bits.
pub fn flow_csv(history: &[FlowRow]) -> String {
    let mut text =
        "step,rejected,time,dt,train_loss,train_accuracy,test_loss,test_accuracy\n".to_owned();
    let cell = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
    for row in history {
        let [a, b, c] = [row.train_accuracy, row.test_loss, row.test_accuracy].map(cell);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{},{},{},{},{},{a},{b},{c}",
            row.step, row.rejected, row.time, row.dt, row.train_loss
        );
    }
    text
}

impl FlowRow {
    pub(super) fn write(&self, w: &mut Writer) {
        w.u64(self.step);
        w.u64(self.rejected);
        w.f64(self.time);
        w.f64(self.dt);
        w.f64(self.train_loss);
        w.option(self.train_accuracy);
        w.option(self.test_loss);
        w.option(self.test_accuracy);
    }

    pub(super) fn read(r: &mut Reader) -> Result<Self, TrainError> {
        Ok(FlowRow {
            step: r.u64()?,
            rejected: r.u64()?,
            time: r.f64()?,
            dt: r.f64()?,
            train_loss: r.f64()?,
            train_accuracy: r.option()?,
            test_loss: r.option()?,
            test_accuracy: r.option()?,
        })
    }
}
