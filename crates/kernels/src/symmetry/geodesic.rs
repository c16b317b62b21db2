//! The geodesic from the identity to a rotation: τ_t = exp(t log τ), in every cell.
//!
//! A rotation A has eigenvalues e^{±iθ}, 0 ≤ θ ≤ π, and its symmetric part S = (A + Aᵀ)/2 the eigenvalues cos θ; S
//! commutes with the antisymmetric part K = (A − Aᵀ)/2. One eigendecomposition of S splits the space into where cos θ
//! is large and where it is small, cut in a gap. On the first half the Hermitian matrix −i(1 + S)^{−½} K (1 + S)^{−½} has
//! the eigenvalues ±tan(θ/2), a function of the angle that is one-to-one and smooth there; so its eigenvectors U give
//! A^t = Re U e^{iθt} U* stably, however many angles agree. On the second half the same is done for −A, whose angles are
//! θ − π. Where A = −1 the plane of rotation is free: pairs of eigenvectors are turned by π together.
//!
//! A matrix of determinant −1 is not connected with the identity: its first column changes sign first.

use faer::{Mat, MatRef, Side, c64};
use rayon::prelude::*;

use super::SymmetryError;
use super::element::{Action, Element};

/// Angles closer to π than this are π.
const HALF_TURN: f64 = 1e-12;
/// cos θ at which the space is cut, up to this much to either side.
const CUT: f64 = 0.5;

/// exp(t log A) of one matrix: A^t = Σ_j Re(e^{i t θ_j} u_j u_j*).
struct Powers {
    n: usize,
    /// Columns.
    vectors: Mat<c64>,
    angles: Vec<f64>,
}

/// τ_t for every t.
pub struct Geodesic {
    end: Element,
    powers: Vec<Powers>,
    flipped: usize,
}

impl Geodesic {
    /// The geodesic to τ, or to τ with a column's sign changed where its determinant is −1.
    pub fn new(tau: &Element) -> Result<Self, SymmetryError> {
        let m = tau.size();
        let turned: Vec<(Action, bool)> = tau
            .actions
            .par_iter()
            .map(|action| proper(matrix(action, m), m))
            .collect();
        let flipped = turned.iter().filter(|(_, flipped)| *flipped).count();
        let actions: Vec<Action> = turned.into_iter().map(|(action, _)| action).collect();
        let powers = actions
            .par_iter()
            .map(|action| Powers::new(&matrix(action, m), m))
            .collect::<Result<_, _>>()?;
        Ok(Geodesic {
            end: tau.with_actions(actions),
            powers,
            flipped,
        })
    }

    /// How many matrices had determinant −1.
    pub fn flipped(&self) -> usize {
        self.flipped
    }

    /// τ₁: the element itself where nothing was flipped.
    pub fn end(&self) -> &Element {
        &self.end
    }

    /// τ_t.
    pub fn at(&self, t: f64) -> Element {
        let power = |p: &Powers| Action::Matrix(p.at(t));
        self.end
            .with_actions(self.powers.par_iter().map(power).collect())
    }
}

/// An action as a matrix, row by row.
fn matrix(action: &Action, m: usize) -> Vec<f64> {
    match action {
        Action::Matrix(a) => a.clone(),
        Action::Order(order) => {
            let mut a = vec![0.0; m * m];
            order
                .iter()
                .enumerate()
                .for_each(|(i, &to)| a[to * m + i] = 1.0);
            a
        }
    }
}

/// The matrix with determinant 1, and whether a column had to be flipped.
fn proper(mut a: Vec<f64>, m: usize) -> (Action, bool) {
    let flip = MatRef::from_row_major_slice(&a, m, m).determinant() < 0.0;
    if flip {
        (0..m).for_each(|i| a[i * m] = -a[i * m]);
    }
    (Action::Matrix(a), flip)
}

impl Powers {
    fn new(a: &[f64], n: usize) -> Result<Self, SymmetryError> {
        let a = MatRef::from_row_major_slice(a, n, n);
        let s = Mat::from_fn(n, n, |i, j| 0.5 * (a[(i, j)] + a[(j, i)]));
        let eigen = s
            .self_adjoint_eigen(Side::Lower)
            .map_err(|_| SymmetryError::Logarithm)?;
        // Smallest first: cos θ from −1 up.
        let cosines: Vec<f64> = eigen.S().column_vector().iter().copied().collect();
        let cut = widest_gap(&cosines);
        let mut powers = Powers {
            n,
            vectors: Mat::zeros(n, n),
            angles: Vec::with_capacity(n),
        };
        let v = eigen.U();
        powers.half(a, v.subcols(0, cut), &cosines[..cut], -1.0)?;
        powers.half(a, v.subcols(cut, n - cut), &cosines[cut..], 1.0)?;
        Ok(powers)
    }

    /// Adds eigenvectors and angles on the span of the columns of `v`, from the angles of sign·A.
    fn half(
        &mut self,
        a: MatRef<'_, f64>,
        v: MatRef<'_, f64>,
        cosines: &[f64],
        sign: f64,
    ) -> Result<(), SymmetryError> {
        let k = cosines.len();
        if k == 0 {
            return Ok(());
        }
        let b: Mat<f64> = v.transpose() * (a * v);
        let root: Vec<f64> = cosines.iter().map(|c| (1.0 + sign * c).sqrt()).collect();
        let hermitian = Mat::from_fn(k, k, |i, j| {
            let skew = 0.5 * sign * (b[(i, j)] - b[(j, i)]);
            c64::new(0.0, -skew / (root[i] * root[j]))
        });
        let eigen = hermitian
            .self_adjoint_eigen(Side::Lower)
            .map_err(|_| SymmetryError::Logarithm)?;
        let tangents: Vec<f64> = eigen.S().column_vector().iter().map(|s| s.re).collect();
        let angle = |tangent: f64| 2.0 * tangent.atan();
        let mut u = eigen.U().to_owned();
        if sign < 0.0 {
            make_real(&mut u, &tangents);
        }
        let v = Mat::from_fn(v.nrows(), k, |i, j| c64::new(v[(i, j)], 0.0));
        let vectors = &v * &u;
        for (j, &tangent) in tangents.iter().enumerate() {
            let at = self.angles.len();
            for i in 0..self.n {
                self.vectors[(i, at)] = vectors[(i, j)];
            }
            let own = angle(tangent);
            self.angles.push(match sign < 0.0 {
                false => own,
                true if j < k / 2 => own + std::f64::consts::PI,
                true => own - std::f64::consts::PI,
            });
        }
        Ok(())
    }

    /// A^t, row by row.
    fn at(&self, t: f64) -> Vec<f64> {
        let n = self.n;
        let turned = Mat::from_fn(n, n, |i, j| {
            let (sin, cos) = (t * self.angles[j]).sin_cos();
            self.vectors[(i, j)] * c64::new(cos, sin)
        });
        let product: Mat<c64> = &turned * self.vectors.adjoint();
        (0..n * n).map(|k| product[(k / n, k % n)].re).collect()
    }
}

/// Where to cut ascending cosines: in the widest gap between −CUT and CUT.
fn widest_gap(cosines: &[f64]) -> usize {
    let inside = |c: f64| c.clamp(-CUT, CUT);
    let n = cosines.len();
    let edge = |i: usize| {
        let below = if i == 0 { -CUT } else { inside(cosines[i - 1]) };
        let above = if i == n { CUT } else { inside(cosines[i]) };
        above - below
    };
    (0..=n).fold(0, |best, i| if edge(i) > edge(best) { i } else { best })
}

/// Where −A has the angle 0, A turns by π in planes that are free to choose: u_j = (a + ib)/√2 and its conjugate for
/// real orthonormal a, b, so that the power of A stays real.
fn make_real(u: &mut Mat<c64>, tangents: &[f64]) {
    let k = tangents.len();
    let free: Vec<usize> = (0..k).filter(|&j| tangents[j].abs() < HALF_TURN).collect();
    if free.is_empty() {
        return;
    }
    // A real orthonormal basis of the span: real and imaginary parts, by Gram and Schmidt with the largest remainder.
    let mut candidates: Vec<Vec<f64>> = Vec::new();
    for &j in &free {
        candidates.push((0..k).map(|i| u[(i, j)].re).collect());
        candidates.push((0..k).map(|i| u[(i, j)].im).collect());
    }
    let mut basis: Vec<Vec<f64>> = Vec::new();
    while basis.len() < free.len() {
        let size = |v: &Vec<f64>| dot(v, v);
        let best = (0..candidates.len()).fold(0, |best, i| {
            if size(&candidates[i]) > size(&candidates[best]) {
                i
            } else {
                best
            }
        });
        let mut v = candidates.swap_remove(best);
        for b in &basis {
            remove(&mut v, b);
        }
        let norm = dot(&v, &v).sqrt();
        v.iter_mut().for_each(|x| *x /= norm);
        candidates.iter_mut().for_each(|c| remove(c, &v));
        basis.push(v);
    }
    let half = 0.5_f64.sqrt();
    // Eigenvalues ascend, so the free ones are neighbours around the middle: mirror images pair up.
    for p in 0..free.len() / 2 {
        let (a, b) = (&basis[2 * p], &basis[2 * p + 1]);
        let (low, high) = (free[p], free[free.len() - 1 - p]);
        for i in 0..k {
            u[(i, low)] = c64::new(half * a[i], half * b[i]);
            u[(i, high)] = c64::new(half * a[i], -half * b[i]);
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn remove(v: &mut [f64], unit: &[f64]) {
    let c = dot(v, unit);
    v.iter_mut().zip(unit).for_each(|(v, u)| *v -= c * u);
}
