//! One sample against a batch of samples.
//!
//! A field is [position][column]: B columns, a multiple of the lanes of a register, lie side by side, and every
//! operation is a loop over whole registers. The row sample is the same for all columns, or, for kernels of samples
//! with themselves, another one in each ([`Row`]).

mod chain;
mod compiled;
mod conv;
mod end;
mod frame;
mod pair;
mod rows;
mod sides;
mod slide;
mod source;
mod work;

pub use compiled::Compiled;
pub(crate) use pair::{Pairs, Tangent};
pub(crate) use sides::{Columns, Own, Sides};
pub(crate) use work::{Work, numbers};

use crate::simd::SimdNumber;
use pulp::Simd;

/// The sample on the left.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Row<'a, T> {
    /// One sample: its numbers, and its sides.
    One { x: &'a [T], sides: &'a [T] },
    /// The columns themselves.
    Columns,
}

/// Registers of a slice.
#[inline(always)]
pub(crate) fn registers<S: Simd, T: SimdNumber>(slice: &[T]) -> &[T::Vector<S>] {
    T::vectors::<S>(slice)
}
