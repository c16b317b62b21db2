//! Images between their pixels.

use serde::{Deserialize, Serialize};

/// How the value between pixels comes from them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Interpolation {
    /// From the four pixels around it (eq. 15).
    #[default]
    Bilinear,
    /// Σ xᵢ G(s − sᵢ)/Σ G(s − sᵢ), a Gaussian of width σ = 0.4715 pixels (eq. 16). It blurs where nothing moves:
    /// compare a deformed image with that of T = 0.
    Gaussian,
}

/// Width of the Gaussian in pixels.
const SIGMA: f32 = 0.4715;
/// Pixels a side that it reaches: from 2 before the corner to 3 behind. Those further away, at 3 pixels or more, have
/// at most 2·10⁻⁹ of the nearest one's weight, less than f32 resolves.
const REACH: usize = 6;
/// Channels that are read together.
const LANES: usize = 4;

/// As many channels of a pixel.
type Pixel = [f32; LANES];

/// Deforms one image after the other.
pub(super) struct Sampler {
    n: usize,
    /// Where pixels come from: the pixel above and to the left of the point, and how far beyond it that lies, in 0…1.
    corners: Vec<u32>,
    right: Vec<f32>,
    down: Vec<f32>,
    pixels: Vec<Pixel>,
    values: Vec<Pixel>,
}

impl Sampler {
    pub fn new(n: usize) -> Sampler {
        Sampler {
            n,
            corners: vec![0; n * n],
            right: vec![0.0; n * n],
            down: vec![0.0; n * n],
            pixels: vec![[0.0; LANES]; n * n],
            values: vec![[0.0; LANES]; n * n],
        }
    }

    /// out(x, y) = image(x − u, y − v), channel by channel.
    pub fn sample(
        &mut self,
        [u, v]: [&[f32]; 2],
        interpolation: Interpolation,
        image: &[f32],
        out: &mut [f32],
    ) {
        let plane = self.n * self.n;
        self.find(u, v);
        let groups = image
            .chunks(LANES * plane)
            .zip(out.chunks_mut(LANES * plane));
        for (image, out) in groups {
            for (lane, channel) in image.chunks_exact(plane).enumerate() {
                let pixels = self.pixels.iter_mut().zip(channel);
                pixels.for_each(|(pixel, &x)| pixel[lane] = x);
            }
            match interpolation {
                Interpolation::Bilinear => self.bilinear(),
                Interpolation::Gaussian => self.gaussian(),
            }
            for (lane, channel) in out.chunks_exact_mut(plane).enumerate() {
                let values = channel.iter_mut().zip(&self.values);
                values.for_each(|(x, value)| *x = value[lane]);
            }
        }
    }

    /// Where every pixel comes from.
    fn find(&mut self, u: &[f32], v: &[f32]) {
        let n = self.n;
        let last = (n - 1) as f32;
        // Left and upper neighbours end one before the frame, so that a neighbour behind always exists: half a pixel
        // before it no rounding leads elsewhere.
        let split = |at: f32| {
            let at = at.max(0.0).min(last);
            let whole = floor(at.min(last - 0.5));
            (whole, at - whole as f32)
        };
        let rows = self.corners.chunks_exact_mut(n);
        let rows = rows.zip(self.right.chunks_exact_mut(n));
        let rows = rows.zip(self.down.chunks_exact_mut(n));
        let moved = u.chunks_exact(n).zip(v.chunks_exact(n));
        for (y, (((corners, right), down), (u, v))) in rows.zip(moved).enumerate() {
            let places = corners.iter_mut().zip(right).zip(down);
            for (x, (((corner, right), down), (u, v))) in places.zip(u.iter().zip(v)).enumerate() {
                let (left, beyond) = split(x as f32 - u);
                let (top, below) = split(y as f32 - v);
                *corner = (top * n as i32 + left) as u32;
                (*right, *down) = (beyond, below);
            }
        }
    }

    /// Values between four pixels (eq. 15).
    fn bilinear(&mut self) {
        let n = self.n;
        let places = self.corners.iter().zip(&self.right).zip(&self.down);
        for (value, ((&corner, &u), &v)) in self.values.iter_mut().zip(places) {
            let near = &self.pixels[corner as usize..][..n + 2];
            let [x00, x10, x01, x11] = [near[0], near[1], near[n], near[n + 1]];
            for lane in 0..LANES {
                let top = x00[lane] * (1.0 - u) + x10[lane] * u;
                let bottom = x01[lane] * (1.0 - u) + x11[lane] * u;
                value[lane] = top * (1.0 - v) + bottom * v;
            }
        }
    }

    /// The Gaussian is a product of one along each axis, and so is its sum over pixels.
    fn gaussian(&mut self) {
        let n = self.n;
        let places = self.corners.iter().zip(&self.right).zip(&self.down);
        for (value, ((&corner, &right), &down)) in self.values.iter_mut().zip(places) {
            let (left, top) = (corner as usize % n, corner as usize / n);
            let across = weights(left, right, n);
            let down = weights(top, down, n);
            *value = [0.0; LANES];
            for (y, down) in down {
                for (x, across) in across {
                    let pixel = self.pixels[y * n + x];
                    for lane in 0..LANES {
                        value[lane] += down * across * pixel[lane];
                    }
                }
            }
        }
    }
}

/// The largest whole number up to x, or x − 1 where x is odd, for 0 ≤ x < 2²². Adding 1.5·2²³ leaves no bits
/// behind the point and rounds to the nearest; a cast would check its range on every pixel.
fn floor(x: f32) -> i32 {
    const SHIFT: f32 = 12_582_912.0;
    (x - 0.5 + SHIFT).to_bits() as i32 - SHIFT.to_bits() as i32
}

/// The pixels around a point of a row and their weights, which sum to 1; pixels outside of the image have none.
fn weights(corner: usize, beyond: f32, n: usize) -> [(usize, f32); REACH] {
    let mut out = [(0, 0.0); REACH];
    for (k, out) in out.iter_mut().enumerate() {
        let distance = k as f32 - 2.0 - beyond;
        if let Some(pixel) = (corner + k).checked_sub(2).filter(|&pixel| pixel < n) {
            *out = (pixel, (-distance * distance / (2.0 * SIGMA * SIGMA)).exp());
        }
    }
    let sum: f32 = out.iter().map(|(_, weight)| weight).sum();
    out.map(|(pixel, weight)| (pixel, weight / sum))
}
