//! Gaps of inputs, |x − x'|², from their Gram matrix: |x|² + |x'|² − 2 x·x'.
//!
//! Where the samples are close the difference loses digits, so there it is summed directly. Columns are laid
//! out in blocks of 32 (f32: 64), input by input; rows are read as they are.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use crate::simd::{Buffer, SimdNumber, V};

/// Gaps below this share of |x|² + |x'|² are summed directly.
const CLOSE: f64 = 1e-2;
/// Cache lines that the samples of a block fill with one input each.
const LINES: usize = 4;
/// Inputs multiplied at a time: a block of columns, and the rows that pass by it, stay in the second cache.
const DEPTH: usize = 768;

/// Samples and their squares |x|².
#[derive(Clone, Copy, Debug)]
pub struct Squared<'a, T> {
    pub(crate) x: &'a [T],
    /// Empty where no Gram matrix is needed.
    pub(crate) squares: &'a [T],
}

impl<'a, T> Squared<'a, T> {
    /// Some of the samples, of so many inputs each.
    pub fn part(&self, samples: Range<usize>, inputs: usize) -> Squared<'a, T> {
        Squared {
            x: &self.x[samples.start * inputs..samples.end * inputs],
            squares: self.squares.get(samples).unwrap_or(&[]),
        }
    }
}

/// |x|² of a sample.
pub struct Square<'a, T>(pub &'a [T]);

impl<T: SimdNumber> WithSimd for Square<'_, T> {
    type Output = T;

    /// In eight sums.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> T {
        let mut sums = [T::of(0.0); 8];
        for x in self.0.chunks(8) {
            for (sum, x) in sums.iter_mut().zip(x) {
                *sum += *x * *x;
            }
        }
        total(sums)
    }
}

/// Samples as products read them on the right: [block][input][sample of the block], after the last one anything.
#[derive(Clone, Debug)]
struct Packed<T> {
    values: Buffer<T>,
    range: Range<usize>,
}

impl<T: SimdNumber> Packed<T> {
    /// Samples in a block.
    const BLOCK: usize = LINES * T::LANES;

    /// Lays samples out, unless they are already. Not inlined: there are vector instructions for such scattered writes,
    /// but they take twice the time of plain ones.
    #[inline(never)]
    fn set(&mut self, side: &Side<T>) {
        if self.range == side.range {
            return;
        }
        self.range = side.range.clone();
        let (block, inputs) = (Self::BLOCK, side.inputs);
        self.values
            .grow(side.range.len().next_multiple_of(block) * inputs);
        let blocks = self.values.all_mut().chunks_exact_mut(block * inputs);
        for (to, samples) in blocks.zip(side.x().chunks(block * inputs)) {
            // A cache line of every sample at a time.
            for start in (0..inputs).step_by(T::LANES) {
                let end = (start + T::LANES).min(inputs);
                let to = &mut to[start * block..end * block];
                for (s, x) in samples.chunks_exact(inputs).enumerate() {
                    for (to, x) in to.chunks_exact_mut(block).zip(&x[start..end]) {
                        to[s] = *x;
                    }
                }
            }
        }
    }
}

/// One side of a block of gaps: some of the samples.
#[derive(Clone, Debug)]
pub(crate) struct Side<'a, T> {
    pub samples: Squared<'a, T>,
    pub range: Range<usize>,
    pub inputs: usize,
}

impl<T: SimdNumber> Side<'_, T> {
    #[inline(always)]
    fn x(&self) -> &[T] {
        &self.samples.x[self.range.start * self.inputs..self.range.end * self.inputs]
    }

    #[inline(always)]
    fn sample(&self, i: usize) -> &[T] {
        &self.x()[i * self.inputs..][..self.inputs]
    }

    #[inline(always)]
    fn squares(&self) -> &[T] {
        &self.samples.squares[self.range.clone()]
    }
}

/// Gaps of some rows and columns, and memory for them and their samples.
#[derive(Clone, Debug)]
pub(crate) struct Gaps<T> {
    columns: Packed<T>,
    values: Buffer<T>,
    /// From row to row.
    stride: usize,
}

impl<T: SimdNumber> Gaps<T> {
    /// None yet.
    pub fn new() -> Self {
        Gaps {
            columns: Packed {
                values: Buffer::empty(),
                range: 0..0,
            },
            values: Buffer::empty(),
            stride: 0,
        }
    }

    /// A row.
    pub fn row(&self, row: usize) -> &[T] {
        &self.values.all()[row * self.stride..][..self.stride]
    }
}

/// Fills `gaps`; row i needs those from column i + `diagonal` on, and the others may be anything.
///
/// The samples that columns are ranges of are the same from call to call.
pub struct Fill<'a, T> {
    pub(crate) rows: Side<'a, T>,
    pub(crate) columns: Side<'a, T>,
    pub(crate) diagonal: isize,
    pub(crate) gaps: &'a mut Gaps<T>,
}

impl<T: SimdNumber> WithSimd for Fill<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let gaps = &mut *self.gaps;
        gaps.columns.set(&self.columns);
        gaps.stride = self
            .columns
            .range
            .len()
            .next_multiple_of(Packed::<T>::BLOCK);
        gaps.values.grow(self.rows.range.len() * gaps.stride);
        // As many sums as there are registers for: 32 of 64 bytes, 16 of 32.
        match size_of::<T::Vector<S>>() {
            64 => self.products::<S, 6, LINES>(simd),
            _ => self.products::<S, 4, 3>(simd),
        }
        self.differences();
    }
}

impl<T: SimdNumber> Fill<'_, T> {
    /// x·x' of R rows by up to C registers of columns at a time.
    #[inline(always)]
    fn products<S: Simd, const R: usize, const C: usize>(&mut self, simd: S) {
        let (inputs, height) = (self.rows.inputs, self.rows.range.len());
        let lanes = size_of::<T::Vector<S>>() / size_of::<T>();
        let (width, each) = (self.columns.range.len(), Packed::<T>::BLOCK / lanes);
        for start in (0..inputs).step_by(DEPTH) {
            let depth = start..(start + DEPTH).min(inputs);
            let end = width.div_ceil(lanes);
            for block in (0..end).step_by(each) {
                let stop = (block + each).min(end);
                for row in (0..height).step_by(R) {
                    let needed = (row as isize).saturating_add(self.diagonal);
                    let needed = needed.clamp(0, width as isize) as usize / lanes;
                    let mut at = needed.max(block);
                    while at < stop {
                        let count = (stop - at).min(C);
                        match count {
                            1 => self.product::<S, R, 1>(simd, row, at, &depth),
                            2 => self.product::<S, R, 2>(simd, row, at, &depth),
                            3 => self.product::<S, R, 3>(simd, row, at, &depth),
                            _ => self.product::<S, R, C>(simd, row, at, &depth),
                        }
                        at += count;
                    }
                }
            }
        }
    }

    /// x·x' of R rows and C registers of columns, of some inputs, added to those before.
    #[inline(always)]
    fn product<S: Simd, const R: usize, const C: usize>(
        &mut self,
        simd: S,
        row: usize,
        register: usize,
        depth: &Range<usize>,
    ) {
        let (block, inputs) = (Packed::<T>::BLOCK, self.rows.inputs);
        let each = size_of::<T>() * block / size_of::<T::Vector<S>>();
        let (b, first) = (register / each, register % each);
        let height = self.rows.range.len();
        // The last row again where there are none.
        let mut x = [&[][..]; R];
        for (i, x) in x.iter_mut().enumerate() {
            *x = &self.rows.sample((row + i).min(height - 1))[depth.clone()];
        }
        let gaps = &mut *self.gaps;
        let packed = &gaps.columns.values.all()[b * inputs * block..];
        let y = &packed[depth.start * block..depth.end * block];
        let sums = multiply::<S, T, R, C>(simd, x, y, first);
        for (i, sums) in sums.iter().enumerate().take(height - row) {
            let at = (row + i) * gaps.stride + b * block;
            let out = T::vectors_mut::<S>(&mut gaps.values.all_mut()[at..at + block]);
            for (out, sum) in out[first..].iter_mut().zip(sums) {
                *out = match depth.start {
                    0 => sum.1,
                    _ => (V::<S, T>(simd, *out) + *sum).1,
                };
            }
        }
    }

    /// |x|² + |x'|² − 2 x·x' in place of x·x'.
    #[inline(always)]
    fn differences(&mut self) {
        let Fill {
            rows,
            columns,
            diagonal,
            gaps,
        } = self;
        let (two, close) = (T::of(2.0), T::of(CLOSE));
        let (p, q) = (rows.squares(), columns.squares());
        let stride = gaps.stride;
        for ((i, p), row) in p
            .iter()
            .enumerate()
            .zip(gaps.values.all_mut().chunks_exact_mut(stride))
        {
            let start = (i as isize).saturating_add(*diagonal);
            let start = start.clamp(0, q.len() as isize) as usize;
            let mut any = false;
            for (gap, q) in row[start..].iter_mut().zip(&q[start..]) {
                let sum = *p + *q;
                *gap = sum - two * *gap;
                any |= *gap < close * sum;
            }
            if any {
                for (j, q) in q.iter().enumerate().skip(start) {
                    if row[j] < close * (*p + *q) {
                        let (x, y) = (rows.sample(i), columns.sample(j));
                        // On the diagonal of a block among samples.
                        row[j] = match std::ptr::eq(x, y) {
                            true => T::of(0.0),
                            false => distance(x, y),
                        };
                    }
                }
            }
        }
    }
}

/// x·x' of R rows and C registers of columns, from the first of them on.
#[inline(always)]
fn multiply<S: Simd, T: SimdNumber, const R: usize, const C: usize>(
    simd: S,
    rows: [&[T]; R],
    columns: &[T],
    first: usize,
) -> [[V<S, T>; C]; R] {
    let mut sums = [[V::<S, T>::constant(simd, 0.0); C]; R];
    for (k, y) in columns.chunks_exact(Packed::<T>::BLOCK).enumerate() {
        let y = &T::vectors::<S>(y)[first..first + C];
        for i in 0..R {
            let x = V::splat(simd, rows[i][k]);
            for j in 0..C {
                sums[i][j] = V::<S, T>(simd, y[j]).mul_add(x, sums[i][j]);
            }
        }
    }
    sums
}

/// Σ (x − y)², in eight sums.
#[inline(always)]
fn distance<T: SimdNumber>(x: &[T], y: &[T]) -> T {
    let mut sums = [T::of(0.0); 8];
    for (x, y) in x.chunks(8).zip(y.chunks(8)) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            let d = *x - *y;
            *sum += d * d;
        }
    }
    total(sums)
}

#[inline(always)]
fn total<T: SimdNumber>([a, b, c, d, e, f, g, h]: [T; 8]) -> T {
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

#[cfg(test)]
mod tests;
