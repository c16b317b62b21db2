//! What is asked: a loss, how many samples, and how closely products look.

use polariscope_lens::{Precision, Setup};
use polariscope_train::Loss;
use serde::{Deserialize, Serialize};

use crate::LandscapeError;

/// Most parameters whose matrices are computed.
pub const DENSE: usize = 5000;
/// Samples where nothing is said: of matrices, and of products.
const SAMPLES: [usize; 2] = [2000, 128];

/// What is asked. It is computed in f64 whatever the setup says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Question {
    /// Seed of initial weights and probes, device.
    pub setup: Setup,
    /// ℓ.
    pub loss: Loss,
    /// The first so many training samples, or all where there are fewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<usize>,
    /// How products look, for networks whose matrices are not computed.
    #[serde(flatten)]
    pub products: Products,
}

impl Default for Question {
    fn default() -> Self {
        Question {
            setup: Setup::default(),
            loss: Loss::CrossEntropy,
            samples: None,
            products: Products::default(),
        }
    }
}

/// How products look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Products {
    /// Which matrix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matrix: Option<Which>,
    /// Random probes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probes: Option<usize>,
    /// Products of each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<usize>,
    /// Eigenvalues at either end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top: Option<usize>,
}

/// A matrix by its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Which {
    /// H.
    #[default]
    Hessian,
    /// H₀.
    GaussNewton,
    /// H_p.
    Curvature,
    /// (1/n) Σ g gᵀ.
    Fisher,
}

impl Which {
    /// Every name with its matrix, in the order of tables.
    pub const ALL: [(&'static str, Which); 4] = [
        ("hessian", Which::Hessian),
        ("gauss-newton", Which::GaussNewton),
        ("curvature", Which::Curvature),
        ("fisher", Which::Fisher),
    ];

    /// As formulas call it.
    pub fn symbol(self) -> &'static str {
        match self {
            Which::Hessian => "H",
            Which::GaussNewton => "H₀",
            Which::Curvature => "H_p",
            Which::Fisher => "F",
        }
    }

    /// Whether none of its eigenvalues is below 0, for a convex loss.
    pub(super) fn is_semidefinite(self) -> bool {
        matches!(self, Which::GaussNewton | Which::Fisher)
    }
}

impl Products {
    /// Random probes.
    pub fn probes(&self) -> usize {
        self.probes.unwrap_or(10)
    }

    /// Products of each.
    pub fn steps(&self) -> usize {
        self.steps.unwrap_or(40)
    }

    /// Eigenvalues at either end.
    pub fn top(&self) -> usize {
        self.top.unwrap_or(10)
    }
}

impl Question {
    /// Samples that are used of `all`, for a network of so many parameters.
    pub fn samples(&self, parameters: usize, all: usize) -> usize {
        let own = SAMPLES[usize::from(parameters > DENSE)];
        self.samples.unwrap_or(own).min(all)
    }

    /// Refuses what makes no sense for a network of so many parameters.
    pub fn check(&self, parameters: usize) -> Result<(), LandscapeError> {
        self.loss.check()?;
        let refuse = |message: String| Err(LandscapeError::Question(message));
        if self.setup.precision == Precision::Fast {
            return refuse(
                "‹precision fast› is of f32, and curvatures are computed in f64; leave it out"
                    .into(),
            );
        }
        let products = &self.products;
        if parameters <= DENSE {
            for (name, given) in [
                ("matrix", products.matrix.is_some()),
                ("probes", products.probes.is_some()),
                ("steps", products.steps.is_some()),
                ("top", products.top.is_some()),
            ] {
                if given {
                    return refuse(format!(
                        "‹{name}› is for networks of more than {DENSE} parameters; of {parameters} every eigenvalue of \
                         every matrix is computed: leave it out"
                    ));
                }
            }
        }
        match products.probes() {
            0 | 1 => refuse("‹probes› must be at least 2: one has no error".into()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_go_through_serde() {
        let asked = Question {
            loss: Loss::Hinge {
                power: 2.0,
                margin: 0.5,
            },
            samples: Some(7),
            products: Products {
                matrix: Some(Which::GaussNewton),
                top: Some(3),
                ..Products::default()
            },
            ..Question::default()
        };
        for question in [Question::default(), asked] {
            let text = toml::to_string(&question).unwrap();
            assert_eq!(
                toml::from_str::<Question>(&text).unwrap(),
                question,
                "{text}"
            );
        }
        assert_eq!(
            toml::from_str::<Question>("").unwrap().loss,
            Loss::CrossEntropy
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let products = Products {
            probes: Some(5),
            ..Products::default()
        };
        let question = Question {
            products,
            ..Question::default()
        };
        assert!(question.check(DENSE + 1).is_ok() && Question::default().check(DENSE).is_ok());
        let refused = question.check(DENSE).unwrap_err();
        assert!(refused.is_usage() && refused.to_string().contains("‹probes›"));
        let one = Products {
            probes: Some(1),
            ..Products::default()
        };
        assert!(
            Question {
                products: one,
                ..Question::default()
            }
            .check(DENSE + 1)
            .is_err()
        );
    }

    #[test]
    fn samples_are_those_that_there_are() {
        let question = Question::default();
        assert_eq!(
            (question.samples(10, 50), question.samples(DENSE + 1, 500)),
            (50, 128)
        );
        assert_eq!(
            Question {
                samples: Some(3),
                ..question
            }
            .samples(10, 50),
            3
        );
    }
}
