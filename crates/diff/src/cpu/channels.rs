//! Products with output channels as vectors: for convolutions whose rows are too short to fill one
//! and whose channels do. Pixels are read in place, one at a time; weights, or cotangents, as
//! vectors over channels.

use super::Number;
use super::gemm::{Left, Packing, transpose};
use super::image::{Layout, Product, use_of_lanes};
use super::simd::{MAX_MR, MAX_NR, NV, Offsets};

/// Share of lanes above which rows are the better vectors.
const ROWS: f64 = 0.75;

/// Whether channels fill vectors and rows do not.
pub fn pays<T: Number>(p: &Product) -> bool {
    let (o, _, ow) = p.to;
    let lanes = T::kernels().lanes;
    p.groups == 1 && o.is_multiple_of(lanes) && o <= NV * lanes && use_of_lanes::<T>(ow) < ROWS
}

/// y = left · patches of x.
pub fn correlate<T: Number>(
    p: &Product,
    x: &[T],
    y: &mut [T],
    left: &impl Left<T>,
    packing: &mut Packing<T>,
) {
    let kernels = T::kernels();
    let ((c, h, w), (o, oh, ow)) = (p.from, p.to);
    let layout = Layout::new(p.window, h, w);
    let taps = Offsets::new(layout.offsets(c));
    let k = taps.list().len();
    let weights = packing.a.take(k * o);
    left.pack(0, o, 0, k, weights);
    // Equal shares of a row: a short last one would wait for its few sums.
    let share = ow.div_ceil(ow.div_ceil(kernels.mr));
    let mut tile = [T::ZERO; MAX_MR * MAX_NR];
    for (n, y) in y.chunks_exact_mut(o * oh * ow).enumerate() {
        let image = layout.place(&x[n * c * h * w..], 1, c, kernels.lanes, &mut packing.image);
        for i in 0..oh {
            for j in (0..ow).step_by(share) {
                let mut at = [0; MAX_MR];
                let at = &mut at[..share.min(ow - j)];
                at.iter_mut()
                    .enumerate()
                    .for_each(|(s, at)| *at = layout.at(i, j + s));
                kernels.spread(at, &taps, image, weights, &mut tile, o, false);
                for (s, sums) in tile.chunks_exact(o).take(at.len()).enumerate() {
                    let to = y[i * ow + j + s..].iter_mut().step_by(oh * ow);
                    to.zip(sums).for_each(|(y, &sum)| *y = sum);
                }
            }
        }
    }
}

/// Numbers of image and cotangent that one pass of [`weight`] covers: L1 in f32.
const PASS: usize = 1 << 13;

/// dw = W(x, dy).
pub fn weight<T: Number>(p: &Product, x: &[T], dy: &[T], dw: &mut [T], packing: &mut Packing<T>) {
    let kernels = T::kernels();
    let ((c, h, w), (o, oh, ow)) = (p.from, p.to);
    let layout = Layout::new(p.window, h, w);
    let taps = layout.offsets(c);
    let q = taps.len();
    let image_len = layout.len(c);
    let samples = (PASS / (image_len + o * oh * ow)).max(1);
    let sums = packing.product.zeros(q * o);
    for (pass, dy) in dy.chunks(samples * o * oh * ow).enumerate() {
        let x = &x[pass * samples * c * h * w..];
        let samples = dy.len() / (o * oh * ow);
        let image = layout.place(x, samples, c, kernels.lanes, &mut packing.image);
        let vectors = packing.b.take(dy.len());
        for (dy, to) in dy
            .chunks_exact(o * oh * ow)
            .zip(vectors.chunks_exact_mut(o * oh * ow))
        {
            transpose(dy, oh * ow, o, oh * ow, to, o);
        }
        let windows = (0..samples * oh * ow).map(|s| (s / (oh * ow), s / ow % oh, s % ow));
        let windows = Offsets::new(
            windows
                .map(|(n, i, j)| n * image_len + layout.at(i, j))
                .collect(),
        );
        for (taps, sums) in taps.chunks(kernels.mr).zip(sums.chunks_mut(kernels.mr * o)) {
            kernels.spread(taps, &windows, image, vectors, sums, o, true);
        }
    }
    transpose(sums, o, q, o, dw, q);
}
