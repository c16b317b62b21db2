//! Elementwise functions on slices, vectorised where the formula allows.
//!
//! exp and tanh, and what is made of them, are polynomials without branches, which LLVM vectorises: in f32 within 3e-7
//! of the true value, in f64 within two units in the last place. f32's erf is one too; f64's is that of `libm`. The
//! rest is the standard library's.

use super::simd::vectorised;
use crate::Real;
use crate::function::Function;

/// The transcendental functions of a number type.
pub trait Elementary: Real {
    /// e^x
    fn exp(self) -> Self;
    /// ln x
    fn ln(self) -> Self;
    /// ln(1+x) for 0 ≤ x ≤ 1, all that a softplus asks for
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

/// Polynomial with coefficients from the constant term up.
#[inline(always)]
fn horner<T: Real, const N: usize>(x: T, c: [T; N]) -> T {
    c.iter().rev().fold(T::ZERO, |sum, &c| sum.mul_add(x, c))
}

/// The same as four polynomials in x⁴, whose sums do not wait for each other: a chain of them all is what exp and its
/// kin would wait for. N ≥ 4.
#[inline(always)]
fn interleaved<const N: usize>(x: f64, c: [f64; N]) -> f64 {
    let (x2, x4) = (x * x, (x * x) * (x * x));
    let part = |k: usize| {
        let last = (N - 1 - k) / 4;
        (0..last)
            .rev()
            .fold(c[4 * last + k], |sum, i| sum.mul_add(x4, c[4 * i + k]))
    };
    let (low, high) = (part(1).mul_add(x, part(0)), part(3).mul_add(x, part(2)));
    high.mul_add(x2, low)
}

/// 1.5·2⁵²: a sum with it is rounded to an integer, which the low bits hold.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// n and e^r − 1 for x = n ln 2 + r, |r| ≤ ln 2/2.
#[inline(always)]
fn reduced_exp(x: f64) -> (f64, f64) {
    let n = x.mul_add(std::f64::consts::LOG2_E, ROUND) - ROUND;
    // ln 2 in two parts, so that n·ln 2 is exact.
    let r = n.mul_add(-0.693_147_180_559_890_3, x);
    let r = n.mul_add(-5.497_923_018_708_371e-14, r);
    // Taylor's coefficients: the next term is below 5e-18.
    let rest = interleaved(
        r,
        [
            0.5,
            1.0 / 6.0,
            1.0 / 24.0,
            1.0 / 120.0,
            1.0 / 720.0,
            1.0 / 5040.0,
            1.0 / 40_320.0,
            1.0 / 362_880.0,
            1.0 / 3_628_800.0,
            1.0 / 39_916_800.0,
            1.0 / 479_001_600.0,
            1.0 / 6_227_020_800.0,
        ],
    );
    (n, (r * r).mul_add(rest, r))
}

/// 2ⁿ of an integer −1022 ≤ n ≤ 1023.
#[inline(always)]
fn power_of_two(n: f64) -> f64 {
    f64::from_bits(((n + ROUND).to_bits() << 52).wrapping_add(1.0f64.to_bits()))
}

impl Elementary for f64 {
    /// 2ⁿ e^r, with 2ⁿ in two factors: only the last product overflows, or is rounded to a subnormal number.
    #[inline(always)]
    fn exp(self) -> Self {
        let x = if self > 710.0 { 710.0 } else { self };
        let x = if x < -746.0 { -746.0 } else { x };
        let (n, p) = reduced_exp(x);
        let half = n.mul_add(0.5, ROUND) - ROUND;
        (1.0 + p) * power_of_two(half) * power_of_two(n - half)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        f64::ln(self)
    }
    /// ln 2·(0 or 1) + ln(1+f) with 1+f within a factor √2 of 1; s = f/(2+f), ln(1+f) = 2 artanh s = f − s(f − 2s²(1/3 + s²/5 + …)).
    #[inline(always)]
    fn ln_1p(self) -> Self {
        let large = self > std::f64::consts::SQRT_2 - 1.0;
        let f = if large { 0.5 * (self - 1.0) } else { self };
        let s = f / (2.0 + f);
        let u = s * s;
        // s² ≤ 0.0295: the next term is below 3e-17.
        let rest = interleaved(
            u,
            [
                2.0 / 3.0,
                2.0 / 5.0,
                2.0 / 7.0,
                2.0 / 9.0,
                2.0 / 11.0,
                2.0 / 13.0,
                2.0 / 15.0,
                2.0 / 17.0,
                2.0 / 19.0,
            ],
        );
        let near = s.mul_add(-u.mul_add(-rest, f), f);
        if large {
            near + std::f64::consts::LN_2
        } else {
            near
        }
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
    /// −m/(2+m) with m = e^{−2|x|} − 1, which is 2ⁿ(e^r − 1) + (2ⁿ − 1): nothing cancels.
    #[inline(always)]
    fn tanh(self) -> Self {
        let a = f64::abs(self);
        // 1 − tanh 20 is below half a unit in the last place.
        let a = if a > 20.0 { 20.0 } else { a };
        let (n, p) = reduced_exp(-2.0 * a);
        let scale = power_of_two(n);
        let m = scale.mul_add(p, scale - 1.0);
        (-m / (2.0 + m)).copysign(self)
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
    positive(x) + (-(x.abs() * beta)).exp().ln_1p() / beta
}

#[inline(always)]
fn positive<T: Elementary>(x: T) -> T {
    if x > T::ZERO { x } else { T::ZERO }
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
                if beta == one {
                    // A division less.
                    each!(x, y, |v| positive(v) + (-v.abs()).exp().ln_1p());
                } else {
                    each!(x, y, |v| softplus(v, beta));
                }
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

    /// |y − exact| in units in the last place of the exact value.
    fn units(y: f64, exact: f64) -> f64 {
        let unit = f64::from_bits(exact.abs().to_bits() + 1) - exact.abs();
        (y - exact).abs() / unit
    }

    /// Both signs of magnitudes that are dense on a logarithmic scale, and steps through the range where values change.
    fn numbers(largest: f64) -> impl Iterator<Item = f64> {
        let powers = (0..60_000).map(|i| (f64::from(i) * 0.0247 - 745.0).exp());
        let steps = (0..200_000).map(move |i| largest * f64::from(i) / 200_000.0);
        powers.chain(steps).flat_map(|x| [x, -x])
    }

    fn f64_apply(f: Function, x: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; x.len()];
        apply(f, x, &mut y);
        y
    }

    /// Catches a wrong coefficient, a lost bit of the reduction, an overflow in between: the standard library is the
    /// oracle, itself within one unit.
    #[test]
    fn f64_functions_match_the_standard_library() {
        type Oracle = fn(f64) -> f64;
        let cases: [(Function, f64, Oracle, f64); 4] = [
            (Function::Exp, 750.0, f64::exp, 2.0),
            (Function::Tanh, 21.0, f64::tanh, 3.0),
            // One more division and sum, each half a unit, of an exp that is a unit off.
            (Function::Sigmoid, 750.0, |x| 1.0 / (1.0 + (-x).exp()), 3.0),
            (
                Function::Softplus(1.0.into()),
                745.0,
                |x| x.max(0.0) + (-x.abs()).exp().ln_1p(),
                3.0,
            ),
        ];
        for (f, largest, oracle, bound) in cases {
            let x: Vec<f64> = numbers(largest).collect();
            for (&x, y) in x.iter().zip(f64_apply(f, &x)) {
                let exact = oracle(x);
                if exact.is_infinite() {
                    assert_eq!(y, exact, "{f:?}({x})");
                } else {
                    let off = units(y, exact);
                    assert!(off <= bound, "{f:?}({x}) = {y}, not {exact}: {off} units");
                }
            }
        }
    }

    #[test]
    fn f64_functions_keep_the_ends() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        let exp = f64_apply(
            Function::Exp,
            &[709.7, 709.8, inf, -740.0, -746.0, -inf, nan, 0.0],
        );
        assert!(units(exp[0], 709.7f64.exp()) <= 2.0);
        assert!(exp[1] == inf && exp[2] == inf);
        assert_eq!(exp[3], (-740.0f64).exp()); // a subnormal number
        assert!(exp[3] > 0.0 && exp[4] == 0.0 && exp[5] == 0.0 && exp[6].is_nan() && exp[7] == 1.0);
        let tanh = f64_apply(
            Function::Tanh,
            &[inf, -inf, nan, -0.0, 5e-324, -1e-300, 19.5],
        );
        assert!(tanh[0] == 1.0 && tanh[1] == -1.0 && tanh[2].is_nan());
        assert!(tanh[3] == 0.0 && tanh[3].is_sign_negative());
        assert_eq!(tanh[4..], [5e-324, -1e-300, 1.0]);
        let sigmoid = f64_apply(Function::Sigmoid, &[inf, -inf, nan, 0.0]);
        assert!(sigmoid[0] == 1.0 && sigmoid[1] == 0.0 && sigmoid[2].is_nan() && sigmoid[3] == 0.5);
        let softplus = f64_apply(
            Function::Softplus(5.0.into()),
            &[inf, -inf, nan, 0.0, 1e300, -1e300],
        );
        assert!(softplus[0] == inf && softplus[1] == 0.0 && softplus[2].is_nan());
        assert!(units(softplus[3], 0.2 * std::f64::consts::LN_2) <= 1.0);
        assert!(softplus[4] == 1e300 && softplus[5] == 0.0);
    }

    #[test]
    fn exp_keeps_the_ends() {
        let mut y = [0.0f32; 4];
        apply(Function::Exp, &[88.7, 89.0, -100.0, f32::NAN], &mut y);
        assert!((y[0] / 88.7f32.exp() - 1.0).abs() < 1e-5);
        assert!(y[1].is_infinite() && y[2] == 0.0 && y[3].is_nan());
    }
}
