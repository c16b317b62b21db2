//! Small languages of the command line. Each prints back what it parses.
//!
//! ```
//! use polariscope_graph::{Activation, BiasRule, Nonlinearity, Parametrisation, Shape};
//!
//! for text in ["3x32x32", "48"] {
//!     assert_eq!(text.parse::<Shape>()?.to_string(), text);
//! }
//! for text in ["relu", "gelu", "leaky-relu:0.1", "softplus:5", "identity"] {
//!     assert_eq!(text.parse::<Activation>()?.to_string(), text);
//! }
//! for text in ["relu", "normalised:relu", "normalised:softplus:5"] {
//!     assert_eq!(text.parse::<Nonlinearity>()?.to_string(), text);
//! }
//! for text in ["pytorch", "ntk:1.5,0.3", "mean-field:1,0", "he", "orthogonal"] {
//!     assert_eq!(text.parse::<Parametrisation>()?.to_string(), text);
//! }
//! assert_eq!("zero".parse::<BiasRule>()?.to_string(), "zero");
//!
//! // What is left out takes its default: PyTorch's slope and beta; w_std = 1 and b_std = 0.
//! assert_eq!("leaky-relu".parse::<Activation>()?.to_string(), "leaky-relu:0.01");
//! assert_eq!("softplus".parse::<Activation>()?.to_string(), "softplus:1");
//! assert_eq!("ntk".parse::<Parametrisation>()?.to_string(), "ntk:1,0");
//! assert_eq!("ntk:1.5".parse::<Parametrisation>()?.to_string(), "ntk:1.5,0");
//! # Ok::<(), polariscope_graph::GraphError>(())
//! ```

use std::fmt;
use std::str::FromStr;

use crate::names::{hint, nearest};
use crate::{
    Activation, BiasRule, GraphError, Law, MAX_ACTIVATION, Nonlinearity, Parametrisation, Shape,
};

impl FromStr for Shape {
    type Err = GraphError;

    /// `CxHxW` is an image, a single number a vector.
    fn from_str(text: &str) -> Result<Self, GraphError> {
        let wrong = |problem: String| GraphError::Text {
            kind: "input shape",
            text: text.to_owned(),
            problem,
        };
        let right = "an image is CxHxW such as 3x32x32, a vector one number such as 48";
        let mut sizes = Vec::new();
        for part in text.split('x').take(4) {
            let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            match part.parse::<usize>() {
                Ok(size) if digits && (1..=MAX_ACTIVATION).contains(&size) => sizes.push(size),
                _ if digits => {
                    return Err(wrong(format!(
                        "every size must be between 1 and {MAX_ACTIVATION}; {right}"
                    )));
                }
                _ => return Err(wrong(right.to_owned())),
            }
        }
        let total = sizes.iter().try_fold(1usize, |n, &s| n.checked_mul(s));
        if total.is_none_or(|n| n > MAX_ACTIVATION) {
            return Err(wrong(format!("more than {MAX_ACTIVATION} numbers")));
        }
        match sizes[..] {
            [features] => Ok(Shape::Vector { features }),
            [channels, height, width] => Ok(Shape::Image {
                channels,
                height,
                width,
            }),
            [a, b] => Err(wrong(format!(
                "two sizes are neither an image nor a vector; write 1x{a}x{b} for an image with one channel, {} for a vector",
                a * b
            ))),
            _ => Err(wrong(right.to_owned())),
        }
    }
}

/// Splits `name:a,b` into the name and its numbers.
fn numbers<'t>(kind: &'static str, text: &'t str) -> Result<(&'t str, Vec<f64>), GraphError> {
    let Some((name, list)) = text.split_once(':') else {
        return Ok((text, Vec::new()));
    };
    let parsed = list.split(',').map(|part| part.parse::<f64>().ok());
    let finite = parsed.map(|n| n.filter(|n| n.is_finite()));
    let values: Option<Vec<f64>> = finite.collect();
    let values = values.ok_or_else(|| GraphError::Text {
        kind,
        text: text.to_owned(),
        problem: "what follows the colon must be finite numbers separated by commas".to_owned(),
    })?;
    Ok((name, values))
}

impl Activation {
    /// Every name, in the order of the documentation.
    pub const NAMES: [&'static str; 13] = [
        "identity",
        "relu",
        "leaky-relu",
        "gelu",
        "tanh",
        "erf",
        "sin",
        "sigmoid",
        "silu",
        "hard-sigmoid",
        "hard-swish",
        "softplus",
        "abs",
    ];

    /// The name without parameters.
    pub fn name(&self) -> &'static str {
        match self {
            Activation::Identity => "identity",
            Activation::Relu => "relu",
            Activation::LeakyRelu { .. } => "leaky-relu",
            Activation::Gelu => "gelu",
            Activation::Tanh => "tanh",
            Activation::Erf => "erf",
            Activation::Sin => "sin",
            Activation::Sigmoid => "sigmoid",
            Activation::Silu => "silu",
            Activation::HardSigmoid => "hard-sigmoid",
            Activation::HardSwish => "hard-swish",
            Activation::Softplus { .. } => "softplus",
            Activation::Abs => "abs",
        }
    }
}

impl FromStr for Activation {
    type Err = GraphError;

    /// A name of [`Activation::NAMES`], `leaky-relu:slope` or `softplus:beta`.
    fn from_str(text: &str) -> Result<Self, GraphError> {
        let kind = "activation";
        let wrong = |problem: String| GraphError::Text {
            kind,
            text: text.to_owned(),
            problem,
        };
        let (name, values) = numbers(kind, text)?;
        let plain = match name {
            "leaky-relu" | "softplus" => {
                return match (name, &values[..]) {
                    ("leaky-relu", []) => Ok(Activation::LeakyRelu { slope: 0.01 }),
                    ("leaky-relu", &[slope]) => Ok(Activation::LeakyRelu { slope }),
                    ("softplus", []) => Ok(Activation::Softplus { beta: 1.0 }),
                    ("softplus", &[beta]) if beta > 0.0 => Ok(Activation::Softplus { beta }),
                    ("softplus", [_]) => Err(wrong("beta must be above 0".to_owned())),
                    _ => Err(wrong(format!("{name} takes one number"))),
                };
            }
            "identity" => Activation::Identity,
            "relu" => Activation::Relu,
            "gelu" => Activation::Gelu,
            "tanh" => Activation::Tanh,
            "erf" => Activation::Erf,
            "sin" => Activation::Sin,
            "sigmoid" => Activation::Sigmoid,
            "silu" => Activation::Silu,
            "hard-sigmoid" => Activation::HardSigmoid,
            "hard-swish" => Activation::HardSwish,
            "abs" => Activation::Abs,
            _ => {
                let hint = hint(name, Activation::NAMES);
                return Err(wrong(format!("unknown; {hint}")));
            }
        };
        if !values.is_empty() {
            return Err(wrong(format!("{name} takes no number")));
        }
        Ok(plain)
    }
}

impl fmt::Display for Activation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Activation::LeakyRelu { slope } => write!(f, ":{slope}"),
            Activation::Softplus { beta } => write!(f, ":{beta}"),
            _ => Ok(()),
        }
    }
}

/// Before the name of an activation that is divided by the root of its mean square.
const NORMALISED: &str = "normalised";

impl FromStr for Nonlinearity {
    type Err = GraphError;

    /// An activation, or `normalised:` and an activation.
    fn from_str(text: &str) -> Result<Self, GraphError> {
        let wrong = |problem: String| GraphError::Text {
            kind: "activation",
            text: text.to_owned(),
            problem,
        };
        let (prefix, name) = text.split_once(':').unwrap_or((text, "relu"));
        if prefix != NORMALISED {
            // Of `normalized:relu` the first word is wrong, not what follows it.
            let plain = nearest(prefix, Activation::NAMES).is_some();
            return match nearest(prefix, [NORMALISED]) {
                Some(near) if !plain => {
                    Err(wrong(format!("unknown; did you mean `{near}:{name}`?")))
                }
                _ => text.parse().map(Nonlinearity::Plain),
            };
        }
        if text == NORMALISED {
            return Err(wrong(
                "the name of an activation must follow, as in normalised:relu".to_owned(),
            ));
        }
        let normalised: Activation = name.parse()?;
        let nonlinearity = Nonlinearity::Normalised { normalised };
        let factor = nonlinearity.factor();
        if !(factor.is_finite() && factor > 0.0) {
            return Err(wrong(
                "its mean square is not a finite number above 0".to_owned(),
            ));
        }
        Ok(nonlinearity)
    }
}

impl fmt::Display for Nonlinearity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Nonlinearity::Plain(activation) => activation.fmt(f),
            Nonlinearity::Normalised { normalised } => write!(f, "{NORMALISED}:{normalised}"),
        }
    }
}

impl Parametrisation {
    /// Every name, in the order of the documentation.
    pub const NAMES: [&'static str; 7] = [
        "pytorch",
        "ntk",
        "mean-field",
        "he",
        "lecun",
        "xavier",
        "orthogonal",
    ];
}

impl FromStr for Parametrisation {
    type Err = GraphError;

    /// A name of [`Parametrisation::NAMES`]; `ntk` and `mean-field` take `:w_std,b_std` (1 and 0 when left out).
    fn from_str(text: &str) -> Result<Self, GraphError> {
        let kind = "parametrisation";
        let wrong = |problem: String| GraphError::Text {
            kind,
            text: text.to_owned(),
            problem,
        };
        let (name, values) = numbers(kind, text)?;
        let plain = match name {
            "ntk" | "mean-field" => {
                let (w_std, b_std) = match values[..] {
                    [] => (1.0, 0.0),
                    [w_std] => (w_std, 0.0),
                    [w_std, b_std] => (w_std, b_std),
                    _ => return Err(wrong(format!("{name} takes w_std,b_std"))),
                };
                if w_std <= 0.0 || b_std < 0.0 {
                    return Err(wrong(
                        "w_std must be above 0 and b_std not below 0".to_owned(),
                    ));
                }
                return Ok(match name {
                    "ntk" => Parametrisation::Ntk { w_std, b_std },
                    _ => Parametrisation::MeanField { w_std, b_std },
                });
            }
            "pytorch" => Parametrisation::Pytorch,
            "he" => Parametrisation::He,
            "lecun" => Parametrisation::Lecun,
            "xavier" => Parametrisation::Xavier,
            "orthogonal" => Parametrisation::Orthogonal,
            _ => {
                let hint = hint(name, Parametrisation::NAMES);
                return Err(wrong(format!("unknown; {hint}")));
            }
        };
        if !values.is_empty() {
            return Err(wrong(format!("{name} takes no number")));
        }
        Ok(plain)
    }
}

impl fmt::Display for Parametrisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Parametrisation::Pytorch => f.write_str("pytorch"),
            Parametrisation::Ntk { w_std, b_std } => write!(f, "ntk:{w_std},{b_std}"),
            Parametrisation::MeanField { w_std, b_std } => write!(f, "mean-field:{w_std},{b_std}"),
            Parametrisation::He => f.write_str("he"),
            Parametrisation::Lecun => f.write_str("lecun"),
            Parametrisation::Xavier => f.write_str("xavier"),
            Parametrisation::Orthogonal => f.write_str("orthogonal"),
        }
    }
}

impl FromStr for BiasRule {
    type Err = GraphError;

    /// `default` or `zero`.
    fn from_str(text: &str) -> Result<Self, GraphError> {
        match text {
            "default" => Ok(BiasRule::Default),
            "zero" => Ok(BiasRule::Zero),
            _ => Err(GraphError::Text {
                kind: "bias rule",
                text: text.to_owned(),
                problem: "it is `zero` or `default`".to_owned(),
            }),
        }
    }
}

impl fmt::Display for BiasRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BiasRule::Default => "default",
            BiasRule::Zero => "zero",
        })
    }
}

impl fmt::Display for Law {
    /// In words for tables: `U(±0.115)`, `N(0, 0.02²)`, `0`, `orthogonal`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Law::Constant(value) => write!(f, "{value}"),
            Law::Uniform { bound } => write!(f, "U(±{})", Short(bound)),
            Law::Normal { std } => write!(f, "N(0, {}²)", Short(std)),
            Law::Orthogonal { gain: 1.0 } => f.write_str("orthogonal"),
            Law::Orthogonal { gain } => write!(f, "{} · orthogonal", Short(gain)),
        }
    }
}

/// A number with four significant digits, trailing zeros dropped.
pub(crate) struct Short(pub f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.0.abs();
        if magnitude != 0.0 && !(1e-4..1e6).contains(&magnitude) {
            return write!(f, "{:.3e}", self.0);
        }
        let decimals = match magnitude {
            0.0 => 0,
            _ => (3 - magnitude.log10().floor() as i32).max(0) as usize,
        };
        let text = format!("{:.decimals$}", self.0);
        if text.contains('.') {
            f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
        } else {
            f.write_str(&text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laws_in_words() {
        assert_eq!(
            Law::Uniform {
                bound: 75f64.sqrt().recip()
            }
            .to_string(),
            "U(±0.1155)"
        );
        assert_eq!(Law::Normal { std: 0.02 }.to_string(), "N(0, 0.02²)");
        assert_eq!(Law::Normal { std: 1.0 }.to_string(), "N(0, 1²)");
        assert_eq!(Law::Constant(0.0).to_string(), "0");
        assert_eq!(Short(1234567.0).to_string(), "1.235e6");
        assert_eq!(Short(12345.0).to_string(), "12345");
        assert_eq!(Short(0.00012346).to_string(), "0.0001235");
        assert_eq!(Short(0.0).to_string(), "0");
    }

    #[test]
    fn every_name_parses_and_prints_itself() {
        for name in Activation::NAMES {
            let parsed: Activation = name.parse().unwrap();
            assert_eq!(parsed.name(), name);
            assert_eq!(parsed.to_string().parse::<Activation>().unwrap(), parsed);
        }
        for name in Parametrisation::NAMES {
            let parsed: Parametrisation = name.parse().unwrap();
            assert_eq!(parsed.to_string().split(':').next(), Some(name));
            assert_eq!(
                parsed.to_string().parse::<Parametrisation>().unwrap(),
                parsed
            );
        }
    }

    #[test]
    fn errors_say_what_would_be_right() {
        let shape = |text: &str| text.parse::<Shape>().unwrap_err().to_string();
        assert_eq!(
            shape("3x32"),
            "input shape `3x32`: two sizes are neither an image nor a vector; write 1x3x32 for an image with one channel, 96 for a vector"
        );
        assert!(shape("3x0x32").contains("between 1 and"));
        assert!(shape("3xx32").contains("an image is CxHxW"));
        assert!(shape("").contains("a vector one number"));
        assert!(shape("-3").contains("a vector one number"));
        assert!(shape("+3").contains("a vector one number"));
        assert!(shape("1x2x3x4x5").contains("an image is CxHxW"));
        assert!(shape("1000000x1000000x1000000").contains("more than"));
        assert!(shape("99999999999999999999999").contains("between 1 and"));

        let nonlinearity = |text: &str| text.parse::<Nonlinearity>().unwrap_err().to_string();
        for (typed, meant) in [
            ("normalized:tanh", "normalised:tanh"),
            ("normalised", "normalised:relu"),
            ("normalise", "normalised:relu"),
        ] {
            let message = nonlinearity(typed);
            assert!(message.contains(meant), "{message}");
        }
        assert_eq!(
            nonlinearity("normalised:sofplus:5"),
            "activation `sofplus:5`: unknown; did you mean `softplus`?"
        );
        assert_eq!(
            nonlinearity("rleu"),
            "activation `rleu`: unknown; did you mean `relu`?"
        );
        assert!(nonlinearity("normalised:foo").contains("it is one of identity, relu"));
        assert!(nonlinearity("normalised:leaky-relu:1e200").contains("mean square"));

        let activation = |text: &str| text.parse::<Activation>().unwrap_err().to_string();
        assert_eq!(
            activation("rleu"),
            "activation `rleu`: unknown; did you mean `relu`?"
        );
        assert_eq!(
            activation("relu:2"),
            "activation `relu:2`: relu takes no number"
        );
        assert!(activation("softplus:0").contains("above 0"));
        assert!(activation("softplus:nan").contains("finite"));
        assert!(activation("leaky-relu:1,2").contains("one number"));

        let rule = |text: &str| text.parse::<Parametrisation>().unwrap_err().to_string();
        assert_eq!(
            rule("ntkk"),
            "parametrisation `ntkk`: unknown; did you mean `ntk`?"
        );
        assert!(rule("ntk:-1").contains("above 0"));
        assert!(rule("ntk:1,2,3").contains("w_std,b_std"));
        assert!(rule("he:2").contains("no number"));
        assert!("none".parse::<BiasRule>().is_err());
    }
}
