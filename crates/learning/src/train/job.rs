//! The run, in the precision asked for.

use polariscope_lens::{Dtype, Observer, afford};
use polariscope_train::Problem;

use super::{Answer, Method, Question, descent, flow};
use crate::LearningError;

/// A network learns a data set.
pub fn answer(
    problem: &Problem,
    question: &Question,
    observer: &mut dyn Observer,
) -> Result<Answer, LearningError> {
    Job::new(problem, question)?.answer(observer)
}

/// A question whose every refusal is behind it.
pub struct Job<'a> {
    pub(super) problem: &'a Problem,
    pub(super) question: &'a Question,
    /// Memory that it needs.
    pub(super) bytes: f64,
}

impl<'a> Job<'a> {
    /// Checks the question.
    pub fn new(problem: &'a Problem, question: &'a Question) -> Result<Self, LearningError> {
        question.check()?;
        if let Method::Descent(config) = &question.method {
            config.augment.check(problem.graph.input())?;
        }
        let bytes = question.memory(problem);
        afford(bytes, "choose a smaller network or fewer samples at a time")?;
        Ok(Job {
            problem,
            question,
            bytes,
        })
    }

    /// Trains to the end, from where an interrupted process was.
    pub fn answer(&self, observer: &mut dyn Observer) -> Result<Answer, LearningError> {
        match (&self.question.method, self.question.setup.dtype) {
            (Method::Descent(config), Dtype::F32) => descent::run::<f32>(self, config, observer),
            (Method::Descent(config), Dtype::F64) => descent::run::<f64>(self, config, observer),
            (Method::Flow(asked), Dtype::F32) => flow::run::<f32>(self, asked, observer),
            (Method::Flow(asked), Dtype::F64) => flow::run::<f64>(self, asked, observer),
        }
    }
}
