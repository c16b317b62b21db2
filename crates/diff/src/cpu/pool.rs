//! Windows without weights: pooling, patches, periodic borders.

use rayon::prelude::*;

use super::functions::Elementary;
use crate::trace::Window;

/// Numbers under which work is not worth splitting.
const SPLIT: usize = 1 << 16;

/// Calls `f(plane, output plane)` for every pair of planes, in parallel when there is enough to do.
fn planes<T: Elementary>(
    x: &[T],
    x_plane: usize,
    out: &mut [T],
    out_plane: usize,
    f: impl Fn(&[T], &mut [T]) + Sync + Send,
) {
    if x.len().max(out.len()) >= SPLIT {
        out.par_chunks_mut(out_plane)
            .zip(x.par_chunks(x_plane))
            .with_min_len(many(out_plane.max(x_plane)))
            .for_each(|(y, x)| f(x, y));
    } else {
        out.chunks_mut(out_plane)
            .zip(x.chunks(x_plane))
            .for_each(|(y, x)| f(x, y));
    }
}

/// Planes a task.
fn many(plane: usize) -> usize {
    (SPLIT / 4 / plane).max(1)
}

/// Positions of a window over an h × w plane.
struct Walk {
    window: Window,
    h: usize,
    w: usize,
    oh: usize,
    ow: usize,
}

impl Walk {
    fn new(window: Window, h: usize, w: usize) -> Self {
        Walk {
            window,
            h,
            w,
            oh: window.positions(0, h),
            ow: window.positions(1, w),
        }
    }

    /// Input index along `axis` of tap `tap` at output position `o`, unless it is padding.
    #[inline(always)]
    fn at(&self, axis: usize, o: usize, tap: usize) -> Option<usize> {
        let i = o * self.window.stride[axis] + tap * self.window.dilation[axis];
        let n = if axis == 0 { self.h } else { self.w };
        i.checked_sub(self.window.pad[axis].0).filter(|&i| i < n)
    }

    /// Calls `f(output index, input index, tap)` for every tap inside the plane.
    #[inline(always)]
    fn each(&self, mut f: impl FnMut(usize, usize, usize)) {
        let [kh, kw] = self.window.kernel;
        for oh in 0..self.oh {
            for th in 0..kh {
                let Some(ih) = self.at(0, oh, th) else {
                    continue;
                };
                for ow in 0..self.ow {
                    for tw in 0..kw {
                        if let Some(iw) = self.at(1, ow, tw) {
                            f(oh * self.ow + ow, ih * self.w + iw, th * kw + tw);
                        }
                    }
                }
            }
        }
    }

    /// Whether this is 2×2 at stride 2 without border.
    fn is_halving(&self) -> bool {
        let Window {
            kernel,
            stride,
            dilation,
            pad,
        } = self.window;
        kernel == [2, 2] && stride == [2, 2] && dilation == [1, 1] && pad == [(0, 0); 2]
    }
}

/// Sum of each window of N×C×H×W.
pub fn sum_pool<T: Elementary>(window: Window, x: &[T], shape: &[usize], out: &mut [T]) {
    let walk = Walk::new(window, shape[2], shape[3]);
    planes(x, walk.h * walk.w, out, walk.oh * walk.ow, |x, y| {
        y.fill(T::ZERO);
        walk.each(|o, i, _| y[o] += x[i]);
    });
}

/// Transpose of [`sum_pool`]; `shape` is that of the result.
pub fn sum_pool_transpose<T: Elementary>(window: Window, g: &[T], out: &mut [T], shape: &[usize]) {
    let walk = Walk::new(window, shape[2], shape[3]);
    planes(g, walk.oh * walk.ow, out, walk.h * walk.w, |g, y| {
        y.fill(T::ZERO);
        walk.each(|o, i, _| y[i] += g[o]);
    });
}

/// Number of the largest tap of each window; the first of equals; NaN counts as largest.
pub fn arg_max<T: Elementary>(window: Window, x: &[T], shape: &[usize], out: &mut [T]) {
    let walk = Walk::new(window, shape[2], shape[3]);
    planes(x, walk.h * walk.w, out, walk.oh * walk.ow, |x, y| {
        if walk.is_halving() {
            halving::arg_max(x, walk.w, y, walk.ow);
            return;
        }
        let mut best = vec![T::from_f64(f64::NEG_INFINITY); y.len()];
        walk.each(|o, i, tap| {
            if x[i] > best[o] || x[i].is_nan() {
                (best[o], y[o]) = (x[i], T::from_f64(tap as f64));
            }
        });
    });
}

/// Value of the chosen tap of each window; `index` holds tap numbers.
pub fn pick<T: Elementary>(window: Window, index: &[T], x: &[T], shape: &[usize], out: &mut [T]) {
    let walk = Walk::new(window, shape[2], shape[3]);
    let (inner, outer) = (walk.h * walk.w, walk.oh * walk.ow);
    for ((y, index), x) in out
        .chunks_mut(outer)
        .zip(index.chunks(outer))
        .zip(x.chunks(inner))
    {
        if walk.is_halving() {
            halving::pick(index, x, walk.w, y, walk.ow);
        } else {
            walk.each(|o, i, tap| {
                if index[o] == T::from_f64(tap as f64) {
                    y[o] = x[i];
                }
            });
        }
    }
}

/// Transpose of [`pick`]; `shape` is that of the result.
pub fn place<T: Elementary>(window: Window, index: &[T], g: &[T], out: &mut [T], shape: &[usize]) {
    let walk = Walk::new(window, shape[2], shape[3]);
    let (inner, outer) = (walk.h * walk.w, walk.oh * walk.ow);
    for ((y, index), g) in out
        .chunks_mut(inner)
        .zip(index.chunks(outer))
        .zip(g.chunks(outer))
    {
        if walk.is_halving() {
            // Every pixel of whole windows is written; the rest of an odd plane is not.
            if walk.h % 2 + walk.w % 2 > 0 {
                y.fill(T::ZERO);
            }
            halving::place(index, g, walk.ow, y, walk.w);
        } else {
            y.fill(T::ZERO);
            walk.each(|o, i, tap| {
                if index[o] == T::from_f64(tap as f64) {
                    y[i] += g[o];
                }
            });
        }
    }
}

/// The commonest window, 2×2 at stride 2 without border: a stretch of outputs at a time, its four taps as vectors.
mod halving {
    use super::super::functions::Elementary;
    use super::super::simd::{stretches, vectorised};

    vectorised! {
        pub fn arg_max<T: Elementary>(x: &[T], w: usize, out: &mut [T], ow: usize) {
            for (y, rows) in out.chunks_exact_mut(ow).zip(x.chunks_exact(2 * w)) {
                stretches!(ow, t => largest(rows, w, t, y));
            }
        }
    }

    #[inline(always)]
    fn largest<T: Elementary, const W: usize>(rows: &[T], w: usize, at: usize, out: &mut [T]) {
        let [mut best, b, c, d] = taps::<T, W>(rows, w, at);
        let mut index = [T::ZERO; W];
        for (values, tap) in [(b, 1.0), (c, 2.0), (d, 3.0)] {
            for i in 0..W {
                let better = values[i] > best[i] || values[i].is_nan();
                best[i] = if better { values[i] } else { best[i] };
                index[i] = if better { T::from_f64(tap) } else { index[i] };
            }
        }
        out[at..at + W].copy_from_slice(&index);
    }

    vectorised! {
        pub fn pick<T: Elementary>(index: &[T], x: &[T], w: usize, out: &mut [T], ow: usize) {
            let rows = index.chunks_exact(ow).zip(x.chunks_exact(2 * w));
            for (y, (index, rows)) in out.chunks_exact_mut(ow).zip(rows) {
                stretches!(ow, t => chosen(index, rows, w, t, y));
            }
        }
    }

    #[inline(always)]
    fn chosen<T: Elementary, const W: usize>(
        index: &[T],
        rows: &[T],
        w: usize,
        at: usize,
        out: &mut [T],
    ) {
        let [mut value, b, c, d] = taps::<T, W>(rows, w, at);
        let index = &index[at..at + W];
        for (values, tap) in [(b, 1.0), (c, 2.0), (d, 3.0)] {
            for i in 0..W {
                value[i] = if index[i] == T::from_f64(tap) {
                    values[i]
                } else {
                    value[i]
                };
            }
        }
        out[at..at + W].copy_from_slice(&value);
    }

    /// The four taps of W neighbouring windows from window `at` on.
    #[inline(always)]
    fn taps<T: Elementary, const W: usize>(rows: &[T], w: usize, at: usize) -> [[T; W]; 4] {
        let (upper, lower) = (
            &rows[2 * at..2 * at + 2 * W],
            &rows[w + 2 * at..w + 2 * at + 2 * W],
        );
        let mut taps = [[T::ZERO; W]; 4];
        for i in 0..W {
            taps[0][i] = upper[2 * i];
            taps[1][i] = upper[2 * i + 1];
            taps[2][i] = lower[2 * i];
            taps[3][i] = lower[2 * i + 1];
        }
        taps
    }

    vectorised! {
        pub fn place<T: Elementary>(index: &[T], g: &[T], ow: usize, out: &mut [T], w: usize) {
            let rows = index.chunks_exact(ow).zip(g.chunks_exact(ow));
            for (rows, (index, g)) in out.chunks_exact_mut(2 * w).zip(rows) {
                stretches!(ow, t => back(index, g, t, rows, w));
            }
        }
    }

    /// The gradients of one tap, 0 where another was the largest.
    #[inline(always)]
    fn masked<T: Elementary, const W: usize>(index: &[T; W], g: &[T; W], tap: T) -> [T; W] {
        let mut masked = [T::ZERO; W];
        for i in 0..W {
            masked[i] = if index[i] == tap { g[i] } else { T::ZERO };
        }
        masked
    }

    #[inline(always)]
    fn back<T: Elementary, const W: usize>(
        index: &[T],
        g: &[T],
        at: usize,
        rows: &mut [T],
        w: usize,
    ) {
        // Loaded whole before anything is chosen: a load that depends on a comparison is a branch.
        let (mut taps, mut values) = ([T::ZERO; W], [T::ZERO; W]);
        taps.copy_from_slice(&index[at..at + W]);
        values.copy_from_slice(&g[at..at + W]);
        let (upper, lower) = rows.split_at_mut(w);
        for (row, first) in [(upper, 0.0), (lower, 2.0)] {
            let row = &mut row[2 * at..2 * at + 2 * W];
            let even = masked(&taps, &values, T::from_f64(first));
            let odd = masked(&taps, &values, T::from_f64(first + 1.0));
            for i in 0..W {
                row[2 * i] = even[i];
                row[2 * i + 1] = odd[i];
            }
        }
    }
}

/// Patches as columns: C·kh·kw × positions for every sample.
pub fn unfold<T: Elementary>(window: Window, x: &[T], shape: &[usize], out: &mut [T]) {
    let walk = Walk::new(window, shape[2], shape[3]);
    let (taps, positions) = (window.kernel[0] * window.kernel[1], walk.oh * walk.ow);
    planes(x, walk.h * walk.w, out, taps * positions, |x, y| {
        y.fill(T::ZERO);
        walk.each(|o, i, tap| y[tap * positions + o] = x[i]);
    });
}

/// Transpose of [`unfold`]; `shape` is that of the result.
pub fn fold<T: Elementary>(window: Window, g: &[T], out: &mut [T], shape: &[usize]) {
    let walk = Walk::new(window, shape[2], shape[3]);
    let (taps, positions) = (window.kernel[0] * window.kernel[1], walk.oh * walk.ow);
    planes(g, taps * positions, out, walk.h * walk.w, |g, y| {
        y.fill(T::ZERO);
        walk.each(|o, i, tap| y[i] += g[tap * positions + o]);
    });
}

/// Calls `f(extended index, index)` for every position of a periodically extended plane.
fn wrapped(pad: [(usize, usize); 2], h: usize, w: usize, mut f: impl FnMut(usize, usize)) {
    let (eh, ew) = (h + pad[0].0 + pad[0].1, w + pad[1].0 + pad[1].1);
    for i in 0..eh {
        // A whole number of periods keeps the difference positive.
        let ih = (i + h * pad[0].0.div_ceil(h) - pad[0].0) % h;
        for j in 0..ew {
            let iw = (j + w * pad[1].0.div_ceil(w) - pad[1].0) % w;
            f(i * ew + j, ih * w + iw);
        }
    }
}

/// Periodic extension of every plane; `shape` is that of x.
pub fn wrap<T: Elementary>(pad: [(usize, usize); 2], x: &[T], shape: &[usize], out: &mut [T]) {
    let (h, w) = (shape[2], shape[3]);
    let extended = (h + pad[0].0 + pad[0].1) * (w + pad[1].0 + pad[1].1);
    planes(x, h * w, out, extended, |x, y| {
        wrapped(pad, h, w, |e, i| y[e] = x[i])
    });
}

/// Transpose of [`wrap`]; `shape` is that of the result.
pub fn unwrap<T: Elementary>(pad: [(usize, usize); 2], g: &[T], out: &mut [T], shape: &[usize]) {
    let (h, w) = (shape[2], shape[3]);
    let extended = (h + pad[0].0 + pad[0].1) * (w + pad[1].0 + pad[1].1);
    planes(g, extended, out, h * w, |g, y| {
        y.fill(T::ZERO);
        wrapped(pad, h, w, |e, i| y[i] += g[e]);
    });
}
