//! Which two gradients are multiplied.
//!
//! A network has gradients g₁ … g_m at its m points, s = Σ g_a. Its contribution to G is
//!
//! ```text
//! local       A = Σ_a g_a g_aᵀ / m
//! coherent    A = (s sᵀ − Σ_a g_a g_aᵀ) / (m(m−1)), the mean of g_a g_bᵀ over all a ≠ b
//! ```
//!
//! averaged over read-outs. Both are Xᵀ Y: X has the rows g_a, and Y the same; for the coherent one X has s as well, and
//! in Y the rows g_a change their sign. The divisor is in the scale of the rows ([`Pairs::count`]).
//!
//! A local A is positive semidefinite. A coherent one is so on average only: its diagonal, its trace and its eigenvalues
//! may be negative, and no entry is bounded by the diagonal, but all are bounded by that of XᵀX.

use std::borrow::Cow;

use polariscope_diff::Number;

use super::source::Config;
use crate::{Gradient, Probe};

/// The pairs of points of a network whose gradients are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairs {
    /// Each of the points with itself.
    Same {
        /// m.
        points: usize,
    },
    /// Each of the points with every other one.
    Distinct {
        /// m, at least 2.
        points: usize,
    },
}

impl Pairs {
    /// What a question asks for; at x = 0 there is one point, and both geometries are the same.
    pub fn of(config: &Config) -> Self {
        let points = config.probes;
        match (config.gradient, &config.probe) {
            (Gradient::Coherent, Probe::Gauss { .. } | Probe::Points { .. }) => {
                Pairs::Distinct { points }
            }
            _ => Pairs::Same { points },
        }
    }

    /// How many there are, in either order.
    pub fn count(self) -> usize {
        match self {
            Pairs::Same { points } => points,
            Pairs::Distinct { points } => points * (points - 1),
        }
    }

    /// X and Y from the gradients of some networks, one after the other: point by point, for each its read-outs.
    pub fn factors<T: Number>(
        self,
        gradients: &[T],
        networks: usize,
    ) -> (Cow<'_, [T]>, Cow<'_, [T]>) {
        let Pairs::Distinct { points } = self else {
            return (gradients.into(), gradients.into());
        };
        let network = gradients.len() / networks;
        let point = network / points;
        let length = networks * (network + point);
        let [mut x, mut y] = [0, 1].map(|_| Vec::with_capacity(length));
        for own in gradients.chunks_exact(network) {
            let mut sums = vec![0.0; point];
            for g in own.chunks_exact(point) {
                sums.iter_mut().zip(g).for_each(|(s, g)| *s += g.to_f64());
            }
            x.extend_from_slice(own);
            y.extend(own.iter().map(|&g| -g));
            let sums = sums.into_iter().map(T::from_f64);
            x.extend(sums.clone());
            y.extend(sums);
        }
        (x.into(), y.into())
    }
}
