//! What is asked: whose spectrum, on which spheres, and how it is checked.

use std::fmt;
use std::str::FromStr;

use polariscope_graph::{Activation, Nonlinearity};
use polariscope_lens::{Device, Setup};
use polariscope_meanfield::dual::{Pair, dual};
use serde::{Deserialize, Serialize};

use super::{Kind, Product, Profile, SphereError, System};
use crate::KernelsError;

/// What is asked. Closed forms are computed in f64 on the processor whatever the setup says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Question {
    /// Seed, device.
    pub setup: Setup,
    /// The system.
    #[serde(rename = "architecture")]
    pub system: System,
    /// Its kernel.
    pub k: Function,
    /// Scale of the weights of a network; 1 where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub w_std: Option<f64>,
    /// Mini-patches on the circle.
    pub p: usize,
    /// Dimension of a mini-patch.
    pub d0: usize,
    /// Mini-patches in a patch; 2 where nothing is said, if there are so many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s: Option<usize>,
    /// Points of the Gram matrix; 0 is theory alone.
    pub samples: usize,
    /// Degrees up to this order are listed; as many as the samples can tell apart where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<usize>,
    /// One eigenfunction of each of the first levels is learnt from so many samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub train: Option<usize>,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            setup: Setup::default(),
            system: System::Fcn,
            k: Function::default(),
            w_std: None,
            p: 4,
            d0: 3,
            s: None,
            samples: 2000,
            order: None,
            train: None,
        }
    }
}

/// The function k of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Function {
    /// k(t) = eᵗ, without a network.
    Exp,
    /// Of one hidden layer.
    Hidden {
        /// Between the layers.
        activation: Nonlinearity,
        /// Which of its kernels.
        kind: Kind,
    },
}

impl Default for Function {
    fn default() -> Self {
        Function::Hidden {
            activation: Activation::Relu.into(),
            kind: Kind::Ntk,
        }
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Function::Exp => f.write_str("exp"),
            Function::Hidden { activation, kind } => match kind {
                Kind::Ntk => write!(f, "{activation} NTK"),
                Kind::Nngp => write!(f, "{activation} NNGP"),
            },
        }
    }
}

impl FromStr for Function {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, kind) = match text.rsplit_once(' ') {
            None if text == "exp" => return Ok(Function::Exp),
            Some((name, "NTK")) => (name, Kind::Ntk),
            Some((name, "NNGP")) => (name, Kind::Nngp),
            _ => return Err("it is exp, or an activation and NTK or NNGP".into()),
        };
        let activation: Result<Nonlinearity, _> = name.parse();
        Ok(Function::Hidden {
            activation: activation.map_err(|e| e.to_string())?,
            kind,
        })
    }
}

impl TryFrom<String> for Function {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Function> for String {
    fn from(function: Function) -> Self {
        function.to_string()
    }
}

impl Question {
    /// The same question with nothing left open that has a default; refuses what does not belong together.
    pub fn resolve(&self) -> Result<Self, KernelsError> {
        if self.k == Function::Exp && self.w_std.is_some() {
            return Err(KernelsError::Question(
                "‹kind exp› has no network: leave ‹activation› and ‹w-std› out".into(),
            ));
        }
        if self.setup.device != Device::Cpu {
            return Err(KernelsError::Question(
                "‹device›: closed forms on spheres run on the processor; leave it out".into(),
            ));
        }
        let product = self.product()?;
        Ok(Self {
            w_std: (self.k != Function::Exp).then_some(self.w_std.unwrap_or(1.0)),
            s: Some(product.s()),
            ..self.clone()
        })
    }

    /// The spheres.
    pub fn product(&self) -> Result<Product, SphereError> {
        Product::new(self.p, self.d0, self.s.unwrap_or(2.min(self.p)))
    }

    /// k.
    pub fn profile(&self) -> Profile {
        let Function::Hidden { activation, kind } = self.k else {
            return Profile::exp();
        };
        // A factor of φ is squared in both expectations.
        let square = activation.factor().powi(2);
        let of = move |q, c| {
            let found = dual(
                activation.activation(),
                Pair {
                    q11: q,
                    q12: c,
                    q22: q,
                },
            );
            (square * found.value, square * found.slope)
        };
        Profile::hidden(self.k.to_string(), kind, self.w_std.unwrap_or(1.0), of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_the_products() {
        let question = Question::default().resolve().unwrap();
        assert_eq!((question.p, question.d0, question.s), (4, 3, Some(2)));
        assert_eq!((question.samples, question.w_std), (2000, Some(1.0)));
        assert_eq!(question.k.to_string(), "relu NTK");
        // A patch is no longer than the circle.
        let one = Question { p: 1, ..question };
        assert_eq!(Question { s: None, ..one }.resolve().unwrap().s, Some(1));
    }

    #[test]
    fn questions_go_through_serde() {
        let asked = Question {
            system: System::Gap,
            k: "leaky-relu:0.1 NNGP".parse().unwrap(),
            w_std: Some(1.5),
            s: Some(3),
            order: Some(2),
            train: Some(60),
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
        assert_eq!(
            "normalised:tanh NTK"
                .parse::<Function>()
                .unwrap()
                .to_string(),
            "normalised:tanh NTK"
        );
        assert_eq!("exp".parse(), Ok(Function::Exp));
        assert!("relu".parse::<Function>().is_err());
    }

    /// The factor counts twice: at t = 1 the NNGP kernel of a normalised activation is E φ(Z)² = 1.
    #[test]
    fn normalised_activations_are_scaled() {
        let at = |k: &str, t: f64| {
            let k = k.parse().unwrap();
            Question {
                k,
                ..Question::default()
            }
            .profile()
            .at(t)
        };
        assert!((at("normalised:tanh NNGP", 1.0) - 1.0).abs() < 1e-9);
        let (plain, normalised) = (at("relu NTK", 0.3), at("normalised:relu NTK", 0.3));
        assert!((normalised - 2.0 * plain).abs() < 1e-14);
    }

    #[test]
    fn what_does_not_belong_together_is_refused() {
        let exp = Question {
            k: Function::Exp,
            w_std: Some(2.0),
            ..Question::default()
        };
        let message = exp.resolve().unwrap_err().to_string();
        assert!(message.starts_with("‹kind exp›"), "{message}");
        let patch = Question {
            s: Some(5),
            ..Question::default()
        };
        assert!(patch.resolve().unwrap_err().is_usage());
    }
}
