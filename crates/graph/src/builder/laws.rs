//! Which law and which forward scale a parametrisation gives a weight or a bias.
//!
//! With n = fan_in (for a convolution in/groups·kh·kw; over a group in·|G|·k², or in·k² where it lifts) and m = fan_out (out·kh·kw;
//! out·|G|·k²):
//!
//! | | weight | times | bias | times |
//! |---|---|---|---|---|
//! | `pytorch` | U(±1/√n) | 1 | U(±1/√n) | 1 |
//! | `ntk` | N(0,1) | w_std/√n | N(0,1) | b_std |
//! | `mean-field` | N(0,1) | w_std/√n, last dense layer w_std/n | N(0,1) | b_std |
//! | `he` | N(0, 2/n) | 1 | 0 | 1 |
//! | `lecun` | N(0, 1/n) | 1 | 0 | 1 |
//! | `xavier` | U(±√(6/(n+m))) | 1 | 0 | 1 |
//! | `orthogonal` | orthogonal, rows = outputs | 1 | 0 | 1 |
//!
//! Norms start at γ = 1, β = 0, layer scales at their `initial`, class tokens at 0 and position embeddings at N(0, 0.02²) under all of them.

use serde::{Deserialize, Serialize};

use super::Builder;
use crate::{Law, Op, Parametrisation};

/// What sets the law of biases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BiasRule {
    /// The parametrisation does.
    #[default]
    Default,
    /// Every bias starts at 0.
    Zero,
}

/// Laws that a reference implementation uses instead of PyTorch's defaults; other parametrisations ignore them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PytorchLaws {
    pub weight: Law,
    pub bias: Law,
}

impl PytorchLaws {
    /// U(±1/√fan_in), which is kaiming-uniform with a = √5.
    pub fn default_for(fan_in: usize) -> Self {
        let bound = (fan_in as f64).sqrt().recip();
        let law = Law::Uniform { bound };
        PytorchLaws {
            weight: law,
            bias: law,
        }
    }
}

impl Builder {
    /// Law and forward scale of a weight.
    pub(super) fn weight_rule(
        &self,
        fan_in: usize,
        fan_out: usize,
        pytorch: PytorchLaws,
    ) -> (Law, f64) {
        let n = fan_in as f64;
        match self.graph.parametrisation {
            Parametrisation::Pytorch => (pytorch.weight, 1.0),
            Parametrisation::Ntk { w_std, .. } | Parametrisation::MeanField { w_std, .. } => {
                (Law::Normal { std: 1.0 }, w_std / n.sqrt())
            }
            Parametrisation::He => (
                Law::Normal {
                    std: (2.0 / n).sqrt(),
                },
                1.0,
            ),
            Parametrisation::Lecun => (
                Law::Normal {
                    std: n.sqrt().recip(),
                },
                1.0,
            ),
            Parametrisation::Xavier => {
                let bound = (6.0 / (n + fan_out as f64)).sqrt();
                (Law::Uniform { bound }, 1.0)
            }
            Parametrisation::Orthogonal => (Law::Orthogonal { gain: 1.0 }, 1.0),
        }
    }

    /// Law and forward scale of a bias.
    pub(super) fn bias_rule(&self, pytorch: PytorchLaws) -> (Law, f64) {
        let (law, scale) = match self.graph.parametrisation {
            Parametrisation::Pytorch => (pytorch.bias, 1.0),
            Parametrisation::Ntk { b_std, .. } | Parametrisation::MeanField { b_std, .. } => {
                (Law::Normal { std: 1.0 }, b_std)
            }
            Parametrisation::He
            | Parametrisation::Lecun
            | Parametrisation::Xavier
            | Parametrisation::Orthogonal => (Law::Constant(0.0), 1.0),
        };
        match self.bias {
            BiasRule::Default => (law, scale),
            BiasRule::Zero => (Law::Constant(0.0), scale),
        }
    }

    /// Mean-field's read-out: the last dense layer, known only when all layers are there, gets w_std/fan_in.
    pub(super) fn scale_read_out(&mut self) {
        let Parametrisation::MeanField { w_std, .. } = self.graph.parametrisation else {
            return;
        };
        for node in self.graph.nodes.iter_mut().rev() {
            if let Op::Dense { weight, scale } = &mut node.op {
                *scale = w_std / self.graph.params[weight.0].shape[1] as f64;
                return;
            }
        }
    }
}
