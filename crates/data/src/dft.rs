//! The real orthonormal basis of the two-dimensional discrete Fourier transform.
//!
//! A frequency (a, b) of an H × W image and its conjugate (−a, −b) span two real directions,
//! √(2/HW) cos 2π(ai/H + bj/W) and √(2/HW) sin 2π(ai/H + bj/W); where the two coincide (a ∈ {0, H/2} and
//! b ∈ {0, W/2}) one, √(1/HW) cos. Together they are HW orthonormal vectors, ordered by
//! (a/H)² + (b/W)² with a and b taken nearest to 0.

use std::cmp::Ordering;

/// Even or odd part of a frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Even.
    Cos,
    /// Odd.
    Sin,
}

/// What a basis vector oscillates like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frequency {
    /// Periods down the image, −H/2 < a ≤ H/2.
    pub a: isize,
    /// Periods across, 0 ≤ b ≤ W/2.
    pub b: isize,
    /// Even or odd.
    pub phase: Phase,
}

/// The frequencies of the height·width basis vectors, lowest first.
pub fn dft_frequencies(height: usize, width: usize) -> Vec<Frequency> {
    let (h, w) = (height as isize, width as isize);
    let centred = |k: isize, n: isize| if 2 * k > n { k - n } else { k };
    let mut all = Vec::with_capacity(height * width);
    for a in (0..h).map(|a| centred(a, h)) {
        for b in (0..w).map(|b| centred(b, w)) {
            // (a, b) and its conjugate, brought to the same range: keep the one with b > 0, or a ≥ 0.
            let conjugate = (
                centred((-a).rem_euclid(h), h),
                centred((-b).rem_euclid(w), w),
            );
            match (b, a).cmp(&(conjugate.1, conjugate.0)) {
                Ordering::Less => {}
                Ordering::Equal => all.push(Frequency {
                    a,
                    b,
                    phase: Phase::Cos,
                }),
                Ordering::Greater => {
                    let phases = [Phase::Cos, Phase::Sin];
                    all.extend(phases.map(|phase| Frequency { a, b, phase }));
                }
            }
        }
    }
    // (a/H)² + (b/W)² times (HW)², in integers: ties are exact.
    let rank = |f: &Frequency| (f.a * w).pow(2) + (f.b * h).pow(2);
    all.sort_by_key(|f| (rank(f), f.a.abs(), -f.a, f.b, f.phase));
    all
}

/// Basis vector `index` of [`dft_frequencies`]'s order, row by row; `None` beyond the last.
pub fn dft_vector(height: usize, width: usize, index: usize) -> Option<Vec<f64>> {
    let frequency = *dft_frequencies(height, width).get(index)?;
    Some(vector(height, width, frequency))
}

/// The whole basis, one vector a row.
pub fn dft_basis(height: usize, width: usize) -> Vec<f64> {
    let frequencies = dft_frequencies(height, width).into_iter();
    frequencies.flat_map(|f| vector(height, width, f)).collect()
}

fn vector(height: usize, width: usize, f: Frequency) -> Vec<f64> {
    let n = (height * width) as isize;
    let twice = |k: isize, n: usize| 2 * k.unsigned_abs() == n || k == 0;
    let paired = !(twice(f.a, height) && twice(f.b, width));
    let norm = if paired {
        (2.0 / n as f64).sqrt()
    } else {
        (1.0 / n as f64).sqrt()
    };
    let mut out = Vec::with_capacity(height * width);
    for i in 0..height as isize {
        for j in 0..width as isize {
            // The phase is reduced in integers: angles stay below one turn, exact to the last bit.
            let turn = (f.a * i * width as isize + f.b * j * height as isize).rem_euclid(n);
            let angle = std::f64::consts::TAU * turn as f64 / n as f64;
            out.push(
                norm * if f.phase == Phase::Cos {
                    angle.cos()
                } else {
                    angle.sin()
                },
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orthonormal_and_complete() {
        for (h, w) in [(1, 1), (1, 7), (8, 1), (4, 4), (5, 6), (7, 3), (16, 16)] {
            let n = h * w;
            let basis = dft_basis(h, w);
            assert_eq!(basis.len(), n * n);
            for i in 0..n {
                for j in 0..=i {
                    let (u, v) = (&basis[i * n..][..n], &basis[j * n..][..n]);
                    let inner: f64 = u.iter().zip(v).map(|(a, b)| a * b).sum();
                    let want = f64::from(u8::from(i == j));
                    assert!((inner - want).abs() < 1e-12, "{h}x{w} {i} {j}: {inner}");
                }
            }
            assert_eq!(dft_vector(h, w, n - 1).unwrap(), basis[n * (n - 1)..]);
            assert!(dft_vector(h, w, n).is_none());
        }
    }

    /// Lowest first: the constant, then one period across or down, up to the checkerboard.
    #[test]
    fn ordered_by_frequency() {
        let f = dft_frequencies(8, 8);
        assert_eq!((f[0].a, f[0].b), (0, 0));
        for f in &f[1..5] {
            assert_eq!(f.a.abs() + f.b.abs(), 1);
        }
        assert_eq!((f[63].a, f[63].b), (4, 4));
        let last = dft_vector(8, 8, 63).unwrap();
        assert!(
            last.iter()
                .enumerate()
                .all(|(k, x)| (x - 0.125 * [1.0, -1.0][(k / 8 + k) % 2]).abs() < 1e-15)
        );
    }
}
