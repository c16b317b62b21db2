//! Update rules, as PyTorch writes them. g is the gradient (after clipping) plus λ w, λ the weight decay.
//!
//! SGD with momentum μ (μ = 0: gradient descent):
//! b ← μ b + g, w ← w − η b, with b = 0 before the first step.
//!
//! Adam, at step t = 1, 2, …:
//! m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g²,
//! w ← w − η/(1 − β₁ᵗ) · m / (√v/√(1 − β₂ᵗ) + ε).

use polariscope_diff::Real;
use polariscope_graph::{Graph, Role};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::TrainError;

/// Numbers updated by one task.
const BLOCK: usize = 1 << 15;

/// How a gradient changes the weights.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case",
    deny_unknown_fields
)]
pub enum Optimiser {
    /// Stochastic gradient descent; on the whole set, gradient descent.
    Sgd {
        /// μ, at least 0 and below 1.
        #[serde(default)]
        momentum: f64,
        /// λ ≥ 0.
        #[serde(default)]
        weight_decay: f64,
    },
    /// Adam.
    Adam {
        /// β₁, at least 0 and below 1.
        #[serde(default = "beta1")]
        beta1: f64,
        /// β₂, at least 0 and below 1.
        #[serde(default = "beta2")]
        beta2: f64,
        /// ε > 0.
        #[serde(default = "eps")]
        eps: f64,
        /// λ ≥ 0, added to the gradient (not decoupled).
        #[serde(default)]
        weight_decay: f64,
    },
}

fn beta1() -> f64 {
    0.9
}

fn beta2() -> f64 {
    0.999
}

fn eps() -> f64 {
    1e-8
}

/// What an optimiser remembers, tensor by tensor in the order of the trainable parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments<T> {
    /// b of SGD with momentum, m of Adam; empty without momentum.
    pub first: Vec<Vec<T>>,
    /// v of Adam; empty otherwise.
    pub second: Vec<Vec<T>>,
}

impl<T: Real> Moments<T> {
    /// Before the first step.
    pub fn new(graph: &Graph, optimiser: Optimiser) -> Self {
        let zeros = || {
            let trainable = graph.params.iter().filter(|p| p.role == Role::Trainable);
            trainable.map(|p| vec![T::ZERO; p.len()]).collect()
        };
        let kept = optimiser.moments();
        Moments {
            first: if kept >= 1 { zeros() } else { Vec::new() },
            second: if kept >= 2 { zeros() } else { Vec::new() },
        }
    }
}

impl Optimiser {
    /// SGD without momentum or decay.
    pub const GRADIENT_DESCENT: Optimiser = Optimiser::Sgd {
        momentum: 0.0,
        weight_decay: 0.0,
    };

    /// Adam with PyTorch's defaults.
    pub const ADAM: Optimiser = Optimiser::Adam {
        beta1: 0.9,
        beta2: 0.999,
        eps: 1e-8,
        weight_decay: 0.0,
    };

    /// Numbers that it keeps for each weight.
    pub fn moments(&self) -> usize {
        match self {
            Optimiser::Sgd { momentum: 0.0, .. } => 0,
            Optimiser::Sgd { .. } => 1,
            Optimiser::Adam { .. } => 2,
        }
    }

    /// Checks the numbers.
    pub fn check(&self) -> Result<(), TrainError> {
        let fraction = |setting, value: f64| match (0.0..1.0).contains(&value) {
            true => Ok(()),
            false => Err(TrainError::Setting {
                setting,
                value,
                wanted: "at least 0 and below 1",
            }),
        };
        let decay = |value: f64| match value.is_finite() && value >= 0.0 {
            true => Ok(()),
            false => Err(TrainError::Setting {
                setting: "weight decay",
                value,
                wanted: "a finite number of at least 0",
            }),
        };
        match *self {
            Optimiser::Sgd {
                momentum,
                weight_decay,
            } => {
                fraction("momentum", momentum)?;
                decay(weight_decay)
            }
            Optimiser::Adam {
                beta1,
                beta2,
                eps,
                weight_decay,
            } => {
                fraction("beta1", beta1)?;
                fraction("beta2", beta2)?;
                if !(eps.is_finite() && eps > 0.0) {
                    let wanted = "a finite number above 0";
                    return Err(TrainError::Setting {
                        setting: "eps",
                        value: eps,
                        wanted,
                    });
                }
                decay(weight_decay)
            }
        }
    }

    /// What multiplies the update of step t (from 1): η, for Adam η/(1 − β₁ᵗ); and what multiplies √v: 1/√(1 − β₂ᵗ).
    pub(crate) fn rates(&self, t: u64, learning_rate: f64) -> [f64; 2] {
        match *self {
            Optimiser::Sgd { .. } => [learning_rate, 1.0],
            Optimiser::Adam { beta1, beta2, .. } => {
                let power = |beta: f64| 1.0 - beta.powi(t.min(i32::MAX as u64) as i32);
                [learning_rate / power(beta1), power(beta2).sqrt().recip()]
            }
        }
    }

    /// Moves trainable tensor `i` at step `t` (from 1) by its gradient times `clip`.
    pub fn update<T: Real>(
        &self,
        (t, learning_rate): (u64, f64),
        moments: &mut Moments<T>,
        i: usize,
        weights: &mut [T],
        (gradient, clip): (&[T], f64),
    ) {
        let clip = T::from_f64(clip);
        let slot = |tensors: &mut Vec<Vec<T>>| tensors.get_mut(i).map(std::mem::take);
        let mut first = slot(&mut moments.first).unwrap_or_default();
        let mut second = slot(&mut moments.second).unwrap_or_default();
        match *self {
            Optimiser::Sgd {
                momentum: 0.0,
                weight_decay,
            } => {
                let [decay, rate] = [weight_decay, learning_rate].map(T::from_f64);
                blocks(
                    [weights, &mut first, &mut second],
                    gradient,
                    &|[w, ..], g| {
                        for (w, &g) in w.iter_mut().zip(g) {
                            *w -= rate * (g * clip + decay * *w);
                        }
                    },
                );
            }
            Optimiser::Sgd {
                momentum,
                weight_decay,
            } => {
                let [mu, decay, rate] = [momentum, weight_decay, learning_rate].map(T::from_f64);
                blocks(
                    [weights, &mut first, &mut second],
                    gradient,
                    &|[w, b, _], g| {
                        for ((w, b), &g) in w.iter_mut().zip(b).zip(g) {
                            *b = mu * *b + (g * clip + decay * *w);
                            *w -= rate * *b;
                        }
                    },
                );
            }
            Optimiser::Adam {
                beta1,
                beta2,
                eps,
                weight_decay,
            } => {
                let [rate, root] = self.rates(t, learning_rate).map(T::from_f64);
                let [b1, b2, c1, c2] = [beta1, beta2, 1.0 - beta1, 1.0 - beta2].map(T::from_f64);
                let [eps, decay] = [eps, weight_decay].map(T::from_f64);
                blocks(
                    [weights, &mut first, &mut second],
                    gradient,
                    &|[w, m, v], g| {
                        for (((w, m), v), &g) in w.iter_mut().zip(m).zip(v).zip(g) {
                            let g = g * clip + decay * *w;
                            *m = b1 * *m + c1 * g;
                            *v = b2 * *v + c2 * (g * g);
                            *w -= rate * (*m / (v.sqrt() * root + eps));
                        }
                    },
                );
            }
        }
        for (tensors, tensor) in [(&mut moments.first, first), (&mut moments.second, second)] {
            if let Some(place) = tensors.get_mut(i) {
                *place = tensor;
            }
        }
    }
}

/// Applies an elementwise update block by block, in parallel if there are several; a tensor that the update
/// does not use is empty.
fn blocks<T: Real>(
    [w, a, b]: [&mut [T]; 3],
    g: &[T],
    update: &(impl Fn([&mut [T]; 3], &[T]) + Sync),
) {
    if w.len() <= BLOCK {
        return update([w, a, b], g);
    }
    let half = w.len() / 2;
    let (w, w_rest) = w.split_at_mut(half);
    let (a, a_rest) = a.split_at_mut(half.min(a.len()));
    let (b, b_rest) = b.split_at_mut(half.min(b.len()));
    let (g, g_rest) = g.split_at(half);
    rayon::join(
        || blocks([w, a, b], g, update),
        || blocks([w_rest, a_rest, b_rest], g_rest, update),
    );
}

/// The factor that brings a gradient of this norm down to `most`, as PyTorch's `clip_grad_norm_` has it.
pub(crate) fn clip_factor(norm: f64, most: f64) -> f64 {
    (most / (norm + 1e-6)).min(1.0)
}

/// Σ x² in f64, in an order that depends on the length alone.
pub(crate) fn square_sum<T: Real>(x: &[T]) -> f64 {
    let block = |x: &[T]| {
        let mut lanes = [0.0_f64; 16];
        let (chunks, rest) = x.as_chunks::<16>();
        for chunk in chunks {
            for (l, x) in lanes.iter_mut().zip(chunk) {
                *l += x.to_f64() * x.to_f64();
            }
        }
        let rest: f64 = rest.iter().map(|x| x.to_f64() * x.to_f64()).sum();
        lanes.iter().sum::<f64>() + rest
    };
    if x.len() <= BLOCK {
        return block(x);
    }
    let sums: Vec<f64> = x.par_chunks(BLOCK).map(block).collect();
    sums.iter().sum()
}
