//! How rough the loss is where training ends: the spectrum of its Hessian, all of it for small networks, its ends for
//! others.

use polariscope_diff::Device;
use polariscope_graph::{Graph, multiplications};
use polariscope_lens::Quiet;
use polariscope_linalg::{Ritz, Wanted};
use polariscope_network::Weights;
use polariscope_train::{LossHessian, Matrix};
use serde::{Deserialize, Serialize};

use super::budget;
use crate::LandscapeError;
use crate::hessian::{Counts, Operator, split};

/// Most parameters whose matrices are diagonalised for every network.
const DENSE: usize = 1500;
/// Samples that products are made on, at most and at least; all of them for matrices.
const SAMPLES: (usize, usize) = (128, 16);
/// For the largest eigenvalue and the smallest.
const WANTED: Wanted = Wanted {
    largest: 1,
    smallest: 1,
    basis: 24,
    tolerance: 1e-3,
    products: 120,
};

/// The Hessian of L at the end of training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curvature {
    /// Training samples that it is of, the first ones.
    pub samples: usize,
    /// The largest eigenvalue.
    pub largest: f64,
    /// The smallest.
    pub smallest: f64,
    /// An eigenvalue lies within this of each of them. The true ends may lie further out, never further in.
    pub residual: f64,
    /// Eigenvalues by sign, where all of them are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<Parts>,
}

/// Eigenvalues of H and of its parts by sign.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parts {
    /// H.
    pub hessian: Counts,
    /// H₀ = ⟨ℓ″ ∇F ∇Fᵀ⟩.
    pub gauss_newton: Counts,
    /// H_p = ⟨ℓ′ ∇∇F⟩.
    pub curvature: Counts,
}

/// How many samples it is of, of each of so many networks; none where it takes too long.
pub(super) fn samples(device: Device, graph: &Graph, all: usize, networks: usize) -> Option<usize> {
    if graph.parameter_count() <= DENSE {
        return Some(all);
    }
    // Forwards and backwards, each with its derivative.
    let product = 6.0 * multiplications(graph) as f64;
    let one = product * (WANTED.products * networks) as f64;
    let afforded = budget::pieces(device, budget::PRODUCTS, one);
    let (most, fewest) = SAMPLES;
    (afforded >= fewest.min(all)).then_some(afforded.min(most).min(all))
}

/// Of a network at its weights.
pub(super) fn curvature(
    hessian: &LossHessian<f64>,
    weights: &Weights<f64>,
    seed: u64,
) -> Result<Curvature, LandscapeError> {
    let samples = hessian.samples();
    if hessian.graph().parameter_count() <= DENSE {
        let found = split(hessian, weights, &mut Quiet)?;
        let values = &found.hessian.eigenvalues;
        return Ok(Curvature {
            samples,
            largest: values.first().copied().unwrap_or(0.0),
            smallest: values.last().copied().unwrap_or(0.0),
            residual: found.hessian.counts.tolerance,
            parts: Some(Parts {
                hessian: found.hessian.counts,
                gauss_newton: found.gauss_newton.counts,
                curvature: found.curvature.counts,
            }),
        });
    }
    let operator = Operator {
        hessian,
        weights,
        matrix: Matrix::Hessian,
    };
    let ends = operator.ends(WANTED, seed, &mut Quiet)?;
    let first = |ends: &[Ritz]| ends.first().map_or(0.0, |e| e.value);
    let found = ends.largest.iter().chain(&ends.smallest);
    Ok(Curvature {
        samples,
        largest: first(&ends.largest),
        smallest: first(&ends.smallest),
        residual: found.map(|r| r.residual).fold(0.0, f64::max),
        parts: None,
    })
}
