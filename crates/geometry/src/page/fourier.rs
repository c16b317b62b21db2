//! A geometry over spatial frequencies.
//!
//! With f_ab[y, x] = e^{2πi(ay/H + bx/W)} / √(HW), the weight of a frequency is E(a, b) = fᴴ B f over tr B / n, so 1 is
//! what an isotropic geometry gives and the mean over all frequencies is 1. It depends on B only through the sums over
//! equal displacements,
//!
//! ```text
//! R[d] = Σ_{p − p' = d (mod H, W)} B[p, p'],     E(a, b) = Σ_d R[d] cos 2π(a d_y/H + b d_x/W) / tr B.
//! ```

use std::f64::consts::TAU;

use super::plane::Plane;

/// Numbers over the frequencies of an H × W image, zero in the middle: row i is a = i − ⌊H/2⌋ periods down, column j is
/// b = j − ⌊W/2⌋ periods across.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Frequencies {
    /// H.
    pub height: usize,
    /// W.
    pub width: usize,
    /// Row by row.
    pub values: Vec<f64>,
}

impl Frequencies {
    /// E over all frequencies, the mean over planes; `factor` is n × n with n = planes · H · W.
    pub fn energy(factor: &[f64], plane: Plane) -> Self {
        let Plane {
            height,
            width,
            planes,
        } = plane;
        let (pixels, n) = (height * width, plane.len());
        let mut shifted = vec![0.0; pixels];
        let mut trace = 0.0;
        for p in 0..n {
            let (c, y, x) = (p / pixels, p % pixels / width, p % width);
            trace += factor[p * n + p];
            let row = &factor[p * n + c * pixels..][..pixels];
            for (other, line) in row.chunks_exact(width).enumerate() {
                let d = (y + height - other) % height;
                let sums = &mut shifted[d * width..][..width];
                // x − x' runs down from x to 0, then from W − 1.
                let (left, right) = line.split_at(x + 1);
                for (sum, g) in sums[..=x].iter_mut().rev().zip(left) {
                    *sum += g;
                }
                for (sum, g) in sums.iter_mut().rev().zip(right) {
                    *sum += g;
                }
            }
        }
        debug_assert_eq!(n, planes * pixels);
        let (even, _) = transform(&shifted, height, width);
        Self {
            height,
            width,
            values: even.iter().map(|e| e / trace).collect(),
        }
    }

    /// |f_abᴴ u|² over all frequencies, for an image u.
    pub fn power(image: &[f64], height: usize, width: usize) -> Self {
        let (even, odd) = transform(image, height, width);
        let n = (height * width) as f64;
        let power = even.iter().zip(&odd).map(|(c, s)| (c * c + s * s) / n);
        Self {
            height,
            width,
            values: power.collect(),
        }
    }

    /// (a, b, value) of every frequency.
    pub fn iter(&self) -> impl Iterator<Item = (isize, isize, f64)> {
        let (h, w) = (self.height, self.width);
        self.values.iter().enumerate().map(move |(k, &value)| {
            let centred = |i: usize, n: usize| i as isize - (n / 2) as isize;
            (centred(k / w, h), centred(k % w, w), value)
        })
    }

    /// Periods across the longer side of the image.
    pub fn radius(&self, a: isize, b: isize) -> f64 {
        let side = self.height.max(self.width) as f64;
        let part = |k: isize, n: usize| k as f64 * side / n as f64;
        part(a, self.height).hypot(part(b, self.width))
    }

    /// Mean over the frequencies whose radius rounds to r, for r = 0, 1, ….
    pub fn rings(&self) -> Vec<f64> {
        let mut sums: Vec<(f64, f64)> = Vec::new();
        for (a, b, value) in self.iter() {
            let ring = self.radius(a, b).round() as usize;
            if ring >= sums.len() {
                sums.resize(ring + 1, (0.0, 0.0));
            }
            sums[ring].0 += value;
            sums[ring].1 += 1.0;
        }
        // A long, low image may leave a ring empty.
        let mean = |(sum, count): (f64, f64)| if count > 0.0 { sum / count } else { f64::NAN };
        sums.into_iter().map(mean).collect()
    }

    /// The values of the frequencies that `wanted` picks by (a, b).
    pub fn of(&self, wanted: impl Fn(isize, isize) -> bool) -> impl Iterator<Item = f64> {
        self.iter()
            .filter(move |&(a, b, _)| wanted(a, b))
            .map(|(.., value)| value)
    }

    /// The value that a part q of the others stays below.
    pub fn quantile(&self, q: f64) -> f64 {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[(q * (sorted.len() - 1) as f64).round() as usize]
    }

    /// Rows for a figure.
    pub fn rows(&self) -> Vec<Vec<f64>> {
        self.values
            .chunks(self.width)
            .map(<[f64]>::to_vec)
            .collect()
    }
}

/// Σ u cos and Σ u sin of 2π(ay/H + bx/W), zero frequency in the middle; rows first, then columns.
fn transform(image: &[f64], height: usize, width: usize) -> (Vec<f64>, Vec<f64>) {
    let (across, down) = (Waves::new(width), Waves::new(height));
    let (mut c, mut s) = (vec![0.0; image.len()], vec![0.0; image.len()]);
    for (y, line) in image.chunks_exact(width).enumerate() {
        for j in 0..width {
            for (x, u) in line.iter().enumerate() {
                let (cos, sin) = across.at(j, x);
                c[y * width + j] += u * cos;
                s[y * width + j] += u * sin;
            }
        }
    }
    let (mut even, mut odd) = (vec![0.0; image.len()], vec![0.0; image.len()]);
    for i in 0..height {
        for y in 0..height {
            let (cos, sin) = down.at(i, y);
            let (from, to) = (y * width, i * width);
            for j in 0..width {
                even[to + j] += c[from + j] * cos - s[from + j] * sin;
                odd[to + j] += c[from + j] * sin + s[from + j] * cos;
            }
        }
    }
    (even, odd)
}

/// cos and sin of 2πk/n.
struct Waves(Vec<(f64, f64)>);

impl Waves {
    fn new(n: usize) -> Self {
        let angle = |k: usize| TAU * k as f64 / n as f64;
        Self((0..n).map(|k| (angle(k).cos(), angle(k).sin())).collect())
    }

    /// At position x of the wave in place j, whose frequency is j − ⌊n/2⌋.
    fn at(&self, j: usize, x: usize) -> (f64, f64) {
        let n = self.0.len();
        self.0[(j + n - n / 2) * x % n]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plane(height: usize, width: usize, planes: usize) -> Plane {
        Plane {
            height,
            width,
            planes,
        }
    }

    /// c I weighs every frequency alike.
    #[test]
    fn the_identity_is_isotropic() {
        let n = 2 * 3 * 4;
        let mut factor = vec![0.0; n * n];
        (0..n).for_each(|i| factor[i * n + i] = 7.0);
        let e = Frequencies::energy(&factor, plane(3, 4, 2));
        assert!(e.values.iter().all(|v| (v - 1.0).abs() < 1e-12), "{e:?}");
    }

    /// u uᵀ with the wave u = √(2/n) cos 2π(y/4 + 2x/6): weight n/2 on ±(1, 2), 0 elsewhere.
    #[test]
    fn a_wave_is_found_where_it_oscillates() {
        let (h, w) = (4, 6);
        let n = h * w;
        let u: Vec<f64> = (0..n)
            .map(|p| {
                let turns = (p / w) as f64 / 4.0 + 2.0 * (p % w) as f64 / 6.0;
                (2.0 / n as f64).sqrt() * (TAU * turns).cos()
            })
            .collect();
        let factor: Vec<f64> = u
            .iter()
            .flat_map(|a| u.iter().map(move |b| a * b))
            .collect();
        let e = Frequencies::energy(&factor, plane(h, w, 1));
        let power = Frequencies::power(&u, h, w);
        for ((a, b, e), p) in e.iter().zip(&power.values) {
            let there = (a, b) == (1, 2) || (a, b) == (-1, -2);
            let want = if there { 0.5 } else { 0.0 };
            assert!((e - want * n as f64).abs() < 1e-10, "{a} {b} {e}");
            assert!((p - want).abs() < 1e-12, "{a} {b} {p}");
        }
    }

    /// Against the definition fᴴ B f, on odd and even sides.
    #[test]
    fn energy_is_the_quadratic_form() {
        let (h, w) = (3, 4);
        let n = h * w;
        let factor: Vec<f64> = (0..n * n)
            .map(|k| {
                let (i, j) = (k / n, k % n);
                ((i * j + i + j) % 7) as f64 + if i == j { 9.0 } else { 0.0 }
            })
            .collect();
        let trace: f64 = (0..n).map(|i| factor[i * n + i]).sum();
        let e = Frequencies::energy(&factor, plane(h, w, 1));
        for (a, b, got) in e.iter() {
            let angle = |p: usize| {
                TAU * (a as f64 * (p / w) as f64 / h as f64 + b as f64 * (p % w) as f64 / w as f64)
            };
            let want: f64 = (0..n * n)
                .map(|k| factor[k] * (angle(k / n) - angle(k % n)).cos())
                .sum();
            assert!((got - want / trace).abs() < 1e-10, "{a} {b}");
        }
    }

    /// Rings of a 4 × 4 image: 1, 8 at radius 1 or √2, then the rest; their values average.
    #[test]
    fn rings_average() {
        let e = Frequencies {
            height: 4,
            width: 4,
            values: (0..16).map(f64::from).collect(),
        };
        let rings = e.rings();
        // (0, 0) is at row 2, column 2.
        assert_eq!(rings[0], 10.0);
        // Rows 1 to 3, columns 1 to 3 without the middle: symmetric around it.
        assert_eq!(rings[1], 10.0);
        assert_eq!(rings.len(), 4);
    }
}
