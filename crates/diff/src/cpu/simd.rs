//! The one module of the CPU device with `unsafe`: run-time choice of the instruction set, and the
//! register-blocked inner product of packed panels.
//!
//! A microkernel computes C += A·B for an MR × (NV·lanes) tile with A packed as k × MR and B as k × NR.
#![allow(unsafe_code)]
// A tile is described by its sizes, three operands and their strides.
#![allow(clippy::too_many_arguments)]

use std::sync::OnceLock;

use super::gemm::Strided;
use crate::Real;

/// Instruction sets with code of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// AVX-512 (x86-64-v4).
    V4,
    /// AVX2 and FMA (x86-64-v3).
    V3,
    /// Whatever the target guarantees.
    Base,
}

/// The best instruction set of this machine.
pub fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(detect)
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Level {
    let v4 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl");
    let v3 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    match (v4 && v3, v3) {
        (true, _) => Level::V4,
        (false, true) => Level::V3,
        _ => Level::Base,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Level {
    Level::Base
}

/// Defines a function whose body is compiled once per [`Level`] and chosen at run time.
/// The body is plain safe code with loops that LLVM vectorises.
macro_rules! vectorised {
    ($(#[$meta:meta])* $vis:vis fn $name:ident<$T:ident: $bound:path>($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        $vis fn $name<$T: $bound>($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn body<$T: $bound>($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
            fn v4<$T: $bound>($($arg: $ty),*) $(-> $ret)? {
                body::<$T>($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn v3<$T: $bound>($($arg: $ty),*) $(-> $ret)? {
                body::<$T>($($arg),*)
            }

            // SAFETY: `level` has checked that the CPU has the features that v4 and v3 enable.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            match $crate::cpu::simd::level() {
                $crate::cpu::simd::Level::V4 => return unsafe { v4::<$T>($($arg),*) },
                $crate::cpu::simd::Level::V3 => return unsafe { v3::<$T>($($arg),*) },
                $crate::cpu::simd::Level::Base => {}
            }
            #[allow(unreachable_code)]
            body::<$T>($($arg),*)
        }
    };
}
pub(crate) use vectorised;

/// Calls `$f::<_, W>($args, t)` on stretches of W = 16, 8, 4 and 1 places until `$length` are done.
macro_rules! stretches {
    ($length:expr, $t:ident => $f:ident($($arg:expr),*)) => {{
        let (mut $t, length) = (0, $length);
        while $t + 16 <= length {
            $f::<T, 16>($($arg),*);
            $t += 16;
        }
        while $t + 8 <= length {
            $f::<T, 8>($($arg),*);
            $t += 8;
        }
        while $t + 4 <= length {
            $f::<T, 4>($($arg),*);
            $t += 4;
        }
        while $t < length {
            $f::<T, 1>($($arg),*);
            $t += 1;
        }
    }};
}
pub(crate) use stretches;

/// C[MR × nv·lanes] (+)= A·B over k steps; A at any (row, column) strides, B packed k × NR, C row-major with stride `ldc`.
/// Of the last vector of a row `valid` numbers are read and written.
type Kernel<T> = unsafe fn(
    k: usize,
    a: *const T,
    strides: (usize, usize),
    b: *const T,
    c: *mut T,
    ldc: usize,
    valid: usize,
    add: bool,
);

/// See [`direct`].
type Direct<T> = unsafe fn(
    offsets: &[usize],
    a: *const T,
    x: *const T,
    at: [usize; NV],
    c: *mut T,
    to: [usize; NV],
    valid: [usize; NV],
    ldc: usize,
);

/// See [`dot`].
type Dot<T> = unsafe fn(
    steps: &[(usize, usize)],
    a: *const T,
    lda: usize,
    x: *const T,
    offsets: [usize; NV],
    c: *mut T,
    ldc: usize,
);

/// See [`spread`].
type Spread<T> = unsafe fn(
    steps: &[usize],
    x: *const T,
    rows: [usize; MAX_MR],
    b: *const T,
    c: *mut T,
    ldc: usize,
    add: bool,
);

/// Most rows of a tile.
pub const MAX_MR: usize = 8;
/// Vectors across a tile.
pub const NV: usize = 3;
/// Most columns of a tile.
pub const MAX_NR: usize = 48;

/// The tile sizes of one instruction set and number type, and the kernels for full and partial tiles.
pub struct Kernels<T> {
    /// Numbers in a vector register.
    pub lanes: usize,
    /// Rows of a full tile.
    pub mr: usize,
    /// Columns of a full tile: NV·lanes.
    pub nr: usize,
    /// `table[rows − 1][vectors − 1]`.
    table: [[Kernel<T>; NV]; MAX_MR],
    direct: [[Direct<T>; NV]; MAX_MR],
    dot: [[Dot<T>; NV]; MAX_MR],
    spread: [[Spread<T>; NV]; MAX_MR],
}

/// Where the steps of the direct kernel read, with the largest of them: what [`Kernels::direct`] checks against.
pub struct Offsets {
    list: Vec<usize>,
    reach: usize,
}

impl Offsets {
    /// One offset a step.
    pub fn new(list: Vec<usize>) -> Self {
        let reach = list.iter().copied().max().unwrap_or(0);
        Offsets { list, reach }
    }

    /// One offset a step.
    pub fn list(&self) -> &[usize] {
        &self.list
    }
}

/// Where the steps of the dot kernel read in a and in x, with the largest of them.
pub struct Steps {
    list: Vec<(usize, usize)>,
    reach: (usize, usize),
}

impl Steps {
    /// One pair a step.
    pub fn new(list: Vec<(usize, usize)>) -> Self {
        let largest = |(a, x): (usize, usize), &(b, y): &(usize, usize)| (a.max(b), x.max(y));
        let reach = list.iter().fold((0, 0), largest);
        Steps { list, reach }
    }
}

/// A product of `rows` × k and k × `cols`, at most mr × nr: A is read in place, B is packed with stride nr.
#[derive(Clone, Copy)]
pub struct Tile<'a, T> {
    /// Rows of A.
    pub rows: usize,
    /// Columns of B.
    pub cols: usize,
    /// Columns of A, rows of B.
    pub k: usize,
    /// A.
    pub a: Strided<'a, T>,
    /// B.
    pub b: &'a [T],
    /// Whether the product is added to what is there.
    pub add: bool,
}

/// A vector of results of the direct kernel.
#[derive(Clone, Copy, Default)]
pub struct Lane {
    /// Where it starts in the image, before the offset of each step.
    pub at: usize,
    /// Where it goes.
    pub to: usize,
    /// How many of its numbers are wanted.
    pub valid: usize,
}

impl<T: Real> Kernels<T> {
    /// `rows` rows of at most [`NV`] vectors: c[lane.to + i·ldc ..] = Σ_p a[p, i] x[offsets[p] + lane.at ..]; A packed with stride `rows`.
    pub fn direct(
        &self,
        rows: usize,
        offsets: &Offsets,
        a: &[T],
        x: &[T],
        lanes: &[Lane],
        c: &mut [T],
        ldc: usize,
    ) {
        assert!((1..=self.mr).contains(&rows) && (1..=NV).contains(&lanes.len()));
        let Offsets { list, reach } = offsets;
        assert!(a.len() >= list.len() * rows);
        for lane in lanes {
            assert!((1..=self.lanes).contains(&lane.valid));
            assert!(lane.at + reach + self.lanes <= x.len());
            assert!(lane.to + (rows - 1) * ldc + lane.valid <= c.len());
        }
        let pick = |f: fn(&Lane) -> usize| std::array::from_fn(|v| lanes.get(v).map_or(0, f));
        let kernel = self.direct[rows - 1][lanes.len() - 1];
        // SAFETY: `reach` is the largest offset, so every vector read lies inside x, every vector stored inside c,
        // and a holds a group of `rows` numbers for each step: asserted above.
        unsafe {
            kernel(
                list,
                a.as_ptr(),
                x.as_ptr(),
                pick(|l| l.at),
                c.as_mut_ptr(),
                pick(|l| l.to),
                pick(|l| l.valid),
                ldc,
            )
        };
    }

    /// c[i·ldc + j] += Σ_steps Σ_lanes a[i·lda + step.0 ..] x[offsets[j] + step.1 ..] for `rows` × at most [`NV`] results.
    pub fn dot(
        &self,
        rows: usize,
        steps: &Steps,
        a: &[T],
        lda: usize,
        x: &[T],
        offsets: &[usize],
        c: &mut [T],
        ldc: usize,
    ) {
        assert!((1..=self.mr).contains(&rows) && (1..=NV).contains(&offsets.len()));
        let Steps { list, reach } = steps;
        assert!((rows - 1) * lda + reach.0 + self.lanes <= a.len());
        assert!(offsets.iter().all(|o| o + reach.1 + self.lanes <= x.len()));
        assert!(c.len() >= (rows - 1) * ldc + offsets.len());
        let columns = std::array::from_fn(|j| offsets.get(j).copied().unwrap_or(0));
        let kernel = self.dot[rows - 1][offsets.len() - 1];
        // SAFETY: `reach` holds the largest steps, so every vector read lies inside a and x, and every result inside c: asserted above.
        unsafe {
            kernel(
                list,
                a.as_ptr(),
                lda,
                x.as_ptr(),
                columns,
                c.as_mut_ptr(),
                ldc,
            )
        };
    }

    /// c[i·cols ..] (+)= Σ_p x[rows[i] + steps[p]] · b[p·cols ..]: whole vectors of `cols` numbers against single ones.
    pub fn spread(
        &self,
        rows: &[usize],
        steps: &Offsets,
        x: &[T],
        b: &[T],
        c: &mut [T],
        cols: usize,
        add: bool,
    ) {
        let vectors = cols / self.lanes;
        assert!(
            (1..=self.mr).contains(&rows.len())
                && (1..=NV).contains(&vectors)
                && vectors * self.lanes == cols
        );
        assert!(rows.iter().all(|row| row + steps.reach < x.len()));
        assert!(b.len() >= steps.list.len() * cols && c.len() >= rows.len() * cols);
        let kernel = self.spread[rows.len() - 1][vectors - 1];
        let at = std::array::from_fn(|i| rows.get(i).copied().unwrap_or(0));
        // SAFETY: `reach` is the largest step, so every number read lies inside x; b holds `cols` numbers a step
        // and c as many a row: asserted above.
        unsafe {
            kernel(
                &steps.list,
                x.as_ptr(),
                at,
                b.as_ptr(),
                c.as_mut_ptr(),
                cols,
                add,
            )
        };
    }

    /// C (+)= A·B for one tile; `c` starts at the tile's corner.
    #[inline]
    pub fn tile(&self, tile: Tile<T>, c: &mut [T], ldc: usize) {
        let Tile {
            rows,
            cols,
            k,
            a,
            b,
            add,
        } = tile;
        assert!((1..=self.mr).contains(&rows) && (1..=self.nr).contains(&cols) && k > 0);
        assert!(a.data.len() > (rows - 1) * a.row + (k - 1) * a.col && b.len() >= k * self.nr);
        assert!(c.len() >= (rows - 1) * ldc + cols);
        let vectors = cols.div_ceil(self.lanes);
        let kernel = self.table[rows - 1][vectors - 1];
        let valid = cols - (vectors - 1) * self.lanes;
        // SAFETY: the kernel reads `rows` × k numbers of a, k rows of nr of b, and touches `cols` numbers in each of `rows`
        // rows of c; the asserts above hold all three inside their slices.
        unsafe {
            kernel(
                k,
                a.data.as_ptr(),
                (a.row, a.col),
                b.as_ptr(),
                c.as_mut_ptr(),
                ldc,
                valid,
                add,
            )
        };
    }
}

/// A vector register of one instruction set.
trait Vector<T>: Copy {
    const LANES: usize;
    unsafe fn zero() -> Self;
    unsafe fn load(p: *const T) -> Self;
    /// The first n numbers, the others 0.
    unsafe fn load_first(p: *const T, n: usize) -> Self;
    unsafe fn splat(p: *const T) -> Self;
    unsafe fn fma(self, a: Self, b: Self) -> Self;
    unsafe fn add(self, a: Self) -> Self;
    unsafe fn store(self, p: *mut T);
    /// Stores the first n numbers.
    unsafe fn store_first(self, p: *mut T, n: usize);
    /// Sum of the numbers.
    unsafe fn total(self) -> T;
}

/// The microkernel, for any register type. Callers guarantee the ranges that [`Kernels::tile`] checks.
#[inline(always)]
unsafe fn kernel<T: Real, V: Vector<T>, const MR: usize, const N: usize>(
    k: usize,
    mut a: *const T,
    (row_a, col_a): (usize, usize),
    mut b: *const T,
    c: *mut T,
    ldc: usize,
    valid: usize,
    add: bool,
) {
    // SAFETY: pointers stay within MR × k of A, k·NR of B and MR rows of C, as the caller guarantees.
    unsafe {
        let mut acc = [[V::zero(); N]; MR];
        for _ in 0..k {
            let mut row = [V::zero(); N];
            for (v, r) in row.iter_mut().enumerate() {
                *r = V::load(b.add(v * V::LANES));
            }
            for (i, acc_row) in acc.iter_mut().enumerate() {
                let ai = V::splat(a.add(i * row_a));
                for (x, r) in acc_row.iter_mut().zip(row) {
                    *x = ai.fma(r, *x);
                }
            }
            a = a.add(col_a);
            b = b.add(NV * V::LANES);
        }
        for (i, acc_row) in acc.into_iter().enumerate() {
            for (v, x) in acc_row.into_iter().enumerate() {
                let p = c.add(i * ldc + v * V::LANES);
                if v + 1 == N && valid < V::LANES {
                    let x = if add {
                        x.add(V::load_first(p, valid))
                    } else {
                        x
                    };
                    x.store_first(p, valid);
                } else {
                    let x = if add { x.add(V::load(p)) } else { x };
                    x.store(p);
                }
            }
        }
    }
}

/// The direct kernel: as [`kernel`], but step p of B is read at `x + offsets[p] + at[v]`, and each vector
/// of the result goes to a place of its own, cut to `valid[v]` numbers.
#[inline(always)]
unsafe fn direct<T: Real, V: Vector<T>, const MR: usize, const N: usize>(
    offsets: &[usize],
    mut a: *const T,
    x: *const T,
    at: [usize; NV],
    c: *mut T,
    to: [usize; NV],
    valid: [usize; NV],
    ldc: usize,
) {
    // SAFETY: the caller guarantees every offset + at + lanes inside x, and every row of every vector inside c.
    unsafe {
        let mut acc = [[V::zero(); N]; MR];
        let base: [*const T; N] = std::array::from_fn(|v| x.add(at[v]));
        for &offset in offsets {
            let row: [V; N] = std::array::from_fn(|v| V::load(base[v].add(offset)));
            for (i, acc_row) in acc.iter_mut().enumerate() {
                let ai = V::splat(a.add(i));
                for (x, r) in acc_row.iter_mut().zip(row) {
                    *x = ai.fma(r, *x);
                }
            }
            a = a.add(MR);
        }
        for (i, acc_row) in acc.into_iter().enumerate() {
            for (v, x) in acc_row.into_iter().enumerate() {
                let p = c.add(to[v] + i * ldc);
                if valid[v] == V::LANES {
                    x.store(p)
                } else {
                    x.store_first(p, valid[v])
                }
            }
        }
    }
}

/// The dot kernel: c[i·ldc + j] += Σ over steps and lanes of a[i·lda + step.0] · x[offsets[j] + step.1].
#[inline(always)]
unsafe fn dot<T: Real, V: Vector<T>, const MR: usize, const N: usize>(
    steps: &[(usize, usize)],
    a: *const T,
    lda: usize,
    x: *const T,
    offsets: [usize; NV],
    c: *mut T,
    ldc: usize,
) {
    // SAFETY: the caller guarantees that every vector read and every number of c lies inside its slice.
    unsafe {
        let mut acc = [[V::zero(); N]; MR];
        let columns: [*const T; N] = std::array::from_fn(|j| x.add(offsets[j]));
        for &(at_a, at_x) in steps {
            let column: [V; N] = std::array::from_fn(|j| V::load(columns[j].add(at_x)));
            for (i, acc_row) in acc.iter_mut().enumerate() {
                let ai = V::load(a.add(i * lda + at_a));
                for (x, r) in acc_row.iter_mut().zip(column) {
                    *x = ai.fma(r, *x);
                }
            }
        }
        for (i, acc_row) in acc.into_iter().enumerate() {
            for (j, x) in acc_row.into_iter().enumerate() {
                let p = c.add(i * ldc + j);
                *p += x.total();
            }
        }
    }
}

/// The spread kernel: c[i·ldc ..] (+)= Σ_p x[rows[i] + steps[p]] · b[p·ldb ..], vectors of B against single numbers of x.
#[inline(always)]
unsafe fn spread<T: Real, V: Vector<T>, const MR: usize, const N: usize>(
    steps: &[usize],
    x: *const T,
    rows: [usize; MAX_MR],
    mut b: *const T,
    c: *mut T,
    ldc: usize,
    add: bool,
) {
    // SAFETY: the caller guarantees every rows + steps inside x, N vectors a step in b, and N vectors a row in c.
    unsafe {
        let mut acc = [[V::zero(); N]; MR];
        let base: [*const T; MR] = std::array::from_fn(|i| x.add(rows[i]));
        for &step in steps {
            let vectors: [V; N] = std::array::from_fn(|v| V::load(b.add(v * V::LANES)));
            for (acc_row, pixel) in acc.iter_mut().zip(base) {
                let pixel = V::splat(pixel.add(step));
                for (x, v) in acc_row.iter_mut().zip(vectors) {
                    *x = pixel.fma(v, *x);
                }
            }
            b = b.add(N * V::LANES);
        }
        for (i, acc_row) in acc.into_iter().enumerate() {
            for (v, x) in acc_row.into_iter().enumerate() {
                let p = c.add(i * ldc + v * V::LANES);
                let x = if add { x.add(V::load(p)) } else { x };
                x.store(p);
            }
        }
    }
}

/// Portable register: four numbers in an array.
#[derive(Clone, Copy)]
struct Quad<T>([T; 4]);

impl<T: Real> Vector<T> for Quad<T> {
    const LANES: usize = 4;
    #[inline(always)]
    unsafe fn zero() -> Self {
        Quad([T::ZERO; 4])
    }
    #[inline(always)]
    unsafe fn load(p: *const T) -> Self {
        // SAFETY: the caller guarantees four numbers at p.
        Quad(unsafe { [*p, *p.add(1), *p.add(2), *p.add(3)] })
    }
    #[inline(always)]
    unsafe fn load_first(p: *const T, n: usize) -> Self {
        // SAFETY: the caller guarantees n numbers at p.
        Quad(std::array::from_fn(|i| {
            if i < n { unsafe { *p.add(i) } } else { T::ZERO }
        }))
    }
    #[inline(always)]
    unsafe fn splat(p: *const T) -> Self {
        // SAFETY: the caller guarantees a number at p.
        Quad(unsafe { [*p; 4] })
    }
    #[inline(always)]
    unsafe fn fma(self, a: Self, b: Self) -> Self {
        Quad(std::array::from_fn(|i| self.0[i] * a.0[i] + b.0[i]))
    }
    #[inline(always)]
    unsafe fn add(self, a: Self) -> Self {
        Quad(std::array::from_fn(|i| self.0[i] + a.0[i]))
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut T) {
        // SAFETY: the caller guarantees room for four numbers at p.
        unsafe { p.cast::<[T; 4]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn store_first(self, p: *mut T, n: usize) {
        for (i, &x) in self.0.iter().take(n).enumerate() {
            // SAFETY: the caller guarantees room for n numbers at p.
            unsafe { *p.add(i) = x }
        }
    }
    #[inline(always)]
    unsafe fn total(self) -> T {
        (self.0[0] + self.0[1]) + (self.0[2] + self.0[3])
    }
}

/// `[[f; NV]; MAX_MR]` for a function that is generic over rows and vectors.
macro_rules! grid {
    ($f:ident) => {
        [
            [$f::<1, 1>, $f::<1, 2>, $f::<1, 3>],
            [$f::<2, 1>, $f::<2, 2>, $f::<2, 3>],
            [$f::<3, 1>, $f::<3, 2>, $f::<3, 3>],
            [$f::<4, 1>, $f::<4, 2>, $f::<4, 3>],
            [$f::<5, 1>, $f::<5, 2>, $f::<5, 3>],
            [$f::<6, 1>, $f::<6, 2>, $f::<6, 3>],
            [$f::<7, 1>, $f::<7, 2>, $f::<7, 3>],
            [$f::<8, 1>, $f::<8, 2>, $f::<8, 3>],
        ]
    };
}

/// The kernels of one register type, compiled with the given features.
macro_rules! table {
    ($T:ty, $V:ty, $mr:literal, $(#[$feature:meta])?) => {{
        $(#[$feature])?
        unsafe fn tile<const MR: usize, const N: usize>(k: usize, a: *const $T, strides: (usize, usize), b: *const $T, c: *mut $T, ldc: usize, valid: usize, add: bool) {
            // SAFETY: the caller's guarantee, passed on.
            unsafe { kernel::<$T, $V, MR, N>(k, a, strides, b, c, ldc, valid, add) }
        }
        $(#[$feature])?
        unsafe fn read<const MR: usize, const N: usize>(offsets: &[usize], a: *const $T, x: *const $T, at: [usize; NV], c: *mut $T, to: [usize; NV], valid: [usize; NV], ldc: usize) {
            // SAFETY: the caller's guarantee, passed on.
            unsafe { direct::<$T, $V, MR, N>(offsets, a, x, at, c, to, valid, ldc) }
        }
        $(#[$feature])?
        unsafe fn inner<const MR: usize, const N: usize>(steps: &[(usize, usize)], a: *const $T, lda: usize, x: *const $T, offsets: [usize; NV], c: *mut $T, ldc: usize) {
            // SAFETY: the caller's guarantee, passed on.
            unsafe { dot::<$T, $V, MR, N>(steps, a, lda, x, offsets, c, ldc) }
        }
        $(#[$feature])?
        unsafe fn over<const MR: usize, const N: usize>(steps: &[usize], x: *const $T, rows: [usize; MAX_MR], b: *const $T, c: *mut $T, ldc: usize, add: bool) {
            // SAFETY: the caller's guarantee, passed on.
            unsafe { spread::<$T, $V, MR, N>(steps, x, rows, b, c, ldc, add) }
        }
        Kernels {
            lanes: <$V as Vector<$T>>::LANES,
            mr: $mr,
            nr: NV * <$V as Vector<$T>>::LANES,
            table: grid!(tile),
            direct: grid!(read),
            dot: grid!(inner),
            spread: grid!(over),
        }
    }};
}

macro_rules! kernels {
    ($T:ty, $V4:ty, $V3:ty) => {
        fn kernels_at(level: Level) -> &'static Kernels<Self> {
            #[cfg(target_arch = "x86_64")]
            static V4: Kernels<$T> = table!($T, $V4, 8, #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]);
            #[cfg(target_arch = "x86_64")]
            static V3: Kernels<$T> = table!($T, $V3, 4, #[target_feature(enable = "avx2,fma")]);
            static BASE: Kernels<$T> = table!($T, Quad<$T>, 4,);
            match level {
                #[cfg(target_arch = "x86_64")]
                Level::V4 => &V4,
                #[cfg(target_arch = "x86_64")]
                Level::V3 => &V3,
                _ => &BASE,
            }
        }
    };
}

/// Number types with microkernels.
pub trait HasKernels: Sized + 'static {
    /// The kernels for an instruction set that this machine has.
    fn kernels_at(level: Level) -> &'static Kernels<Self>;

    /// The kernels for this machine.
    fn kernels() -> &'static Kernels<Self> {
        Self::kernels_at(level())
    }
}

impl HasKernels for f32 {
    kernels!(f32, x86::F32x16, x86::F32x8);
}

impl HasKernels for f64 {
    kernels!(f64, x86::F64x8, x86::F64x4);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Vector;

    macro_rules! vector {
        ($name:ident, $T:ty, $reg:ty, $lanes:literal, $zero:ident, $load:ident, $set1:ident, $fma:ident, $add:ident, $store:ident, |$q:ident, $m:ident| $part:expr, |$v:ident, $p:ident, $n:ident| $first:expr, |$t:ident| $total:expr) => {
            /// A vector register.
            #[derive(Clone, Copy)]
            pub struct $name($reg);

            // SAFETY of every call below: reached only from functions that enable the features,
            // with pointers that the caller guarantees.
            impl Vector<$T> for $name {
                const LANES: usize = $lanes;
                #[inline(always)]
                unsafe fn zero() -> Self {
                    unsafe { $name($zero()) }
                }
                #[inline(always)]
                unsafe fn load(p: *const $T) -> Self {
                    unsafe { $name($load(p)) }
                }
                #[inline(always)]
                unsafe fn load_first($q: *const $T, $m: usize) -> Self {
                    unsafe { $name($part) }
                }
                #[inline(always)]
                unsafe fn splat(p: *const $T) -> Self {
                    unsafe { $name($set1(*p)) }
                }
                #[inline(always)]
                unsafe fn fma(self, a: Self, b: Self) -> Self {
                    unsafe { $name($fma(self.0, a.0, b.0)) }
                }
                #[inline(always)]
                unsafe fn add(self, a: Self) -> Self {
                    unsafe { $name($add(self.0, a.0)) }
                }
                #[inline(always)]
                unsafe fn store(self, p: *mut $T) {
                    unsafe { $store(p, self.0) }
                }
                #[inline(always)]
                unsafe fn store_first(self, $p: *mut $T, $n: usize) {
                    let $v = self.0;
                    unsafe { $first }
                }
                #[inline(always)]
                unsafe fn total(self) -> $T {
                    let $t = self.0;
                    unsafe { $total }
                }
            }
        };
    }

    /// Sum by halves.
    fn pairwise<const N: usize, T: Copy + std::ops::Add<Output = T>>(mut a: [T; N]) -> T {
        let mut n = N;
        while n > 1 {
            n /= 2;
            for i in 0..n {
                a[i] = a[i] + a[i + n];
            }
        }
        a[0]
    }

    vector!(
        F32x16,
        f32,
        __m512,
        16,
        _mm512_setzero_ps,
        _mm512_loadu_ps,
        _mm512_set1_ps,
        _mm512_fmadd_ps,
        _mm512_add_ps,
        _mm512_storeu_ps,
        |p, n| _mm512_maskz_loadu_ps(((1u32 << n) - 1) as u16, p),
        |v, p, n| _mm512_mask_storeu_ps(p, ((1u32 << n) - 1) as u16, v),
        |t| _mm512_reduce_add_ps(t)
    );
    vector!(
        F64x8,
        f64,
        __m512d,
        8,
        _mm512_setzero_pd,
        _mm512_loadu_pd,
        _mm512_set1_pd,
        _mm512_fmadd_pd,
        _mm512_add_pd,
        _mm512_storeu_pd,
        |p, n| _mm512_maskz_loadu_pd(((1u32 << n) - 1) as u8, p),
        |v, p, n| _mm512_mask_storeu_pd(p, ((1u32 << n) - 1) as u8, v),
        |t| _mm512_reduce_add_pd(t)
    );
    vector!(
        F32x8,
        f32,
        __m256,
        8,
        _mm256_setzero_ps,
        _mm256_loadu_ps,
        _mm256_set1_ps,
        _mm256_fmadd_ps,
        _mm256_add_ps,
        _mm256_storeu_ps,
        |p, n| {
            let mut a = [0.0f32; 8];
            std::ptr::copy_nonoverlapping(p, a.as_mut_ptr(), n);
            _mm256_loadu_ps(a.as_ptr())
        },
        |v, p, n| {
            let mut a = [0.0f32; 8];
            _mm256_storeu_ps(a.as_mut_ptr(), v);
            std::ptr::copy_nonoverlapping(a.as_ptr(), p, n);
        },
        |t| {
            let mut a = [0.0f32; 8];
            _mm256_storeu_ps(a.as_mut_ptr(), t);
            pairwise(a)
        }
    );
    vector!(
        F64x4,
        f64,
        __m256d,
        4,
        _mm256_setzero_pd,
        _mm256_loadu_pd,
        _mm256_set1_pd,
        _mm256_fmadd_pd,
        _mm256_add_pd,
        _mm256_storeu_pd,
        |p, n| {
            let mut a = [0.0f64; 4];
            std::ptr::copy_nonoverlapping(p, a.as_mut_ptr(), n);
            _mm256_loadu_pd(a.as_ptr())
        },
        |v, p, n| {
            let mut a = [0.0f64; 4];
            _mm256_storeu_pd(a.as_mut_ptr(), v);
            std::ptr::copy_nonoverlapping(a.as_ptr(), p, n);
        },
        |t| {
            let mut a = [0.0f64; 4];
            _mm256_storeu_pd(a.as_mut_ptr(), t);
            pairwise(a)
        }
    );
}

/// Machines differ: the kernels of every instruction set that this one has are checked, so that a
/// fault in those it does not use by itself is seen.
#[cfg(test)]
mod tests {
    use super::*;

    fn levels() -> Vec<Level> {
        match level() {
            Level::V4 => vec![Level::V4, Level::V3, Level::Base],
            Level::V3 => vec![Level::V3, Level::Base],
            Level::Base => vec![Level::Base],
        }
    }

    /// Small whole numbers: every sum below is exact in both types.
    fn numbers<T: Real>(n: usize, seed: usize) -> Vec<T> {
        (0..n)
            .map(|i| T::from_f64(((i * 7 + seed * 13) % 11) as f64 - 5.0))
            .collect()
    }

    fn tiles<T: Real + HasKernels>() {
        for kernels in levels().into_iter().map(T::kernels_at) {
            let (k, ldc) = (9, kernels.nr + 3);
            let (a, b) = (
                numbers::<T>(kernels.mr * k, 1),
                numbers::<T>(k * kernels.nr, 2),
            );
            for rows in 1..=kernels.mr {
                for cols in 1..=kernels.nr {
                    for add in [false, true] {
                        let before = numbers::<T>(kernels.mr * ldc, 3);
                        let mut c = before.clone();
                        let a_in_place = Strided {
                            data: &a,
                            row: k,
                            col: 1,
                        };
                        kernels.tile(
                            Tile {
                                rows,
                                cols,
                                k,
                                a: a_in_place,
                                b: &b,
                                add,
                            },
                            &mut c,
                            ldc,
                        );
                        for (at, (&c, &before)) in c.iter().zip(&before).enumerate() {
                            let (i, j) = (at / ldc, at % ldc);
                            let product: T = (0..k)
                                .map(|p| {
                                    a[(i % kernels.mr) * k + p]
                                        * b[p * kernels.nr + j.min(cols - 1)]
                                })
                                .sum();
                            let expected = match (i < rows && j < cols, add) {
                                (true, true) => before + product,
                                (true, false) => product,
                                (false, _) => before,
                            };
                            assert_eq!(c, expected, "{rows} × {cols}, add {add}, at ({i}, {j})");
                        }
                    }
                }
            }
        }
    }

    fn direct_spread_and_dot<T: Real + HasKernels>() {
        for kernels in levels().into_iter().map(T::kernels_at) {
            let (lanes, x) = (kernels.lanes, numbers::<T>(400, 4));
            for rows in 1..=kernels.mr {
                for vectors in 1..=NV {
                    let offsets = Offsets::new(vec![3, 0, 17, 5]);
                    let a = numbers::<T>(4 * rows, 5);
                    let tile: Vec<Lane> = (0..vectors)
                        .map(|v| Lane {
                            at: 20 * v + 1,
                            to: 50 * v,
                            valid: lanes - v,
                        })
                        .collect();
                    let ldc = 200;
                    let mut c = vec![T::ZERO; rows * ldc];
                    kernels.direct(rows, &offsets, &a, &x, &tile, &mut c, ldc);
                    for (at, &c) in c.iter().enumerate() {
                        let (i, j) = (at / ldc, at % ldc);
                        let lane = tile.iter().find(|l| (l.to..l.to + l.valid).contains(&j));
                        let sum = |l: &Lane| {
                            offsets
                                .list()
                                .iter()
                                .enumerate()
                                .map(|(p, o)| a[p * rows + i] * x[l.at + o + j - l.to])
                                .sum()
                        };
                        assert_eq!(
                            c,
                            lane.map_or(T::ZERO, sum),
                            "direct {rows} × {vectors} at ({i}, {j})"
                        );
                    }

                    let cols = vectors * lanes;
                    let (at, b) = (
                        &[5, 0, 9, 40, 2, 2, 77, 30][..rows],
                        numbers::<T>(4 * cols, 8),
                    );
                    let before = numbers::<T>(rows * cols, 9);
                    let mut c = before.clone();
                    kernels.spread(at, &offsets, &x, &b, &mut c, cols, true);
                    for (place, (&c, &before)) in c.iter().zip(&before).enumerate() {
                        let (i, j) = (place / cols, place % cols);
                        let products = offsets
                            .list()
                            .iter()
                            .enumerate()
                            .map(|(p, o)| x[at[i] + o] * b[p * cols + j]);
                        assert_eq!(
                            c,
                            before + products.sum(),
                            "spread {rows} × {vectors} at ({i}, {j})"
                        );
                    }

                    let list = vec![(0, 7), (32, 2), (16, 60)];
                    let (rows_of_a, lda) = (numbers::<T>(rows * 64, 6), 64);
                    let columns: Vec<usize> = (0..vectors).map(|v| 9 * v).collect();
                    let mut c = numbers::<T>(rows * NV, 7);
                    let before = c.clone();
                    kernels.dot(
                        rows,
                        &Steps::new(list.clone()),
                        &rows_of_a,
                        lda,
                        &x,
                        &columns,
                        &mut c,
                        NV,
                    );
                    for (at, (&c, &before)) in c.iter().zip(&before).enumerate() {
                        let (i, j) = (at / NV, at % NV);
                        let products = list
                            .iter()
                            .flat_map(|&(p, q)| (0..lanes).map(move |l| (p + l, q + l)));
                        let sum: T = products
                            .map(|(p, q)| {
                                rows_of_a[i * lda + p] * x[columns.get(j).unwrap_or(&0) + q]
                            })
                            .sum();
                        let expected = if j < vectors { before + sum } else { before };
                        assert_eq!(c, expected, "dot {rows} × {vectors} at ({i}, {j})");
                    }
                }
            }
        }
    }

    #[test]
    fn every_instruction_set_computes_the_same() {
        tiles::<f32>();
        tiles::<f64>();
        direct_spread_and_dot::<f32>();
        direct_spread_and_dot::<f64>();
    }
}
