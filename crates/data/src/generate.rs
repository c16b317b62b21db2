//! Synthetic problems. y = ±1 throughout; class 1 is y = +1.
//!
//! Most of them plant a few components along orthonormal directions u₁, … and fill the rest of space with
//! noise: x = Σ c_k u_k + ω, ω ~ N(0, σ²(I − Σ u_k u_kᵀ)).
//!
//! Every number comes from [`polariscope_random`], so a data set is the same on every machine and for every
//! number of threads.

use std::path::{Path, PathBuf};

use polariscope_graph::Shape;
use polariscope_random::{Cursor, Stream};
use rayon::prelude::*;

use crate::dataset::{Labels, Split};
use crate::direction::{Direction, frame};
use crate::error::DataError;
use crate::files::npy;
use polariscope_linalg as linalg;

/// How the isotropic problem's component t = xᵀu decides the label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labeling {
    /// sgn(t + b)
    Linear,
    /// sgn(t² + b)
    Quadratic,
    /// sgn(sin t + b)
    Sinusoidal,
}

/// Smallest and largest width of a Gaussian of a mixture.
const NARROW: f64 = 0.4;
const WIDE: f64 = 1.6;

/// A synthetic problem.
#[derive(Clone, Debug, PartialEq)]
pub enum Generator {
    /// D(v): x = εyv + ω.
    Linear {
        /// v.
        v: Direction,
        /// ε.
        eps: f64,
        /// σ.
        sigma: f64,
    },
    /// Two circles in the plane (u₁, u₂): radius `outer` for y = +1, `inner` for y = −1.
    Doughnut {
        /// u₁ and u₂.
        u: [Direction; 2],
        /// Radius for y = +1.
        outer: f64,
        /// Radius for y = −1.
        inner: f64,
        /// σ.
        sigma: f64,
    },
    /// x ~ N(0, Σ), labels fair coins.
    Gaussian {
        /// Σ, D × D.
        covariance: PathBuf,
    },
    /// x = εαu + ω, α ~ N(0, 1).
    Isotropic {
        /// u.
        u: Direction,
        /// ε.
        eps: f64,
        /// σ.
        sigma: f64,
        /// The rule.
        labeling: Labeling,
        /// Its offset.
        b: f64,
    },
    /// x = εyu₁ + circle of radius r_y in (u₂, u₃) + ω: a linear and a circular cue.
    Cue {
        /// u₁, u₂ and u₃.
        u: [Direction; 3],
        /// ε.
        eps: f64,
        /// Radius for y = +1.
        outer: f64,
        /// Radius for y = −1.
        inner: f64,
        /// σ.
        sigma: f64,
    },
    /// Gaussian points minus their mean, brought to the sphere of radius √d; labels alternate, so that they
    /// say nothing and are balanced.
    Random,
    /// Uniform on the sphere of this radius in R^d (√d if not given), labels fair coins.
    Sphere {
        /// Its radius.
        radius: Option<f64>,
    },
    /// Uniform on (√d₀ S^{d₀−1})^count, labels fair coins.
    Spheres {
        /// Factors.
        count: usize,
        /// d₀.
        dimension: usize,
    },
    /// One of `count` Gaussians, each with a centre from N(0, ε²) and widths of its own along the axes, log-uniform
    /// between 0.4 and 1.6; y = +1 for every second of them.
    Mixture {
        /// Gaussians.
        count: usize,
        /// ε.
        eps: f64,
    },
    /// x ~ N(0, I), y = +1 where low < x₁ < high.
    Stripe {
        /// Lower interface.
        low: f64,
        /// Upper interface.
        high: f64,
    },
}

/// Which part of a data set, how large, and from which seed.
pub(crate) struct Part<'a> {
    pub name: &'a str,
    pub samples: usize,
    pub seed: u64,
}

impl Part<'_> {
    fn stream(&self, purpose: &str) -> Stream {
        Stream::new(self.seed, 0, &format!("data.{}.{purpose}", self.name))
    }

    fn normals(&self, purpose: &str, width: usize, std: f64) -> Vec<f32> {
        let stream = self.stream(purpose);
        let mut out = vec![0.0; self.samples * width];
        const BLOCK: usize = 1 << 16;
        out.par_chunks_mut(BLOCK)
            .enumerate()
            .for_each(|(block, out)| {
                stream.normal_from((block * BLOCK) as u64, std as f32, out);
            });
        out
    }

    fn coins(&self) -> Vec<u32> {
        let mut cursor: Cursor = self.stream("labels").cursor();
        (0..self.samples).map(|_| cursor.next_u32() >> 31).collect()
    }
}

impl Generator {
    /// The directions it needs, in order.
    fn directions(&self) -> Vec<&Direction> {
        match self {
            Generator::Linear { v, .. } => vec![v],
            Generator::Isotropic { u, .. } => vec![u],
            Generator::Doughnut { u, .. } => u.iter().collect(),
            Generator::Cue { u, .. } => u.iter().collect(),
            Generator::Gaussian { .. }
            | Generator::Random
            | Generator::Sphere { .. }
            | Generator::Spheres { .. }
            | Generator::Mixture { .. }
            | Generator::Stripe { .. } => Vec::new(),
        }
    }

    /// Training and test samples in `shape`, as many as asked.
    ///
    /// ```
    /// use polariscope_data::{Direction, Generator};
    /// let v = Direction::Given([0.0, 2.0].into());
    /// let problem = Generator::Linear { v, eps: 1.0, sigma: 0.0 };
    /// let [train, _] = problem.splits("2".parse()?, [5, 3], 0)?;
    /// assert!(train.x.chunks(2).all(|x| x[0] == 0.0 && x[1].abs() == 1.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn splits(
        &self,
        shape: Shape,
        [train, test]: [usize; 2],
        seed: u64,
    ) -> Result<[Split; 2], DataError> {
        let part = |name, samples| Part {
            name,
            samples,
            seed,
        };
        self.draw(shape, [part("train", train), part("test", test)])
    }

    /// Draws parts of the problem in `shape`.
    pub(crate) fn draw<const N: usize>(
        &self,
        shape: Shape,
        parts: [Part<'_>; N],
    ) -> Result<[Split; N], DataError> {
        let dim = shape.len();
        let u = frame(&self.directions(), shape)?;
        let root = match self {
            Generator::Gaussian { covariance } => root(covariance, dim)?,
            _ => Vec::new(),
        };
        Ok(parts.map(|part| self.split(dim, &u, &root, &part)))
    }

    /// `u`: the planted directions, row by row; `root`: a square root of Σ.
    fn split(&self, dim: usize, u: &[f64], root: &[f64], part: &Part<'_>) -> Split {
        match *self {
            Generator::Linear { eps, sigma, .. } => {
                let y = part.coins();
                let x = planted(part, u, dim, sigma, |i, c| c[0] = eps * sign(y[i]));
                classes(x, y)
            }
            Generator::Doughnut {
                outer,
                inner,
                sigma,
                ..
            } => {
                let y = part.coins();
                let angle = circle(part);
                let x = planted(part, u, dim, sigma, |i, c| {
                    let r = if y[i] == 1 { outer } else { inner };
                    [c[0], c[1]] = angle[i].map(|a| r * a);
                });
                classes(x, y)
            }
            Generator::Cue {
                eps,
                outer,
                inner,
                sigma,
                ..
            } => {
                let y = part.coins();
                let angle = circle(part);
                let x = planted(part, u, dim, sigma, |i, c| {
                    let r = if y[i] == 1 { outer } else { inner };
                    c[0] = eps * sign(y[i]);
                    [c[1], c[2]] = angle[i].map(|a| r * a);
                });
                classes(x, y)
            }
            Generator::Isotropic {
                eps,
                sigma,
                labeling,
                b,
                ..
            } => {
                let alpha = part.normals("alpha", 1, 1.0);
                let t = |i: usize| eps * f64::from(alpha[i]);
                let x = planted(part, u, dim, sigma, |i, c| c[0] = t(i));
                let y = (0..part.samples).map(|i| u32::from(labeling.decide(t(i), b)));
                classes(x, y.collect())
            }
            Generator::Gaussian { .. } => {
                let z = part.normals("x", dim, 1.0);
                classes(linalg::apply(root, dim, &z), part.coins())
            }
            Generator::Random => {
                let mut x = part.normals("x", dim, 1.0);
                centre(&mut x, dim);
                to_sphere(&mut x, dim, (dim as f64).sqrt());
                classes(x, (0..part.samples).map(|i| (i % 2) as u32).collect())
            }
            Generator::Sphere { radius } => {
                let mut x = part.normals("x", dim, 1.0);
                to_sphere(&mut x, dim, radius.unwrap_or((dim as f64).sqrt()));
                classes(x, part.coins())
            }
            Generator::Spheres { dimension, .. } => {
                let mut x = part.normals("x", dim, 1.0);
                to_sphere(&mut x, dimension, (dimension as f64).sqrt());
                classes(x, part.coins())
            }
            Generator::Mixture { count, eps } => {
                let mut cursor = part.stream("component").cursor();
                let own = (0..part.samples).map(|_| cursor.below(count as u64) as usize);
                let own: Vec<usize> = own.collect();
                let x = mixed(part, dim, (count, eps), &own);
                classes(x, own.iter().map(|k| (k % 2) as u32).collect())
            }
            Generator::Stripe { low, high } => {
                let x = part.normals("x", dim, 1.0);
                let inside = |x: &[f32]| u32::from(low < f64::from(x[0]) && f64::from(x[0]) < high);
                let y = x.chunks_exact(dim).map(inside).collect();
                classes(x, y)
            }
        }
    }
}

impl Labeling {
    fn decide(self, t: f64, b: f64) -> bool {
        let value = match self {
            Labeling::Linear => t,
            Labeling::Quadratic => t * t,
            Labeling::Sinusoidal => t.sin(),
        };
        value + b > 0.0
    }
}

fn classes(x: Vec<f32>, y: Vec<u32>) -> Split {
    Split {
        x,
        y: Labels::Classes(y),
    }
}

fn sign(class: u32) -> f64 {
    if class == 1 { 1.0 } else { -1.0 }
}

/// N(0, σ²) noise whose components along the rows of `u` are replaced by what `components(i, c)` sets.
fn planted(
    part: &Part<'_>,
    u: &[f64],
    dim: usize,
    sigma: f64,
    components: impl Fn(usize, &mut [f64]) + Sync,
) -> Vec<f32> {
    let mut x = part.normals("noise", dim, sigma);
    x.par_chunks_exact_mut(dim).enumerate().for_each(|(i, x)| {
        let mut c = vec![0.0; u.len() / dim];
        components(i, &mut c);
        for (u, c) in u.chunks_exact(dim).zip(&mut c) {
            *c -= u
                .iter()
                .zip(x.iter())
                .map(|(u, &x)| u * f64::from(x))
                .sum::<f64>();
        }
        for (j, x) in x.iter_mut().enumerate() {
            let change: f64 = c.iter().enumerate().map(|(k, c)| c * u[k * dim + j]).sum();
            *x = (f64::from(*x) + change) as f32;
        }
    });
    x
}

/// Points of the Gaussians that `own` names. Centres and widths depend on the seed alone: all parts share them.
fn mixed(part: &Part<'_>, dim: usize, (count, eps): (usize, f64), own: &[usize]) -> Vec<f32> {
    let shared = |purpose: &str| Stream::new(part.seed, 0, &format!("data.{purpose}"));
    let (mut centres, mut widths) = (vec![0.0; count * dim], vec![0.0; count * dim]);
    shared("centres").normal(eps as f32, &mut centres);
    // Uniform on (−1, 1), then between the logarithms of the ends.
    shared("widths").uniform(1.0, &mut widths);
    let middle = (NARROW * WIDE).sqrt();
    let width = |u: &f32| middle * (WIDE / NARROW).powf(0.5 * f64::from(*u));
    let mut x = part.normals("x", dim, 1.0);
    x.par_chunks_exact_mut(dim).zip(own).for_each(|(x, &k)| {
        let axes = k * dim..(k + 1) * dim;
        let each = centres[axes.clone()].iter().zip(&widths[axes]);
        for (x, (c, u)) in x.iter_mut().zip(each) {
            *x = (f64::from(*c) + width(u) * f64::from(*x)) as f32;
        }
    });
    x
}

/// Uniform points on the unit circle: normal pairs brought to length 1.
fn circle(part: &Part<'_>) -> Vec<[f64; 2]> {
    let normals = part.normals("angle", 2, 1.0);
    let (pairs, _) = normals.as_chunks::<2>();
    let unit = |&[a, b]: &[f32; 2]| {
        let (a, b) = (f64::from(a), f64::from(b));
        let r = (a * a + b * b).sqrt();
        if r > 0.0 { [a / r, b / r] } else { [1.0, 0.0] }
    };
    pairs.iter().map(unit).collect()
}

/// Subtracts the mean sample.
fn centre(x: &mut [f32], dim: usize) {
    let samples = (x.len() / dim).max(1) as f64;
    let mut mean = vec![0.0; dim];
    for x in x.chunks_exact(dim) {
        mean.iter_mut()
            .zip(x)
            .for_each(|(m, &x)| *m += f64::from(x));
    }
    for x in x.chunks_exact_mut(dim) {
        for (x, m) in x.iter_mut().zip(&mean) {
            *x = (f64::from(*x) - m / samples) as f32;
        }
    }
}

/// Scales every block of `dim` numbers to length `radius`; zero stays.
pub(crate) fn to_sphere(x: &mut [f32], dim: usize, radius: f64) {
    x.par_chunks_exact_mut(dim).for_each(|x| {
        let norm = x.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        if norm > 0.0 {
            x.iter_mut()
                .for_each(|x| *x = (f64::from(*x) * radius / norm) as f32);
        }
    });
}

/// The symmetric square root Σ^{1/2} = Σ_k √λ_k u_k u_kᵀ; rounding below zero is allowed, more is not.
fn root(file: &Path, dim: usize) -> Result<Vec<f64>, DataError> {
    let array = npy::read(file)?;
    let name = file.display().to_string();
    let wrong = |what: String| DataError::Shape {
        file: name.clone(),
        what,
    };
    if array.shape != [dim, dim] {
        let found = npy::show(&array.shape);
        return Err(wrong(format!(
            "shape {found}, expected a {dim}x{dim} covariance"
        )));
    }
    let matrix = array.numbers.to_f64();
    let scale = matrix.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    let skew =
        |i: usize| (0..i).any(|j| (matrix[i * dim + j] - matrix[j * dim + i]).abs() > 1e-4 * scale);
    if (0..dim).any(skew) {
        return Err(wrong("a covariance must be symmetric".into()));
    }
    let eigen = linalg::symmetric_eigen(&matrix, dim).map_err(|e| wrong(e.to_string()))?;
    let (most, least) = (eigen.values[0], eigen.values[dim - 1]);
    if least < -1e-5 * most.abs() || most < 0.0 {
        return Err(wrong(format!(
            "a covariance has no negative eigenvalue; found {least:e}"
        )));
    }
    // Rows √√λ_k u_k: their Gram matrix is the root.
    let half: Vec<f32> = eigen
        .vectors
        .chunks_exact(dim)
        .zip(&eigen.values)
        .flat_map(|(u, l)| u.iter().map(move |u| (u * l.max(0.0).sqrt().sqrt()) as f32))
        .collect();
    Ok(linalg::covariance(&half, dim))
}
