//! Seconds by stage.

use std::collections::BTreeMap;
use std::time::Instant;

/// Seconds by stage.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    stages: BTreeMap<String, f64>,
}

impl Clock {
    /// Times a stage.
    pub fn time<R>(&mut self, stage: &str, work: impl FnOnce() -> R) -> R {
        let started = Instant::now();
        let result = work();
        *self.stages.entry(stage.to_string()).or_default() += started.elapsed().as_secs_f64();
        result
    }

    /// What was timed.
    pub fn stages(&self) -> &BTreeMap<String, f64> {
        &self.stages
    }
}
