//! Elementwise functions on slices, vectorised where the formula allows.
//!
//! f64 uses the standard library and `libm` (erf). f32 has its own exp, tanh and erf: polynomials
//! that LLVM vectorises, within 3e-7 of the true value.

use super::simd::vectorised;
use crate::Real;
use crate::function::Function;

/// The transcendental functions of a number type.
pub trait Elementary: Real {
    /// e^x
    fn exp(self) -> Self;
    /// ln x
    fn ln(self) -> Self;
    /// ln(1+x)
    fn ln_1p(self) -> Self;
    /// x^p
    fn powf(self, p: Self) -> Self;
    /// sin x
    fn sin(self) -> Self;
    /// cos x
    fn cos(self) -> Self;
    /// asin x
    fn asin(self) -> Self;
    /// tanh x
    fn tanh(self) -> Self;
    /// erf x
    fn erf(self) -> Self;
    /// Φ(x), the normal distribution function, without cancellation for negative x
    fn normal_cdf(self) -> Self;
}

impl Elementary for f64 {
    #[inline(always)]
    fn exp(self) -> Self {
        f64::exp(self)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        f64::ln(self)
    }
    #[inline(always)]
    fn ln_1p(self) -> Self {
        f64::ln_1p(self)
    }
    #[inline(always)]
    fn powf(self, p: Self) -> Self {
        f64::powf(self, p)
    }
    #[inline(always)]
    fn sin(self) -> Self {
        f64::sin(self)
    }
    #[inline(always)]
    fn cos(self) -> Self {
        f64::cos(self)
    }
    #[inline(always)]
    fn asin(self) -> Self {
        f64::asin(self)
    }
    #[inline(always)]
    fn tanh(self) -> Self {
        f64::tanh(self)
    }
    #[inline(always)]
    fn erf(self) -> Self {
        libm::erf(self)
    }
    #[inline(always)]
    fn normal_cdf(self) -> Self {
        0.5 * libm::erfc(-self * std::f64::consts::FRAC_1_SQRT_2)
    }
}

/// Polynomial with coefficients from the constant term up.
#[inline(always)]
fn horner<const N: usize>(x: f32, c: [f32; N]) -> f32 {
    c.iter().rev().fold(0.0, |sum, &c| sum.mul_add(x, c))
}

impl Elementary for f32 {
    /// e^x = 2ⁿ e^r with n the integer nearest x/ln 2: the sum x/ln 2 + 1.5·2²³ holds n in its low bits.
    #[inline(always)]
    fn exp(self) -> Self {
        const MAGIC: f32 = 12_582_912.0;
        let x = if self > 88.8 { 88.8 } else { self };
        let x = if x < -87.3 { -87.3 } else { x };
        let t = x.mul_add(std::f32::consts::LOG2_E, MAGIC);
        let n = t - MAGIC;
        // ln 2 in two parts, so that n·ln 2 is exact.
        let r = n.mul_add(-0.693_145_75, x);
        let r = n.mul_add(-1.428_606_8e-6, r);
        // Taylor's coefficients: |r| ≤ 0.347, the next term is below 2e-9.
        let p = horner(
            r,
            [
                1.0,
                1.0,
                0.5,
                1.0 / 6.0,
                1.0 / 24.0,
                1.0 / 120.0,
                1.0 / 720.0,
                1.0 / 5040.0,
            ],
        );
        // 2ⁿ in two factors, so that n = 128 overflows only in the product.
        let half = f32::from_bits((t.to_bits() << 23).wrapping_add(0x3f00_0000));
        let y = p * half * 2.0;
        if self < -87.3 { 0.0 } else { y }
    }
    #[inline(always)]
    fn ln(self) -> Self {
        f32::ln(self)
    }
    #[inline(always)]
    fn ln_1p(self) -> Self {
        f32::ln_1p(self)
    }
    #[inline(always)]
    fn powf(self, p: Self) -> Self {
        f32::powf(self, p)
    }
    #[inline(always)]
    fn sin(self) -> Self {
        f32::sin(self)
    }
    #[inline(always)]
    fn cos(self) -> Self {
        f32::cos(self)
    }
    #[inline(always)]
    fn asin(self) -> Self {
        f32::asin(self)
    }
    /// 1 − 2/(e^{2|x|}+1); the Taylor series where that would cancel.
    #[inline(always)]
    fn tanh(self) -> Self {
        let a = f32::abs(self);
        let e = Elementary::exp(a + a);
        let big = 1.0 - 2.0 / (e + 1.0);
        let u = a * a;
        let small = a * horner(
            u,
            [
                1.0,
                -1.0 / 3.0,
                2.0 / 15.0,
                -17.0 / 315.0,
                62.0 / 2835.0,
                -1382.0 / 155_925.0,
            ],
        );
        (if a < 0.3 { small } else { big }).copysign(self)
    }
    #[inline(always)]
    fn erf(self) -> Self {
        let a = f32::abs(self);
        (if a < 1.0 {
            erf_small(a)
        } else {
            1.0 - erfc_large(a)
        })
        .copysign(self)
    }
    #[inline(always)]
    fn normal_cdf(self) -> Self {
        let a = f32::abs(self) * std::f32::consts::FRAC_1_SQRT_2;
        let tail = 0.5
            * if a < 1.0 {
                1.0 - erf_small(a)
            } else {
                erfc_large(a)
            };
        if self > 0.0 { 1.0 - tail } else { tail }
    }
}

/// erf on [0, 1]: a·P(a²), a Chebyshev fit of erf(√u)/√u.
#[inline(always)]
fn erf_small(a: f32) -> f32 {
    let c = [
        std::f32::consts::FRAC_2_SQRT_PI,
        -0.376_126_27,
        0.112_835_95,
        -0.026_854_212,
        0.005_189_087_4,
        -0.000_801_686_43,
        7.875_875e-5,
    ];
    a * horner(a * a, c)
}

/// erfc from 1 up: e^{p(a)}, a Chebyshev fit of ln erfc on [1, 4.1]; constant (7e-9) beyond.
#[inline(always)]
fn erfc_large(a: f32) -> f32 {
    let c = [
        -0.000_910_565_2,
        -1.125_373_4,
        -0.639_911_35,
        -0.102_672_43,
        0.022_326_89,
        -0.003_358_920_7,
        0.000_306_511_45,
        -1.265_727_4e-5,
    ];
    Elementary::exp(horner(if a > 4.1 { 4.1 } else { a }, c))
}

#[inline(always)]
fn sigmoid<T: Elementary>(x: T) -> T {
    T::ONE / (T::ONE + (-x).exp())
}

/// max(x, 0) + ln(1 + e^{−β|x|})/β: no overflow, no loss for large |x|.
#[inline(always)]
fn softplus<T: Elementary>(x: T, beta: T) -> T {
    let positive = if x > T::ZERO { x } else { T::ZERO };
    positive + (-(x.abs() * beta)).exp().ln_1p() / beta
}

/// f(x) of one number.
pub fn value(f: Function, x: f64) -> f64 {
    let mut y = [0.0];
    apply(f, &[x], &mut y);
    y[0]
}

macro_rules! each {
    ($x:ident, $y:ident, |$v:ident| $body:expr) => {
        for (y, &$v) in $y.iter_mut().zip($x) {
            *y = $body;
        }
    };
}

vectorised! {
    /// y = f(x), elementwise.
    pub fn apply<T: Elementary>(f: Function, x: &[T], y: &mut [T]) {
        let (zero, one) = (T::ZERO, T::ONE);
        match f {
            Function::Relu => each!(x, y, |v| if v > zero || v.is_nan() { v } else { zero }),
            Function::Step => each!(x, y, |v| if v > zero { one } else { zero }),
            Function::LeakyRelu(slope) => {
                let slope = T::from_f64(slope.get());
                each!(x, y, |v| if v > zero { v } else { slope * v });
            }
            Function::LeakyStep(slope) => {
                let slope = T::from_f64(slope.get());
                each!(x, y, |v| if v > zero { one } else { slope });
            }
            Function::Gelu => each!(x, y, |v| v * v.normal_cdf()),
            Function::NormalCdf => each!(x, y, |v| v.normal_cdf()),
            Function::NormalPdf => {
                let c = T::from_f64(0.5 * std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2);
                let minus_half = T::from_f64(-0.5);
                each!(x, y, |v| c * (v * v * minus_half).exp());
            }
            Function::Tanh => each!(x, y, |v| v.tanh()),
            Function::Erf => each!(x, y, |v| v.erf()),
            Function::Sin => each!(x, y, |v| v.sin()),
            Function::Cos => each!(x, y, |v| v.cos()),
            Function::Sigmoid => each!(x, y, |v| sigmoid(v)),
            Function::Softplus(beta) => {
                let beta = T::from_f64(beta.get());
                each!(x, y, |v| softplus(v, beta));
            }
            Function::Abs => each!(x, y, |v| v.abs()),
            Function::Sign => each!(x, y, |v| if v > zero { one } else if v < zero { -one } else { zero }),
            Function::Exp => each!(x, y, |v| v.exp()),
            Function::Log => each!(x, y, |v| v.ln()),
            Function::Pow(p) => power(p.get(), x, y),
            Function::Asin => each!(x, y, |v| v.asin()),
            Function::AsinIntegral => each!(x, y, |v| v * v.asin() + ((one - v) * (one + v)).sqrt()),
        }
    }
}

/// x^p, with the common powers spelled out.
#[inline(always)]
fn power<T: Elementary>(p: f64, x: &[T], y: &mut [T]) {
    if p == -1.0 {
        each!(x, y, |v| T::ONE / v);
    } else if p == 2.0 {
        each!(x, y, |v| v * v);
    } else if p == 0.5 {
        each!(x, y, |v| v.sqrt());
    } else if p == -0.5 {
        each!(x, y, |v| T::ONE / v.sqrt());
    } else if p == -1.5 {
        each!(x, y, |v| T::ONE / (v * v.sqrt()));
    } else {
        let p = T::from_f64(p);
        each!(x, y, |v| v.powf(p));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches a wrong coefficient or branch in the f32 polynomials: f64's libm is the oracle.
    #[test]
    fn f32_functions_match_f64() {
        for f in [
            Function::Exp,
            Function::Tanh,
            Function::Erf,
            Function::Gelu,
            Function::Sigmoid,
            Function::NormalPdf,
        ] {
            for i in -6000..=6000 {
                let x = i as f32 * 1e-3;
                let mut y = [0.0f32];
                apply(f, &[x], &mut y);
                let exact = value(f, f64::from(x));
                let error = (f64::from(y[0]) - exact).abs()
                    / exact.abs().max(1e-3).max(f64::from(x.abs()).min(0.05));
                assert!(error < 1e-6, "{f:?}({x}) = {} instead of {exact}", y[0]);
            }
        }
    }

    #[test]
    fn exp_keeps_the_ends() {
        let mut y = [0.0f32; 4];
        apply(Function::Exp, &[88.7, 89.0, -100.0, f32::NAN], &mut y);
        assert!((y[0] / 88.7f32.exp() - 1.0).abs() < 1e-5);
        assert!(y[1].is_infinite() && y[2] == 0.0 && y[3].is_nan());
    }
}
