//! One row of a convolution: rows under the window first, then columns of their sum.

use pulp::Simd;

use super::conv::{Segment, Tap, Taps, across, add, add_left, add_right, segments, three};
use super::pair::Both;
use super::source::{At, Which};
use super::work::{Field, Work};
use crate::plan::{Form, Link, Read, Step, StepSource};
use crate::simd::SimdNumber;

/// What the rows of a convolution share.
pub(super) struct Sliding<'a> {
    reads: &'a [Read],
    taps: [Taps; 2],
    /// Columns of what is read.
    width: usize,
    variance: f64,
}

impl<'a> Sliding<'a> {
    /// Of a step that is a convolution; also finds the segments of its rows.
    pub fn new(at: &At<'a>, made: &mut Vec<Segment>) -> Option<Self> {
        let StepSource::Conv {
            reads,
            window,
            weights,
            ..
        } = &at.step.source
        else {
            return None;
        };
        let grid = at.steps[reads.first()?.from].grid;
        let taps = [0, 1].map(|a| Taps::new(window, a, grid[a]));
        segments(&taps[1], &at.frame, made);
        Some(Sliding {
            reads,
            taps,
            width: grid[1],
            variance: weights.variance,
        })
    }
}

/// v Σ over the taps: D (or c), and Θ without the weights' own.
#[inline(always)]
pub(super) fn slide<S: Simd, T: SimdNumber>(
    simd: S,
    both: &Both<T>,
    at: &At,
    sliding: &Sliding,
    r: usize,
    work: &mut Work<T>,
    field: &mut Field<T>,
) {
    let b = both.batch;
    let used = match work.segments.last() {
        Some(last) => (last.at + last.len) * b,
        None => return,
    };
    let blank = |read: &Read| is_blank(&at.steps[read.from]);
    for &which in both.carried() {
        let out = &mut which.of_mut(field)[at.frame.row(r, b)];
        if which == Which::Tangent && sliding.reads.iter().all(blank) {
            out.fill(T::of(0.0));
            continue;
        }
        vertical::<S, T>(simd, both, at, sliding, r, which, work);
        let sums = &which.of(&work.sums)[..used];
        let [_, columns] = &sliding.taps;
        let v = sliding.variance;
        across(simd, out, sums, columns, both.registers_each, v);
    }
}

/// Whether Θ is 0: nothing with parameters came before.
fn is_blank(step: &Step) -> bool {
    let plain = |link: &Link| matches!(link, Link::Scale { .. });
    matches!(step.source, StepSource::Input) && step.chain.iter().all(plain)
}

/// Σ over the row taps of a window for every column under it.
#[inline(always)]
fn vertical<S: Simd, T: SimdNumber>(
    simd: S,
    both: &Both<T>,
    at: &At,
    sliding: &Sliding,
    r: usize,
    which: Which,
    work: &mut Work<T>,
) {
    let Sliding {
        reads,
        taps: [rows, _],
        width,
        ..
    } = sliding;
    let (steps, width) = (at.steps, *width);
    let (fields, sums) = (&work.fields, which.of_mut(&mut work.sums));
    // Where one sample has nothing, c and Θ are 0 and the gap is the other's variance.
    let by_side = which == Which::Gap && at.step.form_in == Form::Gap;
    let partner = at.frame.partner_row(r);
    let b = both.batch;
    let row_tap = |tap: usize| rows.tap(r, partner, tap * rows.dilation);
    for segment in &work.segments {
        let sum = &mut sums[segment.at * b..(segment.at + segment.len) * b];
        let len = sum.len();
        if let ([read], 3, Some(column), Some(_)) =
            (*reads, rows.count, segment.first.left, segment.first.right)
        {
            let values = which.of(&fields[steps[read.from].buffer]);
            let all = [row_tap(0), row_tap(1), row_tap(2)];
            if let [Some(x), Some(y), Some(z)] = all.map(both_there)
                && read.channels == 1.0
            {
                let [x, y, z] = [x, y, z].map(|row| &values[(row * width + column) * b..][..len]);
                three(simd, sum, [x, y, z]);
                continue;
            }
        }
        sum.fill(T::of(0.0));
        for read in *reads {
            let step = &steps[read.from];
            let values = which.of(&fields[step.buffer]);
            let view = step.variance_out;
            let affine = [view.gain * read.channels, view.shift * read.channels];
            for tap in 0..rows.count {
                let row = row_tap(tap);
                let (first, other) = (
                    row.left.zip(segment.first.left),
                    row.right.zip(segment.first.right),
                );
                match (first, other) {
                    (Some((y, x)), Some(_)) => {
                        let values = &values[(y * width + x) * b..][..len];
                        add(simd, sum, values, T::of(read.channels));
                    }
                    (Some((y, x)), None) if by_side => {
                        let side = both.left(view.side);
                        add_left(simd, both, sum, side, y * width + x, affine);
                    }
                    (None, Some((y, x))) if by_side => {
                        let side = &both.right(view.side)[(y * width + x) * b..][..len];
                        add_right(simd, sum, side, affine);
                    }
                    _ => {}
                }
            }
        }
    }
}

/// The row of a tap that both samples have.
#[inline(always)]
fn both_there(tap: Tap) -> Option<usize> {
    tap.right.and(tap.left)
}
