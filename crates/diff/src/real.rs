//! The two number types.

use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// Number type of a computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl Dtype {
    /// As C calls it.
    pub fn c_name(self) -> &'static str {
        match self {
            Dtype::F32 => "float",
            Dtype::F64 => "double",
        }
    }

    /// Of a number.
    pub fn bytes(self) -> usize {
        match self {
            Dtype::F32 => 4,
            Dtype::F64 => 8,
        }
    }
}

/// f32 or f64.
pub trait Real:
    Copy
    + Default
    + Debug
    + Display
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + Sum
    + 'static
{
    /// Which of the two.
    const DTYPE: Dtype;
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Rounds to this type.
    fn from_f64(x: f64) -> Self;
    /// Widens (exact).
    fn to_f64(self) -> f64;
    /// self·a + b with one rounding.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// Not a number.
    fn is_nan(self) -> bool;
    /// Neither NaN nor infinite.
    fn is_finite(self) -> bool;
}

macro_rules! real {
    ($t:ty, $dtype:expr) => {
        impl Real for $t {
            const DTYPE: Dtype = $dtype;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $t
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                <$t>::mul_add(self, a, b)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                <$t>::sqrt(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$t>::abs(self)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                <$t>::is_nan(self)
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                <$t>::is_finite(self)
            }
        }
    };
}

real!(f32, Dtype::F32);
real!(f64, Dtype::F64);
