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
            .with_min_len(SPLIT / 4 / out_plane.max(x_plane).min(SPLIT / 4))
            .for_each(|(y, x)| f(x, y));
    } else {
        out.chunks_mut(out_plane)
            .zip(x.chunks(x_plane))
            .for_each(|(y, x)| f(x, y));
    }
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

    /// Input index of a tap by number, at an output position.
    #[inline(always)]
    fn tap(&self, out: usize, tap: usize) -> usize {
        let kw = self.window.kernel[1];
        let ih = self.at(0, out / self.ow, tap / kw).unwrap_or(0);
        let iw = self.at(1, out % self.ow, tap % kw).unwrap_or(0);
        ih * self.w + iw
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
    let [kh, kw] = window.kernel;
    planes(x, walk.h * walk.w, out, walk.oh * walk.ow, |x, y| {
        for (o, y) in y.iter_mut().enumerate() {
            let (oh, ow) = (o / walk.ow, o % walk.ow);
            let mut best: Option<(T, usize)> = None;
            for th in 0..kh {
                let Some(ih) = walk.at(0, oh, th) else {
                    continue;
                };
                for tw in 0..kw {
                    let Some(iw) = walk.at(1, ow, tw) else {
                        continue;
                    };
                    let v = x[ih * walk.w + iw];
                    if best.is_none_or(|(m, _)| v > m || v.is_nan()) {
                        best = Some((v, th * kw + tw));
                    }
                }
            }
            *y = T::from_f64(best.map_or(0, |(_, tap)| tap) as f64);
        }
    });
}

/// Value of the chosen tap of each window; `index` holds tap numbers.
pub fn pick<T: Elementary>(window: Window, index: &[T], x: &[T], shape: &[usize], out: &mut [T]) {
    let walk = Walk::new(window, shape[2], shape[3]);
    let (inner, outer) = (walk.h * walk.w, walk.oh * walk.ow);
    let indexed = index.chunks(outer).zip(x.chunks(inner));
    for (y, (index, x)) in out.chunks_mut(outer).zip(indexed) {
        for (o, (y, &i)) in y.iter_mut().zip(index).enumerate() {
            *y = x[walk.tap(o, i.to_f64() as usize)];
        }
    }
}

/// Transpose of [`pick`]; `shape` is that of the result.
pub fn place<T: Elementary>(window: Window, index: &[T], g: &[T], out: &mut [T], shape: &[usize]) {
    let walk = Walk::new(window, shape[2], shape[3]);
    let (inner, outer) = (walk.h * walk.w, walk.oh * walk.ow);
    out.fill(T::ZERO);
    let indexed = index.chunks(outer).zip(g.chunks(outer));
    for (y, (index, g)) in out.chunks_mut(inner).zip(indexed) {
        for (o, (&g, &i)) in g.iter().zip(index).enumerate() {
            y[walk.tap(o, i.to_f64() as usize)] += g;
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
