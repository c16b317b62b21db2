//! What is asked: which kernels, of which network.

use std::fmt;
use std::str::FromStr;

use polariscope_lens::Setup;
use polariscope_nngp::Wanted;
use serde::{Deserialize, Serialize};

use crate::{Given, Samples};
pub use polariscope_empirical::Outputs;

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Question {
    /// Seed, precision, device.
    pub setup: Setup,
    /// Kernels that are wanted; a finite network has the NTK alone.
    pub kind: Kinds,
    /// The NTK of one finite network instead: number I of those that the seed draws.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finite: Option<u64>,
    /// What becomes of the outputs of a finite network.
    #[serde(skip_serializing_if = "is_mean")]
    pub outputs: Outputs,
}

fn is_mean(outputs: &Outputs) -> bool {
    *outputs == Outputs::Mean
}

/// Whose kernels.
#[derive(Clone, Copy, Debug)]
pub struct Data<'a> {
    /// Samples of the rows.
    pub x1: Samples<'a>,
    /// Samples of the columns; those of the rows where there are none.
    pub x2: Option<Samples<'a>>,
    /// Weights of a finite network, in place of drawn ones.
    pub weights: Option<Given<'a>>,
}

impl<'a> Data<'a> {
    /// Samples alone.
    pub fn of(x: impl Into<Samples<'a>>) -> Self {
        Self {
            x1: x.into(),
            x2: None,
            weights: None,
        }
    }
}

/// One of the two kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// K = E[f f'].
    Nngp,
    /// Θ = E[∇f·∇f'] over the parameters.
    Ntk,
}

impl Kind {
    /// `nngp` or `ntk`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Nngp => "nngp",
            Kind::Ntk => "ntk",
        }
    }

    /// The file of the matrix.
    pub fn file(self) -> &'static str {
        match self {
            Kind::Nngp => "nngp.npy",
            Kind::Ntk => "ntk.npy",
        }
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "nngp" => Ok(Kind::Nngp),
            "ntk" => Ok(Kind::Ntk),
            _ => Err("it is nngp or ntk".into()),
        }
    }
}

/// Kernels that are wanted, each once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Kinds(Vec<Kind>);

impl Default for Kinds {
    fn default() -> Self {
        Kinds(vec![Kind::Nngp, Kind::Ntk])
    }
}

impl From<Kind> for Kinds {
    fn from(kind: Kind) -> Self {
        Kinds(vec![kind])
    }
}

impl FromStr for Kinds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut kinds = Vec::new();
        for name in text.split(',') {
            let kind = name.trim().parse();
            let kind = kind.map_err(|_: String| "it is nngp, ntk or nngp,ntk")?;
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        Ok(Kinds(kinds))
    }
}

impl TryFrom<String> for Kinds {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Kinds> for String {
    fn from(kinds: Kinds) -> Self {
        kinds.to_string()
    }
}

impl fmt::Display for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|k| k.name()).collect();
        f.write_str(&names.join(","))
    }
}

impl Kinds {
    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = Kind> + '_ {
        self.0.iter().copied()
    }

    /// What the engine must compute.
    pub(super) fn wanted(&self) -> Wanted {
        match self.0.contains(&Kind::Ntk) {
            true => Wanted::Both,
            false => Wanted::Nngp,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polariscope_lens::Dtype;

    #[test]
    fn defaults_are_the_products() {
        let question = Question::default();
        assert_eq!(question.kind.to_string(), "nngp,ntk");
        assert_eq!((question.finite, question.outputs), (None, Outputs::Mean));
        assert_eq!(question.setup.dtype, Dtype::F32);
    }

    #[test]
    fn questions_go_through_serde() {
        let asked = Question {
            kind: "ntk".parse().unwrap(),
            finite: Some(3),
            outputs: Outputs::All,
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
        assert!(toml::from_str::<Question>("kind = \"nkt\"").is_err());
    }
}
