//! A covariance over the positions of a grid.
//!
//! A matrix is kept as one W×W square [x,x'] for every pair of rows y, y' of an H×W grid: a step along rows moves
//! whole squares, a step along columns stays in one. Of a symmetric one the squares with y ≤ y' are enough, in the
//! order (0,0), (0,1), …, (0,H−1), (1,1), …

use rayon::prelude::*;

use crate::buffer::Buffer;

/// Numbers that one task adds up: fixed, so that nothing depends on the number of threads.
const CHUNK: usize = 1 << 14;

/// Whose positions a matrix pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Those of one input, or of two that may be exchanged: symmetric.
    Symmetric,
    /// Those of one given input, in rows, with those of another.
    General,
}

/// A matrix over the positions of a grid.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    pub form: Form,
    pub height: usize,
    pub width: usize,
    pub data: Buffer,
}

impl Matrix {
    /// Every entry the same.
    pub fn constant(grid: [usize; 2], value: f64) -> Self {
        Matrix::filled(Form::Symmetric, grid, value)
    }

    /// Every entry the same, in a form.
    pub fn filled(form: Form, [height, width]: [usize; 2], value: f64) -> Self {
        let squares = match form {
            Form::Symmetric => height * (height + 1) / 2,
            Form::General => height * height,
        };
        Matrix {
            form,
            height,
            width,
            data: Buffer::filled(squares * width * width, value),
        }
    }

    /// Zero off the diagonal; `diagonal` runs over positions in row order.
    pub fn diagonal(grid: [usize; 2], diagonal: &[f64]) -> Self {
        Matrix::diagonal_in(Form::Symmetric, grid, diagonal)
    }

    /// Zero off the diagonal, in a form.
    pub fn diagonal_in(form: Form, grid: [usize; 2], diagonal: &[f64]) -> Self {
        let mut matrix = Matrix::filled(form, grid, 0.0);
        for (position, &value) in diagonal.iter().enumerate() {
            let at = matrix.at(position, position);
            matrix.data[at] = value;
        }
        matrix
    }

    /// x xᵀ.
    pub fn outer(grid: [usize; 2], x: &[f64]) -> Self {
        let mut matrix = Matrix::constant(grid, 0.0);
        matrix.fill(|a, b, _| x[a] * x[b]);
        matrix
    }

    /// x x'ᵀ.
    pub fn outer_of(grid: [usize; 2], x: &[f64], other: &[f64]) -> Self {
        let mut matrix = Matrix::filled(Form::General, grid, 0.0);
        matrix.fill(|a, b, _| x[a] * other[b]);
        matrix
    }

    /// Every entry anew, from its positions in row order and what it was.
    pub fn fill(&mut self, entry: impl Fn(usize, usize, f64) -> f64 + Sync) {
        let (w, form) = (self.width, self.form);
        let bands = self.bands().into_par_iter().enumerate();
        bands.for_each(|(y, band)| {
            for (ahead, square) in band.chunks_exact_mut(w * w).enumerate() {
                let y2 = form.first(y) + ahead;
                for (at, out) in square.iter_mut().enumerate() {
                    *out = entry(y * w + at / w, y2 * w + at % w, *out);
                }
            }
        });
    }

    /// The same matrix in the general form.
    pub fn general(&self) -> Self {
        let mut whole = Matrix::filled(Form::General, self.grid(), 0.0);
        whole.fill(|a, b, _| self.get(a, b));
        whole
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
            form: matrix.form,
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

    /// Adds a bᵀ + b aᵀ, vectors over positions in row order; nothing stands for 0. In the general form a vector
    /// holds the positions of the first input, then those of the second.
    pub fn cross(&mut self, a: Option<&[f64]>, b: Option<&[f64]>) {
        let (Some(a), Some(b)) = (a, b) else {
            return;
        };
        let second = self.second();
        self.fill(|p, q, was| was + a[p] * b[second + q] + b[p] * a[second + q]);
    }

    /// Where the second input begins in a vector over positions.
    pub fn second(&self) -> usize {
        match self.form {
            Form::Symmetric => 0,
            Form::General => self.positions(),
        }
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
            form: self.form,
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
        if self.form == Form::General {
            return self.data.iter().sum();
        }
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
                if y <= y2 || self.form == Form::General {
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

    /// Copies the upper half of the squares on the diagonal of a symmetric matrix to the lower.
    pub fn mirror(&mut self) {
        let w = self.width;
        if self.form == Form::General {
            return;
        }
        for band in self.bands() {
            for x in 0..w {
                for x2 in 0..x {
                    band[x * w + x2] = band[x2 * w + x];
                }
            }
        }
    }

    /// The square of two rows, y ≤ y2 in the symmetric form.
    pub fn square(&self, y: usize, y2: usize) -> &[f64] {
        let size = self.width * self.width;
        &self.data[self.square_index(y, y2) * size..][..size]
    }

    /// For every row y its squares, from (y, [`Form::first`]) on.
    pub fn bands(&mut self) -> Vec<&mut [f64]> {
        let size = self.width * self.width;
        let mut rest = &mut self.data[..];
        let mut bands = Vec::with_capacity(self.height);
        for y in 0..self.height {
            let (band, after) = rest.split_at_mut((self.height - self.form.first(y)) * size);
            bands.push(band);
            rest = after;
        }
        bands
    }

    /// The entry of two positions in row order.
    pub fn get(&self, a: usize, b: usize) -> f64 {
        self.data[self.at(a, b)]
    }

    /// Where the entry of two positions lies.
    fn at(&self, a: usize, b: usize) -> usize {
        let w = self.width;
        // Positions in row order: the smaller one is in the upper row.
        let (a, b) = match self.form {
            Form::Symmetric => (a.min(b), a.max(b)),
            Form::General => (a, b),
        };
        (self.square_index(a / w, b / w) * w + a % w) * w + b % w
    }

    fn square_index(&self, y: usize, y2: usize) -> usize {
        match self.form {
            Form::Symmetric => y * (2 * self.height - y + 1) / 2 + y2 - y,
            Form::General => y * self.height + y2,
        }
    }
}

impl Form {
    /// The first row whose square with row y is kept.
    pub fn first(self, y: usize) -> usize {
        match self {
            Form::Symmetric => y,
            Form::General => 0,
        }
    }
}
