//! What every kernel may call: duals of activations from variances p, q and the gap D, as in `simd/duals.rs`.
//!
//! The angle of a kink is found from w = sin²(θ/2) = (D − (√p−√q)²)/4√(pq), with (√p−√q)² = (p−q)²/(√p+√q)²: as
//! accurate for nearly equal samples as the atan2 of the processor, in half the instructions.

use polariscope_diff::Dtype;
use polariscope_meanfield::dual::LOGISTIC;

use super::number;

/// (arcsin √v)/√v on [0, ½]: minimax polynomials of relative error 2e-8 and 2e-17.
const SINGLE: [f64; 8] = [
    0.999_999_985_4,
    0.166_670_203,
    0.074_859_750_84,
    0.046_741_425_76,
    0.015_224_043_43,
    0.080_006_749_89,
    -0.096_640_217_57,
    0.113_447_071_9,
];
const DOUBLE: [f64; 19] = [
    1.0,
    0.166_666_666_666_644_79,
    0.075_000_000_005_125_33,
    0.044_642_856_667_348_79,
    0.030_381_967_716_557_97,
    0.022_371_465_677_814_57,
    0.017_366_453_789_346_325,
    0.013_775_778_932_600_09,
    0.013_446_043_592_394_577,
    -0.004_344_243_761_355_828,
    0.087_675_125_170_563_56,
    -0.331_780_131_052_994_14,
    1.111_348_974_062_206_5,
    -2.720_316_945_766_401_6,
    5.019_827_786_732_795,
    -6.675_526_137_165_184,
    6.115_413_455_563_376,
    -3.452_810_991_208_989_5,
    0.928_047_821_394_791_4,
];

/// Names of the functions of the number type, then the duals.
pub(super) fn text(dtype: Dtype) -> String {
    let (number_type, end, own, coefficients): (_, _, _, &[f64]) = match dtype {
        Dtype::F32 => ("float", "f", OWN_SINGLE, &SINGLE),
        Dtype::F64 => ("double", "", OWN_DOUBLE, &DOUBLE),
    };
    let mut sum = String::new();
    for (i, c) in coefficients.iter().enumerate().rev() {
        sum = match i + 1 == coefficients.len() {
            true => number(*c),
            false => format!("FMA({sum}, v, {})", number(*c)),
        };
    }
    let listed = |values: [f64; LOGISTIC.len()]| values.map(number).join(", ");
    let (noise, share) = (LOGISTIC.map(|rule| rule.0), LOGISTIC.map(|rule| rule.1));
    format!(
        "typedef {number_type} T;\n\
         #define SQRT sqrt{end}\n#define ATAN2 atan2{end}\n#define ABS fabs{end}\n#define EXP exp{end}\n\
         #define EXPM1 expm1{end}\n#define COPYSIGN copysign{end}\n#define FMA fma{end}\n#define LESSER fmin{end}\n\
         {own}__device__ __forceinline__ T arcsin(const T v) {{ return {sum}; }}\n\
         #define NOISES {noises}\n\
         __constant__ T NOISE[NOISES] = {{{noise}}}, SHARE[NOISES] = {{{share}}};\n{DUALS}{LOGISTIC_DUALS}",
        noises = LOGISTIC.len(),
        noise = listed(noise),
        share = listed(share),
    )
}

/// What the hardware does at once, with an error of about one rounding. Not a number saturates to 0.
const OWN_SINGLE: &str = r#"
__device__ __forceinline__ T saturated(const T x) { return __saturatef(x); }
__device__ __forceinline__ T root(const T x) {
  T y;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ T inverse_of(const T x) {
  T y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
"#;
const OWN_DOUBLE: &str = r"
__device__ __forceinline__ T saturated(const T x) { return x > 0 ? (x < 1 ? x : (T)1) : (T)0; }
__device__ __forceinline__ T root(const T x) { return sqrt(x); }
__device__ __forceinline__ T inverse_of(const T x) { return 1 / x; }
";

const DUALS: &str = r"
#define HALF ((T)0.5)
#define QUARTER_TURN ((T)1.57079632679489661923)
#define TWO_OVER_PI ((T)0.63661977236758134308)
#define TURN ((T)0.15915494309189533577)
__device__ __forceinline__ int wrapped(int i, const int n) {
  i %= n;
  return i < 0 ? i + n : i;
}
__device__ __forceinline__ T four_det(const T gap, const T p, const T q) {
  const T sum = p + q, difference = p - q;
  const T det = gap * (sum + sum - gap) - difference * difference;
  return det > 0 ? det : (T)0;
}
// Half the angle, and f = sin(theta)/2 - angle cos(theta), from w = sin(theta/2)^2 and h = cos(theta) = 1 - 2w.
__device__ __forceinline__ void turned(const T w, const T h, T& angle, T& f) {
  const T rest = 1 - w, v = LESSER(w, rest), small = root(v) * arcsin(v);
  angle = w > HALF ? QUARTER_TURN - small : small;
  f = FMA(-angle, h, root(w * rest));
}
// alpha u + beta |u|: gain = alpha^2 + beta^2, bend = -beta^2 2/pi; slopes where one variance is 0, or both.
__device__ __forceinline__ void kinked(T& gap, T& slope, const T p, const T q, const T gain, const T bend, const T one,
                                       const T still) {
  const T product = root(p) * root(q), e = p - q;
  const T apart = e * e * inverse_of(p + q + 2 * product);
  const T w = saturated((gap - apart) * inverse_of(4 * product));
  T angle, f;
  turned(w, FMA((T)-2, w, (T)1), angle, f);
  const bool moves = (p < q ? p : q) > 0;
  gap = moves ? 4 * bend * product * f + gain * gap : gain * gap;
  slope = moves ? 2 * bend * angle + gain : (p + q > 0 ? one : still);
}
// Not inlined: with the same code E[phi^2] of one sample and E[phi phi'] of two that agree are the same number.
__device__ __noinline__ void erf_dual(const T gap, T& value, T& slope, const T p, const T q) {
  const T sum = p + q, twice = sum - gap;
  const T root = SQRT(four_det(gap, p, q) + (sum + sum) + 1);
  value = TWO_OVER_PI * ATAN2(twice, root);
  slope = 2 * TWO_OVER_PI / root;
}
__device__ __noinline__ void gelu_dual(const T gap, T& value, T& slope, const T p, const T q) {
  const T sum = p + q, c = (sum - gap) * HALF, det = four_det(gap, p, q) * (T)0.25;
  const T noise = sum + 1, delta = det + noise, root = SQRT(delta);
  const T quadrant = ATAN2(c, root) * TURN + (T)0.25;
  const T kappa = 1 / (p + 1) + 1 / (q + 1), shared = kappa * c * c, density = TURN / root;
  value = c * quadrant + (det + shared) * density;
  slope = quadrant + c * density * (kappa + kappa + (shared - noise) / delta);
}
__device__ __noinline__ void sin_dual(const T gap, T& value, T& slope, const T p, const T q) {
  const T sum = p + q, twice = sum - gap, apart = twice < 0 ? sum + sum - gap : gap;
  const T envelope = HALF * EXP(-HALF * apart), decay = EXPM1(-ABS(twice));
  value = COPYSIGN(-envelope * decay, twice);
  slope = envelope * (2 + decay);
}
";

/// Means over Gaussian noise of variances s and t, as in `meanfield::dual::logistic`.
const LOGISTIC_DUALS: &str = r"
#define MEAN(statements) \
  for (int i = 0; i < NOISES; ++i) for (int j = 0; j < NOISES; ++j) { \
    const T s = NOISE[i], t = NOISE[j], share = SHARE[i] * SHARE[j]; \
    const T noise = p * t + q * s + s * t, root = SQRT(det + noise), angle = ATAN2(c, root); \
    statements \
  }
// Of the sigmoid less 1/2.
__device__ __noinline__ void centred_dual(const T gap, T& value, T& slope, const T p, const T q) {
  const T c = (p + q - gap) * HALF, det = four_det(gap, p, q) * (T)0.25;
  T angles = 0, densities = 0;
  MEAN(angles += share * angle; densities += share / root;)
  value = TURN * angles;
  slope = TURN * densities;
}
__device__ __noinline__ void sigmoid_dual(const T gap, T& value, T& slope, const T p, const T q) {
  centred_dual(gap, value, slope, p, q);
  value += (T)0.25;
}
__device__ __noinline__ void tanh_dual(const T gap, T& value, T& slope, const T p, const T q) {
  centred_dual(4 * gap, value, slope, 4 * p, 4 * q);
  value *= 4;
  slope *= 16;
}
// softplus(beta u)/beta.
__device__ __noinline__ void softplus_dual(const T gap, T& value, T& slope, const T own_p, const T own_q, const T square) {
  const T p = square * own_p, q = square * own_q;
  const T c = (p + q - square * gap) * HALF, det = four_det(square * gap, p, q) * (T)0.25;
  T values = 0, angles = 0;
  MEAN(values += share * (root + c * angle); angles += share * angle;)
  value = ((T)0.25 * c + TURN * values) / square;
  slope = (T)0.25 + TURN * angles;
}
__device__ __noinline__ void silu_dual(const T gap, T& value, T& slope, const T p, const T q) {
  const T c = (p + q - gap) * HALF, det = four_det(gap, p, q) * (T)0.25;
  T values = 0, slopes = 0;
  MEAN(
    const T delta = det + noise;
    const T quadrant = angle * TURN + (T)0.25;
    const T kappa = s / (p + s) + t / (q + t);
    const T shared = kappa * c * c;
    const T density = TURN / root;
    values += share * (c * quadrant + (det + shared) * density);
    slopes += share * (quadrant + c * density * (kappa + kappa + (shared - noise) / delta));
  )
  value = values;
  slope = slopes;
}
";
