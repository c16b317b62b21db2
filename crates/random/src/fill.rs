//! From bits to numbers, one chunk of 64 elements at a time. Every function here is inlined into the
//! instruction-set specific entry points of [`crate::simd`]; all of them give the same bits.

use crate::philox::philox;
use crate::stream::Stream;

/// Vector lanes.
const LANES: usize = 16;

/// Elements in a chunk: sixteen blocks of four words.
pub(crate) const CHUNK: usize = 4 * LANES;

/// What a chunk of bits becomes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Map {
    /// Uniform on [−bound, bound).
    Uniform { bound: f32 },
    /// Normal with mean 0.
    Normal { std: f32 },
}

/// The four words of one block.
#[inline(always)]
fn block(stream: &Stream, block: u64) -> [u32; 4] {
    let counter = [
        block as u32,
        (block >> 32) as u32,
        stream.id[0],
        stream.id[1],
    ];
    philox(counter, stream.key)
}

/// Raw bits of a chunk.
pub(crate) fn words(stream: &Stream, chunk: u64) -> [u32; CHUNK] {
    let mut out = [0; CHUNK];
    for l in 0..LANES {
        let words = block(stream, first_block(chunk) | l as u64);
        for (w, word) in words.into_iter().enumerate() {
            out[w * LANES + l] = word;
        }
    }
    out
}

#[inline(always)]
fn first_block(chunk: u64) -> u64 {
    chunk.wrapping_mul(LANES as u64)
}

impl Map {
    /// One lane's four elements.
    #[inline(always)]
    fn apply(self, words: [u32; 4]) -> [f32; 4] {
        match self {
            // bound·2⁻²⁴ is exact unless subnormal.
            Map::Uniform { bound } => uniform(words, bound * EPSILON),
            Map::Normal { std } => normal(words, std),
        }
    }

    /// A whole chunk: straight-line code in a loop over lanes, which the compiler turns into vectors.
    #[inline(always)]
    fn chunk(self, stream: &Stream, chunk: u64, out: &mut [f32; CHUNK]) {
        let first = first_block(chunk);
        for l in 0..LANES {
            let x = self.apply(block(stream, first | l as u64));
            out[l] = x[0];
            out[LANES + l] = x[1];
            out[2 * LANES + l] = x[2];
            out[3 * LANES + l] = x[3];
        }
    }
}

/// Fills `out` with elements `first`, `first + 1`, …; the first and last chunk may be partial.
///
/// No closures: they would be compiled once, for the weakest instruction set.
#[inline(always)]
pub(crate) fn fill(stream: &Stream, map: Map, first: u64, out: &mut [f32]) {
    let size = CHUNK as u64;
    let mut chunk = first / size;
    let skip = (first % size) as usize;
    let mut rest = out;
    let mut part = [0.0; CHUNK];
    if skip > 0 {
        let n = rest.len().min(CHUNK - skip);
        let (head, tail) = rest.split_at_mut(n);
        map.chunk(stream, chunk, &mut part);
        head.copy_from_slice(&part[skip..skip + n]);
        rest = tail;
        chunk = chunk.wrapping_add(1);
    }
    let (whole, tail) = rest.as_chunks_mut();
    for out in whole {
        map.chunk(stream, chunk, out);
        chunk = chunk.wrapping_add(1);
    }
    if !tail.is_empty() {
        map.chunk(stream, chunk, &mut part);
        tail.copy_from_slice(&part[..tail.len()]);
    }
}

/// 2⁻²⁴
const EPSILON: f32 = 1.0 / 16_777_216.0;

/// (2j + 1)·2⁻²⁴·bound with −2²³ ≤ j < 2²³ the top 24 bits: odd multiples, so the law is symmetric and
/// its mean exactly 0; the largest is bound·(1 − 2⁻²⁴), which no rounding brings to the bound itself.
#[inline(always)]
fn uniform(words: [u32; 4], step: f32) -> [f32; 4] {
    let mut out = [0.0; 4];
    for w in 0..4 {
        out[w] = ((words[w] as i32 >> 7) | 1) as f32 * step;
    }
    out
}

/// Box and Muller: r = √(−2 ln u), (r cos 2πv, r sin 2πv), from words 0 and 1, and from 2 and 3.
#[inline(always)]
fn normal(words: [u32; 4], std: f32) -> [f32; 4] {
    let (a, b) = pair(words[0], words[1], std);
    let (c, d) = pair(words[2], words[3], std);
    [a, b, c, d]
}

#[inline(always)]
fn pair(u: u32, v: u32, std: f32) -> (f32, f32) {
    let r = minus_two_ln(u).sqrt() * std;
    let (cos, sin) = cos_sin_turns(v);
    (r * cos, r * sin)
}

/// Horner's rule with fused multiply-adds, constant term first.
#[inline(always)]
fn polynomial<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut y = coefficients[N - 1];
    for c in coefficients[..N - 1].iter().rev() {
        y = y.mul_add(x, *c);
    }
    y
}

/// −2 ln u for u = (bits + ½)·2⁻³², at least 0.
///
/// u = 2^e·m with m in [2/3, 4/3), f = m − 1 (exact), −2 ln u = −2e·ln 2 + f·P(f). P interpolates
/// −2 ln(1+f)/f at the nine Chebyshev nodes of [−1/3, 1/3] (relative error 3·10⁻⁸).
#[inline(always)]
fn minus_two_ln(bits: u32) -> f32 {
    const MINUS_TWO_LN_2: f32 = -1.386_294_4;
    /// Bits of 2/3.
    const BASE: u32 = 0x3F2A_AAAB;
    const P: [f32; 9] = [
        -2.0,
        0.999_998_7,
        -0.666_665_45,
        0.500_158_6,
        -0.400_144_7,
        0.328_290_4,
        -0.281_116_25,
        0.307_885_44,
        -0.274_966_18,
    ];
    let u = (bits as f32 + 0.5).to_bits();
    let e = u.wrapping_sub(BASE) as i32 >> 23;
    let f = f32::from_bits(u.wrapping_sub((e << 23) as u32)) - 1.0;
    let e = (e - 32) as f32;
    // u rounds to at most 1, where e = 0 and f = 0: never below zero.
    e.mul_add(MINUS_TWO_LN_2, f * polynomial(f, P))
}

/// (cos 2πv, sin 2πv), v = bits·2⁻³².
///
/// The nearest quarter turn q leaves |t| ≤ 1/8 turn; sin 2πt = t·S(t²), cos 2πt = C(t²), S and C
/// interpolate at the Chebyshev nodes of [0, 1/64] (relative errors 4·10⁻⁹ and 7·10⁻¹¹).
#[inline(always)]
fn cos_sin_turns(bits: u32) -> (f32, f32) {
    const TURN: f32 = 1.0 / 4_294_967_296.0;
    const S: [f32; 4] = [std::f32::consts::TAU, -41.341_663, 81.592_54, -75.401_61];
    const C: [f32; 5] = [1.0, -19.739_209, 64.939_316, -85.442_84, 59.220_17];
    let q = bits.wrapping_add(1 << 29) >> 30;
    let t = bits.wrapping_sub(q << 30) as i32 as f32 * TURN;
    let t2 = t * t;
    let sin = t * polynomial(t2, S);
    let cos = polynomial(t2, C);
    // A quarter turn maps (cos, sin) to (−sin, cos).
    let swap = q & 1 == 1;
    let (c, s) = if swap { (sin, cos) } else { (cos, sin) };
    let c_sign = (q.wrapping_add(1) & 2) << 30;
    let s_sign = (q & 2) << 30;
    (
        f32::from_bits(c.to_bits() ^ c_sign),
        f32::from_bits(s.to_bits() ^ s_sign),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All exponents, both ends and a sweep between.
    fn sweep() -> impl Iterator<Item = u32> {
        let sweep = (0..400_000_u32).map(|i| i.wrapping_mul(0x9E37_79B9));
        let ends = (0..2000).chain(u32::MAX - 2000..=u32::MAX);
        sweep.chain(ends).chain((0..32).map(|e| 1 << e))
    }

    /// ln in f64 is the reference; the argument is the f32 that (bits + ½) rounds to.
    #[test]
    fn logarithm_is_accurate() {
        for bits in sweep() {
            let u = f64::from(bits as f32 + 0.5) / 4_294_967_296.0;
            let want = -2.0 * u.ln();
            let got = f64::from(minus_two_ln(bits));
            assert!((got - want).abs() <= 4e-7 * want, "{bits}: {got} {want}");
        }
        assert_eq!(minus_two_ln(u32::MAX), 0.0);
    }

    #[test]
    fn circle_is_accurate() {
        for bits in sweep() {
            let angle = f64::from(bits) / 4_294_967_296.0 * std::f64::consts::TAU;
            let (c, s) = cos_sin_turns(bits);
            // The fraction of a turn is rounded to 24 bits: 2π/8 · 2⁻²⁴ = 5e-8 of angle, then two roundings.
            assert!((f64::from(c) - angle.cos()).abs() < 2e-7, "{bits}");
            assert!((f64::from(s) - angle.sin()).abs() < 2e-7, "{bits}");
        }
    }

    #[test]
    fn uniform_stays_inside() {
        for bound in [1.0_f32, 1.5, 1.01, 1.0 + f32::EPSILON, 0.037, 3e-30] {
            let step = bound * EPSILON;
            let [top, _, _, low] = uniform([u32::MAX >> 1, 0, 1, 1 << 31], step);
            assert!(top < bound && top > bound * (1.0 - 2e-7));
            assert_eq!(low, -top);
        }
    }

    /// u = 2⁻³³ is the smallest: |z| ≤ √(66 ln 2) = 6.7637.
    #[test]
    fn largest_normal() {
        let want = (66.0 * std::f64::consts::LN_2).sqrt();
        assert!((f64::from(minus_two_ln(0).sqrt()) - want).abs() < 2e-6);
    }
}
