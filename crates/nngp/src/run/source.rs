//! One row of what a step reads, before its chain.

use pulp::Simd;

use super::conv::add;
use super::frame::Frame;
use super::pair::{Both, Tangent};
use super::rows::{exchange, input, own};
use super::slide::{Sliding, slide};
use super::work::{Field, Work};
use crate::plan::{Form, Need, Read, Shared, Step, StepSource};
use crate::simd::SimdNumber;

/// A step at one displacement.
pub(super) struct At<'a> {
    pub steps: &'a [Step],
    pub step: &'a Step,
    pub frame: Frame,
}

/// Which number of a field.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Which {
    Gap,
    Tangent,
}

impl Which {
    #[inline(always)]
    pub fn of<T: SimdNumber>(self, field: &Field<T>) -> &[T] {
        match self {
            Which::Gap => field.k.all(),
            Which::Tangent => field.t.all(),
        }
    }

    #[inline(always)]
    pub fn of_mut<T: SimdNumber>(self, field: &mut Field<T>) -> &mut [T] {
        match self {
            Which::Gap => field.k.all_mut(),
            Which::Tangent => field.t.all_mut(),
        }
    }
}

/// Fills row r of the field.
#[inline(always)]
pub(super) fn row<S: Simd, T: SimdNumber>(
    simd: S,
    both: &Both<T>,
    at: &At,
    sliding: &Option<Sliding>,
    r: usize,
    work: &mut Work<T>,
    field: &mut Field<T>,
) {
    let At { steps, step, frame } = at;
    let b = both.batch;
    let here = frame.row(r, b);
    match &step.source {
        StepSource::Input => {
            input::<S, T>(simd, both, at, r, field.k.all_mut());
            if both.tangent == Tangent::Carried {
                field.t.all_mut()[here].fill(T::of(0.0));
            }
        }
        StepSource::Gram { weights, factor } => {
            let scale = T::of(weights.variance * factor);
            let k = &mut field.k.all_mut()[..b];
            match both.is_self {
                true => k.fill(T::of(0.0)),
                false => {
                    for (k, gap) in k.iter_mut().zip(work.gram.all()) {
                        *k = scale * *gap;
                    }
                }
            }
            if both.tangent == Tangent::Carried {
                field.t.all_mut()[here].fill(T::of(0.0));
                own::<S, T>(simd, both, at, r, *weights, field);
            }
        }
        StepSource::Stored { stage, block } => {
            let from = &both.plan.stages[*stage];
            let [height, width] = frame.grid;
            let shift = match from.need {
                Need::Diagonal => 0,
                Need::Pairs => {
                    let [dy, dx] =
                        [0, 1].map(|a| frame.delta[a].rem_euclid(frame.grid[a] as isize));
                    (dy as usize * width + dx as usize) * height * width
                }
            };
            let first = (block * from.slots() + shift) * b;
            let store = &work.stores[*stage];
            let there = first + here.start..first + here.end;
            field.k.all_mut()[here.clone()].copy_from_slice(&store.k.all()[there.clone()]);
            if both.tangent == Tangent::Carried {
                field.t.all_mut()[here].copy_from_slice(&store.t.all()[there]);
            }
            if step.form_in == Form::Gap {
                exchange::<S, T>(simd, both, step.variance, (frame, r), Form::Gap, field);
            }
        }
        StepSource::Conv {
            shared: Shared::No, ..
        } if !frame.is_diagonal() => {
            field.k.all_mut()[here.clone()].fill(T::of(0.0));
            if both.tangent == Tangent::Carried {
                field.t.all_mut()[here].fill(T::of(0.0));
            }
            if step.form_in == Form::Gap {
                exchange::<S, T>(simd, both, step.variance, (frame, r), Form::Gap, field);
            }
        }
        StepSource::Conv { weights, .. } => {
            let Some(sliding) = sliding else { return };
            slide(simd, both, at, sliding, r, work, field);
            if both.tangent == Tangent::Carried {
                own::<S, T>(simd, both, at, r, *weights, field);
            }
        }
        StepSource::Total { reads, weights } => {
            for &which in both.carried() {
                let out = &mut which.of_mut(field)[..b];
                out.fill(T::of(0.0));
                for read in reads {
                    total(simd, at, *read, which, weights.variance, &work.fields, out);
                }
            }
            if both.tangent == Tangent::Carried {
                own::<S, T>(simd, both, at, r, *weights, field);
            }
        }
        StepSource::Sum { reads } => {
            for &which in both.carried() {
                let out = &mut which.of_mut(field)[here.clone()];
                out.fill(T::of(0.0));
                for read in reads {
                    let values = which.of(&work.fields[steps[read.from].buffer]);
                    add(simd, out, &values[here.clone()], T::of(read.channels));
                }
            }
        }
        StepSource::Converted { from } => {
            let (from, old) = (&steps[*from], &work.fields[steps[*from].buffer]);
            for &which in both.carried() {
                which.of_mut(field)[here.clone()].copy_from_slice(&which.of(old)[here.clone()]);
            }
            let view = from.variance_out;
            exchange::<S, T>(simd, both, view, (frame, r), Form::Covariance, field);
        }
    }
}

/// out += v Σ over all positions.
#[inline(always)]
fn total<S: Simd, T: SimdNumber>(
    simd: S,
    at: &At,
    read: Read,
    which: Which,
    variance: f64,
    fields: &[Field<T>],
    out: &mut [T],
) {
    let from = &at.steps[read.from];
    let positions = from.grid[0] * from.grid[1];
    let values = &which.of(&fields[from.buffer])[..positions * out.len()];
    for values in values.chunks_exact(out.len()) {
        add(simd, out, values, T::of(read.channels * variance));
    }
}
