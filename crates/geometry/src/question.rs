//! What is asked: which scalar, where, by which derivative, by which method.
//!
//! Each prints back what it parses:
//!
//! ```
//! use polariscope_geometry::{Gradient, Method, Output};
//! for text in ["mean", "all", "0", "7"] {
//!     assert_eq!(text.parse::<Output>()?.to_string(), text);
//! }
//! for text in ["coherent", "local", "dipole:100", "dipole:0.5"] {
//!     assert_eq!(text.parse::<Gradient>()?.to_string(), text);
//! }
//! for text in ["exact", "meanfield", "kernel", "sample", "mixed"] {
//!     assert_eq!(text.parse::<Method>()?.to_string(), text);
//! }
//! # Ok::<(), String>(())
//! ```

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use polariscope_random::Stream;
use serde::{Deserialize, Serialize};

use crate::GeometryError;

/// The scalar whose gradient is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Output {
    /// Output k.
    Logit(usize),
    /// Mean of the outputs.
    Mean,
    /// Every output: G is the sum of their geometries.
    All,
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Output::Logit(k) => write!(f, "{k}"),
            Output::Mean => f.write_str("mean"),
            Output::All => f.write_str("all"),
        }
    }
}

impl FromStr for Output {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "mean" => Ok(Output::Mean),
            "all" => Ok(Output::All),
            _ => text
                .parse()
                .map(Output::Logit)
                .map_err(|_| "it is mean, all or the number of an output, from 0".to_string()),
        }
    }
}

/// Which geometry: whose gradients are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Gradient {
    /// Those at two independent points: E_θ[ḡ ḡᵀ] with ḡ = E_x ∇f(x), what of the gradient all inputs share.
    Coherent,
    /// Both at the same point: E_θ E_x[∇f ∇fᵀ].
    Local,
    /// Central differences (f(x + h eᵢ) − f(x − h eᵢ)) / 2h, the probing radius of the NAD paper.
    Dipole {
        /// Step.
        h: f64,
    },
}

impl fmt::Display for Gradient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Gradient::Coherent => f.write_str("coherent"),
            Gradient::Local => f.write_str("local"),
            Gradient::Dipole { h } => write!(f, "dipole:{h}"),
        }
    }
}

impl From<Gradient> for String {
    fn from(gradient: Gradient) -> String {
        gradient.to_string()
    }
}

impl TryFrom<String> for Gradient {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Gradient {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            "it is coherent, local or dipole:H with a step H above 0, such as dipole:100"
                .to_string()
        };
        match text {
            "coherent" => Ok(Gradient::Coherent),
            // `autodiff` is what local was called.
            "local" | "autodiff" => Ok(Gradient::Local),
            "dipole" => Ok(Gradient::Dipole { h: 100.0 }),
            _ => {
                let step = text.strip_prefix("dipole:").ok_or_else(wrong)?;
                let h = step
                    .parse()
                    .ok()
                    .filter(|h: &f64| h.is_finite() && *h > 0.0);
                h.map(|h| Gradient::Dipole { h }).ok_or_else(wrong)
            }
        }
    }
}

/// How G is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Covariance propagation, exact at any width where the network is linear around the probe.
    Exact,
    /// Infinite width with masks taken independent of weights.
    MeanField,
    /// ∂x∂x'K of the kernel K of the infinitely wide network: exact there.
    Kernel,
    /// Random networks, one gradient or more each.
    Sample,
    /// `E[MᵀM]` with M = ∇²_{θ,x} f (Algorithm 2 of the NAD paper, corrected).
    Mixed,
}

impl Method {
    /// Every method, as typed.
    pub const NAMES: [&'static str; 5] = ["exact", "meanfield", "kernel", "sample", "mixed"];
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Method::Exact => "exact",
            Method::MeanField => "meanfield",
            Method::Kernel => "kernel",
            Method::Sample => "sample",
            Method::Mixed => "mixed",
        })
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "exact" => Ok(Method::Exact),
            "meanfield" => Ok(Method::MeanField),
            "kernel" => Ok(Method::Kernel),
            "sample" => Ok(Method::Sample),
            "mixed" => Ok(Method::Mixed),
            _ => Err(format!("it is one of {}", Method::NAMES.join(", "))),
        }
    }
}

/// The stream of a network's points.
pub(crate) const PROBES: &str = "probes";

/// The law of the inputs at which gradients are taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Probe {
    /// x = 0.
    Zero,
    /// x ~ N(0, σ²I), other points for every network.
    Gauss {
        /// σ.
        sigma: f64,
    },
    /// Points of a list: all of them, or as many as asked, chosen anew for every network.
    Points {
        /// Where they came from, in words.
        source: String,
        /// N × D.
        x: Arc<[f64]>,
    },
}

impl Probe {
    /// Refuses points that are not samples of `dim` numbers.
    pub(crate) fn check(&self, dim: usize) -> Result<(), GeometryError> {
        match self {
            Probe::Points { x, source } if x.is_empty() || !x.len().is_multiple_of(dim) => {
                Err(GeometryError::Question(format!(
                    "{source}: its samples do not have the {dim} numbers of the input"
                )))
            }
            Probe::Zero | Probe::Gauss { .. } | Probe::Points { .. } => Ok(()),
        }
    }

    /// The numbers of given points as bits, to tell one list from another: those of f32 where it holds the number.
    pub fn bits(&self) -> Option<Vec<u64>> {
        let bits = |&x: &f64| match x as f32 {
            narrow if f64::from(narrow) == x => u64::from(narrow.to_bits()),
            _ => x.to_bits(),
        };
        match self {
            Probe::Points { x, .. } => Some(x.iter().map(bits).collect()),
            Probe::Zero | Probe::Gauss { .. } => None,
        }
    }

    /// How many different points there are, of `wanted` ones.
    pub(crate) fn count(&self, wanted: usize, dim: usize) -> usize {
        match self {
            Probe::Zero => 1,
            Probe::Gauss { .. } => wanted,
            Probe::Points { x, .. } => wanted.min(x.len() / dim),
        }
    }

    /// The points of network `index`, [`Probe::count`] × dim.
    pub(crate) fn points(&self, wanted: usize, dim: usize, seed: u64, index: u64) -> Vec<f32> {
        let count = self.count(wanted, dim);
        let stream = Stream::new(seed, index, PROBES);
        match self {
            Probe::Zero => vec![0.0; dim],
            Probe::Gauss { sigma } => {
                let mut x = vec![0.0; count * dim];
                stream.normal(*sigma as f32, &mut x);
                x
            }
            Probe::Points { x, .. } if count == x.len() / dim => {
                x.iter().map(|&x| x as f32).collect()
            }
            Probe::Points { x, .. } => {
                let chosen = stream.cursor().permutation(x.len() / dim);
                let point = |&i: &usize| x[i * dim..][..dim].iter().map(|&x| x as f32);
                chosen[..count].iter().flat_map(point).collect()
            }
        }
    }
}

impl FromStr for Probe {
    type Err = String;

    /// Those without points: `zero`, `gauss:SIGMA`.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "zero" => Ok(Probe::Zero),
            None if text == "gauss" => Ok(Probe::Gauss { sigma: 1.0 }),
            Some(("gauss", sigma)) => {
                let sigma = sigma
                    .parse()
                    .ok()
                    .filter(|s: &f64| s.is_finite() && *s > 0.0);
                sigma
                    .map(|sigma| Probe::Gauss { sigma })
                    .ok_or_else(|| "sigma must be a number above 0, as in gauss:1".into())
            }
            _ => Err("it is zero or gauss:SIGMA".into()),
        }
    }
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Probe::Zero => f.write_str("zero"),
            Probe::Gauss { sigma } => write!(f, "gauss:{sigma}"),
            Probe::Points { source, .. } => f.write_str(source),
        }
    }
}
