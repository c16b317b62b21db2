//! What is asked: which kernel, of how many samples.

use polariscope_lens::Setup;
use serde::{Deserialize, Serialize};

use crate::kernel::Kind;

/// What is asked. Kernels are computed in f64 whatever the setup says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Question {
    /// Device.
    pub setup: Setup,
    /// Which kernel.
    pub kind: Kind,
    /// The first so many samples, or all where there are fewer.
    pub samples: usize,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            setup: Setup::default(),
            kind: Kind::Ntk,
            samples: 2000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_the_products_and_go_through_serde() {
        let question = Question::default();
        assert_eq!((question.kind, question.samples), (Kind::Ntk, 2000));
        let text = toml::to_string(&question).unwrap();
        assert_eq!(toml::from_str::<Question>(&text).unwrap(), question);
        assert_eq!(toml::from_str::<Question>("").unwrap(), question);
    }
}
