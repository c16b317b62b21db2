//! What is asked: how weights move, and what is looked at beside.

use polariscope_lens::{Precision, Setup};
use polariscope_train::{Config, FlowConfig, Problem};
use serde::{Deserialize, Serialize};

use crate::LearningError;

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Question {
    /// Precision and device; the seeds of a run are those of its method.
    pub setup: Setup,
    /// Training samples on which the tangent kernel is followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ntk: Option<usize>,
    /// How weights move.
    #[serde(rename = "training")]
    pub method: Method,
}

/// How weights move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Method {
    /// SGD or Adam, step by step.
    Descent(Config),
    /// Gradient flow.
    Flow(FlowRun),
}

impl Default for Method {
    fn default() -> Self {
        Method::Descent(Config::default())
    }
}

/// A gradient flow from random weights.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FlowRun {
    /// Seed of the initial weights.
    #[serde(default)]
    pub init_seed: u64,
    /// Its settings.
    #[serde(flatten)]
    pub config: FlowConfig,
    /// What tells it from a descent in a file.
    optimiser: Rule,
}

impl FlowRun {
    /// From the weights that the seed draws.
    pub fn new(config: FlowConfig, init_seed: u64) -> Self {
        FlowRun {
            init_seed,
            config,
            optimiser: Rule::Flow,
        }
    }
}

/// As the optimisers of a descent stand in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Rule {
    #[default]
    Flow,
}

impl Question {
    /// Refuses what does not belong together.
    pub fn check(&self) -> Result<(), LearningError> {
        let refuse = |message: &str| Err(LearningError::Question(message.into()));
        match &self.method {
            Method::Descent(config) => Ok(config.check()?),
            Method::Flow(_) if self.setup.precision == Precision::Fast => refuse(
                "‹precision fast›: gradient flow goes by small differences of gradients; leave it out",
            ),
            Method::Flow(run) => Ok(run.config.check()?),
        }
    }

    /// Bytes that it needs.
    pub(super) fn memory(&self, problem: &Problem) -> f64 {
        let samples = problem.data.train.len();
        let (copies, batch) = match &self.method {
            // Weights, gradient, moments.
            Method::Descent(config) => (
                2 + config.optimiser.moments(),
                config.batch_size.on(samples),
            ),
            // Weights here and there, three gradients.
            Method::Flow(_) => (5, samples),
        };
        problem.memory(self.setup.dtype.size(), copies, batch)
    }
}

#[cfg(test)]
mod tests {
    use polariscope_train::{BatchSize, Loss};

    use super::*;

    #[test]
    fn questions_go_through_serde() {
        let flow = FlowConfig {
            loss: Loss::Sse,
            margin: f64::INFINITY,
            ..FlowConfig::default()
        };
        let adam = Config {
            batch_size: BatchSize::Full,
            ..Config::adam()
        };
        for method in [
            Method::default(),
            Method::Descent(adam),
            Method::Flow(FlowRun::new(flow, 3)),
        ] {
            let question = Question {
                method,
                ntk: Some(5),
                ..Question::default()
            };
            let text = toml::to_string(&question).unwrap();
            let read = toml::from_str::<Question>(&text);
            assert_eq!(read.unwrap(), question, "{text}");
        }
    }

    #[test]
    fn a_flow_stands_in_a_file_as_an_optimiser() {
        let method = Method::Flow(FlowRun::new(FlowConfig::default(), 3));
        let table = toml::Table::try_from(method).unwrap();
        assert_eq!(table["optimiser"]["kind"].as_str(), Some("flow"));
        assert_eq!(table["init-seed"].as_integer(), Some(3));
        assert_eq!(table["max-steps"].as_integer(), Some(100_000));
    }

    #[test]
    fn what_does_not_belong_together_is_refused() {
        let flow = Question {
            method: Method::Flow(FlowRun::default()),
            ..Question::default()
        };
        assert!(flow.check().is_ok() && Question::default().check().is_ok());
        let mut fast = flow.clone();
        fast.setup.precision = Precision::Fast;
        let refused = fast.check().unwrap_err().to_string();
        assert!(refused.contains("‹precision fast›"), "{refused}");
    }
}
