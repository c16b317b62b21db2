//! What is asked: which kernel learns, with which ridge, for how long.

use polariscope_lens::Setup;
use polariscope_nngp::Wanted;
use serde::{Deserialize, Serialize};

use crate::KernelsError;
use crate::kernel::Kind;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Question {
    /// Seed, precision, device.
    pub setup: Setup,
    /// Which kernel learns: the NTK by gradient descent, the NNGP by Bayesian inference.
    pub kind: Kind,
    /// λ; 0 is ridgeless.
    pub ridge: f64,
    /// Training times of the NTK; predictions are of the last, and of the limit of long training where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub time: Vec<f64>,
    /// Learning rate that times are multiplied by.
    #[serde(skip_serializing_if = "is_one")]
    pub rate: f64,
}

fn is_one(rate: &f64) -> bool {
    *rate == 1.0
}

impl Default for Question {
    fn default() -> Self {
        Self {
            setup: Setup::default(),
            kind: Kind::Ntk,
            ridge: 0.0,
            time: Vec::new(),
            rate: 1.0,
        }
    }
}

impl Question {
    /// The same question with times ηt in increasing order, each once; refuses what does not belong together.
    pub fn resolve(&self) -> Result<Self, KernelsError> {
        if self.kind == Kind::Nngp && !self.time.is_empty() {
            return Err(KernelsError::Question(
                "‹time› belongs to ‹kind ntk›: the posterior of nngp is inferred, not trained for a time".into(),
            ));
        }
        let mut time: Vec<f64> = self.time.iter().map(|t| self.rate * t).collect();
        if let Some(i) = time.iter().position(|t| !(t.is_finite() && *t > 0.0)) {
            return Err(KernelsError::Question(format!(
                "‹time {}› times ‹rate {}› is out of range",
                self.time[i], self.rate
            )));
        }
        time.sort_by(f64::total_cmp);
        time.dedup();
        Ok(Self {
            time,
            rate: 1.0,
            ..self.clone()
        })
    }

    /// What the engine must compute.
    pub(super) fn wanted(&self) -> Wanted {
        match self.kind {
            Kind::Ntk => Wanted::Both,
            Kind::Nngp => Wanted::Nngp,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_the_products() {
        let question = Question::default();
        assert_eq!((question.kind, question.ridge), (Kind::Ntk, 0.0));
        assert!(question.time.is_empty() && question.rate == 1.0);
    }

    #[test]
    fn questions_go_through_serde() {
        let asked = Question {
            kind: Kind::Nngp,
            ridge: 0.1,
            time: vec![0.5, 2.0],
            rate: 0.5,
            ..Question::default()
        };
        for question in [asked, Question::default()] {
            let text = toml::to_string(&question).unwrap();
            assert_eq!(
                toml::from_str::<Question>(&text).unwrap(),
                question,
                "{text}"
            );
        }
    }

    #[test]
    fn times_are_put_in_order() {
        let of = |time: &[f64], rate| {
            let question = Question {
                time: time.to_vec(),
                rate,
                ..Question::default()
            };
            question.resolve()
        };
        let resolved = of(&[0.25, 0.01, 0.25], 2.0).unwrap();
        assert_eq!((resolved.time, resolved.rate), (vec![0.02, 0.5], 1.0));
        let refused = of(&[1e300], 1e300).unwrap_err().to_string();
        assert!(refused.contains("‹time 1"), "{refused}");
    }
}
