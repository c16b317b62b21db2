//! What is asked: how large the check of the deduced groups is.

use polariscope_lens::Setup;
use serde::{Deserialize, Serialize};

/// What is asked. Kernels and runs are computed in f64 whatever the setup says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Question {
    /// Seed, device.
    pub setup: Setup,
    /// Samples to transform.
    pub samples: usize,
    /// Updates of the training runs that are compared.
    pub steps: usize,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            setup: Setup::default(),
            samples: 8,
            steps: 20,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_the_products_and_go_through_serde() {
        let question = Question::default();
        assert_eq!((question.samples, question.steps), (8, 20));
        let text = toml::to_string(&question).unwrap();
        assert_eq!(toml::from_str::<Question>(&text).unwrap(), question);
        assert_eq!(toml::from_str::<Question>("").unwrap(), question);
    }
}
