//! Vectors of numbers: what the instruction set at hand offers, for f32 and f64 alike.
//!
//! [`V`] is one register with the usual operators; formulas read as on paper. Everything is inlined into the
//! function that was compiled for the instruction set, so nothing here may be called outside [`pulp`]'s dispatch.

mod arctan;
mod buffer;
mod duals;
mod vector;

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Mul, MulAssign, Sub};

use pulp::{Simd, bytemuck};

pub(crate) use arctan::angle;
pub(crate) use buffer::Buffer;
pub(crate) use duals::{Kink, erf, gelu, kinked};
pub(crate) use vector::V;

/// A number that fits in registers.
pub trait SimdNumber:
    Copy
    + Send
    + Sync
    + PartialOrd
    + Debug
    + Into<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + AddAssign
    + MulAssign
    + 'static
{
    /// A register.
    type Vector<S: Simd>: Copy;
    /// Numbers in 64 bytes.
    const LANES: usize;
    /// The least normal number.
    const TINY: f64;
    /// Coefficients Q of arctan z = z + z³ Q(z²).
    const ARCTAN: &'static [f64];

    /// The nearest number.
    fn of(x: f64) -> Self;
    /// A slice as registers; its length is a multiple of [`SimdNumber::LANES`].
    fn vectors<S: Simd>(slice: &[Self]) -> &[Self::Vector<S>];
    /// A slice as registers; its length is a multiple of [`SimdNumber::LANES`].
    fn vectors_mut<S: Simd>(slice: &mut [Self]) -> &mut [Self::Vector<S>];
    /// Registers as numbers.
    fn lanes<S: Simd>(registers: &[Self::Vector<S>]) -> &[Self];
    /// Registers as numbers.
    fn lanes_mut<S: Simd>(registers: &mut [Self::Vector<S>]) -> &mut [Self];
    /// The same number in every lane.
    fn splat<S: Simd>(simd: S, x: Self) -> Self::Vector<S>;
    /// a + b
    fn plus<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// a − b
    fn minus<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// ab
    fn times<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// a/b
    fn over<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// The smaller.
    fn lesser<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// The larger.
    fn greater<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// ab + c, rounded once where that is fast.
    fn times_plus<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        c: Self::Vector<S>,
    ) -> Self::Vector<S>;
    /// √a
    fn root<S: Simd>(simd: S, a: Self::Vector<S>) -> Self::Vector<S>;
    /// |a|
    fn size<S: Simd>(simd: S, a: Self::Vector<S>) -> Self::Vector<S>;
    /// −a
    fn negated<S: Simd>(simd: S, a: Self::Vector<S>) -> Self::Vector<S>;
    /// yes where a < b, no elsewhere.
    fn where_less<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        yes: Self::Vector<S>,
        no: Self::Vector<S>,
    ) -> Self::Vector<S>;
}

macro_rules! lanes {
    ($t:ty, $vector:ident, $lanes:literal, $arctan:expr, $as:ident, $as_mut:ident, $splat:ident, $add:ident, $sub:ident,
     $mul:ident, $div:ident, $min:ident, $max:ident, $fma:ident, $sqrt:ident, $abs:ident, $neg:ident, $less:ident, $select:ident) => {
        impl SimdNumber for $t {
            type Vector<S: Simd> = S::$vector;
            const LANES: usize = $lanes;
            const TINY: f64 = <$t>::MIN_POSITIVE as f64;
            const ARCTAN: &'static [f64] = $arctan;

            #[inline(always)]
            fn of(x: f64) -> Self {
                x as $t
            }
            #[inline(always)]
            fn vectors<S: Simd>(slice: &[Self]) -> &[S::$vector] {
                S::$as(slice).0
            }
            #[inline(always)]
            fn vectors_mut<S: Simd>(slice: &mut [Self]) -> &mut [S::$vector] {
                S::$as_mut(slice).0
            }
            #[inline(always)]
            fn lanes<S: Simd>(registers: &[S::$vector]) -> &[Self] {
                bytemuck::cast_slice(registers)
            }
            #[inline(always)]
            fn lanes_mut<S: Simd>(registers: &mut [S::$vector]) -> &mut [Self] {
                bytemuck::cast_slice_mut(registers)
            }
            #[inline(always)]
            fn splat<S: Simd>(simd: S, x: Self) -> S::$vector {
                simd.$splat(x)
            }
            #[inline(always)]
            fn plus<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$add(a, b)
            }
            #[inline(always)]
            fn minus<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$sub(a, b)
            }
            #[inline(always)]
            fn times<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$mul(a, b)
            }
            #[inline(always)]
            fn over<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$div(a, b)
            }
            #[inline(always)]
            fn lesser<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$min(a, b)
            }
            #[inline(always)]
            fn greater<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$max(a, b)
            }
            #[inline(always)]
            fn times_plus<S: Simd>(
                simd: S,
                a: S::$vector,
                b: S::$vector,
                c: S::$vector,
            ) -> S::$vector {
                simd.$fma(a, b, c)
            }
            #[inline(always)]
            fn root<S: Simd>(simd: S, a: S::$vector) -> S::$vector {
                simd.$sqrt(a)
            }
            #[inline(always)]
            fn size<S: Simd>(simd: S, a: S::$vector) -> S::$vector {
                simd.$abs(a)
            }
            #[inline(always)]
            fn negated<S: Simd>(simd: S, a: S::$vector) -> S::$vector {
                simd.$neg(a)
            }
            #[inline(always)]
            fn where_less<S: Simd>(
                simd: S,
                a: S::$vector,
                b: S::$vector,
                yes: S::$vector,
                no: S::$vector,
            ) -> S::$vector {
                simd.$select(simd.$less(a, b), yes, no)
            }
        }
    };
}

lanes!(
    f64,
    f64s,
    8,
    &arctan::DOUBLE,
    as_simd_f64s,
    as_mut_simd_f64s,
    splat_f64s,
    add_f64s,
    sub_f64s,
    mul_f64s,
    div_f64s,
    min_f64s,
    max_f64s,
    mul_add_e_f64s,
    sqrt_f64s,
    abs_f64s,
    neg_f64s,
    less_than_f64s,
    select_f64s
);
lanes!(
    f32,
    f32s,
    16,
    &arctan::SINGLE,
    as_simd_f32s,
    as_mut_simd_f32s,
    splat_f32s,
    add_f32s,
    sub_f32s,
    mul_f32s,
    div_f32s,
    min_f32s,
    max_f32s,
    mul_add_e_f32s,
    sqrt_f32s,
    abs_f32s,
    neg_f32s,
    less_than_f32s,
    select_f32s
);
