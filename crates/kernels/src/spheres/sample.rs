//! Points on products of spheres, kernels between them, and the reproducing kernels of classes.
//!
//! By the addition theorem a class of degrees has Z(ξ, η) = Σ_r⃗ Π_i N(d0, r_i) P_{r_i}(ξ_i·η_i/d0) = Σ_l
//! Y_l(ξ) Y_l(η) over its orthonormal eigenfunctions; for GAP its average over the shifts of η. The kernel
//! is K = Σ λ Z.

use polariscope_linalg::symmetric_eigenvalues;
use polariscope_random::Stream;
use rayon::prelude::*;

use super::classes::members;
use super::harmonics::{harmonics, legendre};
use super::{Level, Product, Profile, SphereError, System};

/// Uniform points, their mini-patches brought to length 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    product: Product,
    units: Vec<f64>,
}

impl Points {
    /// Draws `count` points; the same seed and draw give the same ones.
    pub fn draw(product: Product, count: usize, seed: u64, draw: u64) -> Self {
        let (d0, size) = (product.d0(), count * product.dim());
        let mut normal = vec![0f32; size];
        Stream::new(seed, draw, "spheres").normal(1.0, &mut normal);
        let mut units: Vec<f64> = normal.into_iter().map(f64::from).collect();
        for unit in units.chunks_exact_mut(d0) {
            let norm = unit.iter().map(|x| x * x).sum::<f64>().sqrt();
            if norm > 0.0 {
                unit.iter_mut().for_each(|x| *x /= norm);
            } else {
                unit[0] = 1.0;
            }
        }
        Self { product, units }
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.units.len() / self.product.dim()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Mini-patch i of point a, of length 1.
    pub(super) fn unit(&self, a: usize, i: usize) -> &[f64] {
        let d0 = self.product.d0();
        &self.units[(a * self.product.p() + i) * d0..][..d0]
    }

    /// The cosine between mini-patch i of point a and mini-patch j of point b.
    fn cosine(&self, (a, i): (usize, usize), (b, j): (usize, usize)) -> f64 {
        let pairs = self.unit(a, i).iter().zip(self.unit(b, j));
        pairs.map(|(x, y)| x * y).sum()
    }

    /// K(ξ_a, ξ_b), straight from the definition.
    pub fn kernel(&self, system: System, profile: &Profile, a: usize, b: usize) -> f64 {
        let (p, s) = (self.product.p(), self.product.s());
        let patch = |i: usize, j: usize, size: usize| {
            let cosines = (0..size).map(|c| self.cosine((a, (i + c) % p), (b, (j + c) % p)));
            profile.at(cosines.sum::<f64>() / size as f64)
        };
        match system {
            System::Fcn => patch(0, 0, p),
            System::Vec => (0..p).map(|i| patch(i, i, s)).sum::<f64>() / p as f64,
            System::Gap => {
                let all = (0..p).flat_map(|i| (0..p).map(move |j| (i, j)));
                all.map(|(i, j)| patch(i, j, s)).sum::<f64>() / (p * p) as f64
            }
        }
    }

    /// Every K(ξ_a, ξ_b), row by row.
    pub fn gram(&self, system: System, profile: &Profile) -> Vec<f64> {
        let m = self.len();
        let rows: Vec<Vec<f64>> = (0..m)
            .into_par_iter()
            .map(|a| {
                (0..=a)
                    .map(|b| self.kernel(system, profile, a, b))
                    .collect()
            })
            .collect();
        let mut gram = vec![0.0; m * m];
        for (a, row) in rows.iter().enumerate() {
            for (b, &k) in row.iter().enumerate() {
                gram[a * m + b] = k;
                gram[b * m + a] = k;
            }
        }
        gram
    }

    /// Eigenvalues of the Gram matrix over the number of points, largest first.
    pub fn eigenvalues(&self, system: System, profile: &Profile) -> Result<Vec<f64>, SphereError> {
        self.eigenvalues_of(self.gram(system, profile))
    }

    /// The same for a Gram matrix that is there.
    pub(super) fn eigenvalues_of(&self, mut gram: Vec<f64>) -> Result<Vec<f64>, SphereError> {
        let m = self.len();
        gram.iter_mut().for_each(|k| *k /= m as f64);
        symmetric_eigenvalues(&gram, m).map_err(|_| SphereError::Decomposition)
    }
}

/// Z of some levels.
pub struct Zonal {
    system: System,
    product: Product,
    order: usize,
    dims: Vec<f64>,
    /// For each level, for each r⃗, the positions and degrees above 0.
    levels: Vec<Vec<Vec<(usize, usize)>>>,
}

impl Zonal {
    /// Of these levels of a system.
    pub fn new(system: System, product: Product, levels: &[&Level]) -> Self {
        let order = levels.iter().map(|l| l.order).max().unwrap_or(0);
        let dims = (0..=order).map(|r| harmonics(product.d0(), r).unwrap_or(0) as f64);
        let sparse = |r: Vec<usize>| {
            let places = r.into_iter().enumerate();
            places.filter(|&(_, r)| r > 0).collect()
        };
        let level = |l: &&Level| {
            let all = members(system, product, &l.degrees);
            all.into_iter().map(sparse).collect()
        };
        Self {
            system,
            product,
            order,
            dims: dims.collect(),
            levels: levels.iter().map(level).collect(),
        }
    }

    /// Z(ξ_a, ξ_b) of every level.
    pub fn at(&self, points: &Points, a: usize, b: usize) -> Vec<f64> {
        let p = self.product.p();
        let shifts = match self.system {
            System::Fcn | System::Vec => 1,
            System::Gap => p,
        };
        let mut sums = vec![0.0; self.levels.len()];
        for shift in 0..shifts {
            let factors: Vec<Vec<f64>> = (0..p)
                .map(|i| {
                    let t = points.cosine((a, i), (b, (i + shift) % p));
                    let values = legendre(self.product.d0(), self.order, t);
                    values.iter().zip(&self.dims).map(|(v, n)| v * n).collect()
                })
                .collect();
            for (sum, members) in sums.iter_mut().zip(&self.levels) {
                let terms = members.iter().map(|r| -> f64 {
                    let own = r.iter().map(|&(i, degree)| factors[i][degree]);
                    own.product()
                });
                *sum += terms.sum::<f64>();
            }
        }
        sums.iter_mut().for_each(|z| *z /= shifts as f64);
        sums
    }
}
