//! Does an architecture suit a data set?
//!
//! With G the geometry, S = Σ x xᵀ (unnormalised, uncentred, as in the paper) and S̄ = Σ (x − x̄)(x − x̄)ᵀ its centred
//! form, Corr(G, S) is read against what it could be. Over all rotations R of the data,
//!
//! ```text
//! chance   E_R Corr(G, RSRᵀ) = tr G tr S / (D ‖G‖ ‖S‖)
//! spread   √Var_R            = √(2 / ((D−1)(D+2))) ‖G₀‖ ‖S₀‖ / (‖G‖ ‖S‖)      (G₀, S₀: traceless parts)
//! best     Σ λᵢσᵢ / (‖λ‖ ‖σ‖)            both spectra in the same order
//! worst    Σ λᵢσ_{D+1−i} / (‖λ‖ ‖σ‖)     in opposite orders
//! ```
//!
//! The pixels of images lie in 0…1, so their mean dominates S and any architecture that likes smooth images has a
//! large Corr(G, S). The mean tells no sample from another: the verdict is taken from S̄.
//!
//! **Verdict.** The share of the way from chance to best (or to worst, as a negative number) decides:
//! `suits` from ¼ on, `works against` from −¼ on, `neutral` between. It is neutral too where the correlation lies
//! within three spreads of chance, or where best and worst differ by less than 0.02: an isotropic
//! geometry has no preference.

mod answer;
mod page;
mod words;

use polariscope_linalg::{covariance, symmetric_eigenvalues};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use answer::{Aligned, AlignedNumbers, Energy, Measure, Unseen, aligned, aligned_memory};
pub use page::align_page;

use crate::matrix::dot;
use crate::spectrum::{Generalised, corr, generalised, norm};
use crate::{GeometryError, Kron, Spectrum};
use polariscope_linalg::product;

/// Share of the way to best or worst from which on the verdict is not neutral.
const DECIDED: f64 = 0.25;
/// Spreads within which a correlation is chance.
const CHANCE: f64 = 3.0;
/// Distance of best from worst below which there is nothing to prefer.
const FLAT: f64 = 0.02;
/// Unseen directions that are kept.
const UNSEEN: usize = 64;
/// Samples scored by one task.
const BLOCK: usize = 256;

/// Corr(G, S) and what it could be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Match {
    /// Corr(G, S).
    pub corr: f64,
    /// Mean over rotations of the data.
    pub chance: f64,
    /// Standard deviation over rotations of the data.
    pub spread: f64,
    /// Largest over rotations.
    pub best: f64,
    /// Smallest over rotations.
    pub worst: f64,
}

impl Match {
    /// Where the correlation lies: 0 at chance, 1 at best, −1 at worst.
    pub fn share(&self) -> f64 {
        let above = self.corr - self.chance;
        let room = if above > 0.0 {
            self.best - self.chance
        } else {
            self.chance - self.worst
        };
        if room > 0.0 { above / room } else { 0.0 }
    }
}

/// What the match amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The data vary where the architecture looks.
    Suits,
    /// Neither.
    Neutral,
    /// The data vary where the architecture does not look.
    Against,
}

impl Verdict {
    /// `suits`, `neutral` or `works against`.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Suits => "suits",
            Verdict::Neutral => "neutral",
            Verdict::Against => "works against",
        }
    }

    fn of(found: &Match) -> Verdict {
        let flat = found.best - found.worst < FLAT;
        let chance = (found.corr - found.chance).abs() <= CHANCE * found.spread;
        match found.share() {
            _ if flat || chance => Verdict::Neutral,
            share if share >= DECIDED => Verdict::Suits,
            share if share <= -DECIDED => Verdict::Against,
            _ => Verdict::Neutral,
        }
    }
}

/// A geometry beside a data set.
#[derive(Clone, Debug, PartialEq)]
pub struct Alignment {
    /// With S.
    pub uncentred: Match,
    /// With S̄.
    pub centred: Match,
    /// Score(x) = (x/‖x‖)ᵀ G (x/‖x‖) over tr G / D, a sample each: 1 is what an isotropic geometry gives. 0 for x = 0.
    pub scores: Vec<f64>,
    /// (k, share of tr S̄ in the first k directions of G) for k = 1, 2, 4, … and D.
    pub energy: Vec<(usize, f64)>,
    /// The first directions that the data vary in and the architecture does not see (at most 64), from S̄.
    pub unseen: Generalised,
    /// From the centred match.
    pub verdict: Verdict,
}

/// Compares a geometry and its spectrum with N samples of D numbers.
///
/// ```
/// use polariscope_geometry::{Kron, Spectrum, Verdict, align};
/// // An architecture that sees the first axis ten times more than the second, and data along it.
/// let g = Kron::dense(vec![10.0, 0.0, 0.0, 1.0], 2);
/// let along = align(&g, &Spectrum::of(&g)?, &[3.0, 0.0, -3.0, 0.1, 2.0, -0.1])?;
/// assert!(along.scores[0] > 1.8 && along.energy[0].1 > 0.99);
/// # Ok::<(), polariscope_geometry::GeometryError>(())
/// ```
pub fn align(geometry: &Kron, spectrum: &Spectrum, x: &[f32]) -> Result<Alignment, GeometryError> {
    let dim = geometry.dim();
    if spectrum.dim() != dim {
        return Err(GeometryError::Size {
            what: "the spectrum",
            found: spectrum.dim(),
            wanted: dim,
        });
    }
    if dim == 0 || x.len() < 2 * dim || !x.len().is_multiple_of(dim) {
        return Err(GeometryError::Question(format!(
            "samples of {} numbers in all beside a geometry of {dim} dimensions: it takes at least 2 samples of {dim} numbers each",
            x.len()
        )));
    }
    if !x.iter().all(|x| x.is_finite()) {
        return Err(GeometryError::Question(
            "a sample is not finite: every number must be".to_string(),
        ));
    }
    let raw = covariance(x, dim);
    let varying = centred(&raw, x, dim);
    let (matches, unseen) = rayon::join(
        || {
            rayon::join(
                || compare(geometry, spectrum, &raw),
                || compare(geometry, spectrum, &varying),
            )
        },
        || generalised(spectrum, &varying),
    );
    let centred = matches.1?;
    let mut unseen = unseen?;
    unseen.values.truncate(UNSEEN);
    unseen.vectors.truncate(UNSEEN * dim);
    Ok(Alignment {
        uncentred: matches.0?,
        centred,
        scores: scores(geometry, x),
        energy: energy(spectrum, &varying),
        unseen,
        verdict: Verdict::of(&centred),
    })
}

/// S̄ = S − N x̄x̄ᵀ.
fn centred(s: &[f64], x: &[f32], dim: usize) -> Vec<f64> {
    let mut total = vec![0.0; dim];
    for sample in x.chunks_exact(dim) {
        total
            .iter_mut()
            .zip(sample)
            .for_each(|(t, &x)| *t += f64::from(x));
    }
    let n = (x.len() / dim) as f64;
    let rows = s.chunks_exact(dim).zip(&total);
    rows.flat_map(|(row, a)| row.iter().zip(&total).map(move |(s, b)| s - a * b / n))
        .collect()
}

fn compare(geometry: &Kron, spectrum: &Spectrum, s: &[f64]) -> Result<Match, GeometryError> {
    let dim = geometry.dim();
    let s = Kron::dense(s.to_vec(), dim);
    let sigma = symmetric_eigenvalues(&s.factor, dim)?;
    let lambda = &spectrum.values;
    let norms = norm(geometry) * norm(&s);
    let corr = corr(geometry, &s)?;
    if norms <= 0.0 {
        return Err(GeometryError::Question(
            "the samples, or the geometry, are all the same point: there is no direction to compare"
                .to_string(),
        ));
    }
    let d = dim as f64;
    let (tr_g, tr_s) = (geometry.trace(), s.trace());
    // ‖A₀‖² = ‖A‖² − (tr A)²/D; rounding may leave less than nothing of an isotropic one.
    let traceless = |norm: f64, trace: f64| (norm * norm - trace * trace / d).max(0.0).sqrt();
    let parts = traceless(norm(geometry), tr_g) * traceless(norm(&s), tr_s);
    let opposite: f64 = lambda
        .iter()
        .zip(sigma.iter().rev())
        .map(|(l, s)| l * s)
        .sum();
    Ok(Match {
        corr,
        chance: tr_g * tr_s / (d * norms),
        spread: if dim > 1 {
            (2.0 / ((d - 1.0) * (d + 2.0))).sqrt() * parts / norms
        } else {
            0.0
        },
        best: dot(lambda, &sigma) / norms,
        worst: opposite / norms,
    })
}

fn scores(geometry: &Kron, x: &[f32]) -> Vec<f64> {
    let (n, dim) = (geometry.n, geometry.dim());
    let isotropic = geometry.trace() / dim as f64;
    let block = |x: &[f32]| -> Vec<f64> {
        let x: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
        let images = product(&x, &geometry.factor, n, n);
        let pairs = x.chunks_exact(dim).zip(images.chunks_exact(dim));
        let score = |(x, image): (&[f64], &[f64])| match dot(x, x) {
            0.0 => 0.0,
            square => dot(x, image) / (square * isotropic),
        };
        pairs.map(score).collect()
    };
    x.par_chunks(BLOCK * dim).flat_map_iter(block).collect()
}

fn energy(spectrum: &Spectrum, s: &[f64]) -> Vec<(usize, f64)> {
    let dim = spectrum.dim();
    let mut sums = spectrum.quadratics(s);
    let mut total = 0.0;
    for q in &mut sums {
        total += *q;
        *q = total;
    }
    let mut counts: Vec<usize> = std::iter::successors(Some(1), |k| Some(2 * k))
        .take_while(|k| *k < dim)
        .collect();
    counts.push(dim);
    counts
        .into_iter()
        .map(|k| (k, sums[k - 1] / total))
        .collect()
}
