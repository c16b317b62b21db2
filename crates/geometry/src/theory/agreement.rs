//! A sampled matrix beside its closed form, without the bias of its noise.
//!
//! M_k, the means of sixteen independent groups, and a prediction B:
//!
//! ```text
//! scale    ⟨M, B⟩ / ‖B‖²                              → 1
//! excess   Σ_{k≠l} ⟨M_k − B, M_l − B⟩ / (K(K−1)‖B‖²)   → 0, an unbiased estimate of ‖E M − B‖²/‖B‖²
//! ```

use polariscope_stats::Estimate;

use crate::evolution::{GROUPS, Groups, packed, unpacked};
use crate::matrix::dot;

/// How a sampled matrix agrees with a closed form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// ⟨M, B⟩ / ‖B‖², 1 where they agree.
    pub scale: Estimate,
    /// ‖E M − B‖² / ‖B‖² without bias, 0 where they agree.
    pub excess: Estimate,
}

impl Agreement {
    /// Of the sampled G.
    pub(crate) fn geometry(groups: &Groups, prediction: &[f64], dim: usize) -> Agreement {
        Agreement::of(&groups.geometries, &packed(prediction, dim))
    }

    /// Of the sampled Δ.
    pub(crate) fn delta(groups: &Groups, prediction: &[f64], dim: usize) -> Agreement {
        Agreement::of(&groups.deltas, &packed(prediction, dim))
    }

    fn of(means: &[Vec<f64>], prediction: &[f64]) -> Agreement {
        let square = dot(prediction, prediction);
        let residual =
            |m: &Vec<f64>| -> Vec<f64> { m.iter().zip(prediction).map(|(m, b)| m - b).collect() };
        let residuals: Vec<Vec<f64>> = means.iter().map(residual).collect();
        let inner: Vec<f64> = residuals.iter().map(|r| dot(r, prediction)).collect();
        let scales: Vec<f64> = inner.iter().map(|i| 1.0 + i / square).collect();
        Agreement {
            scale: mean(&scales),
            excess: square_of_mean(&residuals, square),
        }
    }
}

/// ‖E R‖² over `scale`, from independent groups of R, with the jackknife's error.
fn square_of_mean(residuals: &[Vec<f64>], scale: f64) -> Estimate {
    let products: Vec<f64> = (0..GROUPS * GROUPS)
        .map(|at| dot(&residuals[at / GROUPS], &residuals[at % GROUPS]) / scale)
        .collect();
    let over_pairs = |out: Option<usize>| -> f64 {
        let kept: Vec<usize> = (0..GROUPS).filter(|k| Some(*k) != out).collect();
        let pairs = kept
            .iter()
            .flat_map(|&k| kept.iter().filter(move |l| **l != k).map(move |&l| (k, l)));
        let sum: f64 = pairs.map(|(k, l)| products[k * GROUPS + l]).sum();
        sum / (kept.len() * (kept.len() - 1)) as f64
    };
    let left: Vec<f64> = (0..GROUPS).map(|k| over_pairs(Some(k))).collect();
    let middle = left.iter().sum::<f64>() / GROUPS as f64;
    let squares: f64 = left.iter().map(|v| (v - middle).powi(2)).sum();
    Estimate {
        value: over_pairs(None),
        standard_error: (squares * (GROUPS - 1) as f64 / GROUPS as f64).sqrt(),
        samples: GROUPS as u64,
    }
}

/// Mean of the groups.
fn mean(values: &[f64]) -> Estimate {
    let nothing = Estimate {
        value: f64::NAN,
        standard_error: f64::NAN,
        samples: 0,
    };
    Estimate::mean(values).unwrap_or(nothing)
}

/// How far the sampled G is from I_C ⊗ B for any B: the part of ‖G‖² outside such matrices, without bias.
pub(crate) fn channel_excess(groups: &Groups, channels: usize, dim: usize) -> Estimate {
    let n = dim / channels;
    let residual = |triangle: &Vec<f64>| -> Vec<f64> {
        let mut matrix = unpacked(triangle, dim);
        for i in 0..n {
            for j in 0..n {
                let at = |c: usize| (c * n + i) * dim + c * n + j;
                let mean = (0..channels).map(|c| matrix[at(c)]).sum::<f64>() / channels as f64;
                (0..channels).for_each(|c| matrix[at(c)] -= mean);
            }
        }
        packed(&matrix, dim)
    };
    let residuals: Vec<Vec<f64>> = groups.geometries.iter().map(residual).collect();
    let whole = groups.mean_geometry(None);
    square_of_mean(&residuals, dot(&whole, &whole))
}
