//! Σ over the taps of a window, separably: whole rows first, then columns of the sum.
//!
//! Output o and its partner o' read i = s·o + dβ − pad and i' = s·o' + dβ − pad. Where both are there the tap adds
//! the field; where one is missing, zero padding has c = 0, so the gap is the variance of the other; where both are
//! missing, nothing.

use polariscope_graph::{Padding, Window};
use pulp::Simd;

use super::frame::Frame;
use super::pair::Both;
use super::registers;
use crate::simd::{SimdNumber, V};

/// A window along one axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taps {
    pub count: usize,
    pub stride: usize,
    pub dilation: usize,
    before: isize,
    /// Positions of the input.
    n: usize,
    circular: bool,
}

/// Which of the two samples a tap finds, and at which positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tap {
    pub left: Option<usize>,
    pub right: Option<usize>,
}

impl Taps {
    pub fn new(window: &Window, a: usize, n: usize) -> Self {
        let extent = (window.kernel[a] - 1) * window.dilation[a] + 1;
        let (before, _) = window.padding.amounts(n, extent, window.stride[a]);
        Taps {
            count: window.kernel[a],
            stride: window.stride[a],
            dilation: window.dilation[a],
            before: before as isize,
            n,
            circular: window.padding == Padding::Circular,
        }
    }

    /// Input position of offset `j` (in input steps) from output o.
    #[inline(always)]
    fn position(&self, o: usize, j: usize) -> Option<usize> {
        let i = (o * self.stride + j) as isize - self.before;
        let n = self.n as isize;
        match self.circular {
            true => Some(i.rem_euclid(n) as usize),
            false => (0..n).contains(&i).then_some(i as usize),
        }
    }

    /// What the pair (o, partner) finds at offset j.
    #[inline(always)]
    pub fn tap(&self, o: usize, partner: usize, j: usize) -> Tap {
        Tap {
            left: self.position(o, j),
            right: self.position(partner, j),
        }
    }
}

/// Neighbouring columns of the sum that lie side by side in the input too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// First column of the sum.
    pub at: usize,
    pub len: usize,
    pub first: Tap,
}

/// Columns under the windows of all outputs of a row, as segments.
pub(super) fn segments(taps: &Taps, frame: &Frame, made: &mut Vec<Segment>) {
    made.clear();
    let area = &frame.area[1];
    if area.is_empty() {
        return;
    }
    let extent = (taps.count - 1) * taps.dilation + 1;
    let follows = |a: Option<usize>, b: Option<usize>, len: usize| match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a + len == b,
        _ => false,
    };
    for column in 0..(area.len() - 1) * taps.stride + extent {
        // Any output whose window holds the column gives the same pair; the nearest one below does.
        let back = (column / taps.stride).min(area.len() - 1);
        let o = area.start + back;
        let tap = taps.tap(o, frame.partner_column(o), column - back * taps.stride);
        match made.last_mut() {
            Some(last)
                if follows(last.first.left, tap.left, last.len)
                    && follows(last.first.right, tap.right, last.len) =>
            {
                last.len += 1;
            }
            _ => made.push(Segment {
                at: column,
                len: 1,
                first: tap,
            }),
        }
    }
}

/// sum += times · values
#[inline(always)]
pub(super) fn add<S: Simd, T: SimdNumber>(simd: S, sum: &mut [T], values: &[T], times: T) {
    let sum = T::vectors_mut::<S>(sum);
    let values = &registers::<S, T>(values)[..sum.len()];
    if times == T::of(1.0) {
        for i in 0..sum.len() {
            sum[i] = T::plus(simd, sum[i], values[i]);
        }
    } else {
        let times = T::splat(simd, times);
        for i in 0..sum.len() {
            sum[i] = T::times_plus(simd, values[i], times, sum[i]);
        }
    }
}

/// sum = a + b + c
#[inline(always)]
pub(super) fn three<S: Simd, T: SimdNumber>(simd: S, sum: &mut [T], [a, b, c]: [&[T]; 3]) {
    let sum = T::vectors_mut::<S>(sum);
    let n = sum.len();
    let a = &registers::<S, T>(a)[..n];
    let b = &registers::<S, T>(b)[..n];
    let c = &registers::<S, T>(c)[..n];
    for i in 0..n {
        sum[i] = T::plus(simd, T::plus(simd, a[i], b[i]), c[i]);
    }
}

/// sum += times · (gain · variance + shift), the variance of the left sample at positions from `first` on.
#[inline(always)]
pub(super) fn add_left<S: Simd, T: SimdNumber>(
    simd: S,
    both: &Both<T>,
    sum: &mut [T],
    values: &[T],
    first: usize,
    [gain, shift]: [f64; 2],
) {
    let registers_each = both.registers_each;
    let sum = T::vectors_mut::<S>(sum);
    let (gain, shift) = (V::constant(simd, gain), V::constant(simd, shift));
    for c in 0..sum.len() / registers_each {
        for k in 0..registers_each {
            let p = both.at(simd, values, first + c, k);
            let i = c * registers_each + k;
            sum[i] = (V(simd, sum[i]) + p.mul_add(gain, shift)).1;
        }
    }
}

/// sum += gain · values + shift
#[inline(always)]
pub(super) fn add_right<S: Simd, T: SimdNumber>(
    simd: S,
    sum: &mut [T],
    values: &[T],
    [gain, shift]: [f64; 2],
) {
    let sum = T::vectors_mut::<S>(sum);
    let values = &registers::<S, T>(values)[..sum.len()];
    let (gain, shift) = (V::<S, T>::constant(simd, gain), V::constant(simd, shift));
    for i in 0..sum.len() {
        let q = V(simd, values[i]);
        sum[i] = (V(simd, sum[i]) + q.mul_add(gain, shift)).1;
    }
}

/// out[c] = v Σ_β sums[s·c + dβ]
#[inline(always)]
pub(super) fn across<S: Simd, T: SimdNumber>(
    simd: S,
    out: &mut [T],
    sums: &[T],
    taps: &Taps,
    registers_each: usize,
    variance: f64,
) {
    let out = T::vectors_mut::<S>(out);
    let sums = registers::<S, T>(sums);
    let v = T::splat(simd, T::of(variance));
    let (step, n) = (taps.dilation * registers_each, out.len());
    if taps.stride == 1 && taps.count == 3 {
        let (a, b, c) = (&sums[..n], &sums[step..][..n], &sums[2 * step..][..n]);
        for i in 0..n {
            let sum = T::plus(simd, T::plus(simd, a[i], b[i]), c[i]);
            out[i] = T::times(simd, sum, v);
        }
        return;
    }
    for c in 0..n / registers_each {
        for k in 0..registers_each {
            let first = c * taps.stride * registers_each + k;
            let mut sum = sums[first];
            for tap in 1..taps.count {
                sum = T::plus(simd, sum, sums[first + tap * step]);
            }
            out[c * registers_each + k] = T::times(simd, sum, v);
        }
    }
}
