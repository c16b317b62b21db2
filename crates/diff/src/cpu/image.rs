//! Products that read the image in place: for convolutions whose rows fill vector registers.
//!
//! A sample is copied once with its border, columns split by phase (column j of a row goes to
//! phase j mod s), so that what neighbouring windows see through one tap is contiguous at any
//! stride. F then needs no patches, and W is a sum of dot products of rows.

use super::Number;
use super::conv::Sizes;
use super::gemm::{Left, Packing, Scratch};
use super::simd::{Lane, NV, Offsets, Steps, vectorised};
use crate::trace::Window;

/// How a padded, phase-split sample lies in memory.
#[derive(Clone, Copy)]
pub struct Layout {
    window: Window,
    h: usize,
    w: usize,
    /// Columns of one phase, and of all phases.
    phase: usize,
    row: usize,
    plane: usize,
}

impl Layout {
    /// For planes of h × w under a window.
    pub fn new(window: Window, h: usize, w: usize) -> Self {
        let [(top, bottom), (left, right)] = window.pad;
        let phase = (w + left + right).div_ceil(window.stride[1]);
        let row = phase * window.stride[1];
        Layout {
            window,
            h,
            w,
            phase,
            row,
            plane: (h + top + bottom) * row,
        }
    }

    /// Numbers of a sample with `channels` planes.
    pub fn len(&self, channels: usize) -> usize {
        channels * self.plane
    }

    /// Numbers of a plane.
    pub fn plane(&self) -> usize {
        self.plane
    }

    /// Even and odd columns of row `r`, at stride 2.
    pub fn halves<'a, T>(&self, plane: &'a [T], r: usize) -> (&'a [T], &'a [T]) {
        plane[r * self.row..(r + 1) * self.row].split_at(self.phase)
    }

    /// Whether the samples themselves lie as this layout wants them.
    fn is_plain(&self) -> bool {
        self.window.pad == [(0, 0); 2] && self.window.stride[1] == 1
    }

    /// Samples in this layout, with at least `spare` numbers behind them: where they are if possible, else copied
    /// to `image`. `x` starts at the first of `samples` and may go on behind them.
    pub fn place<'a, T: Number>(
        &self,
        x: &'a [T],
        samples: usize,
        channels: usize,
        spare: usize,
        image: &'a mut Scratch<T>,
    ) -> &'a [T] {
        let length = samples * self.len(channels);
        if self.is_plain() && x.len() >= length + spare {
            return x;
        }
        let image = image.zeros(length + spare);
        let size = channels * self.h * self.w;
        for (x, image) in x
            .chunks_exact(size)
            .zip(image.chunks_exact_mut(self.len(channels)))
            .take(samples)
        {
            self.copy(x, image);
        }
        image
    }

    /// Copies planes with their border; `out` holds zeros where the border is.
    pub fn copy<T: Number>(&self, x: &[T], out: &mut [T]) {
        let ([(top, _), (left, _)], step) = (self.window.pad, self.window.stride[1]);
        for (x, out) in x
            .chunks_exact(self.h * self.w)
            .zip(out.chunks_exact_mut(self.plane))
        {
            let rows = out.chunks_exact_mut(self.row).skip(top);
            let rows = x.chunks_exact(self.w).zip(rows);
            match step {
                1 => rows.for_each(|(x, out)| out[left..left + self.w].copy_from_slice(x)),
                2 => rows.for_each(|(x, out)| {
                    let (even, odd) = out.split_at_mut(self.phase);
                    // Column 0 of x is column `left` of the padded row.
                    match left % 2 {
                        0 => deal(x, &mut even[left / 2..], &mut odd[left / 2..]),
                        _ => deal(x, &mut odd[left / 2..], &mut even[left / 2 + 1..]),
                    }
                }),
                _ => rows.for_each(|(x, out)| {
                    for (j, &v) in x.iter().enumerate() {
                        let at = j + left;
                        out[at % step * self.phase + at / step] = v;
                    }
                }),
            }
        }
    }

    /// Where tap (th, tw) of the first window lies.
    fn tap(&self, th: usize, tw: usize) -> usize {
        let ([dh, dw], step) = (self.window.dilation, self.window.stride[1]);
        th * dh * self.row + tw * dw % step * self.phase + tw * dw / step
    }

    /// Where the entries (c, th, tw) of the first patch lie, for `channels` planes.
    pub fn offsets(&self, channels: usize) -> Vec<usize> {
        let [kh, kw] = self.window.kernel;
        let entries = (0..channels * kh * kw).map(|q| (q / (kh * kw), q / kw % kh, q % kw));
        entries
            .map(|(c, th, tw)| c * self.plane + self.tap(th, tw))
            .collect()
    }

    /// Tap rows that see more than border from output rows `first..=last`.
    fn tap_rows(&self, first: usize, last: usize) -> std::ops::Range<usize> {
        let ([kh, _], stride, dilation, top) = (
            self.window.kernel,
            self.window.stride[0],
            self.window.dilation[0],
            self.window.pad[0].0,
        );
        let sees = |th: &usize| {
            last * stride + th * dilation >= top && first * stride + th * dilation < top + self.h
        };
        let start = (0..kh).find(sees).unwrap_or(0);
        let end = (0..kh).rev().find(sees).map_or(start, |th| th + 1);
        start..end
    }

    /// Where the window at output (oh, ow) starts.
    pub fn at(&self, oh: usize, ow: usize) -> usize {
        oh * self.window.stride[0] * self.row + ow
    }
}

vectorised! {
    /// Numbers 0, 2, … of x to `first`, numbers 1, 3, … to `second`.
    fn deal<T: Number>(x: &[T], first: &mut [T], second: &mut [T]) {
        let pairs = x.chunks_exact(2);
        if let ([last], Some(to)) = (pairs.remainder(), first.get_mut(x.len() / 2)) {
            *to = *last;
        }
        for ((a, b), pair) in first.iter_mut().zip(second).zip(pairs) {
            (*a, *b) = (pair[0], pair[1]);
        }
    }
}

/// Share of a vector's lanes that rows of `ow` numbers use.
pub fn use_of_lanes<T: Number>(ow: usize) -> f64 {
    let lanes = T::kernels().lanes;
    ow as f64 / ow.next_multiple_of(lanes) as f64
}

/// Whether reading in place beats packing patches: o/lanes·(1/use − 1) idle products against about one move, for each number of a patch.
pub fn pays<T: Number>(o: usize, ow: usize) -> bool {
    (o as f64) * (1.0 / use_of_lanes::<T>(ow) - 1.0) < 1.2 * T::kernels().lanes as f64
}

/// A product over windows: planes in, planes out.
pub struct Product {
    /// Kernel, stride, dilation, padding.
    pub window: Window,
    /// Channel groups.
    pub groups: usize,
    /// Channels, height, width of the input.
    pub from: (usize, usize, usize),
    /// Channels, height, width of the output.
    pub to: (usize, usize, usize),
}

/// y = left · patches of x, sample by sample; `left(g)` is the factor of group g.
///
/// Patch entries are taken tap row by tap row, so that the rows of taps that see only the border are a
/// range at either end, which is left out.
pub fn correlate<T: Number, L: Left<T>>(
    p: &Product,
    x: &[T],
    y: &mut [T],
    left: impl Fn(usize) -> L,
    packing: &mut Packing<T>,
) {
    let kernels = T::kernels();
    let ((c, h, w), (o, oh, ow)) = (p.from, p.to);
    let (cg, og) = (c / p.groups, o / p.groups);
    let [kh, kw] = p.window.kernel;
    let layout = Layout::new(p.window, h, w);
    // Entries (th, c, tw), and where each stands in the factor's order (c, th, tw).
    let entries =
        || (0..kh).flat_map(|th| (0..cg).flat_map(move |c| (0..kw).map(move |tw| (th, c, tw))));
    let offsets: Vec<usize> = entries()
        .map(|(th, c, tw)| c * layout.plane + layout.tap(th, tw))
        .collect();
    let k = offsets.len();
    let panels = || {
        (0..og)
            .step_by(kernels.mr)
            .map(|i| (i, kernels.mr.min(og - i)))
    };
    let a = packing.a.take(o * k);
    for g in 0..p.groups {
        let factor = left(g);
        for (i, rows) in panels() {
            let panel = packing.b.take(rows * k);
            factor.pack(i, rows, 0, k, panel);
            let to = a[(g * og + i) * k..].chunks_exact_mut(rows);
            for (to, (th, c, tw)) in to.zip(entries()) {
                let q = (c * kh + th) * kw + tw;
                to.copy_from_slice(&panel[q * rows..(q + 1) * rows]);
            }
        }
    }
    let starts = (0..oh).flat_map(|i| (0..ow).step_by(kernels.lanes).map(move |j| (i, j)));
    let starts: Vec<(usize, usize)> = starts.collect();
    let lane = |&(i, j): &(usize, usize)| Lane {
        at: layout.at(i, j),
        to: i * ow + j,
        valid: kernels.lanes.min(ow - j),
    };
    let tiles: Vec<_> = starts
        .chunks(NV)
        .map(|starts| {
            let seen = layout.tap_rows(starts[0].0, starts[starts.len() - 1].0);
            let range = seen.start * cg * kw..seen.end * cg * kw;
            let lanes: Vec<Lane> = starts.iter().map(lane).collect();
            (lanes, range.start, Offsets::new(offsets[range].to_vec()))
        })
        .collect();
    for (n, y) in y.chunks_exact_mut(o * oh * ow).enumerate() {
        let image = layout.place(&x[n * c * h * w..], 1, c, kernels.lanes, &mut packing.image);
        for g in 0..p.groups {
            let x = &image[g * layout.len(cg)..];
            for (lanes, first, offsets) in &tiles {
                for (i, rows) in panels() {
                    let row = g * og + i;
                    let a = &a[row * k + first * rows..];
                    kernels.direct(rows, offsets, a, x, lanes, &mut y[row * oh * ow..], oh * ow);
                }
            }
        }
    }
}

/// Numbers of image and cotangent that one pass of [`weight`] covers: half of L2 in f32.
const PASS: usize = 1 << 16;

/// dw = W(x, dy): rows of dy, cut into vectors and padded with zeros, against what each tap saw.
pub fn weight<T: Number>(s: &Sizes, x: &[T], dy: &[T], dw: &mut [T], packing: &mut Packing<T>) {
    let kernels = T::kernels();
    let Product {
        window,
        groups,
        from: (c, h, w),
        to: (o, oh, ow),
    } = s.product();
    let (cg, og) = (c / groups, o / groups);
    let layout = Layout::new(window, h, w);
    let offsets = layout.offsets(cg);
    let q = offsets.len();
    let wide = ow.next_multiple_of(kernels.lanes);
    let (image_len, rows_len) = (layout.len(c), oh * wide);
    let samples = (PASS / (image_len + o * rows_len)).max(1);
    dw.fill(T::ZERO);
    let passes = dy.chunks(samples * o * oh * ow).enumerate();
    for (pass, dy) in passes {
        let x = &x[pass * samples * c * h * w..];
        let samples = dy.len() / (o * oh * ow);
        let image = layout.place(x, samples, c, kernels.lanes, &mut packing.image);
        // Channel by channel, so that a channel's rows of all samples lie together.
        let rows = packing.a.zeros(o * samples * rows_len);
        for (n, dy) in dy.chunks_exact(o * oh * ow).enumerate() {
            for (channel, dy) in dy.chunks_exact(oh * ow).enumerate() {
                let to = &mut rows[(channel * samples + n) * rows_len..][..rows_len];
                for (from, to) in dy.chunks_exact(ow).zip(to.chunks_exact_mut(wide)) {
                    to[..ow].copy_from_slice(from);
                }
            }
        }
        let mut steps = Vec::with_capacity(samples * rows_len / kernels.lanes);
        for n in 0..samples {
            for i in 0..oh {
                for j in (0..ow).step_by(kernels.lanes) {
                    steps.push((n * rows_len + i * wide + j, n * image_len + layout.at(i, j)));
                }
            }
        }
        let steps = Steps::new(steps);
        for g in 0..groups {
            let x = &image[g * layout.len(cg)..];
            for (columns, offsets) in offsets.chunks(NV).enumerate() {
                for i in (0..og).step_by(kernels.mr) {
                    let (count, row) = (kernels.mr.min(og - i), g * og + i);
                    let a = &rows[row * samples * rows_len..];
                    kernels.dot(
                        count,
                        &steps,
                        a,
                        samples * rows_len,
                        x,
                        offsets,
                        &mut dw[row * q + columns * NV..],
                        q,
                    );
                }
            }
        }
    }
}
