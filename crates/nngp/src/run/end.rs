//! Where positions mix: what a stage leaves, summed up displacement by displacement.

use std::ops::Range;

use polariscope_graph::Window;
use pulp::Simd;

use super::conv::add;
use super::frame::Frame;
use super::pair::{Both, Tangent};
use super::registers;
use super::work::Field;
use crate::plan::{End, Layer, Need, Stage};
use crate::simd::SimdNumber;

/// Forgets the last pair.
pub(super) fn clear<T: SimdNumber>(store: &mut Field<T>) {
    store.k.all_mut().fill(T::of(0.0));
    store.t.all_mut().fill(T::of(0.0));
}

/// Adds the field of one displacement.
#[inline(always)]
pub(super) fn gather<S: Simd, T: SimdNumber>(
    simd: S,
    both: &Both<T>,
    stage: &Stage,
    block: usize,
    frame: &Frame,
    field: &Field<T>,
    store: &mut Field<T>,
) {
    let first = block * stage.slots();
    let width = frame.grid[1];
    match &stage.end {
        End::Output => one(simd, both, field, 0, store, first),
        End::Take { index } => one(simd, both, field, *index, store, first),
        End::GlobalPool | End::Attention { .. } => {
            let slot = first * both.batch..(first + 1) * both.batch;
            pooled::<S, T>(
                simd,
                frame,
                field.k.all(),
                &mut store.k.all_mut()[slot.clone()],
            );
            if both.tangent == Tangent::Carried {
                pooled::<S, T>(simd, frame, field.t.all(), &mut store.t.all_mut()[slot]);
            }
        }
        End::Regrid { before } => {
            for r in frame.area[0].clone() {
                for c in frame.area[1].clone() {
                    let position = r * width + c;
                    let partner = frame.partner_row(r) * width + frame.partner_column(c);
                    let front = usize::from(!before.is_empty());
                    let pair = [front + position, front + partner];
                    let slot = first + flat_slot(stage, pair);
                    one(simd, both, field, position, store, slot);
                }
            }
        }
        End::Pool { window } => {
            let windows =
                |a: usize, i: usize| under(window, a, stage.grid[a], stage.grid_out[a], i);
            for r in frame.area[0].clone() {
                let (above, below) = (windows(0, r), windows(0, frame.partner_row(r)));
                if above.is_empty() || below.is_empty() {
                    continue;
                }
                for c in frame.area[1].clone() {
                    let (left, right) = (windows(1, c), windows(1, frame.partner_column(c)));
                    for y in above.clone() {
                        for y2 in below.clone() {
                            for x in left.clone() {
                                for x2 in right.clone() {
                                    if let Some(slot) = slot(stage, [y, x], [y2, x2]) {
                                        let position = r * width + c;
                                        one(simd, both, field, position, store, first + slot);
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Adds the field at one position to one slot. A function, not a closure: those are not inlined into vector code.
#[inline(always)]
fn one<S: Simd, T: SimdNumber>(
    simd: S,
    both: &Both<T>,
    field: &Field<T>,
    position: usize,
    store: &mut Field<T>,
    slot: usize,
) {
    let b = both.batch;
    let (to, from) = (slot * b..(slot + 1) * b, position * b..(position + 1) * b);
    let one = T::of(1.0);
    add(
        simd,
        &mut store.k.all_mut()[to.clone()],
        &field.k.all()[from.clone()],
        one,
    );
    if both.tangent == Tangent::Carried {
        add(simd, &mut store.t.all_mut()[to], &field.t.all()[from], one);
    }
}

/// sum += Σ over all positions that are there: four sums of them, then those, then what is there already. A pool has a
/// million terms, and in f32 one running sum would lose digits.
#[inline(always)]
fn pooled<S: Simd, T: SimdNumber>(simd: S, frame: &Frame, values: &[T], sum: &mut [T]) {
    let sum = T::vectors_mut::<S>(sum);
    let values = registers::<S, T>(values);
    let (each, width, area) = (sum.len(), frame.grid[1], &frame.area[1]);
    let zero = T::splat(simd, T::of(0.0));
    for (k, sum) in sum.iter_mut().enumerate() {
        let mut sums = [zero; 4];
        for r in frame.area[0].clone() {
            let row = &values[(r * width + area.start) * each..(r * width + area.end) * each];
            let mut fours = row.chunks_exact(4 * each);
            for four in &mut fours {
                for i in 0..4 {
                    sums[i] = T::plus(simd, sums[i], four[i * each + k]);
                }
            }
            for one in fours.remainder().chunks_exact(each) {
                sums[0] = T::plus(simd, sums[0], one[k]);
            }
        }
        let [a, b, c, d] = sums;
        let all = T::plus(simd, T::plus(simd, a, b), T::plus(simd, c, d));
        *sum = T::plus(simd, *sum, all);
    }
}

/// Windows that hold position i.
#[inline(always)]
fn under(window: &Window, a: usize, n: usize, out: usize, i: usize) -> Range<usize> {
    let (k, s) = (window.kernel[a], window.stride[a]);
    let (before, _) = window.padding.amounts(n, k, s);
    let at = i + before;
    let first = (at + 1).saturating_sub(k).div_ceil(s);
    first..(at / s + 1).min(out).max(first)
}

/// Where the pair (o, o') is stored, if it is.
#[inline(always)]
fn slot(stage: &Stage, o: [usize; 2], other: [usize; 2]) -> Option<usize> {
    let [height, width] = stage.grid_out;
    let position = o[0] * width + o[1];
    match stage.need {
        Need::Diagonal => (o == other).then_some(position),
        Need::Pairs => {
            let dy = (other[0] + height - o[0]) % height;
            let dx = (other[1] + width - o[1]) % width;
            Some((dy * width + dx) * height * width + position)
        }
    }
}

/// Where the pair of positions of a grid of one row is stored.
#[inline(always)]
fn flat_slot(stage: &Stage, [position, partner]: [usize; 2]) -> usize {
    let count = stage.grid_out[1];
    match stage.need {
        Need::Diagonal => position,
        Need::Pairs => (partner + count - position) % count * count + position,
    }
}

/// Sums become means, and what is the same for all pairs is filled in.
pub(super) fn finish<T: SimdNumber>(stage: &Stage, batch: usize, store: &mut Field<T>) {
    let positions = (stage.grid[0] * stage.grid[1]) as f64;
    let mut divide = |by: f64| {
        let factor = T::of(by.recip());
        for values in [&mut store.k, &mut store.t] {
            values.all_mut().iter_mut().for_each(|v| *v *= factor);
        }
    };
    match &stage.end {
        End::Output | End::Take { .. } => {}
        End::GlobalPool => divide(positions * positions),
        End::Pool { window } => {
            let taps = (window.kernel[0] * window.kernel[1]) as f64;
            divide(taps * taps);
        }
        End::Regrid { before } => {
            for (block, [variance, ntk]) in before.iter().enumerate() {
                let at = block * stage.slots() * batch;
                store.k.all_mut()[at..at + batch].fill(T::of(*variance));
                store.t.all_mut()[at..at + batch].fill(T::of(*ntk));
            }
        }
        End::Attention {
            value,
            output,
            channels,
        } => {
            divide(positions * positions);
            for i in 0..batch {
                let mean = [store.k.all()[i], store.t.all()[i]];
                let [c, t] = through(value, 1.0, mean);
                let [c, t] = through(output, *channels, [c, t]);
                for slot in 0..stage.slots() {
                    store.k.all_mut()[slot * batch + i] = c;
                    store.t.all_mut()[slot * batch + i] = t;
                }
            }
        }
    }
}

/// c and Θ after a linear layer that sums `channels` of them.
fn through<T: SimdNumber>(layer: &Layer, channels: f64, [c, t]: [T; 2]) -> [T; 2] {
    let v = T::of(layer.weights.variance * channels);
    let made = c * v;
    let tangent = t * v + made * T::of(layer.weights.own);
    [made + T::of(layer.bias[0]), tangent + T::of(layer.bias[1])]
}
