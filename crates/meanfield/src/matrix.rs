//! A covariance over the positions of a grid.
//!
//! A symmetric matrix, kept as one W×W square [x,x'] for every pair of rows y ≤ y' of an H×W grid, in the order
//! (0,0), (0,1), …, (0,H−1), (1,1), …: a step along rows moves whole squares, a step along columns stays in
//! one, and half of the memory is saved.

use rayon::prelude::*;

use crate::buffer::Buffer;

/// Numbers that one task adds up: fixed, so that nothing depends on the number of threads.
const CHUNK: usize = 1 << 14;

/// A symmetric matrix over the positions of a grid.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    pub height: usize,
    pub width: usize,
    pub data: Buffer,
}

impl Matrix {
    /// Every entry the same.
    pub fn constant([height, width]: [usize; 2], value: f64) -> Self {
        Matrix {
            height,
            width,
            data: Buffer::filled(height * (height + 1) / 2 * width * width, value),
        }
    }

    /// Zero off the diagonal; `diagonal` runs over positions in row order.
    pub fn diagonal([height, width]: [usize; 2], diagonal: &[f64]) -> Self {
        let mut matrix = Matrix::constant([height, width], 0.0);
        for (position, &value) in diagonal.iter().enumerate() {
            let at = matrix.at(position, position);
            matrix.data[at] = value;
        }
        matrix
    }

    /// x xᵀ.
    pub fn outer([height, width]: [usize; 2], x: &[f64]) -> Self {
        let mut matrix = Matrix::constant([height, width], 0.0);
        for (i, &a) in x.iter().enumerate() {
            for (j, &b) in x.iter().enumerate() {
                let at = matrix.at(i, j);
                matrix.data[at] = a * b;
            }
        }
        matrix.mirror();
        matrix
    }

    /// Σ coefficient · matrix; all of one size.
    pub fn combination(terms: &[(f64, &Matrix)]) -> Self {
        let [(first, matrix), rest @ ..] = terms else {
            return Matrix::constant([0, 0], 0.0);
        };
        let mut data = Buffer::filled(matrix.data.len(), 0.0);
        data.par_chunks_mut(CHUNK).enumerate().for_each(|(i, out)| {
            let part = i * CHUNK..i * CHUNK + out.len();
            for (out, value) in out.iter_mut().zip(&matrix.data[part.clone()]) {
                *out = first * value;
            }
            for (coefficient, matrix) in rest {
                for (out, value) in out.iter_mut().zip(&matrix.data[part.clone()]) {
                    *out += coefficient * value;
                }
            }
        });
        let [height, width] = matrix.grid();
        Matrix {
            height,
            width,
            data,
        }
    }

    /// self ← a · self + b · other.
    pub fn mix(&mut self, a: f64, b: f64, other: &Matrix) {
        let parts = self.data.par_chunks_mut(CHUNK).enumerate();
        parts.for_each(|(i, out)| {
            let part = &other.data[i * CHUNK..][..out.len()];
            for (out, value) in out.iter_mut().zip(part) {
                *out = a * *out + b * value;
            }
        });
    }

    /// Adds a bᵀ + b aᵀ, vectors over positions in row order; nothing stands for 0.
    pub fn cross(&mut self, a: Option<&[f64]>, b: Option<&[f64]>) {
        let (Some(a), Some(b)) = (a, b) else {
            return;
        };
        let w = self.width;
        let row = |v: &[f64], y: usize, x: usize| v[y * w + x];
        let bands = self.bands().into_par_iter().enumerate();
        bands.for_each(|(y, band)| {
            for (at, out) in band.iter_mut().enumerate() {
                let (y2, x, x2) = (y + at / (w * w), at / w % w, at % w);
                *out += row(a, y, x) * row(b, y2, x2) + row(b, y, x) * row(a, y2, x2);
            }
        });
    }

    /// Entry by entry.
    pub fn product(&self, other: &Matrix) -> Self {
        let mut data = Buffer::filled(self.data.len(), 0.0);
        data.par_chunks_mut(CHUNK).enumerate().for_each(|(i, out)| {
            let part = i * CHUNK..i * CHUNK + out.len();
            let pairs = self.data[part.clone()].iter().zip(&other.data[part]);
            for (out, (a, b)) in out.iter_mut().zip(pairs) {
                *out = a * b;
            }
        });
        let [height, width] = self.grid();
        Matrix {
            height,
            width,
            data,
        }
    }

    pub fn grid(&self) -> [usize; 2] {
        [self.height, self.width]
    }

    pub fn positions(&self) -> usize {
        self.height * self.width
    }

    /// The diagonal, positions in row order.
    pub fn variances(&self) -> Vec<f64> {
        (0..self.positions())
            .map(|p| self.data[self.at(p, p)])
            .collect()
    }

    pub fn trace(&self) -> f64 {
        self.variances().iter().sum()
    }

    /// Σ of all entries.
    pub fn sum(&self) -> f64 {
        let mut sum = 0.0;
        for y in 0..self.height {
            let square = |y2| self.square(y, y2).iter().sum::<f64>();
            let right: f64 = (y + 1..self.height).map(square).sum();
            sum += square(y) + 2.0 * right;
        }
        sum
    }

    /// scale · matrix, positions in row order on both sides.
    pub fn row_major(&self, scale: f64) -> Vec<f64> {
        let (positions, w) = (self.positions(), self.width);
        let mut out = vec![0.0; positions * positions];
        if positions == 0 {
            return out;
        }
        let rows = out.par_chunks_mut(positions).enumerate();
        rows.for_each(|(position, row)| {
            let (y, x) = (position / w, position % w);
            for (y2, part) in row.chunks_exact_mut(w).enumerate() {
                if y <= y2 {
                    let from = &self.square(y, y2)[x * w..];
                    part.iter_mut().zip(from).for_each(|(o, v)| *o = scale * v);
                } else {
                    let from = self.square(y2, y)[x..].iter().step_by(w);
                    part.iter_mut().zip(from).for_each(|(o, v)| *o = scale * v);
                }
            }
        });
        out
    }

    /// Copies the upper half of the squares on the diagonal to the lower.
    pub fn mirror(&mut self) {
        let w = self.width;
        for band in self.bands() {
            for x in 0..w {
                for x2 in 0..x {
                    band[x * w + x2] = band[x2 * w + x];
                }
            }
        }
    }

    /// The square of two rows y ≤ y2.
    pub fn square(&self, y: usize, y2: usize) -> &[f64] {
        let size = self.width * self.width;
        &self.data[self.square_index(y, y2) * size..][..size]
    }

    /// For every row y the squares (y,y), (y,y+1), …
    pub fn bands(&mut self) -> Vec<&mut [f64]> {
        let size = self.width * self.width;
        let mut rest = &mut self.data[..];
        let mut bands = Vec::with_capacity(self.height);
        for y in 0..self.height {
            let (band, after) = rest.split_at_mut((self.height - y) * size);
            bands.push(band);
            rest = after;
        }
        bands
    }

    /// Where the entry of two positions lies.
    fn at(&self, a: usize, b: usize) -> usize {
        let w = self.width;
        // Positions in row order: the smaller one is in the upper row.
        let (a, b) = (a.min(b), a.max(b));
        (self.square_index(a / w, b / w) * w + a % w) * w + b % w
    }

    fn square_index(&self, y: usize, y2: usize) -> usize {
        y * (2 * self.height - y + 1) / 2 + y2 - y
    }
}
