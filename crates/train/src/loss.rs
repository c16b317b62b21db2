//! Losses of an output f (N×K) and its targets y, as expressions: derivatives of any order exist.
//!
//! | loss | of a sample |
//! |---|---|
//! | `sse` | ½ Σ_k (f_k − y_k)² |
//! | `mse` | (1/K) Σ_k (f_k − y_k)² |
//! | `cross-entropy`, K = 1, y = ±1 | ln(1 + e^{−y f}) |
//! | `cross-entropy`, K > 1, Σ_k y_k = 1 | Σ_k y_k (ln Σ_j e^{f_j} − f_k) |
//! | `hinge:γ,ε` | (1/K) Σ_k max(0, ε − y_k f_k)^γ |
//! | `soft-hinge:β,ε` | (1/K) Σ_k ln(1 + e^{β(ε − y_k f_k)})/β |
//!
//! The loss of a batch is the mean over its samples, that of `sse` the sum.
//!
//! A class becomes y = +1 (class 1) or −1 (class 0) for one output; for more, the class's output is 1 and
//! the others are 0, or −1 for the two hinges.

use std::fmt;
use std::str::FromStr;

use polariscope_diff::{Function, Id, Real, Trace};
use polariscope_graph::nearest;
use serde::{Deserialize, Serialize};

use crate::TrainError;

/// What training makes small. Prints back what it parses: `hinge:2,0.5`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Loss {
    /// Half the sum of squares.
    Sse,
    /// Mean square.
    Mse,
    /// Negative logarithm of the probability given to the class.
    CrossEntropy,
    /// max(0, margin − y f)^power.
    Hinge {
        /// γ ≥ 1.
        power: f64,
        /// ε.
        margin: f64,
    },
    /// softplus(margin − y f).
    SoftHinge {
        /// Sharpness of the softplus.
        beta: f64,
        /// ε.
        margin: f64,
    },
}

impl Loss {
    /// Every name, in the order of the documentation.
    pub const NAMES: [&'static str; 5] = ["sse", "mse", "cross-entropy", "hinge", "soft-hinge"];

    /// Checks the numbers.
    pub fn check(&self) -> Result<(), TrainError> {
        let (setting, value, right, wanted) = match *self {
            Loss::Hinge { power, .. } if !(power.is_finite() && power >= 1.0) => {
                ("hinge power", power, false, "a finite number of at least 1")
            }
            Loss::SoftHinge { beta, .. } if !(beta.is_finite() && beta > 0.0) => {
                ("soft-hinge beta", beta, false, "a finite number above 0")
            }
            Loss::Hinge { margin, .. } | Loss::SoftHinge { margin, .. } => (
                "hinge margin",
                margin,
                margin.is_finite(),
                "a finite number",
            ),
            Loss::Sse | Loss::Mse | Loss::CrossEntropy => ("", 0.0, true, ""),
        };
        match right {
            true => Ok(()),
            false => Err(TrainError::Setting {
                setting,
                value,
                wanted,
            }),
        }
    }

    /// What the sum over samples is multiplied with in a batch of `samples`.
    pub fn weight(&self, samples: usize) -> f64 {
        match self {
            Loss::Sse => 1.0,
            _ => 1.0 / samples.max(1) as f64,
        }
    }

    /// The loss of outputs `f` with targets `y`, both n×K, as part of a batch of `samples` (n of them are here); shape `[1]`.
    pub fn expression(&self, t: &mut Trace, f: Id, y: Id, samples: usize) -> Id {
        let outputs = t.shape(f)[1];
        let mean = self.weight(samples) / outputs as f64;
        let (terms, weight) = match *self {
            Loss::Sse => (square_error(t, f, y), 0.5),
            Loss::Mse => (square_error(t, f, y), mean),
            Loss::CrossEntropy if outputs == 1 => {
                let yf = t.mul(y, f);
                let minus = t.scale(yf, -1.0);
                (t.map(Function::Softplus(1.0.into()), minus), mean)
            }
            Loss::CrossEntropy => {
                let log = t.log_sum_exp(f);
                let mass = t.sum(y, &[1]);
                let first = t.mul(mass, log);
                let yf = t.mul(y, f);
                let second = t.sum(yf, &[1]);
                (t.sub(first, second), self.weight(samples))
            }
            Loss::Hinge { power, margin } => {
                let gap = gap(t, f, y, margin);
                (hinge(t, gap, power), mean)
            }
            Loss::SoftHinge { beta, margin } => {
                let gap = gap(t, f, y, margin);
                (t.map(Function::Softplus(beta.into()), gap), mean)
            }
        };
        let sum = t.total(terms);
        t.scale(sum, weight)
    }

    /// Writes the targets of a class for `row.len()` outputs.
    pub fn targets<T: Real>(&self, class: u32, row: &mut [T]) {
        let off = match self {
            _ if row.len() == 1 => -T::ONE,
            Loss::Hinge { .. } | Loss::SoftHinge { .. } => -T::ONE,
            Loss::Sse | Loss::Mse | Loss::CrossEntropy => T::ZERO,
        };
        // One output stands for class 1.
        let first = u32::from(row.len() == 1);
        for (k, y) in (first..).zip(row) {
            *y = if k == class { T::ONE } else { off };
        }
    }
}

fn square_error(t: &mut Trace, f: Id, y: Id) -> Id {
    let error = t.sub(f, y);
    t.map(Function::Pow(2.0.into()), error)
}

/// D = margin − y f
fn gap(t: &mut Trace, f: Id, y: Id, margin: f64) -> Id {
    let yf = t.mul(y, f);
    let margin = t.constant_like(margin, yf);
    t.sub(margin, yf)
}

/// max(0, D)^power.
fn hinge(t: &mut Trace, gap: Id, power: f64) -> Id {
    let positive = t.map(Function::Relu, gap);
    if power.fract() == 0.0 {
        return t.map(Function::Pow(power.into()), positive);
    }
    // Derivatives of x^γ beyond the γ-th are infinite at 0: where D ≤ 0, take the power of 1 and then 0 of it.
    let on = t.map(Function::Step, gap);
    let one = t.constant_like(1.0, on);
    let off = t.sub(one, on);
    let base = t.add(positive, off);
    let raised = t.map(Function::Pow(power.into()), base);
    t.mul(on, raised)
}

impl FromStr for Loss {
    type Err = TrainError;

    /// A name of [`Loss::NAMES`]; `hinge:power,margin` (1 and 1 when left out), `soft-hinge:beta,margin` (20 and 1).
    fn from_str(text: &str) -> Result<Self, TrainError> {
        let wrong = |problem: String| TrainError::Loss {
            text: text
                .chars()
                .take(60)
                .collect::<String>()
                .escape_debug()
                .to_string(),
            problem,
        };
        let (name, list) = text.split_once(':').unwrap_or((text, ""));
        let numbers: Option<Vec<f64>> = match list {
            "" => Some(Vec::new()),
            _ => list.split(',').map(|n| n.parse().ok()).collect(),
        };
        let numbers = numbers.ok_or_else(|| {
            wrong("what follows the colon must be numbers separated by commas".to_owned())
        })?;
        let two = |first: f64| match numbers[..] {
            [] => Ok((first, 1.0)),
            [a] => Ok((a, 1.0)),
            [a, b] => Ok((a, b)),
            _ => Err(wrong(format!("{name} takes at most two numbers"))),
        };
        let loss = match name {
            "hinge" => two(1.0).map(|(power, margin)| Loss::Hinge { power, margin })?,
            "soft-hinge" => two(20.0).map(|(beta, margin)| Loss::SoftHinge { beta, margin })?,
            "sse" | "mse" | "cross-entropy" if !numbers.is_empty() => {
                return Err(wrong(format!("{name} takes no number")));
            }
            "sse" => Loss::Sse,
            "mse" => Loss::Mse,
            "cross-entropy" => Loss::CrossEntropy,
            _ => {
                return Err(wrong(match nearest(name, Loss::NAMES) {
                    Some(near) => format!("unknown; did you mean `{near}`?"),
                    None => format!("unknown; it is one of {}", Loss::NAMES.join(", ")),
                }));
            }
        };
        loss.check().map(|()| loss)
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Loss::Sse => f.write_str("sse"),
            Loss::Mse => f.write_str("mse"),
            Loss::CrossEntropy => f.write_str("cross-entropy"),
            Loss::Hinge { power, margin } => write!(f, "hinge:{power},{margin}"),
            Loss::SoftHinge { beta, margin } => write!(f, "soft-hinge:{beta},{margin}"),
        }
    }
}

impl TryFrom<String> for Loss {
    type Error = TrainError;

    fn try_from(text: String) -> Result<Self, TrainError> {
        text.parse()
    }
}

impl From<Loss> for String {
    fn from(loss: Loss) -> String {
        loss.to_string()
    }
}
