//! Means of symmetric matrices over sixteen groups of networks.
//!
//! A symmetric matrix is kept as its lower triangle, row by row, with what lies off the diagonal times √2: then the
//! inner product of two matrices is that of their triangles. Groups are computed one after the other; networks of a
//! group in chunks of a fixed size, added in order, so nothing depends on threads.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use crate::GeometryError;
use crate::matrix::dot;

/// Number of groups; network i belongs to group i mod 16.
pub(crate) const GROUPS: usize = 16;
/// Networks computed together.
const CHUNK: usize = 32;
/// Rows of a sum that one task adds to.
const ROWS: usize = 64;

/// What a network contributes: Σ (d gᵀ + g dᵀ) to Δ and Σ g gᵀ to G, over rows of D numbers; no tangents for no Δ.
#[derive(Default)]
pub(crate) struct Rows {
    pub gradients: Vec<f64>,
    pub tangents: Vec<f64>,
}

/// Means by group, as triangles.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    /// Networks of each group.
    counts: [u64; GROUPS],
    pub deltas: Vec<Vec<f64>>,
    pub geometries: Vec<Vec<f64>>,
    /// ⟨M_k, M_l⟩ of the deltas.
    products: Vec<f64>,
}

/// Computes and adds the rows of networks 0 … networks − 1.
pub(crate) fn gather(
    dim: usize,
    networks: u64,
    rows: &(dyn Fn(u64) -> Result<Rows, GeometryError> + Sync),
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Groups, GeometryError> {
    let (mut deltas, mut geometries) = (Vec::new(), Vec::new());
    let mut counts = [0; GROUPS];
    let mut done = 0;
    for (group, count) in counts.iter_mut().enumerate() {
        let indices: Vec<u64> = (group as u64..networks).step_by(GROUPS).collect();
        let (mut delta, mut geometry) = (vec![0.0; dim * dim], vec![0.0; dim * dim]);
        for chunk in indices.chunks(CHUNK) {
            let parts: Vec<Rows> = chunk
                .par_iter()
                .map(|&index| {
                    let rows = rows(index)?;
                    let all = rows.gradients.iter().chain(&rows.tangents);
                    match all.copied().all(f64::is_finite) {
                        true => Ok(rows),
                        false => Err(GeometryError::NotFinite { network: index }),
                    }
                })
                .collect::<Result<_, GeometryError>>()?;
            let gradients = parts.iter().flat_map(|r| &r.gradients).copied();
            let gradients: Vec<f64> = gradients.collect();
            let tangents = parts.iter().flat_map(|r| &r.tangents).copied();
            let tangents: Vec<f64> = tangents.collect();
            add_products(&mut geometry, &gradients, &gradients, dim);
            if !tangents.is_empty() {
                add_products(&mut delta, &tangents, &gradients, dim);
            }
            done += chunk.len() as u64;
            progress(done, networks);
        }
        *count = indices.len() as u64;
        let mean = 1.0 / indices.len().max(1) as f64;
        // d gᵀ + g dᵀ is twice the symmetric part of d gᵀ.
        deltas.push(triangle(&delta, dim, 2.0 * mean));
        geometries.push(triangle(&geometry, dim, mean));
    }
    let pairs = (0..GROUPS * GROUPS).into_par_iter();
    let product = |at: usize| match (at / GROUPS, at % GROUPS) {
        (k, l) if l <= k => dot(&deltas[k], &deltas[l]),
        _ => 0.0,
    };
    let lower: Vec<f64> = pairs.map(product).collect();
    let mirrored = |at: usize| {
        let (k, l) = (at / GROUPS, at % GROUPS);
        lower[k.max(l) * GROUPS + k.min(l)]
    };
    let products = (0..GROUPS * GROUPS).map(mirrored).collect();
    Ok(Groups {
        counts,
        deltas,
        geometries,
        products,
    })
}

impl Groups {
    /// T.
    pub fn networks(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn weight(&self, group: usize, left_out: Option<usize>) -> f64 {
        match left_out {
            Some(out) if out == group => 0.0,
            _ => self.counts[group] as f64,
        }
    }

    fn mean(&self, means: &[Vec<f64>], left_out: Option<usize>) -> Vec<f64> {
        let total: f64 = (0..GROUPS).map(|k| self.weight(k, left_out)).sum();
        let mut mean = vec![0.0; means[0].len()];
        for (k, group) in means.iter().enumerate() {
            let weight = self.weight(k, left_out) / total;
            mean.iter_mut()
                .zip(group)
                .for_each(|(m, g)| *m += weight * g);
        }
        mean
    }

    /// Δ.
    pub fn mean_delta(&self) -> Vec<f64> {
        self.mean(&self.deltas, None)
    }

    /// G, without a group.
    pub fn mean_geometry(&self, left_out: Option<usize>) -> Vec<f64> {
        self.mean(&self.geometries, left_out)
    }

    /// ‖Δ‖² without the bias of its noise: mean of ⟨M_k, M_l⟩ over pairs of different groups.
    pub fn square(&self, left_out: Option<usize>) -> f64 {
        let (mut sum, mut weights) = (0.0, 0.0);
        for k in 0..GROUPS {
            for l in (0..GROUPS).filter(|l| *l != k) {
                let weight = self.weight(k, left_out) * self.weight(l, left_out);
                sum += weight * self.products[k * GROUPS + l];
                weights += weight;
            }
        }
        sum / weights
    }

    /// ⟨M_k, B⟩ of the deltas.
    pub fn inner(&self, target: &[f64]) -> Vec<f64> {
        let deltas = self.deltas.par_iter();
        deltas.map(|delta| dot(delta, target)).collect()
    }

    /// Corr(Δ, B) from ⟨M_k, B⟩ and ‖B‖²; `None` where Δ is lost in its noise.
    pub fn corr(&self, inner: &[f64], square: f64, left_out: Option<usize>) -> Option<f64> {
        let weights = (0..GROUPS).map(|k| self.weight(k, left_out));
        let total: f64 = weights.clone().sum();
        let sum: f64 = weights.zip(inner).map(|(w, i)| w * i).sum();
        let corr = sum / total / (self.square(left_out) * square).sqrt();
        corr.is_finite().then_some(corr)
    }

    /// √(Σ ‖M_k − M‖² / (K(K−1))) / ‖M‖.
    pub fn relative_error(&self, means: &[Vec<f64>]) -> f64 {
        let mean = self.mean(means, None);
        let distance = |group: &Vec<f64>| -> f64 {
            group.iter().zip(&mean).map(|(a, b)| (a - b).powi(2)).sum()
        };
        let squares: f64 = means.iter().map(distance).sum();
        let pairs = (GROUPS * (GROUPS - 1)) as f64;
        (squares / pairs / dot(&mean, &mean)).sqrt()
    }
}

/// sum += AᵀB for rows of `dim` numbers, by blocks of rows of the sum.
fn add_products(sum: &mut [f64], a: &[f64], b: &[f64], dim: usize) {
    let rows = a.len() / dim.max(1);
    let (a, b) = (
        MatRef::from_column_major_slice(a, dim, rows),
        MatRef::from_column_major_slice(b, dim, rows),
    );
    let blocks = sum.par_chunks_mut(ROWS * dim).enumerate();
    blocks.for_each(|(block, sum)| {
        let n = sum.len() / dim;
        let sum = MatMut::from_column_major_slice_mut(sum, dim, n);
        let part = a.subrows(block * ROWS, n).transpose();
        matmul(sum, Accum::Add, b, part, 1.0, Par::Seq);
    });
}

/// The triangle of the symmetric part, times a factor.
fn triangle(matrix: &[f64], dim: usize, factor: f64) -> Vec<f64> {
    let mut out = Vec::with_capacity(dim * (dim + 1) / 2);
    for i in 0..dim {
        let off = (0..i)
            .map(|j| 0.5 * (matrix[i * dim + j] + matrix[j * dim + i]) * 2f64.sqrt() * factor);
        out.extend(off);
        out.push(matrix[i * dim + i] * factor);
    }
    out
}

/// The triangle of a symmetric matrix.
pub(crate) fn packed(matrix: &[f64], dim: usize) -> Vec<f64> {
    triangle(matrix, dim, 1.0)
}

/// The matrix of a triangle.
pub(crate) fn unpacked(triangle: &[f64], dim: usize) -> Vec<f64> {
    let mut matrix = vec![0.0; dim * dim];
    let mut at = 0;
    for i in 0..dim {
        for j in 0..=i {
            let value = match i == j {
                true => triangle[at],
                false => triangle[at] * 0.5f64.sqrt(),
            };
            matrix[i * dim + j] = value;
            matrix[j * dim + i] = value;
            at += 1;
        }
    }
    matrix
}
