//! C (+)= A·B for matrices of any strides, and for operands that are gathered on the fly.
//!
//! Blocks of B (kc × nc) and panels of A (kc × MR) are packed, then multiplied tile by tile
//! (Goto and van de Geijn 2008). What packs is a trait, so a convolution is the same product with
//! operands that read the image (`conv.rs`) and no im2col matrix is ever stored.

use super::simd::{HasKernels, Kernels, MAX_MR, MAX_NR, Tile, vectorised};
use crate::Real;

/// Longest block of the summed dimension: a panel of A (8 × 320 f32) stays in L1.
const KC: usize = 320;
/// Columns of a packed block of B: 320 × 384 f32 = 480 kB stays in L2.
const NC: usize = 384;

/// Left factor, m × k.
pub trait Left<T> {
    /// Writes rows `i0..i0+rows`, columns `p0..p0+kc` as `kc` groups of `rows` numbers.
    fn pack(&self, i0: usize, rows: usize, p0: usize, kc: usize, out: &mut [T]);

    /// The matrix itself, when the products can read it where it is.
    fn in_place(&self) -> Option<Strided<'_, T>> {
        None
    }
}

/// Right factor, k × n.
pub trait Right<T> {
    /// Writes rows `p0..p0+kc`, columns `j0..j0+cols` as `kc` groups of `nr` numbers; what lies past `cols` in a group is free.
    fn pack(&self, p0: usize, kc: usize, j0: usize, cols: usize, nr: usize, out: &mut [T]);
}

/// A strided matrix: element (i, j) at i·row + j·col.
#[derive(Clone, Copy)]
pub struct Strided<'a, T> {
    /// Storage.
    pub data: &'a [T],
    /// Distance between rows.
    pub row: usize,
    /// Distance between columns.
    pub col: usize,
}

impl<T: Real> Left<T> for Strided<'_, T> {
    fn pack(&self, i0: usize, rows: usize, p0: usize, kc: usize, out: &mut [T]) {
        let a = &self.data[i0 * self.row + p0 * self.col..];
        if self.col == 1 {
            transpose(a, self.row, rows, kc, out, rows);
            return;
        }
        for (p, group) in out.chunks_exact_mut(rows).take(kc).enumerate() {
            let line = &a[p * self.col..];
            group
                .iter_mut()
                .enumerate()
                .for_each(|(i, y)| *y = line[i * self.row]);
        }
    }

    fn in_place(&self) -> Option<Strided<'_, T>> {
        Some(*self)
    }
}

impl<T: Real> Right<T> for Strided<'_, T> {
    #[inline]
    fn pack(&self, p0: usize, kc: usize, j0: usize, cols: usize, nr: usize, out: &mut [T]) {
        let b = &self.data[p0 * self.row + j0 * self.col..];
        if self.col == 1 {
            for (p, group) in out.chunks_exact_mut(nr).take(kc).enumerate() {
                group[..cols].copy_from_slice(&b[p * self.row..p * self.row + cols]);
            }
            return;
        }
        if self.row == 1 {
            transpose(b, self.col, cols, kc, out, nr);
            return;
        }
        for (p, group) in out.chunks_exact_mut(nr).take(kc).enumerate() {
            let line = &b[p * self.row..];
            group[..cols]
                .iter_mut()
                .enumerate()
                .for_each(|(j, y)| *y = line[j * self.col]);
        }
    }
}

vectorised! {
    /// out[p·stride + i] = a[i·row + p] for `rows` × `columns`: squares of 8 × 8 pass through registers.
    pub fn transpose<T: Real>(a: &[T], row: usize, rows: usize, columns: usize, out: &mut [T], stride: usize) {
        const S: usize = 8;
        let (full_rows, full_columns) = (rows / S * S, columns / S * S);
        for i0 in (0..full_rows).step_by(S) {
            for p0 in (0..full_columns).step_by(S) {
                let mut square = [[T::ZERO; S]; S];
                for (i, line) in square.iter_mut().enumerate() {
                    line.copy_from_slice(&a[(i0 + i) * row + p0..][..S]);
                }
                for p in 0..S {
                    let to = &mut out[(p0 + p) * stride + i0..][..S];
                    for i in 0..S {
                        to[i] = square[i][p];
                    }
                }
            }
        }
        for i in 0..rows {
            let from = if i < full_rows { full_columns } else { 0 };
            for p in from..columns {
                out[p * stride + i] = a[i * row + p];
            }
        }
    }
}

/// Scratch for packed operands, kept between products.
#[derive(Default)]
pub struct Packing<T> {
    pub(super) a: Scratch<T>,
    pub(super) b: Scratch<T>,
    pub(super) image: Scratch<T>,
    pub(super) product: Scratch<T>,
}

/// Numbers that start on a cache line: a vector that crosses two lines costs two loads.
#[derive(Default)]
pub struct Scratch<T>(Vec<T>);

impl<T: Real> Scratch<T> {
    /// `n` numbers with whatever was there.
    pub fn take(&mut self, n: usize) -> &mut [T] {
        const LINE: usize = 64;
        let spare = LINE / size_of::<T>();
        if self.0.len() < n + spare {
            self.0.resize(n + spare, T::ZERO);
        }
        let start = self.0.as_ptr().align_offset(LINE).min(spare);
        &mut self.0[start..start + n]
    }

    /// `n` zeros.
    pub fn zeros(&mut self, n: usize) -> &mut [T] {
        let numbers = self.take(n);
        numbers.fill(T::ZERO);
        numbers
    }
}

/// Whether a product replaces C or is added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Into {
    /// C = A·B
    Replace,
    /// C = C + A·B
    Add,
}

/// Where tiles of the product go.
pub trait Sink<T: Real + HasKernels> {
    /// Stores a tile whose corner is at (i0, j0).
    fn tile(&mut self, kernels: &Kernels<T>, corner: (usize, usize), tile: Tile<T>);
}

/// Row-major C.
pub struct RowMajor<'a, T> {
    /// Storage.
    pub c: &'a mut [T],
    /// Distance between rows.
    pub row: usize,
}

impl<T: Real + HasKernels> Sink<T> for RowMajor<'_, T> {
    #[inline]
    fn tile(&mut self, kernels: &Kernels<T>, (i0, j0): (usize, usize), tile: Tile<T>) {
        kernels.tile(tile, &mut self.c[i0 * self.row + j0..], self.row);
    }
}

/// Column-major C: what comes out is the transpose of the product.
pub struct ColumnMajor<'a, T> {
    /// Storage.
    pub c: &'a mut [T],
    /// Distance between columns.
    pub col: usize,
}

impl<T: Real + HasKernels> Sink<T> for ColumnMajor<'_, T> {
    fn tile(&mut self, kernels: &Kernels<T>, (i0, j0): (usize, usize), tile: Tile<T>) {
        let mut whole = [T::ZERO; MAX_MR * MAX_NR];
        kernels.tile(Tile { add: false, ..tile }, &mut whole, MAX_NR);
        for j in 0..tile.cols {
            let to = &mut self.c[(j0 + j) * self.col + i0..][..tile.rows];
            for (i, t) in to.iter_mut().enumerate() {
                let old = if tile.add { *t } else { T::ZERO };
                *t = old + whole[i * MAX_NR + j];
            }
        }
    }
}

/// C (+)= A·B, m × k times k × n, on one thread. The order of the sums depends on m, n, k alone.
#[allow(clippy::too_many_arguments)] // the sizes, the operands and the scratch
pub fn gemm<T: Real + HasKernels>(
    m: usize,
    n: usize,
    k: usize,
    a: &impl Left<T>,
    b: &impl Right<T>,
    c: &mut impl Sink<T>,
    into: Into,
    packing: &mut Packing<T>,
) {
    let kernels = T::kernels();
    let (mr, nr) = (kernels.mr, kernels.nr);
    // Equal blocks of k, so that none is short.
    let kc_max = k.div_ceil(k.div_ceil(KC).max(1)).max(1);
    let nc_max = NC / nr * nr;
    let panel_a = packing.a.take(kc_max * MAX_MR);
    let block = packing.b.take(kc_max * nc_max.min(n.next_multiple_of(nr)));
    for j0 in (0..n).step_by(nc_max) {
        let nc = nc_max.min(n - j0);
        for p0 in (0..k).step_by(kc_max) {
            let kc = kc_max.min(k - p0);
            let add = into == Into::Add || p0 > 0;
            for (panel, out) in block
                .chunks_exact_mut(kc * nr)
                .take(nc.div_ceil(nr))
                .enumerate()
            {
                let j = panel * nr;
                b.pack(p0, kc, j0 + j, nr.min(nc - j), nr, out);
            }
            for i0 in (0..m).step_by(mr) {
                let rows = mr.min(m - i0);
                let a = match a.in_place() {
                    Some(a) => Strided {
                        data: &a.data[i0 * a.row + p0 * a.col..],
                        ..a
                    },
                    None => {
                        a.pack(i0, rows, p0, kc, &mut panel_a[..kc * rows]);
                        Strided {
                            data: &*panel_a,
                            row: 1,
                            col: rows,
                        }
                    }
                };
                for (panel, b) in block
                    .chunks_exact(kc * nr)
                    .take(nc.div_ceil(nr))
                    .enumerate()
                {
                    let j = panel * nr;
                    let cols = nr.min(nc - j);
                    c.tile(
                        kernels,
                        (i0, j0 + j),
                        Tile {
                            rows,
                            cols,
                            k: kc,
                            a,
                            b,
                            add,
                        },
                    );
                }
            }
        }
    }
}
