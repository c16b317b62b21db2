//! Eigenvalues of a symmetric matrix that is only known by its products with vectors.
//!
//! Lanczos: an orthonormal basis V of v, Av, A²v, …, made orthogonal to all of itself twice at every step, and the matrix
//! T = VᵀAV. With (θ, s) an eigenpair of T, some eigenvalue of A lies within ‖AVs − θVs‖ = β|s_last| of θ. Where the basis
//! is full, the best vectors Vs start the next one (thick restart), so the memory does not grow.
//!
//! Quadrature: for f and a probe v, vᵀf(A)v/vᵀv = Σ w f(θ) over eigenpairs of T, w the squared first entries of s, exact for
//! polynomials up to degree 2m − 1 of m steps. The mean over random probes estimates tr f(A)/n.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{EigenError, symmetric_eigen};

/// Numbers that one task adds.
const BLOCK: usize = 1 << 14;
/// A vector that orthogonalisation makes shorter than this part of what it was is rounding.
const ROUNDING: f64 = 1e-12;
/// Steps between two looks at what has converged.
const LOOK: usize = 8;

/// What is wanted of [`extremes`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// How many of the largest.
    pub largest: usize,
    /// How many of the smallest.
    pub smallest: usize,
    /// Vectors that are held; at least 2 (largest + smallest) + 2 of them are.
    pub basis: usize,
    /// A residual may be this part of the largest |λ|.
    pub tolerance: f64,
    /// Most products with the matrix.
    pub products: usize,
}

/// An eigenvalue lies within `residual` of `value`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ritz {
    /// Approximates an eigenvalue.
    pub value: f64,
    /// How far it may be from one.
    pub residual: f64,
}

/// The ends of a spectrum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Extremes {
    /// Largest first.
    pub largest: Vec<Ritz>,
    /// Smallest first.
    pub smallest: Vec<Ritz>,
    /// Products with the matrix.
    pub products: usize,
    /// Whether all residuals are within the tolerance.
    pub converged: bool,
}

/// The eigenvalues at both ends of a symmetric n × n matrix of products `apply`. `draw` gives random vectors by number: the
/// first starts, and others follow wherever the basis is closed under the matrix.
///
/// ```
/// use polariscope_linalg::{EigenError, Wanted, extremes};
/// // The diagonal matrix of 0, 1, …, 49.
/// let apply = |v: &[f64]| Ok::<_, EigenError>(v.iter().enumerate().map(|(i, v)| i as f64 * v).collect());
/// let wanted = Wanted { largest: 2, smallest: 1, basis: 10, tolerance: 1e-12, products: 1000 };
/// let found = extremes(50, wanted, |k| (0..50).map(|i| 1.0 + ((i + k) % 3) as f64).collect(), apply)?;
/// assert!(found.converged);
/// assert!((found.largest[1].value - 48.0).abs() < 1e-10 && found.smallest[0].value.abs() < 1e-10);
/// # Ok::<(), EigenError>(())
/// ```
pub fn extremes<E: From<EigenError>>(
    n: usize,
    wanted: Wanted,
    mut draw: impl FnMut(usize) -> Vec<f64>,
    mut apply: impl FnMut(&[f64]) -> Result<Vec<f64>, E>,
) -> Result<Extremes, E> {
    let asked = wanted.largest + wanted.smallest;
    let most = wanted.basis.max(2 * asked + 2).min(n);
    let mut krylov = Krylov::default();
    let (mut products, mut drawn) = (0, 0);
    loop {
        // The basis is closed under the matrix: what it cannot see begins elsewhere.
        let closed = krylov.is_closed();
        while krylov.is_closed() && drawn <= n {
            krylov.open(draw(drawn));
            drawn += 1;
        }
        let held = krylov.projected.len();
        let over = products >= wanted.products || held == n || drawn > n;
        let full = held == most;
        if over || full || (!closed && held >= asked && held.is_multiple_of(LOOK)) {
            let ritz = krylov.ritz()?;
            let found = ritz.ends(&wanted, products);
            if found.converged || over {
                return Ok(found);
            }
            if full {
                krylov.restart(&ritz, ritz.best(&wanted, most));
            }
        }
        krylov.step(&mut apply)?;
        products += 1;
    }
}

/// The quadrature of a probe: vᵀf(A)v/vᵀv = Σ weight · f(node).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quadrature {
    /// Largest first.
    pub nodes: Vec<f64>,
    /// At least 0; their sum is 1.
    pub weights: Vec<f64>,
}

impl Quadrature {
    /// Σ weight · f(node).
    pub fn mean(&self, f: impl Fn(f64) -> f64) -> f64 {
        let pairs = self.nodes.iter().zip(&self.weights);
        pairs.map(|(&node, weight)| weight * f(node)).sum()
    }
}

/// At most `steps` Lanczos steps from `probe`; none where it is zero.
pub fn quadrature<E: From<EigenError>>(
    probe: Vec<f64>,
    steps: usize,
    mut apply: impl FnMut(&[f64]) -> Result<Vec<f64>, E>,
) -> Result<Quadrature, E> {
    let mut krylov = Krylov::default();
    krylov.open(probe);
    for _ in 0..steps {
        if krylov.is_closed() {
            break;
        }
        krylov.step(&mut apply)?;
    }
    let ritz = krylov.ritz()?;
    let first = |i: usize| ritz.vectors[i * ritz.values.len()];
    Ok(Quadrature {
        weights: (0..ritz.values.len()).map(|i| first(i).powi(2)).collect(),
        nodes: ritz.values,
    })
}

/// An orthonormal basis and the matrix in it.
#[derive(Default)]
struct Krylov {
    /// The vectors that were multiplied, then the one that is next, if any.
    basis: Vec<Vec<f64>>,
    /// T, row by row.
    projected: Vec<Vec<f64>>,
    /// What the last product had outside of the basis.
    beta: f64,
}

/// Eigenpairs of T.
struct Pairs {
    /// Largest first.
    values: Vec<f64>,
    /// One a row.
    vectors: Vec<f64>,
    residuals: Vec<f64>,
}

impl Krylov {
    /// Whether no vector is next.
    fn is_closed(&self) -> bool {
        self.basis.len() == self.projected.len()
    }

    /// Adds what a vector has outside of the basis, if that is more than rounding.
    fn open(&mut self, mut vector: Vec<f64>) {
        let before = norm(&vector);
        self.orthogonalise(&mut vector);
        let after = norm(&vector);
        if after > ROUNDING * before {
            scale(&mut vector, 1.0 / after);
            self.basis.push(vector);
        }
    }

    /// Multiplies the next vector.
    fn step<E>(&mut self, apply: &mut impl FnMut(&[f64]) -> Result<Vec<f64>, E>) -> Result<(), E> {
        let Some(next) = self.basis.last() else {
            return Ok(());
        };
        let mut product = apply(next)?;
        let before = norm(&product);
        let inside = self.orthogonalise(&mut product);
        for (row, &entry) in self.projected.iter_mut().zip(&inside) {
            row.push(entry);
        }
        self.projected.push(inside);
        self.beta = norm(&product);
        if self.beta > ROUNDING * before {
            scale(&mut product, 1.0 / self.beta);
            self.basis.push(product);
        } else {
            self.beta = 0.0;
        }
        Ok(())
    }

    /// Takes the basis out of a vector, twice; the products with the basis.
    fn orthogonalise(&self, vector: &mut [f64]) -> Vec<f64> {
        let mut inside = vec![0.0; self.basis.len()];
        for _ in 0..2 {
            let products: Vec<f64> = self.basis.par_iter().map(|v| dot(v, vector)).collect();
            vector
                .par_chunks_mut(BLOCK)
                .enumerate()
                .for_each(|(b, part)| {
                    for (v, &product) in self.basis.iter().zip(&products) {
                        let v = &v[b * BLOCK..][..part.len()];
                        part.iter_mut().zip(v).for_each(|(x, v)| *x -= product * v);
                    }
                });
            inside.iter_mut().zip(products).for_each(|(i, p)| *i += p);
        }
        inside
    }

    fn ritz(&self) -> Result<Pairs, EigenError> {
        let held = self.projected.len();
        let eigen = symmetric_eigen(&self.projected.concat(), held)?;
        let last = |i: usize| eigen.vectors[(i + 1) * held - 1];
        Ok(Pairs {
            residuals: (0..held).map(|i| self.beta * last(i).abs()).collect(),
            values: eigen.values,
            vectors: eigen.vectors,
        })
    }

    /// Goes on from some of the eigenvectors and the next vector.
    fn restart(&mut self, pairs: &Pairs, kept: Vec<usize>) {
        let held = self.projected.len();
        let n = self.basis.first().map_or(0, Vec::len);
        let mut old = vec![0.0; held * BLOCK.min(n)];
        for first in (0..n).step_by(BLOCK) {
            let length = BLOCK.min(n - first);
            for (old, v) in old.chunks_exact_mut(length).zip(&self.basis[..held]) {
                old.copy_from_slice(&v[first..first + length]);
            }
            let rows = self.basis[..kept.len()].par_iter_mut().zip(&kept);
            rows.for_each(|(new, &i)| {
                let new = &mut new[first..first + length];
                new.fill(0.0);
                let entries = &pairs.vectors[i * held..][..held];
                for (old, entry) in old.chunks_exact(length).zip(entries) {
                    new.iter_mut()
                        .zip(old)
                        .for_each(|(new, old)| *new += entry * old);
                }
            });
        }
        self.basis.drain(kept.len()..held);
        let diagonal = |(at, &i): (usize, &usize)| {
            let mut row = vec![0.0; kept.len()];
            row[at] = pairs.values[i];
            row
        };
        self.projected = kept.iter().enumerate().map(diagonal).collect();
    }
}

impl Pairs {
    /// The ends, as they stand.
    fn ends(&self, wanted: &Wanted, products: usize) -> Extremes {
        let held = self.values.len();
        let ritz = |i: usize| Ritz {
            value: self.values[i],
            residual: self.residuals[i],
        };
        let (largest, smallest) = (wanted.largest.min(held), wanted.smallest.min(held));
        let largest: Vec<Ritz> = (0..largest).map(ritz).collect();
        let smallest: Vec<Ritz> = (0..smallest).map(|i| ritz(held - 1 - i)).collect();
        let scale = self.values.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let near = |r: &Ritz| r.residual <= wanted.tolerance * scale;
        let complete = largest.len() == wanted.largest && smallest.len() == wanted.smallest;
        Extremes {
            converged: complete && largest.iter().chain(&smallest).all(near),
            largest,
            smallest,
            products,
        }
    }

    /// Those that a full basis of `most` keeps: the wanted ones, and half of the rest from the same ends.
    fn best(&self, wanted: &Wanted, most: usize) -> Vec<usize> {
        let asked = (wanted.largest + wanted.smallest).max(1);
        let keep = (asked + most.saturating_sub(asked) / 2).min(most - 1);
        let high = (keep * wanted.largest).div_ceil(asked).min(keep);
        (0..high).chain(most - (keep - high)..most).collect()
    }
}

/// Blocks on one thread each, added in their order.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let blocks = a.par_chunks(BLOCK).zip(b.par_chunks(BLOCK));
    let sums: Vec<f64> = blocks
        .map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).sum())
        .collect();
    sums.iter().sum()
}

fn norm(v: &[f64]) -> f64 {
    dot(v, v).sqrt()
}

fn scale(v: &mut [f64], by: f64) {
    v.par_chunks_mut(BLOCK)
        .for_each(|part| part.iter_mut().for_each(|x| *x *= by));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symmetric_eigenvalues;
    use polariscope_random::Stream;

    fn draw(n: usize) -> impl FnMut(usize) -> Vec<f64> {
        move |k| {
            let mut v = vec![0.0f32; n];
            Stream::new(1, k as u64, "probe").normal(1.0, &mut v);
            v.into_iter().map(f64::from).collect()
        }
    }

    fn product(a: &[f64], n: usize) -> impl FnMut(&[f64]) -> Result<Vec<f64>, EigenError> + '_ {
        move |v| {
            Ok(a.chunks_exact(n)
                .map(|row| row.iter().zip(v).map(|(a, v)| a * v).sum())
                .collect())
        }
    }

    /// A random symmetric matrix.
    fn symmetric(n: usize) -> Vec<f64> {
        let x: Vec<f64> = draw(n * n)(7);
        (0..n * n)
            .map(|at| x[at] + x[at % n * n + at / n])
            .collect()
    }

    fn wanted(largest: usize, smallest: usize) -> Wanted {
        Wanted {
            largest,
            smallest,
            basis: 30,
            tolerance: 1e-10,
            products: 5000,
        }
    }

    /// Both ends of a dense matrix, over several restarts; the true eigenvalue lies within the residual.
    #[test]
    fn ends_of_a_dense_matrix() {
        let n = 200;
        let a = symmetric(n);
        let all = symmetric_eigenvalues(&a, n).unwrap();
        for (largest, smallest) in [(5, 3), (4, 0), (0, 4)] {
            let found = extremes(n, wanted(largest, smallest), draw(n), product(&a, n)).unwrap();
            assert!(
                found.converged && found.products > 30 && found.products < 1000,
                "{found:?}"
            );
            let high = found.largest.iter().zip(&all);
            let low = found.smallest.iter().zip(all.iter().rev());
            for (found, exact) in high.chain(low) {
                assert!(
                    (found.value - exact).abs() < 1e-9 * all[0],
                    "{found:?} for {exact}"
                );
            }
            assert_eq!(
                (found.largest.len(), found.smallest.len()),
                (largest, smallest)
            );
        }
        // Not given the time: the bound is wide, and true.
        let hurried = Wanted {
            products: 20,
            ..wanted(3, 0)
        };
        let found = extremes(n, hurried, draw(n), product(&a, n)).unwrap();
        assert!(!found.converged && found.products == 20);
        for r in &found.largest {
            assert!(
                r.residual > 1e-6 && all.iter().any(|l| (l - r.value).abs() <= r.residual),
                "{r:?}"
            );
        }
    }

    /// Few distinct eigenvalues: a basis that is closed goes on elsewhere, and finds the copies.
    #[test]
    fn copies_and_small_matrices() {
        let n = 40;
        // 5 three times, −1 twice, 0 otherwise.
        let entry = |i: usize| [5.0, 5.0, 5.0, -1.0, -1.0].get(i).copied().unwrap_or(0.0);
        let mut a = vec![0.0; n * n];
        (0..n).for_each(|i| a[i * n + i] = entry(i));
        let found = extremes(n, wanted(4, 3), draw(n), product(&a, n)).unwrap();
        let values = |r: &[Ritz]| r.iter().map(|r| r.value.round()).collect::<Vec<_>>();
        assert_eq!(values(&found.largest), [5.0, 5.0, 5.0, 0.0]);
        assert_eq!(values(&found.smallest), [-1.0, -1.0, 0.0]);
        // Everything of a matrix of two rows, and nothing of one that is 0.
        let found = extremes(2, wanted(5, 5), draw(2), product(&[2.0, 1.0, 1.0, 2.0], 2)).unwrap();
        assert_eq!(values(&found.largest), [3.0, 1.0]);
        let zero = vec![0.0; n * n];
        let found = extremes(n, wanted(2, 2), draw(n), product(&zero, n)).unwrap();
        assert!(found.converged && values(&found.largest) == [0.0, 0.0]);
    }

    /// Polynomials up to degree 2m − 1 are exact for each probe; a closed basis is exact for all.
    #[test]
    fn quadratures() {
        let n = 60;
        let a = symmetric(n);
        let probe = draw(n)(0);
        let steps = 5;
        let found = quadrature(probe.clone(), steps, product(&a, n)).unwrap();
        assert!((found.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let mut power = probe.clone();
        for degree in 0..2 * steps as i32 {
            let exact = dot(&probe, &power) / dot(&probe, &probe);
            let mean = found.mean(|l| l.powi(degree));
            let size = found.mean(|l| l.abs().powi(degree));
            assert!(
                (mean - exact).abs() < 1e-11 * size,
                "{degree}: {mean} for {exact}"
            );
            power = product(&a, n)(&power).unwrap();
        }
        let rank_one: Vec<f64> = (0..n * n).map(|at| probe[at / n] * probe[at % n]).collect();
        let found = quadrature(draw(n)(1), 50, product(&rank_one, n)).unwrap();
        assert!(found.nodes.len() <= 3, "{found:?}");
    }
}
