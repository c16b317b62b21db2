//! Why an experiment is not done, whatever it measures.

use std::error::Error;

use polariscope_lens::Stopped;
use thiserror::Error;

/// Why an experiment is not done. Messages name settings as `‹name value›`.
#[derive(Debug, Error)]
pub enum Failure {
    /// What was asked cannot be done; something else can.
    #[error(transparent)]
    Asked(Box<dyn Error + Send + Sync>),
    /// The work failed.
    #[error(transparent)]
    Work(Box<dyn Error + Send + Sync>),
    /// The table of an interrupted process cannot be read.
    #[error("the checkpoint cannot be read: {0}; ‹force› starts over")]
    Kept(Box<dyn Error + Send + Sync>),
    /// The observer had it stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl Failure {
    /// Something else should be asked.
    pub fn asked(why: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Failure::Asked(why.into())
    }
}
