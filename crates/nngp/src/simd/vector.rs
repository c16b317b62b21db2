//! One register with the usual operators.

use std::ops::{Add, Div, Mul, Neg, Sub};

use pulp::Simd;

use super::SimdNumber;

/// One register of numbers.
pub(crate) struct V<S: Simd, T: SimdNumber>(pub S, pub T::Vector<S>);

impl<S: Simd, T: SimdNumber> Clone for V<S, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: Simd, T: SimdNumber> Copy for V<S, T> {}

impl<S: Simd, T: SimdNumber> V<S, T> {
    /// The same number in every lane.
    #[inline(always)]
    pub fn splat(simd: S, x: T) -> Self {
        V(simd, T::splat(simd, x))
    }

    /// A constant in every lane.
    #[inline(always)]
    pub fn constant(simd: S, x: f64) -> Self {
        Self::splat(simd, T::of(x))
    }

    /// A constant in every lane, for the same instruction set.
    #[inline(always)]
    pub fn k(self, x: f64) -> Self {
        Self::constant(self.0, x)
    }

    /// self·b + c
    #[inline(always)]
    pub fn mul_add(self, b: Self, c: Self) -> Self {
        V(self.0, T::times_plus(self.0, self.1, b.1, c.1))
    }

    #[inline(always)]
    pub fn sqrt(self) -> Self {
        V(self.0, T::root(self.0, self.1))
    }

    #[inline(always)]
    pub fn abs(self) -> Self {
        V(self.0, T::size(self.0, self.1))
    }

    #[inline(always)]
    pub fn min(self, b: Self) -> Self {
        V(self.0, T::lesser(self.0, self.1, b.1))
    }

    #[inline(always)]
    pub fn max(self, b: Self) -> Self {
        V(self.0, T::greater(self.0, self.1, b.1))
    }

    /// `yes` where self < b, `no` elsewhere.
    #[inline(always)]
    pub fn where_less(self, b: Self, yes: Self, no: Self) -> Self {
        V(self.0, T::where_less(self.0, self.1, b.1, yes.1, no.1))
    }
}

impl<S: Simd, T: SimdNumber> Add for V<S, T> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        V(self.0, T::plus(self.0, self.1, b.1))
    }
}
impl<S: Simd, T: SimdNumber> Sub for V<S, T> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        V(self.0, T::minus(self.0, self.1, b.1))
    }
}
impl<S: Simd, T: SimdNumber> Mul for V<S, T> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        V(self.0, T::times(self.0, self.1, b.1))
    }
}
impl<S: Simd, T: SimdNumber> Div for V<S, T> {
    type Output = Self;
    #[inline(always)]
    fn div(self, b: Self) -> Self {
        V(self.0, T::over(self.0, self.1, b.1))
    }
}
impl<S: Simd, T: SimdNumber> Neg for V<S, T> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        V(self.0, T::negated(self.0, self.1))
    }
}
