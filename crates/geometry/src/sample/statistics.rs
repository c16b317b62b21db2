//! What a sampled geometry is worth.
//!
//! The groups' means G_r (n_r networks each) are independent, E[G_r] = G. With C_rs = ⟨G_r, G_s⟩,
//!
//! - tr G² is estimated without bias by the pairs r ≠ s: Σ n_r n_s C_rs / Σ n_r n_s, and (tr G)² by the traces in the
//!   same way: their quotient is the participation ratio, which plugging in Ĝ would underestimate by a factor 1 + PR/T;
//! - E‖Ĝ − G‖² is estimated by R/(R−1) Σ n_r² ‖G_r − Ĝ‖² / N²;
//! - ⟨G, G′⟩ of two samples in the same way, by products of groups that share no network: Corr of two samples is free of
//!   noise that makes that of Ĝ and Ĝ′ too small;
//! - errors of functions of G come from leaving out one group at a time (delete-a-group jackknife).
//!
//! Effective rank and the share of the first tenth have no unbiased form: the jackknife over four quarters removes
//! their bias of order 1/T.

use polariscope_diff::Device;
use polariscope_stats::Estimate;
use rayon::prelude::*;

use super::sum::{Sum, mean_matrix, mean_quantum};
use super::tiles::{TILE, Tile, tiles};
use super::{Centring, GROUPS, State};
use crate::spectrum::solver::Solver;
use crate::{GeometryError, Kron, Spectrum, Summary};
use polariscope_linalg::product_transposed;

/// Parts for the jackknife of what needs eigenvalues.
const QUARTERS: usize = 4;
/// Eigenvalues whose error is found, at most, spaced evenly in the logarithm of the index.
const MARKS: usize = 96;

/// A finished sample.
pub struct Sampled {
    state: State,
    centring: Centring,
    /// ⟨S_r, S_s⟩ of the groups' sums, in quanta squared.
    products: Vec<f64>,
}

impl Sampled {
    /// From partial sums that are complete.
    pub fn new(state: State, centring: Centring) -> Self {
        let products = products(&state.sums, state.dim);
        Self {
            state,
            centring,
            products,
        }
    }

    /// Standard error of the matrix over its norm, √(E‖Ĝ − G‖²)/‖G‖; `None` where noise drowns G.
    pub fn relative_error(&self) -> Option<f64> {
        relative_error(&counts(&self.state), &self.products)
    }

    /// Networks behind it.
    pub fn networks(&self) -> u64 {
        self.state.networks()
    }

    /// Ĝ.
    pub fn matrix(&self) -> Kron {
        let State {
            dim, quantum, sums, ..
        } = &self.state;
        let mut matrix = mean_matrix(&sums.iter().collect::<Vec<_>>(), *dim, *quantum);
        if self.centring == Centring::Mean {
            let n = self.networks() as f64;
            let root = mean_quantum(*quantum);
            let total = |d: usize| sums.iter().map(|s| i128::from(s.mean[d])).sum::<i128>();
            let mean: Vec<f64> = (0..*dim).map(|d| total(d) as f64 * root / n).collect();
            // The divisor of a covariance: T − 1.
            let unbiased = n / (n - 1.0).max(1.0);
            for (row, a) in matrix.chunks_exact_mut(*dim).zip(&mean) {
                row.iter_mut()
                    .zip(&mean)
                    .for_each(|(g, b)| *g = (*g - a * b) * unbiased);
            }
        }
        Kron::dense(matrix, *dim)
    }

    /// tr G, from the traces of the networks.
    pub fn trace(&self) -> Estimate {
        let n = self.networks() as f64;
        let q = self.state.quantum;
        let sum = self.state.sums.iter().map(|s| s.trace).sum::<i128>() as f64 * q;
        let squares = self.state.sums.iter().map(|s| s.trace_square).sum::<i128>() as f64 * q * q;
        let variance = (squares - sum * sum / n).max(0.0) / (n * (n - 1.0).max(1.0));
        Estimate {
            value: sum / n,
            standard_error: variance.sqrt(),
            samples: self.networks(),
        }
    }

    /// Standard deviation of one network's A about G, over ‖G‖: T networks reach the relative error this/√T.
    pub fn network_error(&self) -> Option<f64> {
        Some(self.relative_error()? * (self.networks() as f64).sqrt())
    }

    /// Eigenvalues' errors, at marks spread evenly in the logarithm of the index: the spread of uᵀG_r u over groups.
    pub fn add_errors(&self, spectrum: &mut Spectrum) {
        let groups = self.present();
        if groups.len() < 2 {
            return;
        }
        let n = self.state.dim;
        let marks = marks(n);
        let rows: Vec<f64> = marks
            .iter()
            .flat_map(|&k| spectrum.vectors[k * n..][..n].to_vec())
            .collect();
        let forms: Vec<Vec<f64>> = groups.iter().map(|&r| self.forms(r, &rows)).collect();
        let count = groups.len() as f64;
        spectrum.errors = marks
            .into_iter()
            .enumerate()
            .map(|(i, k)| {
                let mean = forms.iter().map(|f| f[i]).sum::<f64>() / count;
                let spread: f64 = forms.iter().map(|f| (f[i] - mean).powi(2)).sum();
                (k, (spread / (count * (count - 1.0))).sqrt())
            })
            .collect();
    }

    /// uᵀ G_r u for rows u.
    fn forms(&self, group: usize, rows: &[f64]) -> Vec<f64> {
        let n = self.state.dim;
        let matrix = mean_matrix(&[&self.state.sums[group]], n, self.state.quantum);
        let count = rows.len() / n;
        let images = product_transposed(&matrix, rows, n, count);
        let form = |(i, u): (usize, &[f64])| {
            let image = images.iter().skip(i).step_by(count);
            u.iter().zip(image).map(|(u, image)| u * image).sum()
        };
        rows.chunks_exact(n).enumerate().map(form).collect()
    }

    /// Corr(G, A) for a matrix that is no sample, with ‖G‖ free of the noise that makes ‖Ĝ‖ too large.
    pub fn corr(&self, other: &Kron) -> Result<Estimate, GeometryError> {
        if other.dim() != self.state.dim {
            return Err(GeometryError::Size {
                what: "the other matrix",
                found: other.dim(),
                wanted: self.state.dim,
            });
        }
        let groups = self.present();
        let dense = other.to_dense();
        let norm = crate::matrix::dot(&dense, &dense).sqrt();
        let inner: Vec<f64> = groups
            .iter()
            .map(|&r| {
                let sum = mean_matrix(&[&self.state.sums[r]], self.state.dim, 1.0);
                let count = self.state.sums[r].count as f64;
                count * crate::matrix::dot(&sum, &dense)
            })
            .collect();
        let corr = |left_out: Option<usize>| {
            let kept = || (0..groups.len()).filter(|&i| Some(i) != left_out);
            let (mut pairs, mut square) = (0.0, 0.0);
            for a in kept() {
                for b in kept().filter(|&b| b != a) {
                    let [x, y] = [a, b].map(|i| self.state.sums[groups[i]].count as f64);
                    pairs += x * y;
                    square += self.product(groups[a], groups[b]);
                }
            }
            let count: f64 = kept()
                .map(|i| self.state.sums[groups[i]].count as f64)
                .sum();
            let mean = kept().map(|i| inner[i]).sum::<f64>() / count;
            mean / (norm * (square / pairs).max(0.0).sqrt())
        };
        let (value, standard_error) = leave_one_out(corr, groups.len());
        Ok(Estimate {
            value,
            standard_error,
            samples: self.networks(),
        })
    }

    /// Corr with another sample of networks of the same seed or of another, every part free of the noise that makes ‖Ĝ‖ too
    /// large: products of groups r ≠ s share no network, as network i is in group i mod R of every sample. It may exceed 1
    /// by its error.
    pub fn corr_with(&self, other: &Sampled) -> Result<Estimate, GeometryError> {
        if other.state.dim != self.state.dim {
            return Err(GeometryError::Size {
                what: "the other sample",
                found: other.state.dim,
                wanted: self.state.dim,
            });
        }
        let across = cross(&self.state.sums, &other.state.sums, self.state.dim);
        let (own, its) = (counts(&self.state), counts(&other.state));
        let present: Vec<usize> = (0..GROUPS)
            .filter(|&g| own[g] > 0.0 && its[g] > 0.0)
            .collect();
        let mean = |products: &[f64], [a, b]: [&[f64]; 2], left_out: Option<usize>| {
            let kept = || present.iter().copied().filter(|&g| Some(g) != left_out);
            let (mut sum, mut pairs) = (0.0, 0.0);
            for r in kept() {
                for s in kept().filter(|&s| s != r) {
                    sum += products[r * GROUPS + s];
                    pairs += a[r] * b[s];
                }
            }
            sum / pairs
        };
        let corr = |left_out: Option<usize>| {
            let squares = mean(&self.products, [&own, &own], left_out)
                * mean(&other.products, [&its, &its], left_out);
            mean(&across, [&own, &its], left_out) / squares.sqrt()
        };
        let (value, standard_error) = leave_one_out(|i| corr(i.map(|i| present[i])), present.len());
        Ok(Estimate {
            value,
            standard_error,
            samples: self.networks().min(other.networks()),
        })
    }

    /// Everything that was summed, as [`State::to_bytes`] writes it.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.state.to_bytes()
    }

    /// The numbers of a result with their errors, bias removed; `scale` is the factor that the spectrum carries. Other
    /// spectra that it takes are made on a device.
    pub fn summary(
        &self,
        spectrum: &Spectrum,
        scale: f64,
        device: Device,
    ) -> Result<Summary, GeometryError> {
        let trace = self.trace();
        let mut summary = Summary::of(spectrum);
        if self.present().len() < 2 {
            return Ok(summary);
        }
        summary.trace_error = Some(scale * trace.standard_error);
        let ratio = self.participation_ratio();
        summary.participation_ratio = ratio.0;
        summary.participation_ratio_error = Some(ratio.1);
        let quarters = self.quarters(device)?;
        if let Some((value, error)) =
            jackknife(summary.effective_rank, &quarters, |s| s.effective_rank)
        {
            summary.effective_rank = value.clamp(1.0, self.state.dim as f64);
            summary.effective_rank_error = Some(error);
        }
        if let Some((value, error)) = jackknife(summary.top10_share, &quarters, |s| s.top10_share) {
            summary.top10_share = value.clamp(0.0, 1.0);
            summary.top10_share_error = Some(error);
        }
        Ok(summary)
    }

    /// The numbers of Ĝ with one quarter of the groups left out.
    fn quarters(&self, device: Device) -> Result<Vec<Summary>, GeometryError> {
        let present = self.present();
        if present.len() < QUARTERS {
            return Ok(Vec::new());
        }
        let solver = Solver::new(device, self.state.dim)?;
        let left_out = |q: usize| {
            let kept = present
                .iter()
                .enumerate()
                .filter(|(i, _)| i % QUARTERS != q);
            let sums: Vec<&Sum> = kept.map(|(_, &r)| &self.state.sums[r]).collect();
            let matrix = mean_matrix(&sums, self.state.dim, self.state.quantum);
            let values = solver.eigenvalues(&matrix, self.state.dim)?;
            Ok(Summary::of_values(&values))
        };
        match solver {
            Solver::Processor => (0..QUARTERS).into_par_iter().map(left_out).collect(),
            Solver::Card(_) => (0..QUARTERS).map(left_out).collect(),
        }
    }

    /// (tr G)²/tr G² by pairs of groups, with its jackknife error.
    fn participation_ratio(&self) -> (f64, f64) {
        let groups = self.present();
        let dim = self.state.dim as f64;
        let ratio = |left_out: Option<usize>| {
            let kept = || groups.iter().copied().filter(|g| Some(*g) != left_out);
            let (mut traces, mut squares) = (0.0, 0.0);
            for a in kept() {
                for b in kept().filter(|&b| b != a) {
                    let [x, y] = [a, b].map(|g| self.state.sums[g].trace as f64);
                    traces += x * y;
                    squares += self.product(a, b);
                }
            }
            // Unbiased parts may leave the range of the whole, 1 to D; where noise drowns one, D is all that is known.
            match traces > 0.0 && squares > 0.0 {
                true => traces / squares,
                false => dim,
            }
        };
        leave_one_out(|i| ratio(i.map(|i| groups[i])), groups.len())
    }

    /// Groups that hold networks.
    fn present(&self) -> Vec<usize> {
        (0..GROUPS)
            .filter(|&g| self.state.sums[g].count > 0)
            .collect()
    }

    fn product(&self, a: usize, b: usize) -> f64 {
        self.products[a * GROUPS + b]
    }
}

/// The value of a function of all groups, and its jackknife error from its values with one of `count` left out.
fn leave_one_out(f: impl Fn(Option<usize>) -> f64, count: usize) -> (f64, f64) {
    if count < 3 {
        return (f(None), f64::INFINITY);
    }
    let r = count as f64;
    let parts: Vec<f64> = (0..count).map(|i| f(Some(i))).collect();
    let mean = parts.iter().sum::<f64>() / r;
    let spread: f64 = parts.iter().map(|x| (x - mean).powi(2)).sum();
    (f(None), ((r - 1.0) / r * spread).sqrt())
}

/// Networks in each group.
fn counts(state: &State) -> Vec<f64> {
    state.sums.iter().map(|s| s.count as f64).collect()
}

/// The relative error of what has been added so far.
pub(crate) fn error_so_far(state: &State) -> Option<f64> {
    relative_error(&counts(state), &products(&state.sums, state.dim))
}

/// √(E‖Ĝ − G‖²)/‖G‖ from the groups' counts and the products of their sums; `None` for fewer than two groups, or
/// where the noise drowns G.
fn relative_error(counts: &[f64], products: &[f64]) -> Option<f64> {
    let n: f64 = counts.iter().sum();
    let r = counts.iter().filter(|&&c| c > 0.0).count() as f64;
    if r < 2.0 {
        return None;
    }
    let whole: f64 = products.iter().sum::<f64>() / (n * n);
    // Σ ‖S_r − n_r Ĝ‖² in terms of the products of sums.
    let spread: f64 = (0..GROUPS)
        .map(|a| {
            let row = &products[a * GROUPS..][..GROUPS];
            let cross: f64 = row.iter().sum::<f64>() / n;
            row[a] - 2.0 * counts[a] * cross + counts[a] * counts[a] * whole
        })
        .sum();
    let variance = r / (r - 1.0) * spread / (n * n);
    let truth = whole - variance;
    (truth > 0.0).then(|| (variance.max(0.0) / truth).sqrt())
}

/// Bias-corrected value and error of `f` from its values with one of the equal parts left out.
fn jackknife(whole: f64, parts: &[Summary], f: impl Fn(&Summary) -> f64) -> Option<(f64, f64)> {
    let k = parts.len() as f64;
    let values: Vec<f64> = parts.iter().map(f).collect();
    let mean = values.iter().sum::<f64>() / k;
    let spread: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    (!parts.is_empty()).then(|| {
        (
            k * whole - (k - 1.0) * mean,
            ((k - 1.0) / k * spread).sqrt(),
        )
    })
}

/// Indices 0, 1, 2, … n − 1, thinned evenly in the logarithm.
fn marks(n: usize) -> Vec<usize> {
    let top = (n as f64).ln();
    let mark = |i: usize| (top * i as f64 / (MARKS - 1) as f64).exp().round() as usize - 1;
    let mut marks: Vec<usize> = (0..MARKS).map(mark).map(|k| k.min(n - 1)).collect();
    marks.dedup();
    marks
}

/// ⟨S_a, S′_b⟩ of every sum of one sample and every one of another, in whole quanta.
fn cross(own: &[Sum], its: &[Sum], dim: usize) -> Vec<f64> {
    let part = |(t, tile): (usize, &Tile)| {
        let mut out = vec![0.0; GROUPS * GROUPS];
        for row in 0..tile.rows {
            let at = t * Tile::LEN + row * TILE;
            let wide = |sums: &[Sum]| -> Vec<f64> {
                let rows = sums.iter().flat_map(|sum| &sum.entries[at..][..tile.cols]);
                rows.map(|x| *x as f64).collect()
            };
            let (own, its) = (wide(own), wide(its));
            for (a, x) in own.chunks_exact(tile.cols).enumerate() {
                for (b, y) in its.chunks_exact(tile.cols).enumerate() {
                    out[a * GROUPS + b] += tile.weight() * crate::matrix::dot(x, y);
                }
            }
        }
        out
    };
    let parts: Vec<Vec<f64>> = tiles(dim).par_iter().enumerate().map(part).collect();
    let mut out = vec![0.0; GROUPS * GROUPS];
    for part in parts {
        out.iter_mut().zip(part).for_each(|(o, x)| *o += x);
    }
    out
}

/// ⟨S_a, S_b⟩ of every pair of sums, in whole quanta squared.
fn products(sums: &[Sum], dim: usize) -> Vec<f64> {
    let part = |(t, tile): (usize, &Tile)| {
        let mut out = vec![0.0; GROUPS * GROUPS];
        let mut wide = vec![0.0; GROUPS * tile.cols];
        for row in 0..tile.rows {
            let at = t * Tile::LEN + row * TILE;
            for (sum, wide) in sums.iter().zip(wide.chunks_exact_mut(tile.cols)) {
                let entries = &sum.entries[at..][..tile.cols];
                wide.iter_mut()
                    .zip(entries)
                    .for_each(|(w, x)| *w = *x as f64);
            }
            for a in 0..GROUPS {
                for b in 0..=a {
                    let [x, y] = [a, b].map(|g| &wide[g * tile.cols..][..tile.cols]);
                    out[a * GROUPS + b] += tile.weight() * crate::matrix::dot(x, y);
                }
            }
        }
        out
    };
    let tiles = tiles(dim);
    let parts: Vec<Vec<f64>> = tiles.par_iter().enumerate().map(part).collect();
    let mut out = vec![0.0; GROUPS * GROUPS];
    for part in parts {
        out.iter_mut().zip(part).for_each(|(o, x)| *o += x);
    }
    for a in 0..GROUPS {
        for b in a + 1..GROUPS {
            out[a * GROUPS + b] = out[b * GROUPS + a];
        }
    }
    out
}
