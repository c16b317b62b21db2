//! What is made small: L = (1/α²) ℓ(F, y) of the predictor F = α (f − f₀).
//!
//! With f₀ = 0 and α = 1 that is the loss of the network itself, with f₀ the outputs at initialisation the
//! α-model of lazy training.

use polariscope_diff::{Id, Real, Trace};
use serde::{Deserialize, Serialize};

use crate::Loss;

/// Where the outputs are measured from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// f₀ = 0.
    Zero,
    /// f₀ = f(w₀): outputs at initialisation.
    Initial,
}

/// What is differentiated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objective {
    /// ℓ.
    pub loss: Loss,
    /// α.
    pub alpha: f64,
    /// f₀.
    pub origin: Origin,
}

impl From<Loss> for Objective {
    /// The network itself.
    fn from(loss: Loss) -> Self {
        Objective {
            loss,
            alpha: 1.0,
            origin: Origin::Zero,
        }
    }
}

impl Objective {
    /// L of outputs `f`, n×K, as part of a batch of `samples` (n of them are here). Adds two leaves like `f` to the
    /// trace: y, then f₀ for [`Origin::Initial`].
    pub(crate) fn expression(&self, t: &mut Trace, f: Id, samples: usize) -> Id {
        let shape = t.shape(f).to_vec();
        let y = t.leaf(&shape);
        let centred = match self.origin {
            Origin::Zero => f,
            Origin::Initial => {
                let f0 = t.leaf(&shape);
                t.sub(f, f0)
            }
        };
        let predictor = t.scale(centred, self.alpha);
        let loss = self.loss.expression(t, predictor, y, samples);
        t.scale(loss, 1.0 / (self.alpha * self.alpha))
    }

    /// F of outputs `f`; an empty `f0` is 0.
    pub fn predictor<'a, T: Real>(&self, f: &'a [T], f0: &'a [T]) -> impl Iterator<Item = T> + 'a {
        let alpha = T::from_f64(self.alpha);
        let f0 = f0.iter().copied().chain(std::iter::repeat(T::ZERO));
        f.iter().zip(f0).map(move |(&f, f0)| alpha * (f - f0))
    }
}
