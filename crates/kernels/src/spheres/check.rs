//! The analytic spectrum against sampled points.
//!
//! **Class by class** ([`fit`]). K = Σ λ Z over classes, and Z of different classes are uncorrelated. Least
//! squares of K(ξ_a, ξ_b) on the Z(ξ_a, ξ_b) over all pairs a ≠ b of m points is a U-statistic for every λ
//! of the listed orders at once; higher orders are its noise. That noise has mean zero given ξ_a
//! (projections on different classes multiply to 0), so pairs are uncorrelated and the sandwich formula
//! over m(m−1)/2 pairs is the standard error.
//!
//! **Plateaus** ([`bands`]). Eigenvalues of the Gram matrix over m lie in bands around λ of relative
//! half-width 2√(N/m); levels whose bands overlap are one plateau. To second order (Lawley) a plateau B has
//! the mean of
//!
//! λ_i [1 + (1/m) Σ_{j ∉ B} N_j λ_j/(λ_i − λ_j)] + (what is not listed of the trace)/m,
//!
//! with a standard error of at most λ √(2/(m N)).

use polariscope_stats::Estimate;
use rayon::prelude::*;

use super::sample::Zonal;
use super::{Level, Points, Profile, Spectrum, SphereError};

/// A level's eigenvalue as the points show it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// Its place in [`Spectrum::levels`].
    pub level: usize,
    /// λ, with its standard error over pairs.
    pub eigenvalue: Estimate,
}

/// Estimates λ of every level with |r⃗| ≤ `order`.
pub fn fit(
    spectrum: &Spectrum,
    profile: &Profile,
    points: &Points,
    order: usize,
) -> Result<Vec<Fitted>, SphereError> {
    let listed = spectrum.levels.iter().enumerate();
    let wanted: Vec<(usize, &Level)> = listed.filter(|(_, l)| l.order <= order).collect();
    let (n, m) = (wanted.len(), points.len());
    let least = n + 2;
    if m < least {
        return Err(SphereError::Points { points: m, least });
    }
    let levels: Vec<&Level> = wanted.iter().map(|w| w.1).collect();
    let zonal = Zonal::new(spectrum.system, spectrum.product, &levels);
    // Unit variance: E Z² = N.
    let scale: Vec<f64> = levels
        .iter()
        .map(|l| (l.multiplicity as f64).sqrt().recip())
        .collect();
    let pair = |a: usize, b: usize| -> (Vec<f64>, f64) {
        let z = zonal.at(points, a, b);
        let z = z.iter().zip(&scale).map(|(z, s)| z * s).collect();
        (z, points.kernel(spectrum.system, profile, a, b))
    };
    // Σ over pairs of weight · z zᵀ and k z; rows are summed in order, whatever thread made them.
    let moments = |weight: &(dyn Fn(&[f64], f64) -> f64 + Sync)| -> (Vec<f64>, Vec<f64>) {
        let rows: Vec<(Vec<f64>, Vec<f64>)> = (1..m)
            .into_par_iter()
            .map(|a| {
                let (mut square, mut side) = (vec![0.0; n * n], vec![0.0; n]);
                for b in 0..a {
                    let (z, k) = pair(a, b);
                    let w = weight(&z, k);
                    for (i, zi) in z.iter().enumerate() {
                        side[i] += k * zi;
                        let row = square[i * n..][..n].iter_mut().zip(&z);
                        row.for_each(|(s, zj)| *s += w * zi * zj);
                    }
                }
                (square, side)
            })
            .collect();
        rows.into_iter().fold(
            (vec![0.0; n * n], vec![0.0; n]),
            |(mut square, mut side), row| {
                square.iter_mut().zip(row.0).for_each(|(s, x)| *s += x);
                side.iter_mut().zip(row.1).for_each(|(s, x)| *s += x);
                (square, side)
            },
        )
    };
    let (normal, side) = moments(&|_, _| 1.0);
    let inverse = invert(normal, n).ok_or(SphereError::Decomposition)?;
    let times = |row: &[f64], v: &[f64]| row.iter().zip(v).map(|(a, b)| a * b).sum::<f64>();
    let found: Vec<f64> = inverse.chunks_exact(n).map(|r| times(r, &side)).collect();
    let (meat, _) = moments(&|z, k| (k - times(&found, z)).powi(2));
    let result = wanted.iter().enumerate().map(|(i, &(level, _))| {
        let row = &inverse[i * n..][..n];
        let variance: f64 = meat
            .chunks_exact(n)
            .zip(row)
            .map(|(meat, r)| r * times(meat, row))
            .sum();
        Fitted {
            level,
            eigenvalue: Estimate {
                value: found[i] * scale[i],
                standard_error: variance.max(0.0).sqrt() * scale[i],
                samples: (m * (m - 1) / 2) as u64,
            },
        }
    });
    Ok(result.collect())
}

/// The inverse of a small matrix, by Gauss and Jordan with pivots.
fn invert(mut a: Vec<f64>, n: usize) -> Option<Vec<f64>> {
    let mut inverse = vec![0.0; n * n];
    (0..n).for_each(|i| inverse[i * n + i] = 1.0);
    for column in 0..n {
        let size = |row: &usize| a[row * n + column].abs();
        let pivot = (column..n).max_by(|i, j| size(i).total_cmp(&size(j)))?;
        let value = a[pivot * n + column];
        if !value.is_normal() {
            return None;
        }
        for j in 0..n {
            for matrix in [&mut a, &mut inverse] {
                matrix.swap(pivot * n + j, column * n + j);
                matrix[column * n + j] /= value;
            }
        }
        for row in (0..n).filter(|&row| row != column) {
            let factor = a[row * n + column];
            for j in 0..n {
                for matrix in [&mut a, &mut inverse] {
                    matrix[row * n + j] -= factor * matrix[column * n + j];
                }
            }
        }
    }
    Some(inverse)
}

/// Levels that a Gram matrix of m points shows as one plateau.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// Places in [`Spectrum::levels`].
    pub levels: std::ops::Range<usize>,
    /// Places among the eigenvalues of the Gram matrix, largest first.
    pub indices: std::ops::Range<usize>,
    /// Mean of λ.
    pub eigenvalue: f64,
    /// What the mean over the plateau should be with m points; the error is an upper bound.
    pub expected: Estimate,
}

impl Band {
    /// The mean over the plateau of eigenvalues of a Gram matrix over m.
    pub fn mean(&self, eigenvalues: &[f64]) -> f64 {
        let own = &eigenvalues[self.indices.clone()];
        own.iter().sum::<f64>() / own.len() as f64
    }
}

/// Plateaus in the first quarter of the eigenvalues of a Gram matrix of m points, where the trace is known.
pub fn bands(spectrum: &Spectrum, m: usize) -> Option<Vec<Band>> {
    let rest = (spectrum.trace? - spectrum.listed()).max(0.0);
    let levels = &spectrum.levels;
    let size = m as f64;
    let number = |l: &Level| l.multiplicity as f64;
    let reach = |l: &Level| 2.0 * (number(l) / size).sqrt();
    let seen = levels.iter().take_while(|l| l.eigenvalue > 0.0).count();
    let mut bands: Vec<Band> = Vec::new();
    let (mut first, mut at) = (0, 0usize);
    while first < seen {
        let mut end = first + 1;
        let mut low = levels[first].eigenvalue * (1.0 - reach(&levels[first]));
        while end < seen && levels[end].eigenvalue * (1.0 + reach(&levels[end])) > low {
            low = low.min(levels[end].eigenvalue * (1.0 - reach(&levels[end])));
            end += 1;
        }
        let own = &levels[first..end];
        let count: u64 = own.iter().map(|l| l.multiplicity).sum();
        let Ok(count) = usize::try_from(count) else {
            break;
        };
        // A last band that runs into the end of the list may go on in orders that are not listed.
        if end == seen || count > m || 4 * (at + count) > m {
            break;
        }
        let total: f64 = own.iter().map(|l| number(l) * l.eigenvalue).sum();
        let others = || levels[..first].iter().chain(&levels[end..]);
        let pushed: f64 = own
            .iter()
            .map(|i| {
                let push = |j: &Level| number(j) * j.eigenvalue / (i.eigenvalue - j.eigenvalue);
                number(i) * i.eigenvalue * others().map(push).sum::<f64>() / size
            })
            .sum();
        let (n, eigenvalue) = (count as f64, total / count as f64);
        bands.push(Band {
            levels: first..end,
            indices: at..at + count,
            eigenvalue,
            expected: Estimate {
                value: (total + pushed) / n + rest / size,
                standard_error: eigenvalue * (2.0 / (size * n)).sqrt(),
                samples: m as u64,
            },
        });
        (first, at) = (end, at + count);
    }
    Some(bands)
}
