//! C (+)= A·B for matrices of any strides, and for operands that are gathered on the fly.
//!
//! Blocks of B (kc × nc) and panels of A (kc × MR) are packed, then multiplied tile by tile
//! (Goto and van de Geijn 2008). What packs is a trait, so a convolution is the same product with
//! operands that read the image ([`super::conv`]) and no im2col matrix is ever stored.

use super::simd::{HasKernels, Kernels, MAX_MR};
use crate::Real;

/// Longest block of the summed dimension: a panel of A (8 × 320 f32) stays in L1.
const KC: usize = 320;
/// Columns of a packed block of B: 320 × 384 f32 = 480 kB stays in L2.
const NC: usize = 384;

/// Left factor, m × k.
pub trait Left<T> {
    /// Writes rows `i0..i0+rows`, columns `p0..p0+kc` as `kc` groups of `rows` numbers.
    fn pack(&self, i0: usize, rows: usize, p0: usize, kc: usize, out: &mut [T]);
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
    #[inline]
    fn pack(&self, i0: usize, rows: usize, p0: usize, kc: usize, out: &mut [T]) {
        let a = &self.data[i0 * self.row + p0 * self.col..];
        if self.row == 1 {
            for (p, group) in out.chunks_exact_mut(rows).take(kc).enumerate() {
                group.copy_from_slice(&a[p * self.col..p * self.col + rows]);
            }
            return;
        }
        for i in 0..rows {
            let line = &a[i * self.row..];
            for (p, group) in out.chunks_exact_mut(rows).take(kc).enumerate() {
                group[i] = line[p * self.col];
            }
        }
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
        // Short runs of each column in turn: the lines read stay in L1 until they are used up.
        const RUN: usize = 16;
        for p1 in (0..kc).step_by(RUN) {
            let run = RUN.min(kc - p1);
            for j in 0..cols {
                let line = &b[j * self.col + p1 * self.row..];
                for p in 0..run {
                    out[(p1 + p) * nr + j] = line[p * self.row];
                }
            }
        }
    }
}

/// Scratch for packed operands, kept between products.
#[derive(Default)]
pub struct Packing<T> {
    pub(super) a: Vec<T>,
    b: Vec<T>,
    pub(super) image: Vec<T>,
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
    /// Stores the tile at (i0, j0): `rows` × `cols`, product of packed panels over k.
    #[allow(clippy::too_many_arguments)] // a tile is eight numbers
    fn tile(
        &mut self,
        kernels: &Kernels<T>,
        i0: usize,
        rows: usize,
        j0: usize,
        cols: usize,
        k: usize,
        a: &[T],
        b: &[T],
        add: bool,
    );
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
    fn tile(
        &mut self,
        kernels: &Kernels<T>,
        i0: usize,
        rows: usize,
        j0: usize,
        cols: usize,
        k: usize,
        a: &[T],
        b: &[T],
        add: bool,
    ) {
        kernels.tile(
            rows,
            cols,
            k,
            a,
            b,
            &mut self.c[i0 * self.row + j0..],
            self.row,
            add,
        );
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
    packing
        .a
        .resize(packing.a.len().max(kc_max * MAX_MR), T::ZERO);
    packing
        .b
        .resize(kc_max * nc_max.min(n.next_multiple_of(nr)), T::ZERO);
    for j0 in (0..n).step_by(nc_max) {
        let nc = nc_max.min(n - j0);
        for p0 in (0..k).step_by(kc_max) {
            let kc = kc_max.min(k - p0);
            let add = into == Into::Add || p0 > 0;
            for (panel, out) in packing
                .b
                .chunks_exact_mut(kc * nr)
                .take(nc.div_ceil(nr))
                .enumerate()
            {
                let j = panel * nr;
                b.pack(p0, kc, j0 + j, nr.min(nc - j), nr, out);
            }
            for i0 in (0..m).step_by(mr) {
                let rows = mr.min(m - i0);
                a.pack(i0, rows, p0, kc, &mut packing.a[..kc * rows]);
                for (panel, b) in packing
                    .b
                    .chunks_exact(kc * nr)
                    .take(nc.div_ceil(nr))
                    .enumerate()
                {
                    let j = panel * nr;
                    c.tile(
                        kernels,
                        i0,
                        rows,
                        j0 + j,
                        nr.min(nc - j),
                        kc,
                        &packing.a,
                        b,
                        add,
                    );
                }
            }
        }
    }
}
