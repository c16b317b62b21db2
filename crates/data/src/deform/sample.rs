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
/// 3·10⁻⁹ of the nearest one's weight, less than f32 resolves.
const REACH: usize = 6;
/// Channels that are read together.
const LANES: usize = 4;

/// Deforms one image after the other.
pub(super) struct Sampler {
    n: usize,
    places: Vec<Place>,
    /// Pixels as vectors of up to four channels.
    pixels: Vec<[f32; LANES]>,
    values: Vec<[f32; LANES]>,
}

/// A point of the image: the pixel above and to the left of it, and how far beyond that it lies, in 0…1.
#[derive(Clone, Copy)]
struct Place {
    corner: u32,
    right: f32,
    down: f32,
}

impl Sampler {
    pub fn new(n: usize) -> Sampler {
        let start = Place {
            corner: 0,
            right: 0.0,
            down: 0.0,
        };
        Sampler {
            n,
            places: vec![start; n * n],
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
        // Left and upper neighbours end one before the frame, so that a neighbour behind always exists.
        let split = |at: f32| {
            let at = at.clamp(0.0, last);
            let whole = (at as i32).min(n as i32 - 2);
            (whole, at - whole as f32)
        };
        let rows = self.places.chunks_exact_mut(n);
        for (y, ((places, u), v)) in rows
            .zip(u.chunks_exact(n))
            .zip(v.chunks_exact(n))
            .enumerate()
        {
            for (x, ((place, u), v)) in places.iter_mut().zip(u).zip(v).enumerate() {
                let (left, right) = split(x as f32 - u);
                let (top, down) = split(y as f32 - v);
                *place = Place {
                    corner: (top * n as i32 + left) as u32,
                    right,
                    down,
                };
            }
        }
    }

    fn bilinear(&mut self) {
        let n = self.n;
        for (value, place) in self.values.iter_mut().zip(&self.places) {
            let near = &self.pixels[place.corner as usize..][..n + 2];
            let [x00, x01, x10, x11] = [near[0], near[1], near[n], near[n + 1]];
            let (u, v) = (place.right, place.down);
            for lane in 0..LANES {
                let top = x00[lane] * (1.0 - u) + x01[lane] * u;
                let bottom = x10[lane] * (1.0 - u) + x11[lane] * u;
                value[lane] = top * (1.0 - v) + bottom * v;
            }
        }
    }

    /// The Gaussian is a product of one along each axis, and so is its sum over pixels.
    fn gaussian(&mut self) {
        let n = self.n;
        for (value, place) in self.values.iter_mut().zip(&self.places) {
            let (left, top) = (place.corner as usize % n, place.corner as usize / n);
            let across = weights(left, place.right, n);
            let down = weights(top, place.down, n);
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
