//! The three contractions of a convolution, each a matrix product whose operands read the image
//! while they are packed:
//!
//! - F: y[o, p] = Σ_q w[o, q] patch[q, p] with q = (channel, tap), p a position of any sample;
//! - X at stride 1: F on dy with the kernel flipped and its channels exchanged; otherwise the
//!   products wᵀ dy are added back to the pixels they came from;
//! - W: dw[o, q] = Σ_p dy[o, p] patch[q, p].

use rayon::prelude::*;

use super::Number;
use super::gemm::{Into, Left, Packing, Right, RowMajor, Sink, Strided, gemm};
use super::image::{self, Product};
use super::simd::{Kernels, MAX_MR, MAX_NR, Tile};
use super::{channels, winograd};
use crate::trace::{Conv, Window};

/// Multiplications a task, when there is more than one task.
const TASK: usize = 1 << 27;

/// Sizes of one convolution: N×C×H×W and O×C/g×kh×kw to N×O×OH×OW.
#[derive(Clone, Copy)]
pub struct Sizes {
    conv: Conv,
    n: usize,
    c: usize,
    h: usize,
    w: usize,
    o: usize,
    oh: usize,
    ow: usize,
}

impl Sizes {
    /// Those of one network, from the shapes of x and w of all.
    pub fn new(conv: Conv, x: &[usize], w: &[usize]) -> Self {
        let (oh, ow) = (
            conv.window.positions(0, x[2]),
            conv.window.positions(1, x[3]),
        );
        Sizes {
            conv,
            n: x[0] / conv.networks,
            c: x[1],
            h: x[2],
            w: x[3],
            o: w[0] / conv.networks,
            oh,
            ow,
        }
    }

    /// Channels of a group, and taps of a patch in it.
    fn group(&self) -> (usize, usize, usize) {
        let (cg, og) = (self.c / self.conv.groups, self.o / self.conv.groups);
        (
            cg,
            og,
            cg * self.conv.window.kernel[0] * self.conv.window.kernel[1],
        )
    }

    /// F as a product over windows.
    pub fn product(&self) -> Product {
        let Sizes {
            conv,
            c,
            h,
            w,
            o,
            oh,
            ow,
            ..
        } = *self;
        Product {
            window: conv.window,
            groups: conv.groups,
            from: (c, h, w),
            to: (o, oh, ow),
        }
    }

    fn positions(&self) -> usize {
        self.oh * self.ow
    }

    /// Samples a task: enough columns to fill a packed block, enough work to be worth a task.
    fn samples_a_task(&self) -> usize {
        let (_, _, q) = self.group();
        let by_work = TASK.div_ceil(self.o * q * self.positions());
        let by_columns = 384_usize.div_ceil(self.positions());
        by_work.max(by_columns)
    }
}

/// Planes of several samples of which a group's channels are read through a window.
struct Patches<'a, T> {
    x: &'a [T],
    /// First channel and number of channels in all.
    first: usize,
    channels: usize,
    h: usize,
    w: usize,
    oh: usize,
    ow: usize,
    window: Window,
}

/// Output positions that lie in one row of one sample.
#[derive(Clone, Copy, Default)]
struct Run {
    to: usize,
    length: usize,
    sample: usize,
    oh: usize,
    ow: usize,
}

impl<T: Number> Patches<'_, T> {
    /// Splits positions `j0..j0+cols` into runs.
    fn runs(&self, j0: usize, cols: usize) -> ([Run; MAX_NR], usize) {
        let mut runs = [Run::default(); MAX_NR];
        let (mut count, mut to) = (0, 0);
        while to < cols {
            let j = j0 + to;
            let (sample, p) = (j / (self.oh * self.ow), j % (self.oh * self.ow));
            let (oh, ow) = (p / self.ow, p % self.ow);
            let length = (self.ow - ow).min(cols - to);
            runs[count] = Run {
                to,
                length,
                sample,
                oh,
                ow,
            };
            count += 1;
            to += length;
        }
        (runs, count)
    }

    /// (channel, tap row, tap column) of patch entry q.
    fn entry(&self, q: usize) -> (usize, usize, usize) {
        let [kh, kw] = self.window.kernel;
        (q / (kh * kw), q / kw % kh, q % kw)
    }

    /// Input row that `run` sees through tap row `th` of channel `c`, unless it is padding.
    #[inline(always)]
    fn row(&self, run: &Run, c: usize, th: usize) -> Option<&[T]> {
        let ih = (run.oh * self.window.stride[0] + th * self.window.dilation[0])
            .checked_sub(self.window.pad[0].0)?;
        let start = ((run.sample * self.channels + self.first + c) * self.h + ih) * self.w;
        (ih < self.h).then(|| &self.x[start..start + self.w])
    }

    /// Writes what `run` sees through tap column `tw` of `row` to `out` with the stride given.
    #[inline(always)]
    fn copy(&self, run: &Run, row: Option<&[T]>, tw: usize, out: &mut [T], stride: usize) {
        let Some(row) = row else {
            if stride == 1 {
                out[..run.length].fill(T::ZERO);
            } else {
                out.iter_mut()
                    .step_by(stride)
                    .take(run.length)
                    .for_each(|y| *y = T::ZERO);
            }
            return;
        };
        let (step, pad) = (self.window.stride[1], self.window.pad[1].0);
        let first = run.ow * step + tw * self.window.dilation[1];
        if step == 1 && first >= pad && first - pad + run.length <= self.w {
            let from = &row[first - pad..first - pad + run.length];
            if stride == 1 {
                // A loop, not a call of memcpy: runs are short.
                out[..run.length]
                    .iter_mut()
                    .zip(from)
                    .for_each(|(y, &x)| *y = x);
            } else {
                out.iter_mut()
                    .step_by(stride)
                    .zip(from)
                    .for_each(|(y, &x)| *y = x);
            }
            return;
        }
        for (i, y) in out.iter_mut().step_by(stride).take(run.length).enumerate() {
            let at = (first + i * step).checked_sub(pad);
            *y = at.and_then(|iw| row.get(iw)).copied().unwrap_or(T::ZERO);
        }
    }
}

/// patch[q, p] as the right factor of F.
impl<T: Number> Right<T> for Patches<'_, T> {
    fn pack(&self, p0: usize, kc: usize, j0: usize, cols: usize, nr: usize, out: &mut [T]) {
        let (runs, count) = self.runs(j0, cols);
        let kw = self.window.kernel[1];
        for run in &runs[..count] {
            let (mut c, mut th, mut tw) = self.entry(p0);
            let mut row = self.row(run, c, th);
            for p in 0..kc {
                self.copy(run, row, tw, &mut out[p * nr + run.to..], 1);
                tw += 1;
                if tw == kw && p + 1 < kc {
                    (c, th, tw) = self.entry(p0 + p + 1);
                    row = self.row(run, c, th);
                }
            }
        }
    }
}

/// patchᵀ[p, q] as the right factor of W.
struct Transposed<'a, T>(Patches<'a, T>);

impl<T: Number> Right<T> for Transposed<'_, T> {
    fn pack(&self, p0: usize, kc: usize, j0: usize, cols: usize, nr: usize, out: &mut [T]) {
        let patches = &self.0;
        for start in (0..kc).step_by(MAX_NR) {
            let (runs, count) = patches.runs(p0 + start, MAX_NR.min(kc - start));
            for run in &runs[..count] {
                let to = (start + run.to) * nr;
                for j in 0..cols {
                    let (c, th, tw) = patches.entry(j0 + j);
                    patches.copy(run, patches.row(run, c, th), tw, &mut out[to + j..], nr);
                }
            }
        }
    }
}

/// Rows of N×O×P as an O' × (n, p) left factor.
struct Channels<'a, T> {
    y: &'a [T],
    first: usize,
    channels: usize,
    positions: usize,
}

impl<T: Number> Left<T> for Channels<'_, T> {
    fn pack(&self, i0: usize, rows: usize, p0: usize, kc: usize, out: &mut [T]) {
        for i in 0..rows {
            let mut done = 0;
            while done < kc {
                let (sample, p) = ((p0 + done) / self.positions, (p0 + done) % self.positions);
                let run = (self.positions - p).min(kc - done);
                let start = (sample * self.channels + self.first + i0 + i) * self.positions + p;
                let to = out[done * rows + i..].iter_mut().step_by(rows);
                to.zip(&self.y[start..start + run])
                    .for_each(|(t, &f)| *t = f);
                done += run;
            }
        }
    }
}

/// N×O×P as an O' × (n, p) right factor.
struct Positions<'a, T> {
    y: &'a [T],
    first: usize,
    channels: usize,
    positions: usize,
}

impl<T: Number> Right<T> for Positions<'_, T> {
    fn pack(&self, p0: usize, kc: usize, j0: usize, cols: usize, nr: usize, out: &mut [T]) {
        let mut done = 0;
        while done < cols {
            let (sample, p) = ((j0 + done) / self.positions, (j0 + done) % self.positions);
            let run = (self.positions - p).min(cols - done);
            for (i, out) in out.chunks_exact_mut(nr).take(kc).enumerate() {
                let start = (sample * self.channels + self.first + p0 + i) * self.positions + p;
                out[done..done + run].copy_from_slice(&self.y[start..start + run]);
            }
            done += run;
        }
    }
}

/// w[o, c, t] read as c × (o, t) with the taps reversed: the left factor of X at stride 1.
struct Flipped<'a, T> {
    w: &'a [T],
    channels: usize,
    taps: usize,
}

impl<T: Number> Left<T> for Flipped<'_, T> {
    fn pack(&self, i0: usize, rows: usize, p0: usize, kc: usize, out: &mut [T]) {
        let taps = self.taps;
        for o in p0 / taps..(p0 + kc).div_ceil(taps) {
            let from = &self.w[(o * self.channels + i0) * taps..][..rows * taps];
            let first = (o * taps).max(p0);
            let last = ((o + 1) * taps).min(p0 + kc);
            for p in first..last {
                let tap = taps - 1 - (p - o * taps);
                let group = &mut out[(p - p0) * rows..(p - p0 + 1) * rows];
                group
                    .iter_mut()
                    .enumerate()
                    .for_each(|(i, y)| *y = from[i * taps + tap]);
            }
        }
    }
}

/// Tiles whose columns are positions of several samples, into N×O×P.
struct Samples<'a, T> {
    y: &'a mut [T],
    first: usize,
    channels: usize,
    positions: usize,
}

impl<T: Number> Sink<T> for Samples<'_, T> {
    fn tile(&mut self, kernels: &Kernels<T>, (i0, j0): (usize, usize), tile: Tile<T>) {
        let (sample, p) = (j0 / self.positions, j0 % self.positions);
        let channel = self.first + i0;
        if p + tile.cols <= self.positions {
            let start = (sample * self.channels + channel) * self.positions + p;
            kernels.tile(tile, &mut self.y[start..], self.positions);
            return;
        }
        let mut whole = [T::ZERO; MAX_MR * MAX_NR];
        kernels.tile(Tile { add: false, ..tile }, &mut whole, MAX_NR);
        for (i, line) in whole.chunks_exact(MAX_NR).take(tile.rows).enumerate() {
            let mut done = 0;
            while done < tile.cols {
                let (sample, p) = ((j0 + done) / self.positions, (j0 + done) % self.positions);
                let run = (self.positions - p).min(tile.cols - done);
                let start = (sample * self.channels + channel + i) * self.positions + p;
                let to = self.y[start..start + run]
                    .iter_mut()
                    .zip(&line[done..done + run]);
                if tile.add {
                    to.for_each(|(t, &f)| *t += f);
                } else {
                    to.for_each(|(t, &f)| *t = f);
                }
                done += run;
            }
        }
    }
}

/// y = F(x, w).
pub fn forward<T: Number>(s: &Sizes, x: &[T], w: &[T], y: &mut [T]) {
    let (_, og, q) = s.group();
    let left = |g: usize| Strided {
        data: &w[g * og * q..(g + 1) * og * q],
        row: q,
        col: 1,
    };
    let (inputs, outputs) = (s.c * s.h * s.w, s.o * s.positions());
    split(
        s.n,
        s.samples_a_task(),
        (y, outputs),
        (x, inputs),
        |(y, x)| correlate(&s.product(), x, y, left),
    );
}

/// Runs `part` on groups of samples of an output and an input, in parallel when there are several.
fn split<T: Number>(
    n: usize,
    task: usize,
    out: (&mut [T], usize),
    input: (&[T], usize),
    part: impl Fn((&mut [T], &[T])) + Sync + Send,
) {
    if n <= task {
        part((out.0, input.0));
    } else {
        out.0
            .par_chunks_mut(task * out.1)
            .zip(input.0.par_chunks(task * input.1))
            .for_each(part);
    }
}

/// y = left · patches of x, group by group: read in place, or packed where rows are too short for that.
fn correlate<T: Number, L: Left<T>>(p: &Product, x: &[T], y: &mut [T], left: impl Fn(usize) -> L) {
    let ((c, h, w), (o, oh, ow), groups) = (p.from, p.to, p.groups);
    T::with_packing(|packing: &mut Packing<T>| {
        if winograd::pays(p, y.len() / (o * oh * ow)) {
            winograd::correlate(p, x, y, &left(0), packing);
            return;
        }
        if channels::pays::<T>(p) {
            channels::correlate(p, x, y, &left(0), packing);
            return;
        }
        if image::pays::<T>(o / groups, ow) {
            image::correlate(p, x, y, left, packing);
            return;
        }
        let k = c / groups * p.window.kernel[0] * p.window.kernel[1];
        let columns = y.len() / o;
        for g in 0..groups {
            let patches = Patches {
                x,
                first: g * c / groups,
                channels: c,
                h,
                w,
                oh,
                ow,
                window: p.window,
            };
            let mut sink = Samples {
                y: &mut *y,
                first: g * o / groups,
                channels: o,
                positions: oh * ow,
            };
            gemm(
                o / groups,
                columns,
                k,
                &left(g),
                &patches,
                &mut sink,
                Into::Replace,
                packing,
            );
        }
    });
}

/// dx = X(dy, w).
pub fn input<T: Number>(s: &Sizes, dy: &[T], w: &[T], dx: &mut [T]) {
    let task = s.samples_a_task();
    let (inputs, outputs) = (s.c * s.h * s.w, s.o * s.positions());
    // Rows too short to be read in place, and too few for Winograd, are cheaper added back: no weight is moved.
    let product = mirrored(s).map(|window| {
        let Product {
            groups, from, to, ..
        } = s.product();
        Product {
            window,
            groups,
            from: to,
            to: from,
        }
    });
    let pays = |p: &Product| {
        let in_place = channels::pays::<T>(p) || image::pays::<T>(s.c / p.groups, s.w);
        in_place || winograd::pays(p, task.min(s.n))
    };
    match product.filter(pays) {
        Some(transposed) => {
            let (cg, og, q) = s.group();
            let left = |g: usize| Flipped {
                w: &w[g * og * q..(g + 1) * og * q],
                channels: cg,
                taps: q / cg,
            };
            split(s.n, task, (dx, inputs), (dy, outputs), |(dx, dy)| {
                correlate(&transposed, dy, dx, left)
            });
        }
        None => split(s.n, task, (dx, inputs), (dy, outputs), |(dx, dy)| {
            scatter(s, dy, w, dx)
        }),
    }
}

/// The window that slides over dy to give dx at stride 1, where there is one.
fn mirrored(s: &Sizes) -> Option<Window> {
    let window = s.conv.window;
    if window.stride != [1, 1] {
        return None;
    }
    let pad = |axis: usize| {
        let reach = (window.kernel[axis] - 1) * window.dilation[axis];
        let (before, after) = window.pad[axis];
        Some((reach.checked_sub(before)?, reach.checked_sub(after)?))
    };
    Some(Window {
        pad: [pad(0)?, pad(1)?],
        ..window
    })
}

/// dx at any stride: wᵀ dy, added back to the pixels that the taps saw.
fn scatter<T: Number>(s: &Sizes, dy: &[T], w: &[T], dx: &mut [T]) {
    let (cg, og, q) = s.group();
    let p = s.positions();
    let samples = dx.len() / (s.c * s.h * s.w);
    // Blocks of channels whose products stay in the cache until they are added.
    let block = (COLUMNS / (samples * p * (q / cg))).clamp(1, cg);
    let mut columns = vec![T::ZERO; block * (q / cg) * samples * p];
    dx.fill(T::ZERO);
    for g in 0..s.conv.groups {
        let weights = &w[g * og * q..(g + 1) * og * q];
        let b = Positions {
            y: dy,
            first: g * og,
            channels: s.o,
            positions: p,
        };
        for c0 in (0..cg).step_by(block) {
            let taps = block.min(cg - c0) * (q / cg);
            let a = Strided {
                data: &weights[c0 * (q / cg)..],
                row: 1,
                col: q,
            };
            let columns = &mut columns[..taps * samples * p];
            T::with_packing(|packing| {
                let mut sink = RowMajor {
                    c: columns,
                    row: samples * p,
                };
                gemm(
                    taps,
                    samples * p,
                    og,
                    &a,
                    &b,
                    &mut sink,
                    Into::Replace,
                    packing,
                );
            });
            for (t, seen) in columns.chunks_exact(samples * p).enumerate() {
                let (c, tap) = (g * cg + c0 + t / (q / cg), t % (q / cg));
                for (n, seen) in seen.chunks_exact(p).enumerate() {
                    let plane = &mut dx[(n * s.c + c) * s.h * s.w..][..s.h * s.w];
                    add_tap(s, tap, seen, plane);
                }
            }
        }
    }
}

/// Numbers of products held by [`scatter`] at a time: half of L2 in f32.
const COLUMNS: usize = 1 << 17;

/// Adds what came back through one tap to the pixels of a plane.
#[inline]
fn add_tap<T: Number>(s: &Sizes, tap: usize, seen: &[T], plane: &mut [T]) {
    let Window {
        kernel,
        stride,
        dilation,
        pad,
    } = s.conv.window;
    let (th, tw) = (tap / kernel[1] * dilation[0], tap % kernel[1] * dilation[1]);
    // Output columns whose tap lies inside the row: pad ≤ ow·stride + tw < pad + w.
    let first = pad[1].0.saturating_sub(tw).div_ceil(stride[1]);
    let last = (pad[1].0 + s.w)
        .saturating_sub(tw)
        .div_ceil(stride[1])
        .min(s.ow);
    if first >= last {
        return;
    }
    let start = first * stride[1] + tw - pad[1].0;
    for (oh, seen) in seen.chunks_exact(s.ow).enumerate() {
        let Some(ih) = (oh * stride[0] + th)
            .checked_sub(pad[0].0)
            .filter(|&ih| ih < s.h)
        else {
            continue;
        };
        let row = &mut plane[ih * s.w + start..(ih + 1) * s.w];
        let seen = &seen[first..last];
        if stride[1] == 1 {
            row.iter_mut().zip(seen).for_each(|(y, &v)| *y += v);
        } else {
            row.iter_mut()
                .step_by(stride[1])
                .zip(seen)
                .for_each(|(y, &v)| *y += v);
        }
    }
}

/// dw = W(x, dy).
pub fn weight<T: Number>(s: &Sizes, x: &[T], dy: &[T], dw: &mut [T]) {
    let (_, og, q) = s.group();
    let p = s.positions();
    if channels::pays::<T>(&s.product()) {
        T::with_packing(|packing| channels::weight(&s.product(), x, dy, dw, packing));
        return;
    }
    if og <= 32 && image::pays::<T>(og, s.ow) {
        T::with_packing(|packing| image::weight(s, x, dy, dw, packing));
        return;
    }
    // Rows of dw (output channels) are independent; every task reads all of x.
    let rows = TASK.div_ceil(q * p * s.n).max(64);
    for g in 0..s.conv.groups {
        let cg = s.c / s.conv.groups;
        let part = |(i, dw): (usize, &mut [T])| {
            let patches = Patches {
                x,
                first: g * cg,
                channels: s.c,
                h: s.h,
                w: s.w,
                oh: s.oh,
                ow: s.ow,
                window: s.conv.window,
            };
            let a = Channels {
                y: dy,
                first: g * og + i * rows,
                channels: s.o,
                positions: p,
            };
            let m = dw.len() / q;
            T::with_packing(|packing| {
                gemm(
                    m,
                    q,
                    s.n * p,
                    &a,
                    &Transposed(patches),
                    &mut RowMajor { c: dw, row: q },
                    Into::Replace,
                    packing,
                )
            });
        };
        let dw = &mut dw[g * og * q..(g + 1) * og * q];
        if og <= rows {
            part((0, dw));
        } else {
            dw.par_chunks_mut(rows * q).enumerate().for_each(part);
        }
    }
}
