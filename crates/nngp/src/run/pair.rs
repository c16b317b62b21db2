//! All stages for one row and one batch of columns.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::frame::Frame;
use super::sides::Columns;
use super::slide::Sliding;
use super::source::{At, Which};
use super::work::{Field, Work};
use super::{Row, chain, end, registers, source};
use crate::plan::StagePlan;
use crate::simd::{SimdNumber, V};

/// Whether the NTK is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tangent {
    /// It is.
    Carried,
    /// The NNGP alone.
    Left,
}

/// One row against one batch.
pub struct Pairs<'a, T: SimdNumber> {
    pub(crate) plan: &'a StagePlan,
    pub(crate) row: Row<'a, T>,
    pub(crate) columns: &'a Columns<T>,
    pub(crate) stages: Range<usize>,
    pub(crate) tangent: Tangent,
    pub(crate) work: &'a mut Work<T>,
}

impl<T: SimdNumber> WithSimd for Pairs<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (batch, columns) = (self.work.batch, self.columns);
        let (x, sides) = match self.row {
            Row::One { x, sides } => (x, sides),
            Row::Columns => (columns.x.all(), columns.sides.all()),
        };
        let both = Both {
            plan: self.plan,
            left_x: x,
            left_sides: sides,
            columns,
            batch,
            is_self: matches!(self.row, Row::Columns),
            tangent: self.tangent,
            registers_each: batch * size_of::<T>() / size_of::<T::Vector<S>>(),
        };
        run::<S, T>(simd, &both, self.stages, self.work);
    }
}

/// Both samples of every pair.
pub(super) struct Both<'a, T: SimdNumber> {
    pub plan: &'a StagePlan,
    pub left_x: &'a [T],
    pub left_sides: &'a [T],
    pub columns: &'a Columns<T>,
    pub batch: usize,
    /// Whether the left samples are the columns.
    pub is_self: bool,
    pub tangent: Tangent,
    /// Registers of columns at a position.
    pub registers_each: usize,
}

impl<T: SimdNumber> Both<'_, T> {
    /// What is computed of a field.
    #[inline(always)]
    pub fn carried(&self) -> &'static [Which] {
        match self.tangent {
            Tangent::Carried => &[Which::Gap, Which::Tangent],
            Tangent::Left => &[Which::Gap],
        }
    }

    /// A side of the left sample: [position], or [position][column] when it is the columns.
    #[inline(always)]
    pub fn left(&self, side: usize) -> &[T] {
        let unit = if self.is_self { self.batch } else { 1 };
        let (first, len) = (self.columns.offsets[side], self.plan.sides[side]);
        &self.left_sides[first * unit..][..len * unit]
    }

    /// A number of the left sample at one position, for one register of columns.
    #[inline(always)]
    pub fn at<S: Simd>(&self, simd: S, values: &[T], position: usize, k: usize) -> V<S, T> {
        match self.is_self {
            true => V(
                simd,
                registers::<S, T>(values)[position * self.registers_each + k],
            ),
            false => V::splat(simd, values[position]),
        }
    }

    /// A side of the right samples: [position][column].
    #[inline(always)]
    pub fn right(&self, side: usize) -> &[T] {
        let (first, len) = (self.columns.offsets[side], self.plan.sides[side]);
        &self.columns.sides.all()[first * self.batch..][..len * self.batch]
    }
}

#[inline(always)]
fn run<S: Simd, T: SimdNumber>(simd: S, both: &Both<T>, stages: Range<usize>, work: &mut Work<T>) {
    for s in stages {
        let stage = &both.plan.stages[s];
        let mut store = std::mem::replace(&mut work.stores[s], Field::empty());
        end::clear(&mut store);
        for &displacement in &stage.displacements {
            for step in &stage.steps {
                if displacement != [0, 0] && !step.off_diagonal {
                    continue;
                }
                let at = At {
                    steps: &stage.steps,
                    step,
                    frame: Frame::new(step, displacement),
                };
                let mut field = std::mem::replace(&mut work.fields[step.buffer], Field::empty());
                let sliding = Sliding::new(&at, &mut work.segments);
                for r in at.frame.area[0].clone() {
                    source::row::<S, T>(simd, both, &at, &sliding, r, work, &mut field);
                    chain::row::<S, T>(simd, both, step, &at.frame, r, &mut field);
                }
                work.fields[step.buffer] = field;
            }
            for (block, &last) in stage.last.iter().enumerate() {
                let step = &stage.steps[last];
                let frame = Frame::new(step, displacement);
                let field = &work.fields[step.buffer];
                end::gather::<S, T>(simd, both, stage, block, &frame, field, &mut store);
            }
        }
        end::finish::<T>(stage, both.batch, &mut store);
        work.stores[s] = store;
    }
}
